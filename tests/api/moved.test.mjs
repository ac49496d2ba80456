// Clients and receivers see no difference while their organization moves back and forth between two cells. Other
// tests of the API run through a proxy that retries after a 503, as docs/api.md requires of clients. MOVED names
// their files, which use the organization of the environment. TEST_LONG=1: one move after the other.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, request as forward } from 'node:http';
import { test } from 'node:test';
import { BASE_URL, ctl } from '../browser/stack.mjs';
import { isLong } from './random/dice.mjs';

const { MOVED, ORG_ID } = process.env;
const MOVES = 6; // at least
const BETWEEN = isLong ? 0 : 40; // requests from one move to the next
const ASKED_AGAIN = 3; // at most: a move closes for at most 2 s, and Retry-After is 1

// -- the proxy -------------------------------------------------------------------------------------

async function ask({ method, url, headers }, body) {
  const { port } = new URL(BASE_URL);
  const onward = forward({ host: '127.0.0.1', port, method, path: url, headers });
  onward.end(body);
  const [answer] = await once(onward, 'response');
  return { status: answer.statusCode, headers: answer.headers, body: Buffer.concat(await answer.toArray()) };
}

// `seen` counts all requests, all retries, and the most for one request.
async function patientProxy(seen) {
  const server = createServer(async (request, response) => {
    seen.requests++;
    const body = Buffer.concat(await request.toArray());
    let answer = await ask(request, body);
    for (let n = 1; answer.status === 503 && n <= ASKED_AGAIN; n++) {
      seen.again++;
      seen.most = Math.max(seen.most, n);
      await new Promise((resolve) => setTimeout(resolve, 1000 * Number(answer.headers['retry-after'] ?? 1)));
      answer = await ask(request, body);
    }
    response.writeHead(answer.status, answer.headers).end(answer.body);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { pathname } = new URL(BASE_URL);
  return { url: `http://127.0.0.1:${server.address().port}${pathname}`, server };
}

// -- the moves -------------------------------------------------------------------------------------

const CELLS = ['cell2', 'main'];

// Moves back and forth until the tests are over, at least MOVES times; returns the number of moves.
async function moveAround(server, seen, over) {
  let moves = 0;
  for (; !over.aborted || moves < MOVES; moves++) {
    const moved = await ctl('cell', 'move', ORG_ID, '--to', CELLS[moves % 2], '--grace', '0');
    assert.equal(moved.step, 'done', JSON.stringify(moved));
    const next = seen.requests + BETWEEN;
    while (seen.requests < next && !over.aborted)
      await once(server, 'request', { signal: over }).catch(() => {}); // over
  }
  return moves;
}

// -- the tests that run during the moves -----------------------------------------------------------

// A nested test runner must not consider itself part of ours.
function runTests(url, signal) {
  const { NODE_TEST_CONTEXT, ...environment } = process.env;
  const runner = spawn('node', ['--test', '--test-concurrency=2', '--test-reporter=tap', ...MOVED.split(' ')],
    { env: { ...environment, BASE_URL: url }, stdio: ['ignore', 'pipe', 'inherit'], signal });
  runner.on('error', () => {}); // aborted by the signal
  const said = runner.stdout.toArray();
  return once(runner, 'close').then(async ([status]) => ({ status, output: Buffer.concat(await said).toString() }));
}

test('moves do not affect clients and receivers', async (t) => {
  const seen = { requests: 0, again: 0, most: 0 };
  const proxy = await patientProxy(seen);
  const givenUp = new AbortController(), over = new AbortController();
  const tests = runTests(proxy.url, givenUp.signal).finally(() => over.abort());
  try {
    const [moves, { status, output }] = await Promise.all([moveAround(proxy.server, seen, over.signal), tests]);
    assert.equal(status, 0, output);
    assert.match(output, /^# pass [1-9]/m, 'no test was run');
    const verified = await ctl('audit', 'verify', '--org', ORG_ID);
    assert.ok(verified.ok, JSON.stringify(verified));
    t.diagnostic(`${moves} moves; ${seen.requests} requests; ${seen.again} answers 503, at most ${seen.most} to one request`);
  } finally {
    givenUp.abort();
    proxy.server.close();
  }
});
