// What is retried, when, and how often; over real connections, with a clock that does not wait.
import assert from 'node:assert/strict';
import { createServer as createSecureServer } from 'node:https';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { inspect } from 'node:util';
import {
  ApiError, CertificateError, Client, ConflictError, NetworkError, RateLimitError, ServerError, UnexpectedAnswerError,
} from 'conversations-client';
import { retryAfterSeconds } from '../dist/retry.js';
import { answer, certificate, client, clockOf, cut, drip, hang, KEY, ping, refusal, scripted } from './scripted.mjs';

const failure = (call) => call.then(() => assert.fail('it succeeded'), (error) => error);

test('a failure of the service or the network is retried', async () => {
  for (const step of [...[429, 500, 502, 503, 504].map((status) => refusal(status)), cut])
    await scripted([step, ping], async ({ url }) => {
      assert.equal((await client(url).ping()).attempts, 2);
    });
});

test('a refusal is final', async () => {
  for (const status of [301, 400, 401, 403, 404, 405, 406, 409, 413, 415, 417])
    await scripted([refusal(status), ping], async ({ url, requests }) => {
      const error = await failure(client(url).ping());
      assert.ok(error instanceof ApiError);
      assert.equal(error.status, status);
      assert.equal(requests.length, 1);
    });
});

test('there are up to five retries with ever longer waits', async () => {
  const clock = clockOf();
  await scripted([refusal(503)], async ({ url, requests }) => {
    const error = await failure(client(url, clock).ping());
    assert.ok(error instanceof ServerError);
    assert.equal(error.attempts, 6);
    assert.equal(requests.length, 6);
  });
  assert.deepEqual(clock.waits, [1000, 2000, 4000, 8000, 16000]);
});

test('waits are bounded and random', async () => {
  const clock = clockOf(0.5);
  await scripted([refusal(503)], async ({ url }) => {
    await failure(client(url, clock, { policy: { backoffMaxMs: 5000 } }).ping());
  });
  assert.deepEqual(clock.waits, [500, 1000, 2000, 2500, 2500]);
});

test('Retry-After overrides the random wait, and onRetry receives it', async () => {
  const clock = clockOf(0.25), told = [];
  await scripted([refusal(429, 'rate_limit_exceeded', { 'Retry-After': '7' }), ping], async ({ url }) => {
    await client(url, clock, { onRetry: (retry) => told.push(retry) }).ping();
  });
  assert.deepEqual(clock.waits, [7250]);
  assert.deepEqual(told.map(({ error, attempts, waitMs }) => [error.code, attempts, waitMs]),
    [['rate_limit_exceeded', 1, 7250]]);
});

test('Retry-After may be a date', async () => {
  const clock = clockOf(0), later = new Date(Date.now() + 40_000).toUTCString();
  await scripted([refusal(503, 'service_unavailable', { 'Retry-After': later }), ping], async ({ url }) => {
    await client(url, clock).ping();
  });
  assert.ok(clock.waits[0] > 30_000 && clock.waits[0] <= 40_000, `${clock.waits}`);
});

test('forms of Retry-After', () => {
  const now = 784111777000; // Sun, 06 Nov 1994 08:49:37 GMT
  for (const [text, seconds] of [
    ['0', 0], ['12', 12], [' 5 ', 5], ['Sun, 06 Nov 1994 08:49:47 GMT', 10],
    ['Sunday, 06-Nov-94 08:49:47 GMT', 10], ['Sun, 06 Nov 1994 08:49:27 GMT', 0],
    [null, 0], ['', 0], ['soon', 0], ['-5', 0], ['1.5', 0], ['NaN', 0], ['Infinity', 0], ['Sun', 0],
  ])
    assert.equal(retryAfterSeconds(text, now), seconds, `${text}`);
});

test('no wait begins that would end after the budget', async () => {
  const clock = clockOf();
  await scripted([refusal(429, 'rate_limit_exceeded', { 'Retry-After': '60' })], async ({ url, requests }) => {
    const error = await failure(client(url, clock).ping({ budgetMs: 10_000 }));
    assert.ok(error instanceof RateLimitError);
    assert.equal(error.retryAfter, 60);
    assert.equal(requests.length, 1);
  });
  assert.deepEqual(clock.waits, []);
});

test('the budget bounds all attempts together', async () => {
  const clock = clockOf();
  await scripted([refusal(503)], async ({ url }) => {
    await failure(client(url, clock, { policy: { budgetMs: 8000 } }).ping());
  });
  assert.deepEqual(clock.waits, [1000, 2000, 4000]);
});

test('an attempt ends at its timeout, or at a budget that is shorter', async () => {
  for (const step of [hang, drip])
    for (const policy of [{ timeoutMs: 200, retries: 0 }, { budgetMs: 200, retries: 0 }])
      await scripted([step], async ({ url }) => {
        const error = await failure(client(url, clockOf(), { policy }).ping());
        assert.ok(error instanceof NetworkError, inspect(error));
        assert.equal(error.cause.name, 'TimeoutError');
      });
});

test('a signal ends the call with its reason', async () => {
  await scripted([hang], async ({ url, requests }) => {
    const stop = new AbortController();
    const called = failure(client(url).ping({ signal: stop.signal }));
    stop.abort(new RangeError('enough'));
    assert.ok((await called) instanceof RangeError);
    assert.ok(requests.length <= 1);
  });
});

test('a signal ends a wait with its reason, however long that would be', async () => {
  for (const backoffMs of [1e6, 1e11])
    await scripted([refusal(503), ping], async ({ url }) => {
      const stop = new AbortController();
      const onRetry = () => setTimeout(() => stop.abort(new RangeError('enough')), 20);
      const patient = new Client(url, KEY, { onRetry, policy: { backoffMs, backoffMaxMs: backoffMs } });
      const error = await failure(patient.ping({ signal: stop.signal, budgetMs: 1e12 }));
      assert.equal(error.message, 'enough');
    });
});

test('a timeout may be longer than a timer', async () => {
  await scripted([hang], async ({ url }) => {
    const signal = AbortSignal.timeout(100);
    const policy = { timeoutMs: 1e12, budgetMs: Infinity };
    assert.equal(await failure(client(url, clockOf(), { policy }).ping({ signal })), signal.reason);
  });
});

test('a number that JSON does not have is refused, and removes no attribute', async () => {
  await scripted([ping], async ({ url, requests }) => {
    for (const seats of [NaN, Infinity, -Infinity])
      assert.ok((await failure(client(url).updateConversation('c-1', { seats }))) instanceof TypeError);
    assert.equal(requests.length, 0);
  });
});

test('nothing listens', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.on('listening', resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  const error = await failure(client(`http://127.0.0.1:${port}`, clockOf(), { policy: { retries: 2 } }).ping());
  assert.ok(error instanceof NetworkError);
  assert.equal(error.attempts, 3);
});

test('a certificate that is not trusted is final', async () => {
  const server = createSecureServer(certificate(), () => assert.fail('a request came'));
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const clock = clockOf();
  const error = await failure(client(`https://127.0.0.1:${server.address().port}`, clock).ping());
  assert.ok(error instanceof CertificateError, inspect(error));
  assert.deepEqual([error.attempts, clock.waits], [1, []]);
  server.close();
});

test('an unexpected successful response is not retried', async () => {
  for (const body of ['<html>', { type: 'pong' }, [1], null])
    await scripted([answer(200, body)], async ({ url, requests }) => {
      assert.ok((await failure(client(url).ping())) instanceof UnexpectedAnswerError);
      assert.equal(requests.length, 1);
    });
});

test('a response of a proxy has no code', async () => {
  await scripted([answer(502, '<html>')], async ({ url }) => {
    const error = await failure(client(url, clockOf(), { policy: { retries: 0 } }).ping());
    assert.equal(error.code, undefined);
    assert.match(error.message, /^502 without a list of errors/);
  });
});

test('a malformed list of errors has no code', async () => {
  for (const errors of [undefined, null, {}, [null], ['x']])
    await scripted([answer(400, { type: 'error.list', errors })], async ({ url }) => {
      const error = await failure(client(url).ping());
      assert.ok(error instanceof ApiError, inspect(error));
      assert.equal(error.code, undefined);
    });
});

test('the same request is sent again', async () => {
  await scripted([cut, refusal(500), refusal(409, 'external_id_conflict')], async ({ url, requests }) => {
    const create = client(url).createConversation({ external_id: 'order-1', from: { external_id: 'ü' } });
    assert.ok((await failure(create)) instanceof ConflictError);
    assert.equal(requests.length, 3);
    assert.equal(new Set(requests.map(({ body }) => body)).size, 1);
  });
});

test('no text contains the key', async () => {
  const told = [];
  await scripted([cut, refusal(503), refusal(401)], async ({ url, requests }) => {
    const one = client(url, clockOf(), { onRetry: (retry) => told.push(retry) });
    const error = await failure(one.ping());
    assert.equal(requests[0].headers.authorization, `Bearer ${KEY}`);
    assert.equal(told.length, 2);
    for (const what of [one, error, ...told]) {
      assert.ok(!inspect(what, { depth: null, showHidden: true }).includes(KEY));
      assert.ok(!JSON.stringify(what).includes(KEY));
    }
  });
});

test('a key that cannot be sent is refused without showing it', () => {
  for (const key of ['', `${KEY}\n`, ` ${KEY}`, `${KEY}é`, `${KEY}\r\nX: y`])
    assert.throws(() => new Client('https://localhost', key), (error) => !error.message.includes(KEY));
});

test('an invalid URL is refused', () => {
  for (const url of ['localhost', 'localhost:8080', 'ftp://localhost', 'https://a:b@localhost', 'http://a?b'])
    assert.throws(() => new Client(url, KEY), TypeError);
});
