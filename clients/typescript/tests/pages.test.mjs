// All pages of a list, over real connections.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BadRequestError, UnexpectedAnswerError } from 'conversations-client';
import { answer, client, refusal, scripted } from './scripted.mjs';

const page = (ids, next) =>
  answer(200, {
    type: 'audit_log.list',
    audit_logs: ids.map((id) => ({ type: 'audit_log', id })),
    pages: { type: 'pages', per_page: 2, ...(next && { next: { starting_after: next } }) },
  });
const gone = refusal(400, 'invalid_cursor');

async function listed(url, query, options) {
  const ids = [];
  for await (const { id } of client(url).auditLogs(query, options)) ids.push(id);
  return ids;
}

test('pages are requested until one has no next', async () => {
  await scripted([page(['a', 'b'], '1'), page([], '2 &'), page(['c'])], async ({ url, requests }) => {
    assert.deepEqual(await listed(url, { per_page: 2, outcome: 'denied' }), ['a', 'b', 'c']);
    assert.deepEqual(requests.map(({ path }) => path), [
      '/api/v1/audit?per_page=2&outcome=denied',
      '/api/v1/audit?per_page=2&outcome=denied&starting_after=1',
      '/api/v1/audit?per_page=2&outcome=denied&starting_after=2+%26',
    ]);
  });
});

test('an item that arrives twice is yielded once', async () => {
  await scripted([page(['a', 'b'], '1'), page(['b', 'c'])], async ({ url }) => {
    assert.deepEqual(await listed(url), ['a', 'b', 'c']);
  });
});

test('a failure between pages is retried with the same cursor', async () => {
  await scripted([page(['a'], '1'), refusal(503), page(['b'])], async ({ url, requests }) => {
    assert.deepEqual(await listed(url), ['a', 'b']);
    assert.equal(requests[1].path, requests[2].path);
  });
});

test('no page is requested before it is needed', async () => {
  await scripted([page(['a'], '1')], async ({ url, requests }) => {
    const logs = client(url).auditLogs();
    assert.equal(requests.length, 0);
    await logs.next();
    assert.equal(requests.length, 1);
  });
});

test('a cursor that is no longer valid is an error', async () => {
  await scripted([page(['a'], '1'), gone], async ({ url }) => {
    await assert.rejects(listed(url), BadRequestError);
  });
});

test('a restart is reported and yields nothing twice', async () => {
  const told = [], onRestart = (error) => told.push(error.code);
  const script = [page(['a'], '1'), gone, page(['b', 'a'], '2'), page(['c'])];
  await scripted(script, async ({ url, requests }) => {
    assert.deepEqual(await listed(url, {}, { onRestart }), ['a', 'b', 'c']);
    assert.equal(requests[2].path, '/api/v1/audit');
  });
  assert.deepEqual(told, ['invalid_cursor']);
});

test('restarts without new items end', async () => {
  const told = [], onRestart = (error) => told.push(error.code), first = page(['a'], '1');
  await scripted([first, gone, first, gone, first], async ({ url }) => {
    await assert.rejects(listed(url, {}, { onRestart }), BadRequestError);
  });
  assert.equal(told.length, 1);
});

test('only a list that may restart remembers all items', async () => {
  for (const [options, ids] of [[{}, 'abca'], [{ onRestart() {} }, 'abc']])
    await scripted([page(['a', 'b'], '1'), page(['c'], '2'), page(['a'])], async ({ url }) => {
      assert.equal((await listed(url, {}, options)).join(''), ids);
    });
});

test('a cursor that leads to itself is an error', async () => {
  await scripted([page(['a'], '1')], async ({ url, requests }) => {
    await assert.rejects(listed(url), UnexpectedAnswerError);
    assert.equal(requests.length, 2);
  });
});

test('another refusal does not restart the list', async () => {
  const onRestart = () => assert.fail('it began again');
  await scripted([page(['a'], '1'), refusal(400, 'parameter_invalid')], async ({ url }) => {
    await assert.rejects(listed(url, {}, { onRestart }), BadRequestError);
  });
});

test('a search sends the same body except for the cursor', async () => {
  const query = { field: 'contact.external_id', operator: '=', value: 'user-7' };
  const list = (next) => answer(200, {
    type: 'conversation.list', conversations: [], total_count: 0,
    pages: { type: 'pages', page: 1, per_page: 3, ...next },
  });
  await scripted([list({ next: { starting_after: '1' } }), list()], async ({ url, requests }) => {
    for await (const one of client(url).conversations(query, { perPage: 3 })) assert.fail(one.id);
    assert.deepEqual(requests.map(({ body }) => JSON.parse(body)), [null, '1'].map((starting_after) => (
      { query, pagination: { starting_after, per_page: 3 } })));
  });
});
