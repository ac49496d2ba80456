// The description by itself: it is sound, and it says what the service's own tables say.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import {
  deref,
  description,
  examples,
  faults,
  operations,
  responsesOf,
  root,
} from './description.mjs';

// OUTCOME(symbol, "name", status, "code", audited) without those that only operators can meet.
function outcomes() {
  const text = readFileSync(new URL('proto/outcome.def', root), 'utf8');
  const rows = text.matchAll(/^OUTCOME\(\w+, "\w+", (\d+), (?:"(\w+)"|NULL), \w+\)$/gm);
  const operatorsOnly = ['conflict', 'insufficient_role', 'last_owner', 'would_lock_out',
    'forbidden_origin', 'invalid_csrf_token', 'unknown_command'];
  return [...rows]
    .map(([, status, code]) => ({ status, code }))
    .filter(({ code }) => !operatorsOnly.includes(code));
}

// The codes that a response lets through.
function codesOf(response) {
  const narrowed = response.content['application/json'].schema.allOf[1];
  const { code } = narrowed.properties.errors.items.properties;
  return code.enum ?? [code.const];
}

const sorted = (values) => [...new Set(values)].sort();

test('redocly has nothing to say about it', () => {
  const redocly = new URL('node_modules/@redocly/cli/bin/cli.js', import.meta.url).pathname;
  const out = execFileSync(
    process.execPath,
    [redocly, 'lint', '--config=redocly.yaml', '--format=json', '../../proto/openapi.yaml'],
    {
      cwd: new URL('.', import.meta.url),
      env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
      stdio: ['ignore', 'pipe', 'ignore'],
    },
  );
  const { totals, problems } = JSON.parse(out);
  assert.deepEqual(problems, []);
  assert.equal(totals.errors + totals.warnings, 0);
});

test('its error codes are those of proto/outcome.def', () => {
  const codes = outcomes().map(({ code }) => code).filter(Boolean);
  assert.ok(codes.length > 20);
  assert.deepEqual(sorted(description.components.schemas.ErrorCode.enum), sorted(codes));
});

test('every status has the codes of proto/outcome.def', () => {
  const statuses = sorted(outcomes().map(({ status }) => status));
  for (const status of statuses.filter((s) => s >= '400')) {
    const ours = outcomes().filter((o) => o.status === status).map(({ code }) => code);
    assert.deepEqual(sorted(responsesOf(status).flatMap(codesOf)), sorted(ours), status);
  }
});

test('its operations are those of proto/operation.def', () => {
  const text = readFileSync(new URL('proto/operation.def', root), 'utf8');
  const names = [...text.matchAll(/^OPERATION\(\w+, "([^"]+)"\)/gm)].map(([, name]) => name);
  assert.deepEqual(sorted(description.components.schemas.Operation.enum), sorted(names));
  assert.equal(operations.length, names.length - 1, 'all but "unknown" are described');
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
  for (const status of ['200', '201', ...sorted(outcomes().map((o) => o.status)), '417'])
    for (const { headers } of responsesOf(status))
      for (const name of ['X-Service-Request-Id', 'Cache-Control'])
        assert.ok(deref(headers[name]).required, `${status} ${name}`);
});
