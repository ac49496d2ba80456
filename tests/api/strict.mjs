// proto/openapi.yaml is open, since version 1 only grows: clients must not refuse unknown members. The
// tests are stricter: an answer with an undescribed member is wrong, and so is one whose members
// contradict each other, for which the file has rules only in words.

// How the members of a conversation depend on each other. In the file, client generators would turn these
// conditions into types.
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

// Every object schema at or below a node: { where, node }.
export function* objects(node, where = '#') {
  if (node === null || typeof node !== 'object') return;
  if (node.type === 'object' && node.properties !== undefined) yield { where, node };
  for (const [key, child] of Object.entries(node)) yield* objects(child, `${where}/${key}`);
}

// A copy of the description with closed objects and these conditions.
export function strict(description) {
  const copy = structuredClone(description);
  const { schemas } = copy.components;
  for (const { node } of objects(copy)) if (isOpen(node)) node.additionalProperties = false;
  schemas.Conversation.allOf = conversation;
  return copy;
}
