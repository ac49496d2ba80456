// Every answer that the integration tests received is as proto/openapi.yaml describes it. They wrote
// the answers to the file that HTTP_JOURNAL names.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { check, checkAny, find, operations } from './description.mjs';
import { journalled, recorder } from './recorder.mjs';

const { BASE_URL, FULL_KEY, HTTP_JOURNAL } = process.env;

const sum = (counts) => [...counts.values()].reduce((a, b) => a + b, 0);

// Reads the journal once: counts exchanges by kind and collects their faults.
async function review() {
  const counts = new Map();
  const faults = [];
  for await (const line of createInterface({ input: createReadStream(HTTP_JOURNAL) })) {
    const exchange = journalled(line);
    const { method, target, status } = exchange;
    const known = method === null ? undefined : find(method, target);
    const kind = `${known ? `${method} ${known.path}` : 'other'} ${status}`;
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
    const found = method === null ? checkAny(exchange) : check(exchange);
    if (found.length > 0) faults.push(`${method} ${target} ${status}: ${found.join('; ')}`);
  }
  return { counts, faults };
}

const title = 'every answer to the integration tests is as described';
test(title, { skip: !HTTP_JOURNAL }, async (t) => {
  const { counts, faults } = await review();
  for (const [kind, count] of [...counts].sort()) t.diagnostic(`${kind}: ${count}`);
  t.diagnostic(`${sum(counts)} exchanges`);
  assert.ok(sum(counts) > 0, 'the journal is empty');
  assert.deepEqual(faults.slice(0, 20), [], `${faults.length} responses are not as described`);
});

// -- the check itself ----------------------------------------------------------------------------

// One valid answer of every operation.
async function answers() {
  const wire = recorder();
  const user = `check-${randomUUID()}`;
  const send = async (method, path, body) => {
    const headers = { Authorization: `Bearer ${FULL_KEY}`, 'Content-Type': 'application/json' };
    const init = { method, headers, body: body && JSON.stringify(body) };
    return (await wire.fetch(BASE_URL + path, init)).json();
  };
  const create = (n) =>
    send('POST', '/conversations', {
      external_id: `${user}-${n}`,
      from: { external_id: user, name: 'Ada', email: `${user}@example.com` },
      custom_attributes: { plan: 'pro' },
    });
  const { id } = await create(1);
  await create(1);
  await create(2);
  await send('GET', `/conversations/${id}`);
  await send('PUT', `/conversations/${id}`, { custom_attributes: { seats: 5 } });
  const query = { field: 'contact.external_id', operator: '=', value: user };
  await send('POST', '/conversations/search', { query, pagination: { per_page: 1 } });
  await send('GET', '/audit?per_page=1');
  await send('GET', '/ping');
  await send('GET', '/nothing');
  await send('DELETE', '/ping');
  return wire.exchanges;
}

// Every object in a body, with its place, except in custom_attributes, whose contents are the client's.
function* objects(value, place = '') {
  if (value === null || typeof value !== 'object' || place.endsWith('.custom_attributes')) return;
  if (!Array.isArray(value)) yield { object: value, place };
  for (const [key, child] of Object.entries(value)) yield* objects(child, `${place}.${key}`);
}

// Calls `see` with each body that lacks one member, and with each that has one more.
function mutations(exchange, see) {
  const whole = JSON.parse(exchange.body);
  for (const { object, place } of objects(whole)) {
    for (const [key, value] of Object.entries(object)) {
      delete object[key];
      see({ ...exchange, body: JSON.stringify(whole) }, `without ${place}.${key}`);
      object[key] = value;
    }
    object.surplus = 1;
    see({ ...exchange, body: JSON.stringify(whole) }, `with ${place}.surplus`);
    delete object.surplus;
  }
}

const good = await answers();
const name = ({ method, target, status }) => `${method} ${target.split('?')[0]} ${status}`;

test('the check covers a response of every operation', () => {
  for (const exchange of good) assert.deepEqual(exchange.faults, [], name(exchange));
  for (const { method, path, matches } of operations)
    assert.ok(
      good.some((e) => e.method === method && e.status < 300 && matches(e.target.split('?')[0])),
      `${method} ${path}`,
    );
});

test('the check fails when a field is gone or new', () => {
  // May be absent: the last page has no `next`.
  const optional = ['without .pages.next'];
  let count = 0;
  for (const exchange of good)
    mutations(exchange, (mutant, what) => {
      const passes = check(mutant).length === 0;
      assert.equal(passes, optional.includes(what), `${name(exchange)} ${what}`);
      count++;
    });
  assert.ok(count > 100);
});

test('the check fails when a header is gone, new, doubled or wrong', () => {
  const free = ['connection', 'content-length', 'date', 'keep-alive', 'transfer-encoding'];
  for (const exchange of good) {
    const { headers } = exchange;
    const fails = (changed, what) => {
      const found = check({ ...exchange, headers: changed });
      assert.notDeepEqual(found, [], `${name(exchange)} ${what}`);
    };
    fails([...headers, ['x-surplus', '1']], 'x-surplus');
    for (const [key] of headers.filter(([key]) => !free.includes(key))) {
      fails(headers.filter(([k]) => k !== key), `without ${key}`);
      fails(headers.map(([k, v]) => [k, k === key ? `${v}x` : v]), `other ${key}`);
      if (key !== 'content-type') fails([...headers, [key, '1']], `twice ${key}`);
    }
  }
});

test('the check fails for another status, another type, and a body that is not JSON', () => {
  for (const exchange of good)
    for (const change of [{ status: 202 }, { status: 418 }, { body: '{' }, { body: '' }])
      assert.notDeepEqual(check({ ...exchange, ...change }), [], name(exchange));
});

test('the check fails when members contradict one another', () => {
  const found = good.find((e) => e.status === 201);
  const lies = [{ open: false }, { status: 'resolved' }, { channel: 'email' }, { contact: null }];
  for (const change of lies) {
    const body = JSON.stringify({ ...JSON.parse(found.body), ...change });
    assert.notDeepEqual(check({ ...found, body }), [], JSON.stringify(change));
  }
});
