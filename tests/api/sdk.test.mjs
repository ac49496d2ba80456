// The official Node SDK of the messaging API whose shape ours follows works unchanged from the registry,
// with our `baseUrl` and `token`. Its calls forward all members of a request, including those that its types
// do not have but the contract requires (external_id, from.external_id).
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { IntercomClient, IntercomError } from 'intercom-client';
import { recorder } from './recorder.mjs';

const { BASE_URL, FULL_KEY, READ_KEY } = process.env;
const wire = recorder();

// `fetch` is an option of the SDK; ours also records the exchanges.
const client = (token = FULL_KEY) =>
  new IntercomClient({ baseUrl: BASE_URL, token, fetch: wire.fetch, maxRetries: 0 });

const customer = () => `sdk-${randomUUID()}`;

const create = (user, order, more = {}) =>
  client().conversations.create({
    external_id: `${user}-${order}`,
    from: { type: 'user', external_id: user },
    ...more,
  });

const contactFilter = (user) => ({ field: 'contact.external_id', operator: '=', value: user });

test('creates a conversation', async () => {
  const user = customer();
  const made = await create(user, 1, { custom_attributes: { plan: 'pro' } });
  assert.equal(made.type, 'conversation');
  assert.equal(made.external_id, `${user}-1`);
  assert.equal(made.contacts.contacts[0].external_id, user);
  assert.deepEqual(made.custom_attributes, { plan: 'pro' });
  assert.equal(wire.last().status, 201);
});

test('creates for a contact by its id, as the types of the SDK have it', async () => {
  const user = customer();
  const { contact } = await create(user, 1);
  const second = await client().conversations.create({
    external_id: `${user}-2`,
    from: { type: 'user', id: contact.id },
  });
  assert.equal(second.contact.id, contact.id);
});

test('creates again and gets the same conversation', async () => {
  const user = customer();
  const first = await create(user, 1);
  const { data, rawResponse } = await create(user, 1).withRawResponse();
  assert.equal(data.id, first.id);
  assert.equal(rawResponse.status, 200);
  assert.equal(rawResponse.headers.get('X-Service-Idempotent-Replay'), 'true');
});

test('finds a conversation, also with the query parameters that only it knows', async () => {
  const made = await create(customer(), 1);
  const found = await client(READ_KEY).conversations.find({
    conversation_id: made.id,
    display_as: 'plaintext',
    include_translations: true,
  });
  assert.deepEqual(found, made);
  assert.match(wire.last().target, /\?display_as=plaintext&include_translations=true$/);
});

test('updates custom attributes', async () => {
  const made = await create(customer(), 1, { custom_attributes: { plan: 'pro', seats: 5 } });
  const changed = await client().conversations.update({
    conversation_id: made.id,
    custom_attributes: { plan: null, seats: 6, is_vip: true },
  });
  assert.deepEqual(changed.custom_attributes, { seats: 6, is_vip: true });
});

test('pages through a search to its end', async () => {
  const user = customer();
  const made = [];
  for (let i = 1; i <= 5; i++) made.push((await create(user, i)).id);
  const page = await client(READ_KEY).conversations.search({
    query: { operator: 'AND', value: [contactFilter(user)] },
    pagination: { per_page: 2 },
  });
  assert.equal(page.response.total_count, 5);
  assert.equal(page.data.length, 2);
  const found = [];
  for await (const conversation of page) found.push(conversation.id);
  assert.deepEqual(found, made.reverse());
  assert.equal(page.response.pages.page, 3);
  assert.equal(page.hasNextPage(), false);
});

test('searches with a single filter, page by page', async () => {
  const user = customer();
  await create(user, 1);
  await create(user, 2);
  const page = await client().conversations.search({
    query: contactFilter(user),
    pagination: { per_page: 1, starting_after: null },
  });
  assert.equal(page.hasNextPage(), true);
  assert.equal((await page.getNextPage()).data.length, 1);
  assert.equal(page.hasNextPage(), false);
});

test('raises its own errors for ours', async () => {
  const user = customer();
  const made = await create(user, 1);
  const { conversations } = client();
  const stranger = client('svc_live_x');
  const cases = [
    [401, 'unauthorized', () => stranger.conversations.find({ conversation_id: made.id })],
    [403, 'insufficient_scope', () => client(READ_KEY).conversations.create({ from: {} })],
    [404, 'not_found', () => conversations.find({ conversation_id: randomUUID() })],
    [409, 'external_id_conflict', () => create(customer(), 1, { external_id: `${user}-1` })],
    [400, 'parameter_invalid', () => create(customer(), 1, { body: 'Hello' })],
  ];
  for (const [status, code, call] of cases) {
    const error = await call().then(assert.fail, (e) => e);
    assert.ok(error instanceof IntercomError, `${status}: ${error}`);
    assert.equal(error.statusCode, status);
    assert.equal(error.body.errors[0].code, code);
  }
});

test('gets the end of the window in the unit that it expects', async () => {
  // Without Retry-After the SDK waits until X-RateLimit-Reset, which it reads as Unix seconds.
  const asked = Date.now() / 1000;
  await create(customer(), 1);
  const told = Date.now() / 1000, reset = Number(wire.last().header('x-ratelimit-reset'));
  assert.ok(reset > asked - 1 && reset <= told + 10, `${asked} ${reset} ${told}`);
});

test('sent its usual requests, and every response conforms', () => {
  assert.ok(wire.exchanges.length > 20);
  for (const exchange of wire.exchanges) {
    assert.equal(exchange.request['intercom-version'], '2.14');
    assert.match(exchange.request['user-agent'], /^intercom-client\/7\./);
    assert.match(exchange.request.authorization, /^Bearer svc_/);
    assert.deepEqual(exchange.faults, [], `${exchange.method} ${exchange.target}`);
  }
});
