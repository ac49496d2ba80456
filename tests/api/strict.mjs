// proto/openapi.yaml is open, as version 1 only grows: clients must not refuse what they do not know.
// The tests are stricter. Here an answer with a member that is not described is wrong, and so is one
// whose members contradict one another, which the file says in words.

// How the members of a conversation go together. Generators of clients would make types of conditions.
const conversation = [
  {
    if: { properties: { status: { enum: ['active', 'waiting', 'human_takeover'] } } },
    then: { properties: { state: { const: 'open' }, open: { const: true } } },
    else: { properties: { state: { const: 'closed' }, open: { const: false } } },
  },
  {
    if: { properties: { channel: { const: 'api' } } },
    then: {
      properties: {
        source: { properties: { type: { const: 'api' } } },
        external_id: { type: 'string' },
      },
    },
    else: {
      properties: {
        source: { properties: { type: { not: { const: 'api' } } } },
        external_id: { type: 'null' },
      },
    },
  },
  {
    if: { properties: { contact: { type: 'null' } } },
    then: { properties: { contacts: { properties: { contacts: { maxItems: 0 } } } } },
    else: { properties: { contacts: { properties: { contacts: { minItems: 1 } } } } },
  },
];

export const isOpen = (node) =>
  node.type === 'object' && node.properties !== undefined && node.additionalProperties === undefined;

// Every schema of an object below a node, itself included: { where, node }.
export function* objects(node, where = '#') {
  if (node === null || typeof node !== 'object') return;
  if (node.type === 'object' && node.properties !== undefined) yield { where, node };
  for (const [key, child] of Object.entries(node)) yield* objects(child, `${where}/${key}`);
}

// A copy of the description in which every object is closed and the conditions stand.
export function strict(description) {
  const copy = structuredClone(description);
  const { schemas } = copy.components;
  for (const { node } of objects(copy)) if (isOpen(node)) node.additionalProperties = false;
  schemas.Conversation.allOf = conversation;
  return copy;
}
