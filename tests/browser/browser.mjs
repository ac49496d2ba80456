// A browser, and signed-in users. In every test, no page may throw an error, open a browser dialog,
// violate the content security policy or send a request to another server.
import assert from 'node:assert/strict';
import { after } from 'node:test';
import { chromium } from 'playwright-core';
import { DASHBOARD_URL, limitScale } from './stack.mjs';
import { scene } from './suites.mjs';

// Chromium without window frames, which nobody sees and which take half of the CPU time.
export const EXECUTABLE = process.env.CHROMIUM || '/usr/bin/chromium-headless-shell';
export const ARGUMENTS = [
  '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-sync',
  '--disable-background-networking', '--disable-component-update',
];
export const PHONE = { width: 360, height: 740 };
export const WIDE = { width: 1280, height: 860 };
const LIGHT = { colorScheme: 'light', reducedMotion: 'reduce' };

const browser = await chromium.launch({ executablePath: EXECUTABLE, args: ARGUMENTS });
after(() => browser.close());

function watch(page, trouble) {
  page.on('pageerror', (error) => trouble(`error: ${error.stack}`));
  page.on('dialog', (dialog) => {
    trouble(`dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  page.on('console', (message) => {
    if (/Content Security Policy|Trusted/.test(message.text())) trouble(message.text());
  });
  page.on('request', (request) => {
    if (!request.url().startsWith(`${DASHBOARD_URL}/`)) trouble(`asked: ${request.url()}`);
  });
}

// -- windows: each has a separate context with a page ---------------------------------------------

async function openWindow(options) {
  const context = await browser.newContext({
    baseURL: DASHBOARD_URL, viewport: WIDE, acceptDownloads: true,
    permissions: ['clipboard-read', 'clipboard-write'], ...LIGHT, ...options,
  });
  const window = { context, scene: undefined };
  context.setDefaultTimeout(20_000 * limitScale);
  context.on('page', (page) => watch(page, (what) => window.scene?.trouble.push(what)));
  window.page = await context.newPage();
  window.devtools = await context.newCDPSession(window.page);
  return window;
}

// Windows that earlier tests have released. Half of a page's cost is starting a process for it, so the
// next test reuses one of these.
const left = [];

// Empties a window: no cookies, no storage, no history. The window stays on a file of the dashboard, so
// its process stays, too.
async function clear({ context, page, devtools }) {
  await Promise.all(context.pages().filter((one) => one !== page).map((one) => one.close()));
  await page.unrouteAll({ behavior: 'ignoreErrors' });
  await page.goto('/assets/js/theme.js');
  await context.clearCookies();
  await page.evaluate(() => sessionStorage.clear());
  await devtools.send('Storage.clearDataForOrigin', { origin: DASHBOARD_URL, storageTypes: 'all' });
  await devtools.send('Page.resetNavigationHistory');
  await page.setViewportSize(WIDE);
  await page.emulateMedia(LIGHT);
}

async function leave(window, isUsual) {
  const isClear = isUsual && await clear(window).then(() => true, () => false);
  window.scene = undefined;
  if (isClear) left.push(window);
  else await window.context.close();
}

// A page of a visitor who is not signed in, with no cookies except those in `storageState`. With
// `isNew` or any other option the window is new, with nothing of the dashboard in its cache.
export async function visitor({ storageState, isNew = false, ...options } = {}) {
  const isUsual = !isNew && Object.keys(options).length === 0;
  const window = (isUsual && left.pop()) || await openWindow(options);
  window.scene = scene();
  window.scene?.endings.push((passed) => leave(window, passed && isUsual));
  if (storageState) await window.context.addCookies(storageState.cookies);
  return window.page;
}

// -- people -----------------------------------------------------------------------------------------

export async function signIn(page, { email, password }) {
  await page.getByLabel('Email').fill(email);
  await page.getByLabel('Password').fill(password);
  await button(page, 'Sign in').click();
}

// A session, in the form of a visitor's `storageState`.
export async function session({ email, password }, options) {
  const context = await browser.newContext({ baseURL: DASHBOARD_URL, ...options });
  await enter(context, { email, password });
  const state = await context.storageState();
  await context.close();
  return state;
}

async function enter({ request }, data) {
  const answer = await request.post('/data/session', { data, headers: { Origin: DASHBOARD_URL } });
  assert.equal(answer.status(), 200, await answer.text());
}

// A signed-in visitor on the page `path`, without the sign-in page, which sign-in.test.mjs tests.
export async function openAs({ email, password }, path = '/overview', options) {
  const page = await visitor(options);
  await enter(page.context(), { email, password });
  await page.goto(path);
  return page;
}

// The server's count for the last hour, which a page shows when it is next loaded.
export async function counted(page, what, field) {
  const { points } = await (await page.request.get(`/data/${what}?range=1h`)).json();
  return points.reduce((sum, point) => sum + point[field], 0);
}

// -- contents of a page ---------------------------------------------------------------------------------

// On a timeout, adds what the page shows instead to the error.
async function orTell(page, awaited) {
  try {
    return await awaited;
  } catch (error) {
    const text = await page.locator('body').innerText({ timeout: 1000 }).catch(() => 'no page');
    error.message += `\n${page.url()} shows: ${text.replace(/\s+/g, ' ').slice(0, 600)}`;
    throw error;
  }
}

// A page of the dashboard is reached when the address changes: no new document is loaded.
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

// Presses a button in the dialog; the page behind may have a button of the same name.
export const confirm = (page, name) => button(page.getByRole('dialog'), name).click();

export async function shut(page) {
  await page.keyboard.press('Escape');
  await gone(page.getByRole('dialog'));
}

// The value of a term in a list of facts.
export const fact = (where, term) =>
  where.getByRole('term').filter({ hasText: new RegExp(`^${term}$`) }).locator('+ dd');

// The text that a button copies; the button confirms for 2 seconds. The whole browser shares one clipboard,
// so tests take turns.
let clipboard = Promise.resolve();
export function copied(page, label) {
  const text = clipboard.then(async () => {
    await Promise.all([seen(button(page, `Copied ${label}`)), button(page, `Copy ${label}`).click()]);
    return page.evaluate(() => navigator.clipboard.readText());
  });
  clipboard = text.catch(() => {});
  return text;
}

// Copies the secret that a dialog shows once, and confirms that it is stored.
export async function takeSecret(page, label) {
  const secret = await copied(page, label);
  await button(page, 'I have stored it').click();
  await gone(page.getByRole('dialog'));
  return secret;
}

// Removes trouble that the test caused on purpose; returns how often it happened.
export function provoked(pattern) {
  const { trouble } = scene();
  const mine = trouble.filter((what) => pattern.test(what));
  for (const what of mine) trouble.splice(trouble.indexOf(what), 1);
  return mine.length;
}
