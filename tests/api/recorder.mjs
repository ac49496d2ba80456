// Exchanges with the service, in the form that description.mjs checks.
import { check } from './description.mjs';

// A `fetch` that records exchanges: { fetch, exchanges, last() }.
export function recorder() {
  const exchanges = [];
  async function recording(url, init) {
    const response = await fetch(url, init);
    const { pathname, search } = new URL(url);
    const headers = [...response.headers];
    const exchange = {
      method: init?.method ?? 'GET',
      target: pathname + search,
      sent: init?.body ?? undefined,
      status: response.status,
      headers,
      body: await response.clone().text(),
      request: Object.fromEntries(new Headers(init?.headers)),
      header: (name) => headers.find(([n]) => n === name)?.[1],
    };
    exchange.faults = check(exchange);
    exchanges.push(exchange);
    return response;
  }
  return { fetch: recording, exchanges, last: () => exchanges.at(-1) };
}

// The exchange in one line of the journal that integration tests write (tests/support/journal.h).
export function journalled(line) {
  const { method, target, sent, head, body } = JSON.parse(line);
  const [first, ...rest] = head.split('\r\n').filter(Boolean);
  const headers = rest.map((text) => {
    const [, name, value] = /^([^:]+):[ \t]*(.*?)[ \t]*$/.exec(text);
    return [name.toLowerCase(), value];
  });
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(first)[1]);
  return { method, target, sent, status, headers, body };
}
