// Lists: empty states, filters and pages, all of it by keyboard.
import assert from 'node:assert/strict';
import { at, button, confirm, dialog, heading, openAs, seen, shut } from './browser.mjs';
import { converse, ctl, key, organization, receiver, sql, until, user } from './stack.mjs';
import { before, suite, test } from './suites.mjs';

suite('lists');

const KEYS = 30, PER_PAGE = 25;

let who;
before(async () => {
  who = await organization();
  await sql('keys.sql', { org: who.org, n: KEYS });
});

// The rows of the table with this caption, without its head.
const rows = (page, caption) =>
  page.getByRole('table', { name: caption }).locator('tbody tr:visible');

const counts = (page, caption, n) =>
  until(async () => await rows(page, caption).count() === n, `${n} rows of ${caption}`);

const focused = (page) => page.evaluate(() =>
  document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent);

test('a list is filtered and paged by the keyboard alone', async () => {
  const page = await openAs(who, '/keys'), caption = 'Active API keys';
  await counts(page, caption, PER_PAGE);
  await seen(page.getByText(`${KEYS} active keys`, { exact: true }));

  await page.keyboard.press('n');
  await counts(page, caption, KEYS - PER_PAGE);
  await seen(page.getByText('Page 2 of 2'));
  await page.keyboard.press('n');
  await seen(page.getByText('Page 2 of 2'));
  await page.keyboard.press('p');
  await counts(page, caption, PER_PAGE);

  await page.keyboard.press('/');
  assert.equal(await focused(page), 'Filter active keys');
  await page.keyboard.type('alpha-1');
  await counts(page, caption, 11); // 1, and 10 to 19
  await seen(page.getByText(`11 of ${KEYS} active keys`));
  await page.keyboard.type('7');
  await counts(page, caption, 1);
  await page.keyboard.type(' np?'); // typed text, not shortcuts
  await seen(heading(page, 'Nothing matches'));
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await counts(page, caption, PER_PAGE);
  assert.equal(await focused(page), 'Filter active keys');
});

test('a filter stays when the list is loaded again', async () => {
  const own = await organization();
  for (const name of ['alpha', 'beta', 'gamma']) await key(own.org, 'read', name);
  const page = await openAs(own, '/keys');
  await page.getByLabel('Filter active keys').fill('a');
  await button(page, 'Revoke alpha').click();
  await confirm(page, 'Revoke key');
  await seen(dialog(page, 'Key revoked'));
  await shut(page);
  await seen(page.getByText('1 ended key'));
  await counts(page, 'Active API keys', 2);
  assert.equal(await page.getByLabel('Filter active keys').inputValue(), 'a');
});

test('a list that the server pages has the same keys', async () => {
  const other = await organization(), token = await key(other.org);
  for (let i = 0; i < 52; i++) await converse(token, { from: { external_id: `user-${i}` } });
  const page = await openAs(other, '/inbox'), caption = 'Conversations, newest first';
  await counts(page, caption, 50);
  await page.keyboard.press('n');
  await counts(page, caption, 2);
  await page.keyboard.press('p');
  await at(page, '/inbox');
  await counts(page, caption, 50);
  await page.keyboard.press('/');
  assert.equal(await page.evaluate(() => document.activeElement.name), 'status');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Tab');
  await page.keyboard.type('user-7');
  await page.keyboard.press('Enter');
  await at(page, '/inbox?contact=user-7');
  await counts(page, caption, 1);
});

test('keys are listed, and can be switched off for good', async () => {
  const page = await openAs(who, '/keys');
  await counts(page, 'Active API keys', PER_PAGE);
  await page.keyboard.press('?');
  await seen(dialog(page, 'Keyboard shortcuts').getByText('Next page of the list'));
  await page.getByLabel('Use these single keys').uncheck();
  await shut(page);
  for (const one of ['n', '/', '?']) await page.keyboard.press(one);
  await seen(page.getByText('Page 1 of 2'));
  assert.equal(await page.getByRole('dialog').count(), 0);
  await page.reload();
  await counts(page, 'Active API keys', PER_PAGE);
  await page.keyboard.press('n');
  await seen(page.getByText('Page 1 of 2'));

  await button(page, 'Sign out').click();
  await at(page, '/sign-in');
  const again = await page.evaluate(() => localStorage.getItem('shortcuts'));
  assert.equal(again, 'off');
});

test('no key acts while a dialog is open', async () => {
  const page = await openAs(who, '/keys');
  await counts(page, 'Active API keys', PER_PAGE);
  await button(page, 'Keyboard shortcuts').click();
  await seen(dialog(page, 'Keyboard shortcuts'));
  await page.keyboard.press('n');
  await shut(page);
  await seen(page.getByText('Page 1 of 2'));
});

test('deliveries are filtered on their page, changes by the server', async () => {
  const own = await organization(), server = await receiver();
  const { id } = await ctl('webhook', 'create', '--org', own.org, '--url', server.url,
    '--event', 'conversation.created', '--event', 'ai.handoff');
  const page = await openAs(own, `/webhooks/${id}`), caption = 'Deliveries, newest first';
  for (let n = 1; n <= 2; n++) {
    await button(page, 'Send test event').click();
    await until(() => server.taken.length === n, 'a test event');
    await seen(page.getByText('webhook.test succeeded'));
  }
  server.close();
  await counts(page, caption, 2);
  await page.getByLabel('Filter deliveries').fill('nothing of the kind');
  await seen(page.getByText('No delivery on this page contains what you typed.'));
  await page.getByLabel('Filter deliveries').fill('webhook.test');
  await counts(page, caption, 2);

  await page.goto('/audit/changes');
  const changes = 'Changes by people, newest first';
  await seen(rows(page, changes));
  await page.keyboard.press('/');
  await page.keyboard.type('operator');
  await page.keyboard.press('Tab');
  await page.keyboard.type('endpoint');
  await page.keyboard.press('Enter');
  await at(page, '/audit/changes?who=operator&change=endpoint');
  await counts(page, changes, 1);
  await page.getByLabel('Who', { exact: true }).fill(own.email.toUpperCase());
  await page.keyboard.press('Enter');
  await counts(page, changes, 2); // the test events
  await page.getByLabel('Change', { exact: true }).fill('endpoint.delete');
  await page.keyboard.press('Enter');
  await seen(heading(page, 'Nothing matches'));
});

// -- empty lists: each shows what to do next ---------------------------------------------------------

const EMPTY = [
  ['/keys', 'No active key yet', 'Create key', 'Ask an admin or owner to create one.'],
  ['/webhooks', 'No endpoints yet', 'Add endpoint', 'Ask an admin or owner to add one.'],
];

test('an empty list shows what to do next, within the role of the user', async () => {
  const own = await organization();
  const owner = await openAs(own, '/keys'), member = await openAs(await user(own.org, 'member'), '/keys');
  for (const [path, title, action, advice] of EMPTY) {
    for (const page of [owner, member]) {
      await page.goto(path);
      await seen(heading(page, title));
    }
    assert.ok(await button(owner, action).count() > 1, 'in the list and above it');
    assert.equal(await button(member, action).count(), 0);
    await seen(member.getByText(advice));
  }
  for (const [path, title, link, next] of [
    ['/inbox', 'No conversations yet', 'Make the first request', '/keys'],
    ['/audit', 'No requests yet', 'Go to API keys', '/keys']]) {
    await owner.goto(path);
    await seen(heading(owner, title));
    await owner.getByRole('link', { name: link }).click();
    await at(owner, next);
  }
  const { id } = await ctl('webhook', 'create', '--org', own.org, '--url', 'https://example.com/',
    '--event', 'ai.handoff');
  await owner.goto(`/webhooks/${id}`);
  await seen(owner.getByText('“Send test event” above shows at once'));
});

test('the only member of an organization is advised to invite another', async () => {
  const own = await organization(), page = await openAs(own, '/members');
  await seen(page.getByText('You are the only member.'));
  await user(own.org, 'member');
  await page.reload();
  await seen(rows(page, 'Members').nth(1));
  assert.equal(await page.getByText('You are the only member.').count(), 0);
});
