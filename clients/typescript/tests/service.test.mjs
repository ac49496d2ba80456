// Every operation against a running service, given by BASE_URL, FULL_KEY and READ_KEY.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import {
  BadRequestError, Client, ConflictError, ForbiddenError, NotFoundError, UnauthorizedError,
} from 'conversations-client';

const { BASE_URL, FULL_KEY, READ_KEY } = process.env;
const client = new Client(BASE_URL, FULL_KEY);
const reader = new Client(BASE_URL, READ_KEY);
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

const customer = () => `typescript-${randomUUID()}`;
const of = (user) => ({ field: 'contact.external_id', operator: '=', value: user });
const create = (user, order, from = {}) =>
  client.createConversation({
    external_id: `${user}-${order}`,
    from: { external_id: user, ...from },
    custom_attributes: { plan: 'pro', seats: 5 },
  });

async function all(list) {
  const items = [];
  for await (const item of list) items.push(item);
  return items;
}

test('ping returns the organization of the key, and the requests left', async () => {
  const { data, status, requestId, rateLimit } = await client.ping();
  assert.equal(data.scope, 'full');
  assert.equal(status, 200);
  assert.match(requestId, uuid);
  assert.ok(rateLimit.remaining >= 0 && rateLimit.remaining < rateLimit.limit);
  assert.ok(Math.abs(rateLimit.reset - Date.now() / 1000) < 60);
});

test('a create is done once', async () => {
  const user = customer();
  const made = await create(user, 1, { name: 'Ada' }), again = await create(user, 1, { name: 'Ada' });
  assert.deepEqual([made.status, made.replayed], [201, false]);
  assert.deepEqual([again.status, again.replayed], [200, true]);
  assert.deepEqual(again.data, made.data);
  assert.equal(made.data.contact.name, 'Ada');
});

test('get and update', async () => {
  const { data: { id } } = await create(customer(), 1);
  const changed = await client.updateConversation(id, { seats: 2.5, plan: null, is_vip: true });
  assert.deepEqual(changed.data.custom_attributes, { seats: 2.5, is_vip: true });
  assert.deepEqual((await reader.getConversation(id)).data, changed.data);
});

test('a search page by page and as a whole', async () => {
  const user = customer(), made = [];
  for (let order = 0; order < 5; order++) made.unshift((await create(user, order)).data.id);
  const { data } = await reader.searchConversations({ query: of(user), pagination: { per_page: 2 } });
  assert.deepEqual([data.total_count, data.pages.page, data.pages.per_page], [5, 1, 2]);
  assert.equal(typeof data.pages.next.starting_after, 'string');
  const found = await all(reader.conversations(of(user), { perPage: 2 }));
  assert.deepEqual(found.map(({ id }) => id), made);
  assert.deepEqual((await all(reader.conversations(of(user)))).length, 5);
});

test('the audit log', async () => {
  const { data: { id } } = await create(customer(), 1);
  await client.updateConversation(id, { a: 1 });
  const logs = await all(reader.auditLogs({ conversation_id: id, per_page: 1 }));
  assert.deepEqual(logs.map(({ operation }) => operation), ['conversation.update', 'conversation.create']);
  const { data } = await reader.listAuditLogs({ conversation_id: id, operation: 'conversation.update' });
  assert.deepEqual(data.audit_logs, logs.slice(0, 1));
  assert.equal((await reader.listAuditLogs()).data.type, 'audit_log.list');
});

test('refusals', async () => {
  const user = customer(), other = { external_id: `${user}-other` };
  const { data: made } = await create(user, 1);
  const stranger = new Client(BASE_URL, 'svc_live_x');
  for (const [kind, code, call] of [
    [UnauthorizedError, 'unauthorized', () => stranger.ping()],
    [ForbiddenError, 'insufficient_scope', () => reader.createConversation({ external_id: 'a', from: other })],
    [NotFoundError, 'not_found', () => reader.getConversation(randomUUID())],
    [NotFoundError, 'not_found', () => reader.getConversation('../ping?')],
    [NotFoundError, 'not_found', () => reader.getConversation('..')],
    [ConflictError, 'external_id_conflict',
      () => client.createConversation({ external_id: made.external_id, from: other })],
    [BadRequestError, 'parameter_invalid', () => reader.listAuditLogs({ per_page: 0 })],
    [BadRequestError, 'invalid_cursor', () => reader.listAuditLogs({ starting_after: 'x' })],
  ]) {
    const error = await call().then(() => assert.fail(code), (e) => e);
    assert.ok(error instanceof kind, `${error}`);
    assert.equal(error.code, code);
    assert.match(error.requestId, uuid);
    assert.equal(error.attempts, 1);
  }
});

test('all errors of a request are listed', async () => {
  const wrong = { external_id: '', from: { external_id: 'a', name: 'x'.repeat(256) } };
  const error = await client.createConversation(wrong).catch((e) => e);
  assert.deepEqual(error.errors.map(({ field }) => field), ['external_id', 'from.name']);
});
