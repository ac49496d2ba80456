// The samples of docs/samples work as described, and docs/api.md shows only those.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import { describe, test } from 'node:test';
import { promisify } from 'node:util';

const run = promisify(execFile);
const root = new URL('../../', import.meta.url);
const samples = new URL('docs/samples/', root);
const programs = { bash: 'curl.sh', js: 'node.mjs', python: 'python.py' };
const SIDE_BY_SIDE = 4;
const commands = { 'curl.sh': 'bash', 'node.mjs': process.execPath, 'python.py': 'python3' };

const read = (name) => readFileSync(new URL(name, samples), 'utf8');

// The second words of lines whose first word is `first`.
const words = (out, first) =>
  out.split('\n').filter((l) => l.startsWith(`${first} `)).map((l) => l.split(' ')[1]);

// A proxy for the service: the first attempt gets 503 and a date in Retry-After, the third no answer; all
// others are forwarded.
async function stumbling(use) {
  let attempts = 0, date, second;
  const server = createServer((from, to) => {
    attempts += 1;
    if (attempts === 2) second = Date.now();
    if (attempts === 1) {
      date = new Date(Date.now() + 2000).toUTCString();
      to.writeHead(503, { 'Content-Type': 'application/json', 'Retry-After': date });
      to.end('{"id": "not this one"}');
    } else if (attempts === 3) {
      from.socket.destroy();
    } else {
      const { method, headers } = from;
      const onward = new URL(from.url, process.env.BASE_URL);
      from.pipe(request(onward, { method, headers }, (answer) => {
        to.writeHead(answer.statusCode, answer.headers);
        answer.pipe(to);
      }));
    }
  });
  await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
  try {
    await use(`http://127.0.0.1:${server.address().port}/api/v1`);
    assert.ok(attempts > 3, `${attempts}`);
    assert.ok(second > Date.parse(date) - 100, `${new Date(second).toISOString()} is before ${date}`);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

// In parallel, as they mostly wait for their next retry.
describe('samples', { concurrency: SIDE_BY_SIDE }, () => {
  for (const name of Object.values(programs)) {
    const sample = (customer, env = process.env) =>
      run(commands[name], [new URL(name, samples).pathname, customer], { env });

    test(`${name} creates, replays, reads, updates and pages`, async () => {
      const customer = `sample-${randomUUID()}`;
      const { stdout } = await sample(customer);
      const created = words(stdout, 'created');
      assert.equal(new Set(created).size, 3);
      assert.deepEqual(words(stdout, 'replayed'), [created[2]]);
      assert.match(stdout, new RegExp(`^read ${customer}-order-3, active$`, 'm'));
      assert.match(stdout, /^attributes \{"seats":6\}$/m);
      assert.deepEqual(words(stdout, 'found'), created.reverse());
    });

    test(`${name} can be run again`, async () => {
      const customer = `sample-${randomUUID()}`;
      const [first, second] = [await sample(customer), await sample(customer)];
      assert.equal(second.stdout, first.stdout);
    });

    test(`${name} retries transient failures`, () => stumbling(async (BASE_URL) => {
      const customer = `sample-${randomUUID()}`;
      const { stdout } = await sample(customer, { ...process.env, BASE_URL });
      const { stdout: again } = await sample(customer);
      assert.equal(stdout, again);
    }));

    test(`${name} ends with an error when it is refused`, async () => {
      const env = { ...process.env, FULL_KEY: process.env.READ_KEY };
      const error = await sample('sample-refused', env).then(assert.fail, (e) => e);
      assert.ok(error.code > 0, `${error}`);
      assert.match(error.stderr, /403/);
    });
  }
});

test('docs/api.md shows code of the samples only', () => {
  const text = readFileSync(new URL('docs/api.md', root), 'utf8');
  const blocks = [...text.matchAll(/^```(\w+)\n(.*?)^```$/gms)];
  const flat = (code) => code.split('\n').map((line) => line.trim()).join('\n');
  const shown = blocks.filter(([, language]) => programs[language]);
  for (const [, language, code] of shown)
    assert.ok(flat(read(programs[language])).includes(flat(code)), `not in the sample:\n${code}`);
  assert.deepEqual([...new Set(shown.map(([, language]) => language))], Object.keys(programs));
});
