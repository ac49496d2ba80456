// The size of every page, its time to first paint, and Lighthouse's scores for the most visited pages.
// These tests measure time, so they run when nothing else does.
import assert from 'node:assert/strict';
import { launch } from 'chrome-launcher';
import lighthouse, { desktopConfig } from 'lighthouse';
import { ARGUMENTS, EXECUTABLE, session, visitor } from '../browser.mjs';
import { doors, seed, pagesOf, settled } from '../seed.mjs';
import { DASHBOARD_URL, limitScale, organization } from '../stack.mjs';
import { after, before, suite, test } from '../suites.mjs';

suite('measured');

const BYTES_MAX = 200 * 1024;
const PAINT_MS = 500 * limitScale;
const CATEGORIES = ['performance', 'accessibility', 'best-practices'];
const MIN = 95;
const RUNS = 2;
// How long a loaded page must be quiet before Lighthouse evaluates it.
const QUIET_MS = 300;

let pages, signedIn, cookie, chrome;
before(async () => {
  const who = await organization({ name: 'Example Shop' });
  pages = pagesOf(await seed(who));
  signedIn = await session(who);
  const [{ name, value }] = signedIn.cookies;
  cookie = `${name}=${value}`;
  chrome = await launch({ chromePath: EXECUTABLE, chromeFlags: ['--headless', ...ARGUMENTS] });
});
after(() => chrome.kill());

// Opens the page for the first time, in a browser with an empty cache: {bytes, paint}.
async function load(storageState, { path, title }) {
  const page = await visitor({ storageState, isNew: true });
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
      // Repeats in case other programs used the machine.
      for (let round = 0; round < 3 && !(paint < PAINT_MS); round++) {
        const loads = [await load(state, place), await load(state, place)];
        // The median of three; the third load is needed only if the first two disagree.
        if ((loads[0].paint < PAINT_MS) !== (loads[1].paint < PAINT_MS))
          loads.push(await load(state, place));
        bytes = Math.max(...loads.map((each) => each.bytes));
        paint = loads.map((each) => each.paint).sort((a, b) => a - b)[1];
      }
      one.diagnostic(`${Math.ceil(bytes / 1024)} KB, first paint after ${Math.round(paint)} ms`);
      assert.ok(bytes > 10_000 && bytes < BYTES_MAX, `${bytes} bytes`);
      assert.ok(paint < PAINT_MS, `${paint} ms`);
    });
  }
});

// As on a desktop: a simulated phone has a CPU four times as slow, which looks the same as a CPU that
// also runs other tests.
async function scores(path) {
  const { lhr } = await lighthouse(DASHBOARD_URL + path, {
    port: chrome.port, onlyCategories: CATEGORIES, logLevel: 'silent', disableFullPageScreenshot: true,
    extraHeaders: path === '/sign-in' ? {} : { Cookie: cookie },
    pauseAfterFcpMs: QUIET_MS, pauseAfterLoadMs: QUIET_MS, networkQuietThresholdMs: QUIET_MS,
    cpuQuietThresholdMs: QUIET_MS,
  }, desktopConfig);
  assert.equal(new URL(lhr.finalDisplayedUrl).pathname, path);
  const found = Object.values(lhr.audits).filter(({ score }) => score !== null && score < 1)
    .map(({ id, displayValue }) => `${id} ${displayValue ?? ''}`.trim());
  return { found, is: CATEGORIES.map((name) => Math.round(lhr.categories[name].score * 100)) };
}

for (const path of ['/sign-in', '/overview', '/keys', '/inbox', '/audit', '/webhooks', '/security']) {
  test(`${path} has no findings`, async (t) => {
    let best = { is: [0, 0, 0] };
    // Takes the best score of each category: other load on the machine cannot improve a page.
    for (let run = 0; run < RUNS && Math.min(...best.is) < MIN; run++) {
      const { found, is } = await scores(path);
      best = { found, is: is.map((score, i) => Math.max(score, best.is[i])) };
    }
    t.diagnostic(`${CATEGORIES.map((name, i) => `${name} ${best.is[i]}`)}; ${best.found.join(', ')}`);
    assert.ok(Math.min(...best.is) >= MIN, `${best.is}: ${best.found.join(', ')}`);
  });
}
