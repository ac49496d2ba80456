// Which deliveries are accepted as the service's, and which are not.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { verifyWebhook, WebhookError } from 'conversations-client';

// The vector that docs/webhooks.md publishes.
const page = readFileSync(new URL('../../../docs/webhooks.md', import.meta.url), 'utf8');
const told = (name) => page.match(new RegExp(`^${name} +(.*)$`, 'm'))[1];
const now = Number(told('timestamp'));
const good = {
  secret: told('secret'),
  timestamp: told('timestamp'),
  signature: told('signature'),
  body: Buffer.from(told('body')),
  now,
};
const refused = (change) => assert.throws(() => verifyWebhook({ ...good, ...change }), WebhookError, Object.keys(change)[0]);

test('the published vector is accepted', () => {
  const event = verifyWebhook(good);
  assert.equal(event.id, 'evt_01930b6e8c5f7a3e9d2c4b1a0f6e5d4c');
  assert.equal(event.type, 'conversation.created');
  assert.equal(event.created_at, 1731000000);
  assert.equal(event.data.status, 'active');
  assert.deepEqual(verifyWebhook({ ...good, body: new Uint8Array(good.body) }), event);
});

test('an altered delivery is refused', () => {
  const { signature } = good;
  refused({ body: Buffer.concat([good.body, Buffer.from(' ')]) });
  refused({ timestamp: `${good.timestamp}0` });
  refused({ secret: `${good.secret}x` });
  for (const other of [signature.slice(0, -1), signature.toUpperCase(), signature.slice(3), 'v1=', 'é', `${signature},x`])
    refused({ signature: other });
});

test('a missing header is refused', () => {
  for (const lacks of [undefined, null, '']) {
    refused({ timestamp: lacks });
    refused({ signature: lacks });
  }
});

test('a duplicate header is refused', () => {
  refused({ timestamp: [good.timestamp, good.timestamp] });
  refused({ signature: [good.signature] });
});

test('the window is 300 seconds both ways', () => {
  for (const time of [now - 300, now + 300]) verifyWebhook({ ...good, now: time });
  for (const time of [now - 301, now + 301, undefined]) refused({ now: time });
  verifyWebhook({ ...good, now: now + 400, tolerance: 500 });
});

test('a parsed body is a mistake of the caller', () => {
  assert.throws(() => verifyWebhook({ ...good, body: good.body.toString() }), TypeError);
  assert.throws(() => verifyWebhook({ ...good, secret: '' }), TypeError);
});
