// Pictures of every page, in both themes and on a phone, into the folder that SCREENSHOTS names.
// Run by tools/screenshots.
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { PHONE, WIDE, session, visitor } from './browser.mjs';
import { doors, seed, pagesOf, visit } from './seed.mjs';
import { ctl, organization, sql, user } from './stack.mjs';
import { before, suite, test } from './suites.mjs';

suite('screenshots');

const { SCREENSHOTS } = process.env;
// How much of a page a picture shows at most.
const HEIGHT_MAX = { wide: 1500, phone: 1300 };

let places;
before(async () => {
  await mkdir(SCREENSHOTS, { recursive: true });
  const { id: org } = await ctl('org', 'create', '--name', 'Example Shop', '--plan', 'growth');
  await ctl('org', 'set', org, '--rate-limit', '150');
  const who = { org, ...await user(org, 'owner', 'ada@shop.example') };
  await user(org, 'member', 'katherine@shop.example');
  const pages = pagesOf(await seed(who));
  await sql('history.sql', { org });
  const state = await session(who);
  const fresh = await session(await organization({ name: 'Brand New Ltd' }));
  places = [
    ...doors.map((place) => ({ place })),
    { place: { name: 'first-steps', path: '/overview', title: 'First steps' }, state: fresh },
    ...pages.map((place) => ({ place, state })),
  ];
});

// The window grows with the page, so that elements that fill its height are complete; with a dialog it keeps its
// size.
async function shoot(place, options, name) {
  const page = await visitor(options);
  await visit(page, place);
  await page.evaluate(() => document.activeElement.blur());
  if (!place.open) {
    const { width, height } = options.viewport;
    const all = await page.evaluate(() => document.documentElement.scrollHeight);
    const most = HEIGHT_MAX[name.split('-').at(-1)];
    await page.setViewportSize({ width, height: Math.max(height, Math.min(all, most)) });
  }
  await page.screenshot({ path: join(SCREENSHOTS, `${place.name}-${name}.png`) });
  await page.context().close();
}

for (const colorScheme of ['light', 'dark']) {
  for (const [size, viewport] of Object.entries({ wide: WIDE, phone: PHONE })) {
    test(`pictures: ${colorScheme}, ${size}`, async () => {
      for (const { place, state } of places) {
        const options = { storageState: state, colorScheme, viewport };
        if (size === 'phone') Object.assign(options, { isMobile: true, hasTouch: true });
        await shoot(place, options, `${colorScheme}-${size}`);
      }
    });
  }
}
