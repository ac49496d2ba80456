// A browser, and people at it. Whatever a test is about, no page may break, open a dialog of the
// browser's, hurt the content security policy or ask another server for anything.
import assert from 'node:assert/strict';
import { after, afterEach } from 'node:test';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import { DASHBOARD_URL, lenience } from './stack.mjs';

export const EXECUTABLE = fileURLToPath(new URL('chromium', import.meta.url));
export const ARGUMENTS = [
  '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-sync',
  '--disable-background-networking', '--disable-component-update',
];
export const PHONE = { width: 360, height: 740 };
export const WIDE = { width: 1280, height: 860 };

const browser = await chromium.launch({ executablePath: EXECUTABLE, args: ARGUMENTS });
const trouble = [];
const people = new Set();

after(() => browser.close());

afterEach(async () => {
  const found = trouble.splice(0);
  await Promise.all([...people].map((one) => one.close()));
  people.clear();
  assert.deepEqual(found, [], 'what no page may do');
});

function watch(page) {
  page.on('pageerror', (error) => trouble.push(`error: ${error.stack}`));
  page.on('dialog', (dialog) => trouble.push(`dialog: ${dialog.message()}`) && dialog.dismiss());
  page.on('console', (message) => {
    if (/Content Security Policy|Trusted/.test(message.text())) trouble.push(message.text());
  });
  page.on('request', (request) => {
    if (!request.url().startsWith(`${DASHBOARD_URL}/`)) trouble.push(`asked: ${request.url()}`);
  });
}

// Somebody with a browser of their own: a page, nobody signed in, no cookies. Closed after the test,
// or the subtest, unless they stay for all of them.
export async function visitor({ stays = false, ...options } = {}) {
  const context = await browser.newContext({
    baseURL: DASHBOARD_URL, viewport: WIDE, reducedMotion: 'reduce', acceptDownloads: true,
    permissions: ['clipboard-read', 'clipboard-write'], ...options,
  });
  context.setDefaultTimeout(20_000 * lenience);
  context.on('page', watch);
  if (!stays) people.add(context);
  return context.newPage();
}

export async function signIn(page, { email, password }) {
  await page.getByLabel('Email').fill(email);
  await page.getByLabel('Password').fill(password);
  await button(page, 'Sign in').click();
}

// The same, signed in, on the page of that path. They have not seen the door: that is what
// sign-in.test.mjs is about.
export async function person({ email, password }, path = '/overview', options) {
  const page = await visitor(options);
  const answer = await page.request.post('/data/session',
    { data: { email, password }, headers: { Origin: DASHBOARD_URL } });
  assert.equal(answer.status(), 200, await answer.text());
  await page.goto(path);
  return page;
}

// Who waited in vain is told what was there instead.
async function orTell(page, awaited) {
  try {
    return await awaited;
  } catch (error) {
    const text = await page.locator('body').innerText({ timeout: 1000 }).catch(() => 'no page');
    error.message += `\n${page.url()} shows: ${text.replace(/\s+/g, ' ').slice(0, 600)}`;
    throw error;
  }
}

// A page of this dashboard is there when its address is: nothing is loaded anew.
export const at = (page, path) => orTell(page, page.waitForURL(
  (url) => url.pathname + url.search === path, { waitUntil: 'commit' }));
export const button = (where, name) => where.getByRole('button', { name, exact: true });
export const dialog = (page, name) => page.getByRole('dialog', { name, exact: true });
export const heading = (page, name) => page.getByRole('heading', { name, exact: true });
export const nav = (page, name) =>
  page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name, exact: true });
export const row = (page, text) => page.getByRole('row').filter({ hasText: text });
export const seen = (locator) => orTell(locator.page(), locator.first().waitFor());
export const gone = (locator) =>
  orTell(locator.page(), locator.first().waitFor({ state: 'detached' }));

// Presses the button of a dialog, whose name may stand on the page behind it as well.
export const confirm = (page, name) => button(page.getByRole('dialog'), name).click();

export async function shut(page) {
  await page.keyboard.press('Escape');
  await gone(page.getByRole('dialog'));
}

// The value of a term in a list of facts, as it is read.
export const fact = (where, term) =>
  where.getByRole('term').filter({ hasText: new RegExp(`^${term}$`) }).locator('+ dd');

// What a dialog shows this once; then says that it has been stored.
export async function takeSecret(page, label) {
  await button(page, `Copy ${label}`).click();
  await seen(button(page, `Copied ${label}`));
  const secret = await page.evaluate(() => navigator.clipboard.readText());
  await button(page, 'I have stored it').click();
  await gone(page.getByRole('dialog'));
  return secret;
}

// What a test has provoked on purpose is no trouble: how often it happened.
export function provoked(pattern) {
  const mine = trouble.filter((what) => pattern.test(what));
  for (const what of mine) trouble.splice(trouble.indexOf(what), 1);
  return mine.length;
}
