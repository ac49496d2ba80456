// The description by itself is sound. Whether it says what the tables in proto say is
// tools/check-contract's to find.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  deref,
  description,
  examples,
  faults,
  linted,
  operations,
  responsesOf,
} from './description.mjs';

const sorted = (values) => [...new Set(values)].sort();

test('redocly has nothing to say about it', async () => {
  assert.deepEqual(await linted('proto/openapi.yaml'), []);
});

test('every example is as its schema says', () => {
  let count = 0;
  for (const { where, schema, value } of examples()) {
    assert.deepEqual(faults(schema, value), [], where);
    count++;
  }
  assert.ok(count > 20);
});

test('every object of an answer is closed', () => {
  const open = Object.entries(description.components.schemas)
    .filter(([, s]) => s.type === 'object' && s.additionalProperties !== false)
    .map(([name]) => name);
  assert.deepEqual(open, ['Attributes', 'AttributeChanges']);
});

// Every schema that describes members twice: beside themselves, in one of several alternatives.
function* twice(node, where = '#') {
  if (node === null || typeof node !== 'object') return;
  const beside = [node.allOf, node.oneOf, node.anyOf].flat().filter(Boolean);
  if (node.properties && beside.some((schema) => schema.properties)) yield where;
  for (const [key, child] of Object.entries(node)) yield* twice(child, `${where}/${key}`);
}

test('each member has one type for those who generate a client', () => {
  assert.deepEqual([...twice(description.components.schemas)], []);
});

test('every answer has a request id and must not be stored', () => {
  const places = [...operations.map(({ operation }) => operation), description['x-other-requests']];
  const statuses = sorted(places.flatMap(({ responses }) => Object.keys(responses)));
  assert.ok(statuses.length > 14);
  for (const status of statuses)
    for (const { headers } of responsesOf(status))
      for (const name of ['X-Service-Request-Id', 'Cache-Control'])
        assert.ok(deref(headers[name]).required, `${status} ${name}`);
});
