// Reads proto/openapi.yaml and finds what differs from it in an answer.
import { readFileSync } from 'node:fs';
import Ajv2020 from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { parse } from 'yaml';
import { strict } from './strict.mjs';

export const root = new URL('../../', import.meta.url);
export const published = parse(readFileSync(new URL('proto/openapi.yaml', root), 'utf8'));
export const description = strict(published);

const base = '/api/v1';
const methods = ['get', 'put', 'post', 'delete', 'patch', 'head', 'options', 'trace'];
/* Headers of HTTP itself; the description has the others. */
const unspoken = ['connection', 'content-length', 'content-type', 'date', 'transfer-encoding'];

export const ajv = new Ajv2020({ strictTypes: false, strictRequired: false, allErrors: true });
addFormats(ajv);

export function deref(node) {
  if (node.$ref === undefined) return node;
  return deref(node.$ref.slice(2).split('/').reduce((at, key) => at[key], description));
}

// JSON Schema does not know OpenAPI's place for schemas: moves them to $defs.
export function relocate(schema, to = 'api') {
  const move = (key, at) =>
    key === '$ref'
      ? at.replace('./openapi.yaml#/components/schemas/', 'api#/$defs/')
          .replace('#/components/schemas/', `${to}#/$defs/`)
      : at;
  return JSON.parse(JSON.stringify(schema, move));
}
ajv.addSchema({ $id: 'api', $defs: relocate(description.components.schemas) });

const compiled = new Map();
// The faults of a value as texts; none if it fits the schema.
export function faults(schema, value) {
  if (!compiled.has(schema)) compiled.set(schema, ajv.compile(relocate(schema)));
  const validate = compiled.get(schema);
  if (validate(value)) return [];
  return validate.errors.map(
    (e) => `${e.instancePath || '/'} ${e.message} ${JSON.stringify(e.params)}`,
  );
}

// Every operation: { path, method, operation, matches }. Paths without parameters come first.
export const operations = Object.entries(description.paths)
  .sort(([a], [b]) => a.includes('{') - b.includes('{'))
  .flatMap(([path, item]) => {
    const pattern = new RegExp(`^${base}${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`);
    return methods
      .filter((method) => item[method])
      .map((method) => ({
        path,
        method: method.toUpperCase(),
        operation: item[method],
        matches: (target) => pattern.test(target),
      }));
  });

export function find(method, target) {
  const path = target.split('?')[0];
  const here = operations.filter((o) => o.matches(path));
  return here.find((o) => o.path === here[0].path && o.method === method);
}

function headerFaults(described, headers) {
  const found = [];
  const expected = Object.entries(described).map(([name, h]) => [name.toLowerCase(), deref(h)]);
  for (const [name, header] of expected) {
    const values = headers.filter(([n]) => n === name).map(([, value]) => value);
    if (values.length === 0 && header.required) found.push(`header ${name} is missing`);
    if (values.length > 1) found.push(`header ${name} is there ${values.length} times`);
    for (const text of values) {
      const isNumber = deref(header.schema).type === 'integer' && /^(0|[1-9][0-9]*)$/.test(text);
      const value = isNumber ? Number(text) : text;
      found.push(...faults(header.schema, value).map((f) => `header ${name}: ${f}`));
    }
  }
  for (const [name] of headers) {
    if (!unspoken.includes(name) && !expected.some(([n]) => n === name))
      found.push(`header ${name} is not described`);
  }
  const limits = headers.filter(([name]) => name.startsWith('x-ratelimit-'));
  if (limits.length % 3 !== 0) found.push('some rate-limit headers, but not all three');
  return found;
}

function bodyFaults(described, answer) {
  const type = answer.headers.find(([name]) => name === 'content-type')?.[1];
  const media = described.content[type];
  if (media === undefined) return [`content type ${type} is not described`];
  if (answer.method === 'HEAD') return answer.body === '' ? [] : ['an answer to HEAD has a body'];
  let body;
  try {
    body = JSON.parse(answer.body);
  } catch (error) {
    return [`the body is not JSON: ${error.message}`];
  }
  const found = faults(media.schema, body).map((f) => `body${f}`);
  const id = answer.headers.find(([name]) => name === 'x-service-request-id')?.[1];
  if (answer.status >= 400 && body.request_id !== id)
    found.push(`request_id is ${body.request_id} in the body and ${id} in the header`);
  return found;
}

function responseFaults(described, answer) {
  return [...headerFaults(described.headers, answer.headers), ...bodyFaults(described, answer)];
}

// A request that the schema refuses must not have been accepted.
function requestFaults(operation, answer) {
  const body = operation.requestBody;
  if (body === undefined || answer.status >= 300 || answer.sent === undefined) return [];
  const found = faults(body.content['application/json'].schema, JSON.parse(answer.sent));
  return found.map((f) => `was accepted with a request against the description: ${f}`);
}

// The faults of an answer, { method, target, status, headers: [[name in lower case, value]], body, sent? },
// as texts; none if it is as described.
export function check(answer) {
  const found = find(answer.method, answer.target);
  const responses = found?.operation.responses ?? description['x-other-requests'].responses;
  const described = responses[answer.status];
  if (described === undefined)
    return [`status ${answer.status} is not described for ${found?.path ?? 'other requests'}`];
  return [
    ...responseFaults(deref(described), answer),
    ...(found ? requestFaults(found.operation, answer) : []),
  ];
}

// All responses described for a status, in any operation.
export function responsesOf(status) {
  const places = [...operations.map((o) => o.operation), description['x-other-requests']];
  const found = places.map((place) => place.responses[status]).filter(Boolean);
  return [...new Set(found.map(deref))];
}

// The same for an answer to an unknown request: it must fit any one description of its status.
export function checkAny(answer) {
  const described = responsesOf(answer.status);
  if (described.length === 0) return [`status ${answer.status} is not described anywhere`];
  const found = described.map((response) => responseFaults(response, answer));
  return found.find((f) => f.length === 0) ?? found[0];
}

// Every example: { where, schema, value }.
export function* examples(node = description, where = '#') {
  if (node === null || typeof node !== 'object') return;
  if (node.schema !== undefined) {
    if (node.example !== undefined) yield { where, schema: node.schema, value: node.example };
    for (const [name, example] of Object.entries(node.examples ?? {}))
      yield { where: `${where}/${name}`, schema: node.schema, value: example.value };
  }
  for (const [key, child] of Object.entries(node)) yield* examples(child, `${where}/${key}`);
}
