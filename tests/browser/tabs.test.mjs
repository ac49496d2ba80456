// A session that ends or changes without action of the page: by another tab of the browser, which shares
// it, or by another browser.
import assert from 'node:assert/strict';
import { at, button, confirm, gone, heading, nav, openAs, row, seen, signIn } from './browser.mjs';
import { key, organization } from './stack.mjs';
import { before, suite, test } from './suites.mjs';

suite('tabs');

let who;
before(async () => {
  who = await organization({ name: 'Secretive Ltd' });
  await key(who.org, 'full', 'hidden key');
});

async function secondTab(page, path) {
  const tab = await page.context().newPage();
  await tab.goto(path);
  return tab;
}

async function keysTab(page) {
  const tab = await secondTab(page, '/keys');
  await seen(row(tab, 'hidden key'));
  return tab;
}

async function showsNothingOfTheirs(tab) {
  const text = await tab.locator('body').textContent();
  for (const word of ['Secretive', 'hidden key', who.email])
    assert.ok(!text.includes(word), `${tab.url()} has ${word}`);
}

async function isAtTheDoor(tab, next) {
  await at(tab, `/sign-in?next=${encodeURIComponent(next)}`);
  await seen(heading(tab, 'Sign in'));
  await showsNothingOfTheirs(tab);
}

test('signing out in one tab shows the sign-in page in the others, and signing in brings them back', async () => {
  const page = await openAs(who), keys = await keysTab(page);
  const inbox = await secondTab(page, '/inbox?channel=email');
  await seen(heading(inbox, 'Inbox'));
  await button(page, 'Sign out').click();
  await at(page, '/sign-in');
  await isAtTheDoor(keys, '/keys');
  await isAtTheDoor(inbox, '/inbox?channel=email');

  await signIn(page, who);
  await at(keys, '/keys');
  await seen(row(keys, 'hidden key'));
  await at(inbox, '/inbox?channel=email');
});

test('a secret in a dialog does not outlast a sign-out in another tab', async () => {
  const page = await openAs(who), keys = await keysTab(page);
  await button(keys, 'Create key').first().click();
  await keys.getByLabel('Name', { exact: true }).fill('web');
  await confirm(keys, 'Create key');
  const secret = await keys.locator('[data-secret]').textContent();
  assert.match(secret, /^svc_/);
  await button(page, 'Sign out').click();
  await isAtTheDoor(keys, '/keys');
  await gone(keys.getByRole('dialog'));
  assert.ok(!(await keys.content()).includes(secret));
});

async function signOutEverywhere() {
  const elsewhere = await openAs(who, '/security');
  await button(elsewhere, 'Sign out everywhere').click();
  await confirm(elsewhere, 'Sign out everywhere');
  await at(elsewhere, '/sign-in');
}

test('signing out of an ended session is not a failure', async () => {
  const page = await openAs(who);
  await signOutEverywhere();
  const answer = page.waitForResponse('/data/session');
  await button(page, 'Sign out').click();
  assert.equal((await answer).status(), 401);
  await seen(heading(page, 'Sign in'));
  assert.equal(await page.getByText('You are still signed in').count(), 0);
});

test('when one tab finds the session ended, all leave', async () => {
  const page = await openAs(who), keys = await keysTab(page);
  await signOutEverywhere();
  await nav(page, 'Members and plan').click();
  await at(page, '/sign-in?next=%2Fmembers');
  await isAtTheDoor(keys, '/keys');
});

test('two responses to an ended session lead to one sign-in page, and from there back to the page', async () => {
  const page = await openAs(who);
  // Requests are not aborted, whether the page still waits for their answers or not.
  await page.evaluate(() => {
    const ask = window.fetch;
    window.fetch = (path, { signal, ...options }) => ask(path, options);
  });
  await signOutEverywhere();
  const answers = ['/data/members', '/data/organization'].map((path) => page.waitForResponse(path));
  await nav(page, 'Members and plan').click();
  for (const answer of await Promise.all(answers)) await answer.finished();
  await isAtTheDoor(page, '/members');
  await signIn(page, who);
  await at(page, '/members');
});

test('after another user signs in in one tab, the others show that user', async () => {
  const other = await organization({ name: 'Another one' });
  const page = await openAs(who), keys = await keysTab(page);
  await page.goto('/sign-in');
  await signIn(page, other);
  await seen(keys.getByText(other.email));
  await seen(heading(keys, 'No active key yet'));
  await at(keys, '/keys');
  await showsNothingOfTheirs(keys);
});

test('after a new sign-in of the same openAs, the other tabs can still change things', async () => {
  const page = await openAs(who), members = await secondTab(page, '/members');
  await seen(heading(members, 'Members and plan'));
  await page.goto('/sign-in');
  const asked = members.waitForResponse('/data/session');
  await signIn(page, who);
  await asked;
  await button(members, 'Invite').click();
  await members.getByLabel('Email').fill('grace@example.com');
  await members.getByRole('radio', { name: 'Member' }).check();
  await confirm(members, 'Create invitation');
  await seen(button(members, 'I have stored it'));
});
