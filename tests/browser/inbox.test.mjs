// Conversations: search, take over, change of status, erase, delete.
import assert from 'node:assert/strict';
import { at, button, confirm, fact, gone, heading, openAs, row, seen } from './browser.mjs';
import { converse, call, convctl, ctl, key, organization, receiver, until } from './stack.mjs';
import { before, suite, test } from './suites.mjs';

suite('inbox');

let who, token, ada, widget;
before(async () => {
  who = await organization();
  token = await key(who.org);
  ada = await converse(token, {
    external_id: 'order-1', custom_attributes: { plan: 'pro', seats: 5, vip: true },
    from: { external_id: 'user-7', name: 'Ada Lovelace', email: 'ada@example.com' },
  });
  await converse(token, { from: { external_id: 'user-8', name: 'Grace Hopper' } });
  widget = await ctl('conversation', 'open', '--org', who.org, '--channel', 'widget',
    '--contact-email', 'alan@example.com', '--status', 'waiting');
  await convctl('conversation', 'append', '--org', who.org, widget.id, '--body', 'Is it a machine?');
});

// The address changes first, the list when the answer arrives.
const lists = (page, wanted) => until(async () => {
  const names = await page.getByRole('table').getByRole('link').allTextContents();
  return names.join() === wanted.join();
}, `listed: ${wanted}`);

async function filter(page, { status, channel, contact }) {
  if (status) await page.getByLabel('Status').selectOption(status);
  if (channel) await page.getByLabel('Channel').fill(channel);
  if (contact) await page.getByLabel('Contact').fill(contact);
  await button(page, 'Apply filters').click();
}

test('the newest come first, and filters narrow them down', async () => {
  const page = await openAs(who, '/inbox');
  await lists(page, ['alan@example.com', 'Grace Hopper', 'Ada Lovelace']);
  await filter(page, { contact: 'user-7' });
  await at(page, '/inbox?contact=user-7');
  await lists(page, ['Ada Lovelace']);
  await page.getByRole('link', { name: 'Clear' }).click();
  await at(page, '/inbox');
  await lists(page, ['alan@example.com', 'Grace Hopper', 'Ada Lovelace']);
  await filter(page, { channel: 'widget' });
  await at(page, '/inbox?channel=widget');
  await lists(page, ['alan@example.com']);
  await page.getByLabel('Channel').fill('');
  await filter(page, { status: 'Resolved' });
  await seen(page.getByText('Nothing matches'));
  await page.goBack();
  await at(page, '/inbox?channel=widget');
  await seen(row(page, 'alan@example.com'));
});

test('a conversation shows its contact, attributes and messages', async () => {
  const page = await openAs(who, '/inbox');
  await page.getByRole('link', { name: 'Ada Lovelace' }).click();
  await at(page, `/inbox/${ada.id}`);
  await seen(heading(page, 'Ada Lovelace'));
  assert.equal(await fact(page, 'Email').textContent(), 'ada@example.com');
  for (const [name, value, type] of [['plan', 'pro', 'string'], ['seats', '5', 'number'],
    ['vip', 'true', 'boolean']])
    assert.match(await row(page, name).textContent(), new RegExp(`${name}.*${value}.*${type}`, 's'));
  await seen(page.getByText('No messages.'));
  await page.goto(`/inbox/${widget.id}`);
  await seen(page.getByText('Is it a machine?'));
});

test('taking over notifies the webhooks that listen for it', async () => {
  const page = await openAs(who, `/inbox/${ada.id}`);
  const server = await receiver();
  await ctl('webhook', 'create', '--org', who.org, '--url', server.url, '--event', 'ai.handoff');
  await button(page, 'Take over').click();
  await confirm(page, 'Take over');
  await seen(fact(page, 'Status').getByText('Human takeover'));
  assert.equal(await button(page, 'Take over').count(), 0);
  await until(() => server.taken.length > 0, 'ai.handoff');
  server.close();
  const event = JSON.parse(server.taken[0].body);
  assert.equal(event.type, 'ai.handoff');
  assert.equal(event.data.id, ada.id);
  assert.equal(event.data.status, 'human_takeover');
});

test('a status is changed to one that may follow it', async () => {
  const page = await openAs(who, `/inbox/${widget.id}`);
  const next = page.getByLabel('New status');
  await button(page, 'Change status').click();
  assert.deepEqual(await next.getByRole('option').allTextContents(),
    ['Active', 'Human takeover', 'Resolved']);
  await next.selectOption('Resolved');
  await confirm(page, 'Change status');
  await seen(fact(page, 'Status').getByText('Resolved'));
  assert.equal(await fact(page, 'State').textContent(), 'Closed');
});

test('an erased contact is gone here and in the API, the conversation stays', async () => {
  const contact = { external_id: 'user-9', name: 'Mary Shelley', email: 'mary@example.com' };
  const { id } = await converse(token, { from: contact });
  const page = await openAs(who, `/inbox/${id}`);
  await button(page, 'Erase contact').click();
  await confirm(page, 'Erase contact');
  await seen(heading(page, 'Erased contact'));
  const text = await page.getByRole('main').textContent();
  for (const word of Object.values(contact)) assert.ok(!text.includes(word), word);
  assert.equal(await button(page, 'Erase contact').count(), 0);
  const { status, body } = await call(token, 'GET', `/conversations/${id}`);
  assert.equal(status, 200);
  assert.ok(!JSON.stringify(body).includes('Shelley'));
});

test('a deleted conversation is gone here and in the API', async () => {
  const { id } = await converse(token, { from: { external_id: 'user-10', name: 'Rosalind' } });
  const page = await openAs(who, `/inbox/${id}`);
  await button(page, 'Delete conversation').click();
  await confirm(page, 'Delete conversation');
  await at(page, '/inbox');
  await seen(page.getByRole('link', { name: 'Ada Lovelace' }));
  await gone(page.getByRole('link', { name: 'Rosalind' }));
  assert.equal((await call(token, 'GET', `/conversations/${id}`)).status, 404);
});

test('long lists are shown page by page', async () => {
  const other = await organization();
  const theirs = await key(other.org);
  for (let i = 0; i < 52; i++)
    await converse(theirs, { from: { external_id: `user-${i}`, name: `Contact ${i}` } });
  const page = await openAs(other, '/inbox');
  const newest = Array.from({ length: 50 }, (_, i) => `Contact ${51 - i}`);
  await lists(page, newest);
  await page.getByRole('link', { name: 'Older →' }).click();
  await lists(page, ['Contact 1', 'Contact 0']);
  await page.getByRole('link', { name: '← Newest' }).click();
  await lists(page, newest);
});
