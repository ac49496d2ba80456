// The stack that tools/run-tests has started, and its other users beside those of the dashboard:
// operators with convctl, servers with the API, receivers of webhooks.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomBytes, randomInt, randomUUID, scryptSync } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

export const { BASE_URL, DASHBOARD_URL, BIN_DIR, WEBHOOK_CERTIFICATES } = process.env;
const { DATABASE_URL } = process.env;
export const limitScale = Number(process.env.TEST_LIMIT_SCALE ?? 1);
export const run = promisify(execFile);

export async function convctl(...args) {
  return (await run(join(BIN_DIR, 'convctl'), args)).stdout;
}
export const ctl = async (...args) => JSON.parse(await convctl(...args));

// The output of an SQL file in this folder.
export async function sql(name, variables) {
  const file = fileURLToPath(new URL(name, import.meta.url));
  const given = Object.entries(variables).flatMap(([key, value]) => ['-v', `${key}=${value}`]);
  const all = ['-qXAt', '-v', 'ON_ERROR_STOP=1', ...given, '-f', file, DATABASE_URL];
  return (await run('psql', all)).stdout.trim();
}

// A separate organization for a test, with its owner: {org, name, email, password}. It is in a random one
// of the stack's cells.
const CELLS = Number(process.env.CELLS || 1);
const someCell = () => ['main', ...Array.from({ length: CELLS - 1 }, (_, i) => `cell${i + 2}`)][randomInt(CELLS)];

export async function organization({ name = 'Example', plan = 'growth', cell = someCell() } = {}) {
  const { id: org } = await ctl('org', 'create', '--name', name, '--plan', plan, '--cell', cell);
  return { org, name, ...(await user(org, 'owner')) };
}

// A hash determines the cost of checking a password. With the service's own cost, hashing took a fifth of
// the time of all these tests.
function cheapHash(password) {
  const salt = randomBytes(16), cost = { N: 2, r: 8, p: 1 };
  return `scrypt$1$8$1$${salt.toString('hex')}$${scryptSync(password, salt, 32, cost).toString('hex')}`;
}

export async function user(org, role, email = `${role}-${randomUUID()}@example.com`) {
  const password = randomUUID();
  const id = await sql('user.sql', { org, role, email, hash: cheapHash(password) });
  return { id, email, password };
}

export const key = async (org, scope = 'full', name = scope) =>
  (await ctl('key', 'create', '--org', org, '--name', name, '--scope', scope)).token;

// A customer server's request to the API: {status, body}. As servers should, it retries after a 503, with
// growing delays: while browsers use the CPUs, the bus may have to wait for one.
export async function call(token, method, path, body, tries = 6) {
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
  const answer = await fetch(BASE_URL + path, { method, headers, body: body && JSON.stringify(body) });
  const told = { status: answer.status, body: await answer.json() };
  if (told.status !== 503 || tries === 1) return told;
  await new Promise((resolve) => setTimeout(resolve, 3200 >> tries));
  return call(token, method, path, body, tries - 1);
}

export async function converse(token, body) {
  const { status, body: made } = await call(token, 'POST', '/conversations',
    { external_id: randomUUID(), ...body });
  assert.equal(status, 201, JSON.stringify(made));
  return made;
}

// Polls until `isSo`, for conditions that send no notice here.
export async function until(isSo, what, seconds = 15) {
  const end = Date.now() + seconds * 1000 * limitScale;
  for (;;) {
    if (await isSo()) return;
    assert.ok(Date.now() < end, `not within ${seconds} s: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 30));
  }
}

export const answers = (token, status, code) =>
  until(async () => {
    const answer = await call(token, 'GET', '/ping');
    return answer.status === status && answer.body.errors?.[0].code === code;
  }, `${status} ${code ?? ''}`);

// A webhook receiver: keeps what arrives, and answers with `status`.
export async function receiver() {
  const tls = {
    cert: readFileSync(join(WEBHOOK_CERTIFICATES, 'good.pem')),
    key: readFileSync(join(WEBHOOK_CERTIFICATES, 'server.key')),
  };
  const taken = [];
  const self = { status: 204, answer: '', taken };
  const server = createServer(tls, async (request, response) => {
    const body = Buffer.concat(await request.toArray());
    taken.push({ url: request.url, headers: request.headers, body });
    response.writeHead(self.status).end(self.status === 204 ? undefined : self.answer);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  server.unref(); // does not keep the process running if a test fails before it closes the receiver
  self.url = `https://127.0.0.1:${server.address().port}/hooks`;
  self.close = () => server.closeAllConnections() ?? server.close();
  return self;
}
