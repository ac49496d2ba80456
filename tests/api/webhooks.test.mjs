// A standard verifier and our samples accept the deliveries that receivers get, and nothing else.
import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createSecureServer } from 'node:http2';
import { createServer } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import Stripe from 'stripe';
import { verified } from '../../docs/samples/webhooks/verify.mjs';

const { BIN_DIR, NATS_URL, ORG_ID, WEBHOOK_CERTIFICATES } = process.env;
const skip = WEBHOOK_CERTIFICATES ? false : 'only with the stack of tools/run-tests';
const root = new URL('../../', import.meta.url);
const samples = new URL('docs/samples/webhooks/', root).pathname;
const folder = mkdtempSync(join(tmpdir(), 'webhooks-'));
const run = promisify(execFile);

before(() => {
  execFileSync('cc', ['-o', join(folder, 'verify'), join(samples, 'verify.c'), '-lcrypto']);
});
after(() => rmSync(folder, { recursive: true }));

const commands = {
  C: [join(folder, 'verify')],
  Node: [process.execPath, join(samples, 'verify.mjs')],
  Python: ['python3', join(samples, 'verify.py')],
};

// Whether the sample accepts a delivery; every argument is one that a receiver has.
const accepts = async (language, secret, timestamp, signature, body) => {
  const [program, ...first] = commands[language];
  const process = run(program, [...first, secret, timestamp, signature]);
  process.child.stdin.end(body);
  return process.then(() => true, (error) => {
    assert.equal(error.code, 1, error.stderr);
    return false;
  });
};

const convctl = async (...args) =>
  JSON.parse((await run(join(BIN_DIR, 'convctl'), args, { env: { NATS_URL } })).stdout);

const tls = () => ({
  cert: readFileSync(join(WEBHOOK_CERTIFICATES, 'good.pem')),
  key: readFileSync(join(WEBHOOK_CERTIFICATES, 'server.key')),
});

// One real delivery to a server that `make` creates: headers, the body's bytes, the HTTP version.
const delivery = async (make = (take) => createServer(tls(), take)) => {
  let server;
  const arrived = new Promise((resolve) => {
    server = make(async (request, response) => {
      const chunks = await request.toArray();
      response.writeHead(204).end();
      const { headers, httpVersion } = request;
      resolve({ headers, version: httpVersion, body: Buffer.concat(chunks) });
    });
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `https://127.0.0.1:${server.address().port}/`;
  const { id, secret } = await convctl(
    'webhook', 'create', '--org', ORG_ID, '--url', url, '--event', 'ticket.created');
  await convctl('event', 'publish', '--org', ORG_ID, '--type', 'ticket.created',
    '--data', '{"id":"T-1 \u00e9\u4e16","status":"open"}');
  const { headers, body, version } = await arrived;
  server.close();
  await convctl('webhook', 'delete', '--org', ORG_ID, id);
  return {
    secret, body, version,
    timestamp: headers['x-service-timestamp'],
    signature: headers['x-service-signature'],
  };
};

const changed = (body) => {
  const other = Buffer.from(body);
  other[other.length - 2] ^= 1;
  return other;
};

test('the stock verifier accepts a delivery and refuses changed ones', { skip }, async () => {
  const { secret, timestamp, signature, body } = await delivery();
  const construct = (b, t, s, key = secret) =>
    Stripe.webhooks.constructEvent(b, `t=${t},${s}`, key);
  const event = construct(body, timestamp, signature);
  assert.equal(event.type, 'ticket.created');
  assert.equal(event.data.id, 'T-1 \u00e9\u4e16');
  assert.throws(() => construct(changed(body), timestamp, signature));
  assert.throws(() => construct(body, `${Number(timestamp) + 1}`, signature));
  assert.throws(() => construct(body, timestamp, signature, `${secret}x`));
  const last = signature.endsWith('0') ? '1' : '0';
  assert.throws(() => construct(body, timestamp, signature.slice(0, -1) + last));
});

for (const language of Object.keys(commands)) {
  test(`the sample in ${language} accepts only genuine deliveries`, { skip }, async () => {
    const { secret, timestamp, signature, body } = await delivery();
    const old = `${Number(timestamp) - 301}`;
    assert.equal(await accepts(language, secret, timestamp, signature, body), true);
    assert.equal(await accepts(language, secret, timestamp, signature, changed(body)), false);
    assert.equal(await accepts(language, secret, old, signature, body), false);
    assert.equal(await accepts(language, `${secret}x`, timestamp, signature, body), false);
    assert.equal(await accepts(language, secret, timestamp, 'v1=', body), false);
  });
}

test('a receiver that supports HTTP/2 gets HTTP/2', { skip }, async () => {
  assert.equal((await delivery((take) => createSecureServer(tls(), take))).version, '2.0');
  assert.equal((await delivery()).version, '1.1');
});

test('the published vector is right', () => {
  const text = readFileSync(new URL('docs/webhooks.md', root), 'utf8');
  const value = (name) => text.match(new RegExp(`^${name} +(.*)$`, 'm'))[1];
  const now = Number(value('timestamp'));
  const args = [value('secret'), value('timestamp'), value('signature')];
  assert.ok(verified(...args, Buffer.from(value('body')), now));
  assert.equal(verified(...args, changed(Buffer.from(value('body'))), now), null);
  assert.equal(verified(...args, Buffer.from(value('body')), now + 301), null);
});
