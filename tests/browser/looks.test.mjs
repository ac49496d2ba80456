// What every page owes everybody: read by assistive technology, on a phone, and in the dark.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import AxeBuilder from '@axe-core/playwright';
import { PHONE, WIDE, person, visitor } from './browser.mjs';
import { doors, furnish, pagesOf, visit } from './furnished.mjs';
import { organization } from './stack.mjs';

let pages, signedIn, signedInEmpty;
before(async () => {
  const who = await organization({ name: 'Example Shop' });
  pages = pagesOf(await furnish(who));
  signedIn = await stateOf(who);
  signedInEmpty = await stateOf(await organization());
});

async function stateOf(who) {
  const page = await person(who);
  return page.context().storageState();
}

// A dialog is looked at alone: nobody reaches what is behind it. Of what is right one example a rule
// is enough.
async function violations(page, { open }) {
  const axe = new AxeBuilder({ page }).setLegacyMode().options({ resultTypes: ['violations'] });
  const found = await (open ? axe.include('dialog') : axe).analyze();
  assert.ok(found.passes.length > 5, 'there was something to look at');
  return found.violations.map(({ id, nodes }) => `${id}: ${nodes.map((one) => one.html).join(' ')}`);
}

// By how many pixels the page, or a dialog on it, is wider than what is seen of it.
const overhang = (page) => page.evaluate(() => Math.max(0,
  ...[document.scrollingElement, ...document.querySelectorAll('dialog')].map(
    (one) => one.scrollWidth - one.clientWidth)));

const wear = async (page, viewport, colorScheme) => {
  await page.setViewportSize(viewport);
  await page.emulateMedia({ colorScheme });
};

async function look(page, place) {
  await wear(page, WIDE, 'light');
  await visit(page, place);
  for (const [viewport, colorScheme] of [[WIDE, 'light'], [PHONE, 'dark']]) {
    await wear(page, viewport, colorScheme);
    assert.deepEqual(await violations(page, place), [], `${place.name}, ${colorScheme}`);
    assert.equal(await overhang(page), 0, `${place.name}: scrolls sideways at ${viewport.width}`);
  }
}

test('no page has a fault that axe finds, or scrolls sideways, in both themes and widths', async (t) => {
  const [stranger, beginner, page] = await Promise.all([undefined, signedInEmpty, signedIn].map(
    (storageState) => visitor({ storageState, stays: true })));
  for (const place of doors) await t.test(place.name, () => look(stranger, place));
  await t.test('overview without data', () =>
    look(beginner, { name: 'overview without data', path: '/overview', title: 'First steps' }));
  for (const place of pages) await t.test(place.name, () => look(page, place));
});
