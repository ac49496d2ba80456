// A round trip with a client of openapi-fetch, over the types that openapi-typescript generates.
import createClient from 'openapi-fetch';
import type { components, paths } from './schema.js';

type Conversation = components['schemas']['Conversation'];

const { BASE_URL, FULL_KEY, CUSTOMER } = process.env;
const client = createClient<paths>({
  baseUrl: BASE_URL!,
  headers: { Authorization: `Bearer ${FULL_KEY}` },
});

function only<T>(answer: { data?: T; error?: unknown }): T {
  if (answer.data === undefined) throw new Error(JSON.stringify(answer.error));
  return answer.data;
}

async function everyConversation(user: string): Promise<Conversation[]> {
  const found: Conversation[] = [];
  let starting_after: string | null = null;
  do {
    const page: components['schemas']['ConversationList'] = only(
      await client.POST('/conversations/search', {
        body: {
          query: { field: 'contact.external_id', operator: '=', value: user },
          pagination: { starting_after },
        },
      }),
    );
    found.push(...page.conversations);
    starting_after = page.pages.next?.starting_after ?? null;
  } while (starting_after);
  return found;
}

const made = only(
  await client.POST('/conversations', {
    body: { external_id: `${CUSTOMER}-1`, from: { external_id: CUSTOMER }, custom_attributes: { plan: 'pro' } },
  }),
);
const path = { conversation_id: made.id };
const read = only(await client.GET('/conversations/{conversation_id}', { params: { path } }));
const changed = only(
  await client.PUT('/conversations/{conversation_id}', {
    params: { path },
    body: { custom_attributes: { plan: null, seats: 6 } },
  }),
);
const audit = only(
  await client.GET('/audit', { params: { query: { conversation_id: made.id, operation: 'conversation.update' } } }),
);
const missing = await client.GET('/conversations/{conversation_id}', {
  params: { path: { conversation_id: CUSTOMER! } },
});

console.log(
  JSON.stringify({
    read: read.id === made.id,
    attributes: changed.custom_attributes,
    found: (await everyConversation(CUSTOMER!)).map(({ id }) => id === made.id),
    audit: audit.audit_logs.map(({ outcome }) => outcome),
    code: missing.error?.errors[0]?.code,
  }),
);
