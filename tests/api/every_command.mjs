// Sends every command once, so that every subject of the bus is used: by the API, convctl, the dashboard and an
// external system.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';
import { connect, headers as natsHeaders } from 'nats';
import { place } from './bus.mjs';

const { BASE_URL, DASHBOARD_URL, BIN_DIR, NATS_URL } = process.env;
const run = promisify(execFile);

// -- senders ---------------------------------------------------------------------------------------

async function convctl(...args) {
  const { stdout } = await run(`${BIN_DIR}/convctl`, args);
  return stdout.trim() === '' ? undefined : stdout;
}
const ctl = async (...args) => JSON.parse(await convctl(...args));

async function api(key, method, path, body) {
  const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
  const answer = await fetch(BASE_URL + path, { method, headers, body: body && JSON.stringify(body) });
  return answer.json();
}

// Sends a single command as convctl's bus user; convctl itself sends it only among others.
async function command(subject, organization, body = '') {
  const bus = await connect({ ...place(NATS_URL), inboxPrefix: '_INBOX.operator' });
  const headers = natsHeaders();
  headers.set('Organization-Id', organization);
  headers.set('Request-Id', randomUUID());
  headers.set('Deadline', String(Date.now() + 5000));
  const answer = await bus.request(subject, body, { headers, timeout: 5000 });
  assert.equal(answer.headers.get('Outcome'), 'ok', `${subject}: ${answer.string()}`);
  await bus.close();
}

// A user's browser: { data(method, path, body) }, which returns the answer's JSON, or its text.
function browser() {
  let cookie = '';
  const data = async (method, path, body) => {
    const token = cookie.split('=')[1] ?? '';
    const headers = {
      Origin: DASHBOARD_URL,
      Cookie: cookie,
      'X-CSRF-Token': createHash('sha256').update(`csrf${token}`).digest('hex'),
      'Content-Type': 'application/json',
    };
    const init = { method, headers, body: method === 'GET' ? undefined : JSON.stringify(body ?? {}) };
    const answer = await fetch(`${DASHBOARD_URL}/data${path}`, init);
    const text = await answer.text();
    assert.ok(answer.ok, `${method} ${path}: ${answer.status} ${text}`);
    const set = answer.headers.get('set-cookie');
    if (set) cookie = set.split(';')[0];
    return answer.headers.get('content-type')?.startsWith('application/json') ? JSON.parse(text) : text;
  };
  return { data };
}

// -- commands --------------------------------------------------------------------------------------

// Makes an organization with a key, and runs the operators' commands on them.
async function administer() {
  const { id: org } = await ctl('org', 'create', '--name', 'Round', '--plan', 'growth');
  await ctl('org', 'get', org);
  await ctl('org', 'set', org, '--rate-limit', '1000');
  await ctl('org', 'list');
  await ctl('cell', 'list');
  await command('v1.access.move-set', org, '{"step":"copying","to":"spare"}');
  await command('v1.access.move-get', org);
  await command('v1.access.move-set', org, '{"step":"aborted"}');
  await ctl('org', 'count', '--plan', 'growth');
  const first = await ctl('key', 'create', '--org', org, '--name', 'a', '--scope', 'full');
  const { token } = await ctl('key', 'rotate', '--org', org, first.id, '--overlap', '1h');
  await ctl('key', 'list', '--org', org);
  await ctl('key', 'revoke', '--org', org, first.id);
  await ctl('policy', 'set', '--org', org, '--ip', '127.0.0.1', '--require-https', 'false');
  await ctl('policy', 'get', '--org', org);
  const email = `${randomUUID()}@example.com`;
  const { password } = await ctl('user', 'create', '--org', org, '--email', email, '--role', 'owner');
  return { org, token, email, password };
}

async function converse({ org, token }) {
  await api(token, 'GET', '/ping');
  const from = { external_id: 'user-7', name: 'Ada', email: 'ada@example.com' };
  const body = { external_id: 'order-1', from, custom_attributes: { plan: 'pro' } };
  const { id, contact } = await api(token, 'POST', '/conversations', body);
  await api(token, 'POST', '/conversations', body); // a replay
  await api(token, 'GET', `/conversations/${id}`);
  await api(token, 'PUT', `/conversations/${id}`, { custom_attributes: { seats: 5 } });
  await api(token, 'PUT', `/conversations/${id}`, { custom_attributes: 1 }); // refused
  await api(token, 'PUT', `/conversations/${id}`, { '': 1 }); // also refused: a field without a name
  const query = { field: 'contact.external_id', operator: '=', value: 'user-7' };
  await api(token, 'POST', '/conversations/search', { query });
  await api(token, 'GET', '/audit?per_page=2');
  await api(token, 'GET', '/nothing');
  const other = await ctl('conversation', 'open', '--org', org, '--channel', 'widget');
  await ctl('conversation', 'append', '--org', org, other.id, '--body', 'Hello');
  await ctl('conversation', 'set-status', '--org', org, other.id, 'human_takeover');
  return { id, contact: contact.id, other: other.id };
}

// Only a delivery that has left the queue can be resent.
async function finishedDelivery(org, endpoint) {
  for (;;) {
    const deliveries = await ctl('webhook', 'deliveries', '--org', org, endpoint);
    const finished = deliveries.find(({ finished_at: at }) => at !== null);
    if (finished) return finished.id;
    await setTimeout(20);
  }
}

async function hook({ org }) {
  const url = 'https://127.0.0.1:1024/'; // nothing listens there
  const events = ['ticket.created', 'ai.handoff'].flatMap((event) => ['--event', event]);
  const { id } = await ctl('webhook', 'create', '--org', org, '--url', url, ...events);
  await ctl('webhook', 'set', '--org', org, id, '--enabled', 'true', '--retries', 'standard');
  await ctl('webhook', 'rotate-secret', '--org', org, id, 'begin');
  await ctl('webhook', 'rotate-secret', '--org', org, id, 'finish');
  await ctl('webhook', 'test', '--org', org, id);
  const data = JSON.stringify({ id: 'T-1', status: 'open' });
  await ctl('event', 'publish', '--org', org, '--type', 'ticket.created', '--data', data);
  await ctl('webhook', 'list', '--org', org);
  await ctl('webhook', 'resend', '--org', org, await finishedDelivery(org, id));
  await ctl('webhook', 'resend-failed', '--org', org, id, '--since', '1');
  await ctl('webhook', 'delete', '--org', org, id);
}

async function useDashboard({ email, password }, { id, contact, other }) {
  const { data } = browser();
  await data('POST', '/session', { email, password });
  await data('GET', '/session');
  await data('GET', '/sessions');
  await data('GET', '/organization');
  await data('GET', '/audit?per_page=1');
  await data('GET', '/changes?per_page=1');
  await data('GET', '/conversations?per_page=1');
  await data('GET', `/conversations/${other}`);
  await data('PUT', `/conversations/${id}/status`, { status: 'resolved' });
  await data('POST', `/contacts/${contact}/erase`);
  await data('DELETE', `/conversations/${other}`);
  await data('GET', '/usage?range=1h');
  await data('GET', '/webhook-statistics?range=1h');
  await manageMembers(data);
  await data('POST', '/password', { password, new_password: `${password}-2` });
  await data('DELETE', '/session');
  await data('POST', '/session', { email, password: `${password}-2` });
  await data('DELETE', '/sessions');
}

async function manageMembers(data) {
  const email = `${randomUUID()}@example.com`;
  const { id, invitation } = await data('POST', '/members', { email, role: 'member' });
  await browser().data('POST', '/invitation', { token: invitation, password: randomUUID() });
  await data('GET', '/members');
  await data('PUT', `/members/${id}`, { role: 'admin' });
  await data('DELETE', `/members/${id}`);
}

async function audit({ org }) {
  const verify = (...head) => ctl('audit', 'verify', '--org', org, ...head);
  let head = null;
  while (head === null) ({ head } = await verify()); // there is no head before the first seal
  await verify('--head-number', String(head.number), '--head-hash', head.block_hash);
  await verify('--head-number', '1000000', '--head-hash', head.block_hash);
  await convctl('audit', 'export', '--org', org);
  await ctl('audit', 'changes', '--org', org);
  await ctl('audit', 'retain', '--org', org, '--months', '13');
}

// Returns the organization that it made.
export async function sendEveryCommand() {
  const made = await administer();
  const conversations = await converse(made);
  await hook(made);
  await useDashboard(made, conversations);
  await audit(made);
  return made.org;
}
