// The service accepts the requests that the description allows and refuses the others, with the errors of
// the examples.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { examples, faults, find } from './description.mjs';
import { recorder } from './recorder.mjs';

const { BASE_URL, FULL_KEY, READ_KEY } = process.env;
const user = `requests-${randomUUID()}`;
const wire = recorder();

async function send(method, path, body) {
  const headers = { Authorization: `Bearer ${FULL_KEY}`, 'Content-Type': 'application/json' };
  await wire.fetch(BASE_URL + path, { method, headers, body: JSON.stringify(body) });
  return wire.last();
}

// Expects the service and the description to agree on the same body.
async function bothSay(isGood, method, path, body) {
  const { operation } = find(method, `/api/v1${path}`);
  const { schema } = operation.requestBody.content['application/json'];
  const { status, faults: inAnswer, body: answer } = await send(method, path, body);
  const what = JSON.stringify(body);
  assert.equal(status < 300, isGood, `${what}: ${answer}`);
  assert.ok(isGood || status === 400, `${what}: ${answer}`);
  assert.equal(faults(schema, body).length === 0, isGood, `as described: ${what}`);
  assert.deepEqual(inAnswer, [], what);
}

const letters = (n, letter = 'x') => letter.repeat(n);
const own = (id) => ({ field: 'contact.external_id', operator: '=', value: id });
const and = (filter) => ({ query: { operator: 'AND', value: [own(user), filter] } });
const filter = (field, operator, value) => and({ field, operator, value });

test('identifiers', async () => {
  const create = (external_id) => ({ external_id, from: { external_id: user } });
  const fresh = (text) => text + randomUUID();
  for (const id of [fresh('\uFEFF'), fresh('a b\u3000\n'), letters(219, '😀') + randomUUID()])
    await bothSay(true, 'POST', '/conversations', create(id));
  const spaces = ['\t', '\n', ' ', '\x85', '\xA0', '\u1680', '\u2003', '\u2029', '\u3000'];
  for (const id of ['', letters(256, '😀'), ...spaces.flatMap((s) => [s, `a${s}`, `${s}a`])]) {
    await bothSay(false, 'POST', '/conversations', create(id));
    await bothSay(false, 'POST', '/conversations/search', { query: own(id) });
    await bothSay(false, 'POST', '/conversations/search', filter('external_id', '!=', id));
    await bothSay(false, 'POST', '/conversations/search', filter('external_id', 'IN', ['a', id]));
  }
});

test('customers', async () => {
  const create = (from) => ({ external_id: randomUUID(), from: { external_id: user, ...from } });
  for (const from of [{}, { type: 'lead' }, { name: '' }, { email: `${user}@x` }, { phone: user }])
    await bothSay(true, 'POST', '/conversations', create(from));
  const id = randomUUID();
  for (const from of [{ id }, { email: '' }, { email: ' ' }, { phone: ' \t' }, { type: 'User' },
    { name: null }, { name: letters(256) }, { email: letters(256) }, { phone: letters(51) },
    { body: '' }, { external_id: undefined }, { external_id: undefined, id: id.slice(1) }])
    await bothSay(false, 'POST', '/conversations', create(from));
});

test('attributes', async () => {
  const body = (custom_attributes) => ({ custom_attributes });
  const made = await send('POST', '/conversations',
    { external_id: randomUUID(), from: { external_id: user } });
  const path = `/conversations/${JSON.parse(made.body).id}`;
  const longest = letters(64, 'k');
  for (const of of [{}, { a: '' }, { [longest]: 1.5 }, { a: letters(500, '😀') }, { a: null },
    { servic_: true, 'a.B-9_': false }])
    await bothSay(true, 'PUT', path, body(of));
  for (const of of [null, [], { '': 1 }, { '9a': 1 }, { ä: 1 }, { [`${longest}k`]: 1 },
    { SerVice_a: 1 }, { a: letters(501) }, { a: {} }, { a: [] }])
    await bothSay(false, 'PUT', path, body(of));
});

test('searches', async () => {
  for (const good of [filter('custom_attributes.a.b', '=', ''), filter('status', 'NIN', ['active']),
    filter('channel', 'IN', letters(100).split('')), filter('created_at', '>', 0),
    { query: { field: 'contact_ids', operator: '=', value: '' } },
    { query: own(user), pagination: { per_page: 100, starting_after: null } }])
    await bothSay(true, 'POST', '/conversations/search', good);
  for (const bad of [filter('custom_attributes.service_a', '=', 1), filter('state', 'IN', ['open']),
    filter('custom_attributes.a', '=', null), filter('custom_attributes.a', 'IN', [1]),
    filter('status', '=', 'closed'), filter('status', 'IN', []), filter('channel', 'IN', 'api'),
    filter('channel', '=', ['api']), filter('channel', 'IN', letters(101).split('')),
    filter('created_at', '>', 1.5), filter('created_at', '>', -1), filter('created_at', '>', Date.now()),
    filter('created_at', '=', '1'), filter('contact.id', '=', 'a'),
    and({ operator: 'AND', value: [] }), { query: { operator: 'OR', value: [own(user)] } },
    { query: { operator: 'AND', value: Array(51).fill(own(user)) } },
    { query: own(user), pagination: { per_page: 101 } }, { query: own(user), sort: 1 }])
    await bothSay(false, 'POST', '/conversations/search', bad);
});

test('queries of the audit log', async () => {
  const { operation } = find('GET', '/api/v1/audit');
  const id = randomUUID();
  const values = {
    per_page: [['1', '100'], ['0', '101', 'x', '1.5']],
    operation: [['ping', 'unknown'], ['Ping', '']],
    outcome: [['denied'], ['refused']],
    api_key_id: [[id], [id.toUpperCase(), '']],
    conversation_id: [[id], ['x']],
    created_at_after: [['0', '253402300799'], ['-1', '253402300800', '1.5']],
    created_at_before: [['0', '253402300799'], ['-1', '253402300800', '1.5']],
    starting_after: [[], ['']],
  };
  for (const { name, schema } of operation.parameters)
    for (const [isGood, texts] of [[true, values[name][0]], [false, values[name][1]]])
      for (const text of texts) {
        const what = `/audit?${name}=${text}`;
        const { status } = await send('GET', what);
        const value = Number.isNaN(Number(text)) || text === '' ? text : Number(text);
        assert.equal(status, isGood ? 200 : 400, what);
        assert.equal(faults(schema, value).length === 0, isGood, `as described: ${what}`);
      }
});

test('a field without a name', async () => {
  await bothSay(false, 'POST', '/conversations', { '': 1 });
});

// -- examples ------------------------------------------------------------------------------------

const uuid = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;
const said = ({ code, message, field }) =>
  JSON.stringify([code, message.replaceAll(uuid, 'UUID').replace(/column \d+/, 'column N'), field]);

// Every error in a request that can be caused here and has an example.
async function mistakes() {
  const id = randomUUID();
  const email = `${id}@example.com`;
  const create = (external_id, from) =>
    send('POST', '/conversations', { external_id, from: { external_id: user, ...from } });
  const search = (query, pagination) =>
    send('POST', '/conversations/search', { query, pagination });
  const plain = (method, path, headers, body) => {
    const all = { Authorization: `Bearer ${FULL_KEY}`, 'Content-Type': 'application/json' };
    return wire.fetch(BASE_URL + path, { method, headers: { ...all, ...headers }, body });
  };
  const as = (key) => ({ Authorization: `Bearer ${key}` });
  await create(id, { email });
  await create(id, { external_id: id });
  await create(`${id}-2`, { external_id: id, email });
  await create(id, { external_id: undefined, id });
  await send('POST', '/conversations', { external_id: id, from: {}, body: '' });
  await plain('POST', '/conversations', {}, '{"external_id":');
  await search({ operator: 'AND', value: [own(user), { field: 'a', operator: '=', value: 1 }] });
  await search({ field: 'contact.id', operator: '~', value: 'a' });
  await search(own(user), { starting_after: 'a' });
  await search({ field: 'state', operator: '=', value: 'open' });
  await plain('GET', '/audit?per_page=0&x=1');
  await plain('GET', `/conversations/${id}`);
  await plain('GET', '/nothing');
  await plain('DELETE', '/ping');
  await plain('GET', '/ping', { Accept: 'text/html' });
  await plain('GET', '/ping', as('nobody'));
  await wire.fetch(`${BASE_URL}/ping`);
  await plain('GET', '/ping', as('svc_test_a'));
  await plain('POST', '/conversations', as(READ_KEY), '{}');
  await plain('POST', '/conversations', { 'Content-Type': 'text/plain' }, '{}');
  await plain('POST', '/conversations', {}, `"${letters(65536)}"`);
}

test('the examples quote the messages of the service', async () => {
  await mistakes();
  const heard = new Set(
    wire.exchanges.flatMap(({ body }) => JSON.parse(body).errors ?? []).map(said),
  );
  // The others need another kind of connection, an exhausted window, or a failing service.
  const others = /Host header|"rate_limit|"server_error|"service_unavailable|supported expectation/;
  for (const { where, value } of examples())
    for (const text of (value.errors ?? []).map(said))
      assert.ok(others.test(text) || heard.has(text), `${where}: ${text}`);
});
