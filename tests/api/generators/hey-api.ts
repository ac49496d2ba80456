// The same round trip with the client that @hey-api/openapi-ts generates.
import { client } from './client/client.gen.js';
import {
  createConversation,
  getConversation,
  listAuditLogs,
  searchConversations,
  updateConversation,
} from './client/sdk.gen.js';

const { BASE_URL, FULL_KEY, CUSTOMER } = process.env;
client.setConfig({ baseUrl: BASE_URL!, auth: FULL_KEY! });

const throwOnError = true;
const { data: made } = await createConversation({
  body: { external_id: `${CUSTOMER}-1`, from: { external_id: CUSTOMER! }, custom_attributes: { plan: 'pro' } },
  throwOnError,
});
const path = { conversation_id: made.id };
const { data: read } = await getConversation({ path, throwOnError });
const { data: changed } = await updateConversation({
  path,
  body: { custom_attributes: { plan: null, seats: 6 } },
  throwOnError,
});
const { data: found } = await searchConversations({
  body: {
    query: { operator: 'AND', value: [
      { field: 'contact.external_id', operator: '=', value: CUSTOMER! },
      { field: 'status', operator: 'IN', value: ['active', 'waiting'] },
    ] },
    pagination: { per_page: 1 },
  },
  throwOnError,
});
const { data: audit } = await listAuditLogs({
  query: { conversation_id: made.id, operation: 'conversation.update' },
  throwOnError,
});
const missing = await getConversation({ path: { conversation_id: CUSTOMER! } });

console.log(
  JSON.stringify({
    read: read.id === made.id,
    attributes: changed.custom_attributes,
    found: found.conversations.map(({ id }) => id === made.id),
    audit: audit.audit_logs.map(({ outcome }) => outcome),
    code: missing.error?.errors[0]?.code,
  }),
);
