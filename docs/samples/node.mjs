// Creates conversations of a customer, reads one, changes it, and lists them all, page by page.
//
//     BASE_URL=http://127.0.0.1:8080/api/v1 FULL_KEY=svc_live_... node node.mjs [CUSTOMER]
//
// Node 18 or later, nothing else.
import { setTimeout as sleep } from 'node:timers/promises';

const { BASE_URL, FULL_KEY } = process.env;
const customer = process.argv[2] ?? 'user-7';
const attempts = 6;

// Retry-After has seconds or a date.
const secondsOf = (text) =>
  /^\d+$/.test(text) ? Number(text) : Math.max(0, (Date.parse(text) - Date.now()) / 1000) || 0;

async function send(method, path, body) {
  const response = await fetch(BASE_URL + path, {
    method,
    headers: { Authorization: `Bearer ${FULL_KEY}`, 'Content-Type': 'application/json' },
    body: body && JSON.stringify(body),
    signal: AbortSignal.timeout(30_000),
  });
  const wait = secondsOf(response.headers.get('Retry-After'));
  return { status: response.status, wait, text: await response.text() };
}

// A failure of the service or the network is tried again with the same body; a refusal is final.
async function api(method, path, body) {
  for (let attempt = 1; ; attempt++) {
    const answer = await send(method, path, body).catch((error) => ({ error, wait: 0 }));
    if (answer.status < 300) return JSON.parse(answer.text);
    const passing = answer.error || [429, 500, 502, 503, 504].includes(answer.status);
    if (!passing || attempt === attempts)
      throw answer.error ?? new Error(`${answer.status} ${answer.text}`);
    // At least Retry-After, ever longer, and not all clients at the same moment.
    await sleep(1000 * (answer.wait + 2 ** attempt * Math.random()));
  }
}

const create = (order) =>
  api('POST', '/conversations', {
    external_id: `${customer}-order-${order}`,
    from: { external_id: customer },
    custom_attributes: { plan: 'pro' },
  });

// Every conversation of the customer. A page is no snapshot, hence the set.
async function* conversations() {
  const seen = new Set();
  let starting_after = null;
  do {
    const page = await api('POST', '/conversations/search', {
      query: { field: 'contact.external_id', operator: '=', value: customer },
      pagination: { per_page: 2, starting_after },
    });
    for (const conversation of page.conversations) {
      if (!seen.has(conversation.id)) yield conversation;
      seen.add(conversation.id);
    }
    starting_after = page.pages.next?.starting_after;
  } while (starting_after);
}

let id;
for (const order of [1, 2, 3]) {
  ({ id } = await create(order));
  console.log('created', id);
}

// Sent again, a create finds what is there: a client that is in doubt just repeats it.
console.log('replayed', (await create(3)).id);

const found = await api('GET', `/conversations/${id}`);
console.log(`read ${found.external_id}, ${found.status}`);

// A merge: sets "seats", removes "plan", leaves other attributes alone.
const changed = await api('PUT', `/conversations/${id}`, {
  custom_attributes: { seats: 6, plan: null },
});
console.log('attributes', JSON.stringify(changed.custom_attributes));

for await (const conversation of conversations()) console.log('found', conversation.id);
