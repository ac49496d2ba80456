// What every page owes everybody: read by assistive technology, on a phone, in the dark, and soon.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import AxeBuilder from '@axe-core/playwright';
import { PHONE, WIDE, person, visitor } from './browser.mjs';
import { doors, furnish, pagesOf, settled, visit } from './furnished.mjs';
import { lenience, organization } from './stack.mjs';

const BYTES_MOST = 200 * 1024;
const PAINT_MS = 500 * lenience;

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

// A dialog is looked at alone: nobody reaches what is behind it.
async function violations(page, { open }) {
  const axe = new AxeBuilder({ page }).setLegacyMode();
  const found = await (open ? axe.include('dialog') : axe).analyze();
  assert.ok(found.passes.length > 5, 'there was something to look at');
  return found.violations.map(({ id, nodes }) => `${id}: ${nodes.map((one) => one.html).join(' ')}`);
}

// By how many pixels the page, or a dialog on it, is wider than what is seen of it.
const overhang = (page) => page.evaluate(() => Math.max(0,
  ...[document.scrollingElement, ...document.querySelectorAll('dialog')].map(
    (one) => one.scrollWidth - one.clientWidth)));

async function look(storageState, place) {
  const page = await visitor({ storageState });
  await visit(page, place);
  for (const [viewport, colorScheme] of [[WIDE, 'light'], [PHONE, 'dark']]) {
    await page.setViewportSize(viewport);
    await page.emulateMedia({ colorScheme });
    assert.deepEqual(await violations(page, place), [], `${place.name}, ${colorScheme}`);
    assert.equal(await overhang(page), 0, `${place.name}: scrolls sideways at ${viewport.width}`);
  }
}

test('no page has a fault that axe finds, or scrolls sideways, in both themes and widths', async (t) => {
  for (const place of doors) await t.test(place.name, () => look(undefined, place));
  await t.test('overview without data', () =>
    look(signedInEmpty, { name: 'overview without data', path: '/overview', title: 'First steps' }));
  for (const place of pages) await t.test(place.name, () => look(signedIn, place));
});

// Opened for the first time, by a browser that has nothing of it yet: {bytes, paint}.
async function load(storageState, { path, title }) {
  const page = await visitor({ storageState });
  await page.goto(path);
  await settled(page, title);
  const measured = await page.evaluate(() => ({
    bytes: [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
      .reduce((sum, entry) => sum + entry.transferSize, 0),
    paint: performance.getEntriesByName('first-paint')[0].startTime,
  }));
  await page.context().close();
  return measured;
}

test('every page is small, and painted soon', async (t) => {
  const all = [...doors.map((place) => [undefined, place]), ...pages.filter(({ open }) => !open)
    .map((place) => [signedIn, place])];
  for (const [state, place] of all) {
    await t.test(place.name, async (one) => {
      let bytes, paint;
      // Again, should others have had the machine.
      for (let round = 0; round < 3 && !(paint < PAINT_MS); round++) {
        const loads = [];
        for (let i = 0; i < 3; i++) loads.push(await load(state, place));
        bytes = Math.max(...loads.map((each) => each.bytes));
        paint = loads.map((each) => each.paint).sort((a, b) => a - b)[1];
      }
      one.diagnostic(`${Math.ceil(bytes / 1024)} KB, first paint after ${Math.round(paint)} ms`);
      assert.ok(bytes > 10_000 && bytes < BYTES_MOST, `${bytes} bytes`);
      assert.ok(paint < PAINT_MS, `${paint} ms`);
    });
  }
});
