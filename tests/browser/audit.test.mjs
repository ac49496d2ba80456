// Both logs: requests with keys, and changes by users.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import {
  at, button, dialog, fact, heading, openAs, row, seen, shut,
} from './browser.mjs';
import { call, converse, convctl, key, organization, until } from './stack.mjs';
import { before, suite, test } from './suites.mjs';

suite('audit');

const PINGS = 52;

let who, conversation;
before(async () => {
  who = await organization();
  const full = await key(who.org, 'full', '=HYPERLINK("http://x.example")');
  const read = await key(who.org, 'read', 'reader');
  conversation = await converse(full, { from: { external_id: 'user-7' } });
  assert.equal((await call(read, 'POST', '/conversations', {})).status, 403);
  assert.equal((await call(full, 'GET', '/nothing')).status, 404);
  for (let i = 0; i < PINGS; i++) await call(read, 'GET', '/ping');
  await until(async () => (await exported()).length === PINGS + 3, 'every request is in the audit log');
});

const exported = async () =>
  (await convctl('audit', 'export', '--org', who.org)).trim().split('\n').filter(Boolean);

// A change appears in the log a moment after it is made.
const latest = async (page) =>
  (await (await page.request.get('/data/changes?per_page=1')).json()).changes[0].change;

const rows = (page) => page.getByRole('table').getByRole('row').count();
const listed = (page, n) => until(async () => await rows(page) === n + 1, `${n} entries`);

test('the audit log is filtered, shown page by page, and in full detail', async () => {
  const page = await openAs(who, '/audit');
  await listed(page, 50);
  await page.getByRole('link', { name: 'Older →' }).click();
  await listed(page, PINGS + 3 - 50);
  await page.getByRole('link', { name: '← Newest' }).click();
  await listed(page, 50);

  await page.getByLabel('Outcome').selectOption('Denied');
  await button(page, 'Apply filters').click();
  await at(page, '/audit?outcome=denied');
  await listed(page, 1);
  await button(page, 'Details of conversation.create, 403').click();
  const open = dialog(page, 'conversation.create');
  assert.equal(await fact(open, 'Denied because').textContent(), 'insufficient_scope');
  assert.match(await fact(open, 'API key').textContent(), /^reader /);
  await shut(page);

  await page.getByRole('link', { name: 'Clear' }).click();
  await at(page, '/audit');
  await listed(page, 50); // the address changes before the form does
  await page.getByLabel('API key').selectOption({ index: 2 });
  await page.getByLabel('Operation').selectOption('conversation.create');
  await page.getByLabel('Conversation id').fill(conversation.id);
  await button(page, 'Apply filters').click();
  await listed(page, 1);
  await button(page, 'Details of conversation.create, 201').click();
  await page.getByRole('dialog').getByRole('link', { name: conversation.id }).click();
  await at(page, `/inbox/${conversation.id}`);
});

test('times narrow the audit log down', async () => {
  const page = await openAs(who, '/audit');
  await page.getByLabel('Before').fill('2020-01-01T00:00');
  await button(page, 'Apply filters').click();
  await seen(page.getByText('Nothing matches'));
  await page.getByLabel('Before').fill('');
  await page.getByLabel('After').fill('2020-01-01T00:00');
  await button(page, 'Apply filters').click();
  await listed(page, 50);
});

async function download(page, name) {
  const [file] = await Promise.all([page.waitForEvent('download'),
    page.getByRole('link', { name }).click()]);
  return { name: file.suggestedFilename(), text: await readFile(await file.path(), 'utf8') };
}

test('downloads hold the whole audit log', async () => {
  const page = await openAs(who, '/audit');
  const lines = await exported();
  const ndjson = await download(page, 'Download NDJSON');
  assert.equal(ndjson.name, 'audit.ndjson');
  assert.deepEqual(ndjson.text.trim().split('\n').map(JSON.parse), lines.map(JSON.parse));
  const csv = await download(page, 'Download CSV');
  assert.equal(csv.name, 'audit.csv');
  const [head, ...entries] = csv.text.trim().split('\r\n');
  assert.match(head, /operation/);
  assert.equal(entries.length, lines.length);
  for (const entry of entries) assert.doesNotMatch(entry, /(^|,)"?[=+@-]/, 'no cell is a formula');
});

test('the audit log is verified, and the result names the head that it was compared with', async () => {
  const page = await openAs(who, '/audit');
  await button(page, 'Verify the audit log').click();
  await seen(page.getByText('The audit log is complete and unaltered.'));
  assert.equal(await fact(page, 'Entries checked').textContent(), String(PINGS + 3));
  assert.match(await fact(page, 'Head').textContent(), /^[0-9a-f]{64}$/);
});

test('changes are listed with who, what, when and from where', async () => {
  const page = await openAs(who, '/security');
  await page.getByLabel('Require HTTPS').check();
  await button(page, 'Save HTTPS policy').click();
  await seen(page.getByText('HTTPS is required'));
  await until(async () => await latest(page) === 'policy.set', 'the change is in the log');
  await page.getByRole('link', { name: 'Audit' }).click();
  await page.getByRole('link', { name: 'Changes by people' }).click();
  await at(page, '/audit/changes');
  assert.match(await row(page, 'policy.set').textContent(), new RegExp(who.email));
  await seen(row(page, 'key.create').filter({ hasText: 'operator' }));
  await button(page, 'Details of policy.set').click();
  const open = dialog(page, 'policy.set');
  assert.equal(await fact(open, 'Who').textContent(), who.email);
  assert.equal(await fact(open, 'User id').textContent(), who.id);
  assert.equal(await fact(open, 'From address').textContent(), '127.0.0.1');
  await seen(open.getByText('"require_https": true'));
  await shut(page);
  await seen(heading(page, 'Changes by people'));
});
