// Reads proto/asyncapi.yaml and finds what differs from it in a message.
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { ajv, relocate, root } from './description.mjs';

const bus = parse(readFileSync(new URL('proto/asyncapi.yaml', root), 'utf8'));

const at = ({ $ref }) => $ref.slice(2).split('/').reduce((node, key) => node[key], bus);
const resolved = (node) => (node.$ref === undefined ? node : resolved(at(node)));

ajv.addSchema({ $id: 'bus', $defs: relocate(bus.components.schemas, 'bus') });

const compiled = new Map();
function faults(schema, value) {
  if (!compiled.has(schema)) compiled.set(schema, ajv.compile(relocate(schema, 'bus')));
  const validate = compiled.get(schema);
  if (validate(value)) return [];
  return validate.errors.map(
    (e) => `${e.instancePath || '/'} ${e.message} ${JSON.stringify(e.params)}`,
  );
}

// Every operation by its subject: { senders, action, message, success, problems }. The last two
// are the possible replies; undefined if there is no reply.
export const operations = new Map(
  Object.values(bus.operations).map((operation) => {
    const channel = at(operation.channel);
    const [success, problems] = (operation.reply?.messages ?? []).map(resolved);
    const senders = operation.tags.map((tag) => at(tag).name).sort();
    const [message] = Object.values(channel.messages).map(resolved);
    return [channel.address, { senders, action: operation.action, message, success, problems }];
  }),
);

function bodyFaults(payload, body) {
  if (payload === undefined) return ['', '{}'].includes(body) ? [] : ['body: there must be none'];
  // An empty body means {} in a command; the schemas of replies with contents do not allow {}.
  if (body === '' && faults(payload.schema ?? payload, {}).length === 0) return [];
  let value;
  try {
    value = JSON.parse(body);
  } catch (error) {
    return [`body: not JSON: ${error.message}`];
  }
  return faults(payload.schema ?? payload, value).map((fault) => `body${fault}`);
}

// The faults of a message, { headers: {name: value}, body }, as texts; none if it is as described.
export function check(described, { headers, body }) {
  const found = faults(described.headers, headers).map((fault) => `headers${fault}`);
  return [...found, ...bodyFaults(described.payload, body)];
}
