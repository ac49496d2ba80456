// The security page: requirements on requests, a user's sessions, and passwords.
import assert from 'node:assert/strict';
import { at, button, confirm, dialog, gone, heading, openAs, row, seen, signIn } from './browser.mjs';
import { answers, key, organization } from './stack.mjs';
import { before, suite, test } from './suites.mjs';

suite('security');

const ELSEWHERE = '203.0.113.7';

let who, token;
before(async () => {
  who = await organization();
  token = await key(who.org);
});

test('the allowlist warns before it locks the user out, refuses others, and can be turned off', async () => {
  const page = await openAs(who, '/security');
  const addresses = page.getByLabel('Addresses');
  await answers(token, 200);

  await page.getByLabel('Turn the allowlist on').check();
  await button(page, 'Save allowlist').click();
  await seen(page.getByText(/must (not be empty|hold|have)/));
  assert.equal(await page.getByRole('dialog').count(), 0);
  await addresses.fill('not an address');
  await button(page, 'Save allowlist').click();
  await seen(page.getByText(/must be one exact/));

  await addresses.fill(ELSEWHERE);
  await button(page, 'Save allowlist').click();
  await seen(dialog(page, 'This would lock you out').getByText('127.0.0.1'));
  await confirm(page, 'Cancel');
  await gone(page.getByRole('dialog'));
  await answers(token, 200);
  await button(page, 'Save allowlist').click();
  await confirm(page, 'Save anyway');
  await answers(token, 403, 'ip_not_allowed');
  await page.reload();
  assert.equal(await page.getByLabel('Turn the allowlist on').isChecked(), true);
  assert.equal(await addresses.inputValue(), ELSEWHERE);

  await button(page, 'Add my address').click();
  assert.equal(await addresses.inputValue(), `${ELSEWHERE}\n127.0.0.1`);
  await button(page, 'Save allowlist').click();
  await answers(token, 200);

  await addresses.fill(ELSEWHERE);
  await page.getByLabel('Turn the allowlist on').uncheck();
  await button(page, 'Save allowlist').click();
  await seen(page.getByText('The allowlist is saved but off'));
  await answers(token, 200);
});

test('plain HTTP is refused while HTTPS is required', async () => {
  const page = await openAs(who, '/security');
  await page.getByLabel('Require HTTPS').check();
  await button(page, 'Save HTTPS policy').click();
  await seen(page.getByText('HTTPS is required'));
  await answers(token, 403, 'https_required');
  await page.getByLabel('Require HTTPS').uncheck();
  await button(page, 'Save HTTPS policy').click();
  await seen(page.getByText('HTTPS is not required'));
  await answers(token, 200);
});

test('what is typed into one form stays while the other is saved', async () => {
  const page = await openAs(await organization(), '/security');
  await page.getByLabel('Addresses').fill(ELSEWHERE);
  await page.getByLabel('Require HTTPS').check();
  await button(page, 'Save HTTPS policy').click();
  await seen(page.getByText('HTTPS is required'));
  await gone(page.locator('[aria-busy=true]'));
  assert.equal(await page.getByLabel('Addresses').inputValue(), ELSEWHERE);
});

test('a session that is ended elsewhere is signed out at its next click', async () => {
  const here = await openAs(who, '/security');
  const there = await openAs(who, '/keys', { userAgent: 'Mozilla/5.0 (Windows) Firefox/132.0' });
  await here.reload();
  const theirs = row(here, 'Firefox on Windows');
  await seen(row(here, 'Chrome on Linux').getByText('This one'));
  await theirs.getByRole('button', { name: 'End session' }).click();
  await confirm(here, 'End session');
  await gone(theirs);
  await there.getByRole('link', { name: 'Members and plan' }).click();
  await at(there, '/sign-in?next=%2Fmembers');
});

test('signing out everywhere ends every session, this one too', async () => {
  const there = await openAs(who, '/inbox');
  const here = await openAs(who, '/security');
  await button(here, 'Sign out everywhere').click();
  await confirm(here, 'Sign out everywhere');
  await at(here, '/sign-in');
  await there.getByRole('link', { name: 'Overview' }).click();
  await at(there, '/sign-in');
});

test('only the changed password works, and other sessions end', async () => {
  const other = await organization();
  const there = await openAs(other, '/inbox');
  const here = await openAs(other, '/account');
  const chosen = 'correct horse battery staple';
  const change = async (now, next, again = next) => {
    await here.getByLabel('Current password').fill(now);
    await here.getByLabel('New password', { exact: true }).fill(next);
    await here.getByLabel('Repeat new password').fill(again);
    await button(here, 'Change password').click();
  };

  await change('not the password', chosen);
  await seen(here.getByText('is incorrect'));
  assert.equal(await here.getByLabel('Current password').getAttribute('aria-invalid'), 'true');
  await change(other.password, chosen, 'another one');
  assert.equal(await here.getByLabel('Repeat new password').getAttribute('aria-invalid'), 'true');
  await change(other.password, chosen);
  await seen(here.getByText('Password changed; 1 other session ended'));
  await there.getByRole('link', { name: 'Overview' }).click();
  await at(there, '/sign-in');
  await signIn(there, other);
  await seen(there.getByRole('alert'));
  await signIn(there, { ...other, password: chosen });
  await at(there, '/overview');
  await seen(heading(there, 'Overview'));
});
