// A program under strict rules that uses the packed package of clients/typescript.
import type { IncomingMessage } from 'node:http';
import {
  ApiError, type Answer, Client, type Conversation, type Query, verifyWebhook, VERSION, type WebhookEvent,
} from 'conversations-client';

const { BASE_URL = '', FULL_KEY = '' } = process.env;
const client = new Client(BASE_URL, FULL_KEY, { policy: { budgetMs: 20_000 } });

const query: Query = {
  operator: 'AND',
  value: [
    { field: 'contact.external_id', operator: '=', value: 'nobody-has-this-id' },
    { field: 'status', operator: 'IN', value: ['active', 'waiting'] },
  ],
};
for await (const conversation of client.conversations(query, { perPage: 2 })) console.log(conversation.id);

async function codeOf(call: Promise<Answer<Conversation>>): Promise<string | undefined> {
  try {
    return (await call).data.status;
  } catch (error) {
    if (error instanceof ApiError) return error.code;
    throw error;
  }
}

// Takes headers as a Node.js server has them.
export function received({ headers }: IncomingMessage, body: Buffer, secret: string): WebhookEvent {
  const { 'x-service-timestamp': timestamp, 'x-service-signature': signature } = headers;
  return verifyWebhook({ secret, timestamp, signature, body });
}

const { data } = await client.ping();
console.log(data.scope, await codeOf(client.getConversation('none')), VERSION);
