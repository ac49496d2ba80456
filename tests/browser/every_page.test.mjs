// Requirements on every page: it works with assistive technology, on a phone, and in dark mode.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { PHONE, WIDE, session, visitor } from './browser.mjs';
import { doors, seed, pagesOf, show, visit } from './seed.mjs';
import { organization } from './stack.mjs';
import { before, suite, test } from './suites.mjs';

suite('looks');

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

let pages, signedIn, signedInEmpty;
before(async () => {
  const who = await organization({ name: 'Example Shop' });
  pages = pagesOf(await seed(who));
  signedIn = await session(who);
  signedInEmpty = await session(await organization());
});

// Checks a dialog alone, as the page behind it cannot be reached. Passed rules are reported with one
// example each.
async function violations(page, { open }) {
  const { passes, found } = await page.evaluate(async (context) => {
    const results = await window.axe.run(context, { resultTypes: ['violations'] });
    return { passes: results.passes.length, found: results.violations };
  }, open ? 'dialog' : 'html');
  assert.ok(passes > 5, 'there was something to check');
  return found.map(({ id, nodes }) => `${id}: ${nodes.map(
    (one) => `${one.html} ${one.failureSummary}`).join(' ')}`);
}

// How many pixels wider the page, or a dialog on it, is than its visible part.
const overhang = (page) => page.evaluate(() => Math.max(0,
  ...[document.scrollingElement, ...document.querySelectorAll('dialog')].map(
    (one) => one.scrollWidth - one.clientWidth)));

// With reduced motion, the theme changes at once: no colour transition runs.
async function wear(page, viewport, colorScheme) {
  await page.setViewportSize(viewport);
  await page.emulateMedia({ colorScheme });
  assert.equal(await page.evaluate(() => document.getAnimations().length), 0, 'nothing moves');
}

async function look(page, place) {
  await wear(page, WIDE, 'light');
  if (place.open && page.url().endsWith(place.path)) {
    await show(page, place); // the page has just been checked
  } else {
    await visit(page, place);
    await page.evaluate(axe);
  }
  for (const [viewport, colorScheme] of [[WIDE, 'light'], [PHONE, 'dark']]) {
    await wear(page, viewport, colorScheme);
    assert.deepEqual(await violations(page, place), [], `${place.name}, ${colorScheme}`);
    assert.equal(await overhang(page), 0, `${place.name}: scrolls sideways at ${viewport.width}`);
  }
}

test('axe finds no fault, and no page scrolls sideways, in both themes and widths', async (t) => {
  const [stranger, beginner, page] = await Promise.all([undefined, signedInEmpty, signedIn].map(
    (storageState) => visitor({ storageState })));
  for (const place of doors) await t.test(place.name, () => look(stranger, place));
  for (const [path, title] of [['/overview', 'First steps'], ['/keys', 'No active key yet'],
    ['/inbox', 'No conversations yet'], ['/webhooks', 'No endpoints yet'], ['/audit', 'No requests yet']])
    await t.test(`${path} without data`, () => look(beginner, { name: `${path} without data`, path, title }));
  for (const place of pages) await t.test(place.name, () => look(page, place));
});
