// Invalid requests, byte by byte: each row of the tables in bad_inputs/ gets exactly its answer, leaves the
// connection in the state that the row names, and writes nothing.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { before, describe, test } from 'node:test';
import { DASHBOARD_URL, BASE_URL, call, convctl, ctl, key, organization, until } from '../browser/stack.mjs';
import { checkAny } from './description.mjs';
import { exchange } from './bad_inputs/exchange.mjs';
import { CLOSES } from './bad_inputs/rows.mjs';

const FROM = '127.3.1.4'; // a separate address: other tests get theirs blocked
const API_AT_ONCE = 16;
const SESSIONS = 12; // each may send 50 requests at once, then 20 a second

const TABLES = {
  http: 'api', json: 'api', unicode: 'api', headers: 'api', urls: 'api', bodies: 'api',
  dashboard: 'dashboard', webhooks: 'dashboard',
};

const port = (url) => Number(new URL(url).port);
const fill = (text, values) => text.replace(/\{\{(\w+)\}\}/g, (_, name) => values[name]);

// Calls `work` for each item, `atOnce` at a time.
async function each(items, atOnce, work) {
  const left = items.entries();
  await Promise.all(Array.from({ length: atOnce }, async () => {
    for (const [i, item] of left) await work(item, i);
  }));
}

// -- clients ---------------------------------------------------------------------------------------

let api, sessions;

async function conversation(token) {
  const { status, body } = await call(token, 'POST', '/conversations',
    { external_id: 'good', from: { external_id: 'good' } });
  assert.equal(status, 201, JSON.stringify(body));
  return body.id;
}

async function openApi() {
  const [ours, theirs] = await Promise.all([organization(), organization()]);
  await ctl('org', 'set', ours.org, '--rate-limit', '1000000');
  const revoked = await ctl('key', 'create', '--org', ours.org, '--name', 'old', '--scope', 'full');
  await convctl('key', 'revoke', '--org', ours.org, revoked.id);
  await until(async () => (await call(revoked.token, 'GET', '/ping')).status === 401, 'the end of a key');
  const full = await key(ours.org, 'full'), theirKey = await key(theirs.org, 'full');
  return {
    full, read: await key(ours.org, 'read'), revoked: revoked.token, orgs: [ours.org, theirs.org], theirKey,
    id: await conversation(full), foreign: await conversation(theirKey),
  };
}

// The session of an owner: the values for the dashboard's rows.
async function openSession() {
  const { org, email, password } = await organization();
  const answer = await fetch(`${DASHBOARD_URL}/data/session`, {
    method: 'POST', headers: { Origin: DASHBOARD_URL, 'Content-Type': 'application/json' },
    body: JSON.stringify({ email, password }),
  });
  assert.equal(answer.status, 200, await answer.text());
  const cookie = answer.headers.get('set-cookie').split(';')[0];
  const csrf = createHash('sha256').update(`csrf${cookie.split('=')[1]}`).digest('hex');
  return { org, cookie, csrf, origin: DASHBOARD_URL, host: new URL(DASHBOARD_URL).host, full: api.full };
}

// Everything that a row could have changed. Some rows update the one conversation, but only its attribute
// `good`.
async function everything() {
  const [{ updated_at, custom_attributes: { good, ...attributes }, ...ours }, theirs] = await Promise.all([[api.full, api.id], [api.theirKey, api.foreign]]
    .map(async ([token, id]) => (await call(token, 'GET', `/conversations/${id}`)).body));
  assert.ok(Number.isInteger(updated_at) && ['string', 'undefined'].includes(typeof good));
  const changes = await Promise.all([...api.orgs, ...sessions.map(({ org }) => org)]
    .map((org) => ctl('audit', 'changes', '--org', org)));
  return { ours, attributes, theirs, changes };
}

// The number of audit entries of an operation with this status.
async function carriedOut(org, operation, status) {
  const lines = (await convctl('audit', 'export', '--org', org)).trim().split('\n').map((line) => JSON.parse(line));
  return lines.filter((one) => one.operation === operation && one.http_status === status).length;
}

let atFirst;
before(async () => {
  api = await openApi();
  sessions = await Promise.all(Array.from({ length: SESSIONS }, openSession));
  atFirst = await everything();
});

// -- checks ----------------------------------------------------------------------------------------

const matches = (wanted, given) => wanted instanceof RegExp ? wanted.test(given) : wanted === given;

function errorFaults(wanted, answer) {
  if (wanted.status < 400) return [];
  let list;
  try {
    list = JSON.parse(answer.body).errors ?? [];
  } catch {
    return ['the body is not JSON'];
  }
  const isSame = list.length === wanted.errors.length && wanted.errors.every(({ code, message, field }, i) =>
    code === list[i].code && matches(message, list[i].message) && field === list[i].field);
  return isSame ? [] : [`errors are ${JSON.stringify(list).slice(0, 600)}`];
}

// Headers of every answer of the dashboard.
const GUARDS = {
  'x-content-type-options': /^nosniff$/, 'x-frame-options': /^DENY$/, 'referrer-policy': /^no-referrer$/,
  'content-security-policy': /^default-src 'none'; script-src 'self'; style-src 'self'; /,
  'cross-origin-opener-policy': /^same-origin$/, 'cross-origin-resource-policy': /^same-origin$/,
};
function pageFaults(wanted, { status, headers, body }) {
  const found = Object.entries(GUARDS).filter(([name, pattern]) => {
    const values = headers.filter(([n]) => n === name);
    return values.length !== 1 || !pattern.test(values[0][1]);
  }).map(([name]) => `header ${name}`);
  if (status >= 400 && headers.find(([n]) => n === 'content-type')?.[1] !== 'application/json') found.push('type');
  if (headers.some(([n]) => n === 'set-cookie' || n === 'location' || n.startsWith('access-control-')))
    found.push('a header that gives something away');
  const all = `${headers.map((pair) => pair.join(': ')).join('\n')}\n${status === 200 ? '' : body}`.toLowerCase();
  return [...found, ...(wanted.absent ?? []).filter((mark) => all.includes(mark)).map((mark) => `it holds ${mark}`)];
}

const apiFaults = (request, answer) =>
  answer.status === 0 ? [] : checkAny({ ...answer, method: request.split(' ')[0] });

function faults(wanted, request, answer, where) {
  const found = [];
  if (answer.status !== wanted.status) found.push(`status ${answer.status}, not ${wanted.status}`);
  if (answer.ending !== wanted.ending) found.push(`the connection ${answer.ending}, but ${wanted.ending} expected`);
  if (request.startsWith('HEAD ')) return found;
  const more = where === 'api' ? apiFaults(request, answer) : pageFaults(wanted, answer);
  return [...found, ...errorFaults(wanted, answer), ...more];
}

// -- the rows --------------------------------------------------------------------------------------

const targets = {
  api: () => ({
    port: port(BASE_URL), from: FROM, probed: 200,
    probe: `GET /api/v1/ping HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${api.read}\r\n\r\n`,
  }),
  dashboard: () => ({ port: port(DASHBOARD_URL), probed: 404, probe: 'GET /none HTTP/1.1\r\nHost: a\r\n\r\n' }),
};

async function tryRow([why, sent, wanted], where, values) {
  const [text, ends] = Array.isArray(sent) ? sent : [sent];
  const request = fill(text, values);
  const answer = await exchange({ ...targets[where](), request, ends: ends === 'end' });
  return faults(wanted, request, answer, where).map((fault) => `${why}: ${fault}`);
}

const all = await Promise.all(Object.entries(TABLES).map(async ([name, where]) => {
  const { rows } = await import(`./bad_inputs/${name}.mjs`);
  return { name, where, rows };
}));

describe('bad inputs', () => {
  for (const { name, where, rows } of all)
    test(`every row of ${name}`, async (t) => {
      const found = [];
      await each(rows, where === 'api' ? API_AT_ONCE : SESSIONS, async (row, i) => {
        const values = where === 'api' ? api : sessions[i % SESSIONS];
        found.push(...await tryRow(row, where, values));
      });
      t.diagnostic(`${rows.length} rows`);
      assert.deepEqual(found, []);
    });

  test('none of them was written', async () => {
    assert.deepEqual(await everything(), atFirst);
    for (const org of api.orgs) assert.equal(await carriedOut(org, 'conversation.create', 201), 1);
    for (const { org } of sessions) {
      assert.deepEqual(await ctl('webhook', 'list', '--org', org), []);
      assert.deepEqual(await ctl('key', 'list', '--org', org), []);
    }
  });
});

// -- the tables ------------------------------------------------------------------------------------

test('the tables have at least 500 different rows', () => {
  const rows = all.flatMap(({ name, rows: some }) =>
    some.map(([why, sent]) => ({ name, why, sent: `${name} ${sent}` })));
  assert.ok(rows.length >= 500, `${rows.length}`);
  assert.equal(new Set(rows.map(({ name, why }) => `${name}: ${why}`)).size, rows.length, 'a name is used twice');
  assert.equal(new Set(rows.map(({ sent }) => sent)).size, rows.length, 'a request is there twice');
});

test('a row fails if its response differs', async () => {
  const [why, sent, wanted] = all.find(({ name }) => name === 'headers').rows[0];
  const lies = [{ status: 403 }, { ending: CLOSES }, { errors: [] }, { errors: [{ ...wanted.errors[0], field: 'a' }] },
    { errors: [{ ...wanted.errors[0], message: 'a' }] }, { errors: [...wanted.errors, ...wanted.errors] }];
  assert.deepEqual(await tryRow([why, sent, wanted], 'api', api), []);
  for (const lie of lies) assert.notDeepEqual(await tryRow([why, sent, { ...wanted, ...lie }], 'api', api), []);
});
