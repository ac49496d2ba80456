// Sign in and sign out.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { at, button, heading, openAs, seen, signIn, visitor } from './browser.mjs';
import { BIN_DIR, DASHBOARD_URL, organization } from './stack.mjs';
import { suite, test } from './suites.mjs';

suite('sign-in');

const WRONG = 'Email or password is wrong.';

test('signing in leads to the requested page', async () => {
  const page = await visitor();
  await page.goto('/audit?outcome=denied');
  await seen(page.getByText('Sign in to continue to the page you requested.'));
  await signIn(page, await organization());
  await at(page, '/audit?outcome=denied');
  await seen(heading(page, 'Audit'));
  const [cookie, ...others] = await page.context().cookies();
  assert.deepEqual(others, []);
  assert.equal(cookie.name, 'session');
  assert.equal(cookie.httpOnly, true);
  assert.equal(cookie.sameSite, 'Strict');
  assert.equal(cookie.path, '/');
  assert.equal(await page.evaluate(() => document.cookie), '');
});

// The browser's console shows errors to everyone: a visitor who is not signed in must cause none.
test('without a session the sign-in page is shown, without an error in the console', async () => {
  const page = await openAs(await organization()), errors = [];
  page.on('console', (message) => {
    if (message.type() === 'error') errors.push(`${message.text()} ${message.location().url}`);
  });
  const [cookie] = await page.context().cookies();
  await button(page, 'Sign out').click();
  await at(page, '/sign-in');
  for (const cookies of [[], [cookie]]) { // without a session, and with one that has ended
    await page.context().addCookies(cookies);
    for (const path of ['/', '/sign-in', '/keys', '/audit/changes?per_page=7']) {
      await page.goto(path);
      await seen(heading(page, 'Sign in'));
    }
  }
  assert.deepEqual(errors, []);
});

test('a wrong password and an unknown address get the same message', async () => {
  const { email } = await organization();
  const page = await visitor();
  await page.goto('/sign-in');
  const told = [];
  for (const one of [email, `${randomUUID()}@example.com`]) {
    await signIn(page, { email: one, password: 'not the password' });
    told.push(await page.getByRole('alert').locator('p').first().textContent());
    assert.equal(told.at(-1), WRONG);
    await page.reload();
  }
  assert.equal(told[0], told[1]);
  assert.deepEqual(await page.context().cookies(), []);
});

// Password attempts are counted by the minute: repeats a failed test if the minute ended during it.
async function inOneMinute(play) {
  const minute = () => Math.floor(Date.now() / 60_000);
  for (let tries = 1; ; tries++) {
    const begun = minute();
    try {
      return await play();
    } catch (error) {
      if (minute() === begun || tries === 3) throw error;
    }
  }
}

test('guessing passwords is limited, and meanwhile the right one does not work either', () =>
  inOneMinute(async () => {
    const { email, password } = await organization();
    const page = await visitor();
    const trying = async (guess, status) => {
      const answer = page.waitForResponse('/data/session');
      await signIn(page, { email, password: guess });
      assert.equal((await answer).status(), status);
    };
    await page.goto('/sign-in');
    for (let i = 0; i < 10; i++) {
      await trying(`guess ${i}`, 401);
      await seen(page.getByRole('alert').getByText(WRONG));
    }
    await trying(password, 429);
    await seen(page.getByRole('alert').getByText(/Try again in \d+ seconds/));
    assert.deepEqual(await page.context().cookies(), []);
  }));

test('signing out ends the session and leaves nothing behind', async () => {
  const page = await openAs(await organization(), '/members');
  const [cookie] = await page.context().cookies();
  await button(page, 'Sign out').click();
  await at(page, '/sign-in');
  assert.deepEqual(await page.context().cookies(), []);
  await page.goBack();
  await at(page, '/sign-in?next=%2Fmembers');
  await seen(heading(page, 'Sign in'));
  const headers = { Cookie: `${cookie.name}=${cookie.value}` };
  assert.equal((await fetch(`${DASHBOARD_URL}/data/keys`, { headers })).status, 401);
});

test('a theme that was chosen outlasts signing out', async () => {
  const page = await openAs(await organization());
  await page.getByLabel('Theme').selectOption('Dark');
  await button(page, 'Sign out').click();
  await at(page, '/sign-in');
  await page.reload();
  await seen(heading(page, 'Sign in'));
  assert.equal(await page.getByLabel('Theme').inputValue(), 'dark');
  assert.equal(await page.evaluate(() => getComputedStyle(document.documentElement).colorScheme), 'dark');
});

test('one password for several organizations offers a choice', async () => {
  const email = `${randomUUID()}@example.com`, password = randomUUID();
  for (const name of ['First', 'Second']) {
    const { org } = await organization({ name });
    const made = spawnSync(join(BIN_DIR, 'convctl'), ['user', 'create', '--org', org, '--email', email,
      '--role', 'owner', '--password-stdin'], { input: password });
    assert.equal(made.status, 0, String(made.stderr));
  }
  const page = await visitor();
  await page.goto('/sign-in');
  await signIn(page, { email, password });
  await page.getByLabel('Second').check();
  await button(page, 'Continue').click();
  await at(page, '/overview');
  await seen(page.getByRole('main').getByText('Second'));
});

test('naming an organization avoids the choice', async () => {
  const email = `${randomUUID()}@example.com`, password = randomUUID(), orgs = [];
  for (const name of ['First', 'Second']) {
    const { org } = await organization({ name });
    orgs.push(org);
    const made = spawnSync(join(BIN_DIR, 'convctl'), ['user', 'create', '--org', org, '--email', email,
      '--role', 'owner', '--password-stdin'], { input: password });
    assert.equal(made.status, 0, String(made.stderr));
  }
  const page = await visitor();
  await page.goto('/sign-in');
  await page.getByLabel('Organization id').fill('not an id');
  await signIn(page, { email, password });
  await seen(page.getByText(/must be/));
  await page.getByLabel('Organization id').fill(orgs[1]);
  await signIn(page, { email, password });
  await at(page, '/overview');
  await seen(page.getByRole('main').getByText('Second'));
});
