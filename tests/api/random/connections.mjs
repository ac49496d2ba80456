// Many connections to the API, each with one request at a time, for the thousands of requests of random tests: a
// client library would cost more than the service's work.
import { connect } from 'node:net';

const TIMEOUT_MS = 30000;
const IDLE_MS = 2000; // the service closes idle connections soon after

// The first response in the bytes if it is complete: { status, headers, body }, headers by name in lower case.
function read(bytes) {
  const end = bytes.indexOf('\r\n\r\n');
  if (end < 0) return undefined;
  const [first, ...lines] = bytes.toString('latin1', 0, end).split('\r\n');
  const headers = new Map(lines.map((line) => {
    const colon = line.indexOf(': ');
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 2)];
  }));
  const from = end + 4, to = from + Number(headers.get('content-length'));
  if (bytes.length < to) return undefined;
  return { status: Number(first.slice(9, 12)), headers, body: bytes.toString('utf8', from, to) };
}

function connection(port) {
  const socket = connect({ host: '127.0.0.1', port, noDelay: true });
  let parts = [], waiting, usedAt = Date.now();
  const end = (how, value) => {
    const { [how]: tell, timer } = waiting;
    clearTimeout(timer);
    usedAt = Date.now();
    waiting = undefined;
    parts = [];
    tell(value);
  };
  socket.on('data', (bytes) => {
    parts.push(bytes);
    const all = parts.length > 1 ? Buffer.concat(parts) : bytes;
    parts = [all];
    const answer = read(all);
    if (answer !== undefined) end('resolve', answer);
  });
  const fail = (error) => waiting && end('reject', error);
  socket.on('error', fail);
  socket.on('close', () => fail(new Error('the connection was closed')));
  const send = (text) => new Promise((resolve, reject) => {
    const timer = setTimeout(() => fail(new Error(`no answer in time to ${text.slice(0, 400)}`)), TIMEOUT_MS);
    waiting = { resolve, reject, timer };
    socket.write(text);
  });
  const isFresh = () => !socket.destroyed && Date.now() - usedAt < IDLE_MS;
  return { send, isFresh, close: () => socket.destroy() };
}

// Up to `n` connections to the URL's host: { ask(request), close() }. A request is { key, method, path, body },
// with the body as text; the answer has its body also parsed as JSON.
export function connections(url, n) {
  const { port, pathname } = new URL(url);
  const free = [], waiting = [], all = new Set();
  const open = () => {
    const one = connection(port);
    all.add(one);
    return one;
  };
  const drop = (one) => {
    one.close();
    all.delete(one);
  };
  const take = () => {
    while (free.length > 0) {
      const one = free.pop();
      if (one.isFresh()) return one;
      drop(one);
    }
    return all.size < n ? open() : new Promise((resolve) => waiting.push(resolve));
  };
  const put = (one) => (waiting.length > 0 ? waiting.shift()(one) : free.push(one));

  async function ask({ key, method = 'POST', path, body }) {
    const more = body === undefined ? ''
      : `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n`;
    const one = await take();
    const answer = await one.send(`${method} ${pathname}${path} HTTP/1.1\r\nHost: a\r\n`
      + `Authorization: Bearer ${key}\r\n${more}\r\n${body ?? ''}`);
    put(one);
    return { ...answer, json: JSON.parse(answer.body) };
  }
  return { ask, close: () => all.forEach((one) => one.close()) };
}

// Calls `work` with each number below n, `atOnce` at a time; the first failure ends all.
export async function each(n, atOnce, work) {
  let next = 0, isOver = false;
  await Promise.all(Array.from({ length: atOnce }, async () => {
    while (next < n && !isOver) {
      try {
        await work(next++);
      } catch (error) {
        isOver = true;
        throw error;
      }
    }
  }));
}
