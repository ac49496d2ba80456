// Which connections are kept, what happens when the server closed one, and what calls leave behind; plain and over TLS.
import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { Agent as PlainAgent, request as requestOver } from 'node:http';
import { Agent } from 'node:https';
import { test } from 'node:test';
import { Client, NetworkError, UnexpectedAnswerError } from 'conversations-client';
import {
  answer, askedFor, certificate, client, clockOf, cut, KEY, ping, refusal, scripted,
} from './scripted.mjs';

const MANY = 8;
const secret = certificate();

// Waits until so many requests came, and answers them all.
function together(count) {
  const waiting = [];
  return (...exchange) => {
    waiting.push(exchange);
    if (waiting.length === count) for (const one of waiting) ping(...one);
  };
}

for (const used of [undefined, secret]) {
  const named = (name) => `${used ? 'TLS' : 'plain'}: ${name}`;
  const agent = () => (used ? { agent: new Agent({ keepAlive: true, ca: used.cert }) } : {});

  // A client with many idle connections that may not wait or make another attempt.
  async function idle(url) {
    const clock = clockOf();
    const one = client(url, clock, { ...agent(), policy: { retries: 0 } });
    await Promise.all(Array.from({ length: MANY }, () => one.ping()));
    return { one, clock };
  }
  const create = (one, external_id) => one.createConversation({ external_id, from: { external_id: 'user-7' } });

  test(named('a connection is kept'), () => scripted([ping], async ({ url, requests }) => {
    const one = client(url, clockOf(), agent());
    for (let i = 0; i < 20; i++) await one.ping();
    assert.equal(new Set(requests.map(({ port }) => port)).size, 1);
  }, used));

  test(named('a create after many were closed is one request'), () => {
    const script = [...Array(MANY).fill(together(MANY)), askedFor];
    return scripted(script, async ({ url, requests, server }) => {
      const { one } = await idle(url);
      assert.equal(new Set(requests.map(({ port }) => port)).size, MANY);
      server.closeAllConnections();
      assert.equal((await create(one, 'order-1')).attempts, 1);
      assert.equal(requests.length, MANY + 1);
    }, used);
  });

  test(named('one that breaks before the answer is no failed attempt, however many there are'), () => {
    const broken = Array(MANY).fill([cut, askedFor]).flat();
    return scripted([...Array(MANY).fill(together(MANY)), ...broken, askedFor], async ({ url }) => {
      const { one, clock } = await idle(url);
      for (let i = 0; i < MANY; i++) assert.equal((await create(one, `order-${i}`)).attempts, 1);
      assert.deepEqual(clock.waits, []);
    }, used);
  });

  test(named('a new one that breaks is a failed attempt'), () => scripted([cut, askedFor], async ({ url }) => {
    assert.equal((await create(client(url, clockOf(), agent()), 'order-1')).attempts, 2);
  }, used));

  test(named('one that breaks within the answer is a failed attempt'), () => {
    const short = (request, response) => {
      response.writeHead(200, { 'Content-Length': '100' }).write('{"type":', () => request.socket.destroy());
    };
    return scripted([ping, short, ping], async ({ url }) => {
      const one = client(url, clockOf(), agent());
      assert.deepEqual([(await one.ping()).attempts, (await one.ping()).attempts], [1, 2]);
    }, used);
  });

  test(named('an answer about another conversation is an error and ends its connection'), async () => {
    const other = answer(200, { type: 'conversation', id: 'other', external_id: 'other' });
    for (const call of [
      (one) => one.getConversation('asked'),
      (one) => one.updateConversation('asked', { a: 1 }),
      (one) => create(one, 'asked'),
    ])
      await scripted([ping, other, ping], async ({ url, requests }) => {
        const one = client(url, clockOf(), agent());
        await one.ping();
        await assert.rejects(call(one), UnexpectedAnswerError);
        assert.equal((await one.ping()).attempts, 1);
        const [first, second, third] = requests.map(({ port }) => port);
        assert.equal(first, second);
        assert.notEqual(second, third);
      }, used);
  });
}

// The ports of the connections over which an agent has its answers.
async function portsOver(agent, { url, requests }, count) {
  await Promise.all(Array.from({ length: count }, () => new Promise((resolve, reject) => {
    requestOver(url, { agent }, (response) => response.resume().on('end', resolve)).on('error', reject).end();
  })));
  return requests.slice(-count).map(({ port }) => port);
}

test('only connections to the service end with one that is lost', () =>
  scripted([ping], async (other) => scripted([ping, cut, ping], async ({ url }) => {
    const agent = new PlainAgent({ keepAlive: true });
    const before = await portsOver(agent, other, 1);
    const one = client(url, clockOf(), { agent, policy: { retries: 0 } });
    assert.deepEqual([(await one.ping()).attempts, (await one.ping()).attempts], [1, 1]);
    assert.deepEqual(await portsOver(agent, other, 1), before);
    agent.destroy();
  })));

test('connections to the service of others with the same agent end with one that is lost', () =>
  scripted([...Array(MANY).fill(together(MANY)), cut, ping], async ({ url, requests }) => {
    const agent = new PlainAgent({ keepAlive: true });
    const [one, another] = [0, 1].map(() => client(url, clockOf(), { agent, policy: { retries: 0 } }));
    await Promise.all(Array.from({ length: MANY }, () => one.ping()));
    const idle = new Set(requests.map(({ port }) => port));
    assert.equal((await another.ping()).attempts, 1);
    assert.ok(!idle.has(requests.at(-1).port));
    agent.destroy();
  }));

test('an agent need not tell its idle connections', () => scripted([ping, cut, ping], async ({ url }) => {
  const inner = new PlainAgent({ keepAlive: true });
  const agent = { keepAlive: true, protocol: 'http:', addRequest: (...given) => inner.addRequest(...given) };
  const one = client(url, clockOf(), { agent, policy: { retries: 0 } });
  assert.deepEqual([(await one.ping()).attempts, (await one.ping()).attempts], [1, 1]);
  inner.destroy();
}));

test('an id in capitals is the same', () => scripted([
  answer(200, { type: 'conversation', id: '0a-b', external_id: null }),
], async ({ url }) => {
  assert.equal((await client(url).getConversation('0A-B')).data.id, '0a-b');
}));

test('calls leave nothing with a signal that lives longer, nor a timer', async (t) => {
  const warnings = [];
  const onWarning = (warning) => warnings.push(warning);
  process.on('warning', onWarning);
  t.after(() => process.off('warning', onWarning));
  await scripted([...Array(20).fill(refusal(503)), ping], async ({ url }) => {
    const { signal } = new AbortController();
    const one = new Client(url, KEY, { policy: { backoffMs: 1, retries: 20 } });
    await Promise.all(Array.from({ length: 50 }, () => one.ping({ signal })));
    for (let i = 0; i < 200; i++) await one.ping({ signal });
    assert.equal(getEventListeners(signal, 'abort').length, 0);
    assert.deepEqual(process.getActiveResourcesInfo().filter((name) => name === 'Timeout'), []);
    // Node.js 18 and 20 keep the followers of a signal in a property without a name.
    for (const symbol of Object.getOwnPropertySymbols(signal))
      assert.ok(!(signal[symbol] instanceof Set) || signal[symbol].size === 0, String(symbol));
  });
  await new Promise(setImmediate);
  assert.deepEqual(warnings, []);
});

test('a signal may be of another implementation', () => scripted([ping], async ({ url }) => {
  const signal = { aborted: false, throwIfAborted() {}, addEventListener() {}, removeEventListener() {} };
  assert.equal((await client(url).ping({ signal })).attempts, 1);
}));

test('a signal that has aborted already ends the call before a request', () => scripted([ping], async ({ url, requests }) => {
  const signal = AbortSignal.abort(new RangeError('enough'));
  await assert.rejects(client(url).ping({ signal }), RangeError);
  assert.equal(requests.length, 0);
}));

test('a lost connection is the cause of the error', () => scripted([cut], async ({ url }) => {
  const failed = await client(url, clockOf(), { policy: { retries: 0 } }).ping().catch((error) => error);
  assert.ok(failed instanceof NetworkError);
  assert.equal(failed.cause.code, 'ECONNRESET');
}));
