// The description by itself is sound. tools/check-contract checks that it agrees with the tables in
// proto.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { stringify } from 'yaml';
import {
  deref,
  description,
  examples,
  faults,
  operations,
  published,
  responsesOf,
} from './description.mjs';
import { linters } from './linters.mjs';
import { isOpen, objects } from './strict.mjs';

const sorted = (values) => [...new Set(values)].sort();

for (const [name, lint] of Object.entries(linters)) {
  test(`${name} finds nothing by its default rules`, async () => {
    assert.deepEqual(await lint('proto/openapi.yaml'), []);
  });

  test(`${name} would find missing parts`, async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'description-'));
    t.after(() => rmSync(folder, { recursive: true }));
    const { contact, license, ...info } = published.info;
    writeFileSync(join(folder, 'openapi.yaml'), stringify({ ...published, info }));
    const found = await lint(join(folder, 'openapi.yaml'));
    assert.equal(found.length, 1, `${found}`);
    assert.match(found[0], /^info-(license|contact): /);
  });
}

test('the dashboard serves it as it is published', async () => {
  const response = await fetch(`${process.env.DASHBOARD_URL}/openapi.json`);
  assert.deepEqual(await response.json(), published);
});

test('every example is as its schema says', () => {
  let count = 0;
  for (const { where, schema, value } of examples()) {
    assert.deepEqual(faults(schema, value), [], where);
    count++;
  }
  assert.ok(count > 20);
});

// The names of the schemas that a node refers to, directly or through others.
function reachable(node, names = new Set()) {
  const text = JSON.stringify(node);
  for (const [, name] of text.matchAll(/"#\/components\/schemas\/(\w+)"/g))
    if (!names.has(name)) reachable(published.components.schemas[name], names.add(name));
  for (const [, name] of text.matchAll(/"#\/components\/responses\/(\w+)"/g))
    reachable(published.components.responses[name], names);
  return names;
}

test('every object of a response is open, and every object of a request is closed', () => {
  const everything = Object.values(published.paths).flatMap(Object.values);
  const answers = [published['x-other-requests'], ...everything].map(({ responses }) => responses ?? []);
  const requests = everything.map(({ requestBody }) => requestBody ?? []);
  const open = (names) =>
    [...names].flatMap((name) => [...objects(published.components.schemas[name], name)])
      .map(({ where, node }) => [where, isOpen(node)]);
  const answered = open(reachable(answers)), asked = open(reachable(requests));
  assert.ok(answered.length > 12 && asked.length > 12, `${answered.length}, ${asked.length}`);
  assert.deepEqual(answered.filter(([, is]) => !is), []);
  assert.deepEqual(asked.filter(([, is]) => is), []);
});

// Every schema that describes members itself and also in an alternative.
function* twice(node, where = '#') {
  if (node === null || typeof node !== 'object') return;
  const beside = [node.allOf, node.oneOf, node.anyOf].flat().filter(Boolean);
  if (node.properties && beside.some((schema) => schema.properties)) yield where;
  for (const [key, child] of Object.entries(node)) yield* twice(child, `${where}/${key}`);
}

test('each member has a single type, for generated clients', () => {
  assert.deepEqual([...twice(description.components.schemas)], []);
});

test('every response has a request id and must not be stored', () => {
  const places = [...operations.map(({ operation }) => operation), description['x-other-requests']];
  const statuses = sorted(places.flatMap(({ responses }) => Object.keys(responses)));
  assert.ok(statuses.length > 14);
  for (const status of statuses)
    for (const { headers } of responsesOf(status))
      for (const name of ['X-Service-Request-Id', 'Cache-Control'])
        assert.ok(deref(headers[name]).required, `${status} ${name}`);
});
