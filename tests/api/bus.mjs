// All messages on the bus, received as its administrator.
import { connect } from 'nats';

const decoder = new TextDecoder();

// nats://USER:PASSWORD@HOST:PORT as options of the client.
export function place(url) {
  const { hostname, port, username, password } = new URL(url);
  return { servers: `${hostname}:${port}`, user: username, pass: password };
}

function told(message) {
  const headers = {};
  for (const [name, values] of message.headers ?? []) headers[name] = values.join(', ');
  const { subject, reply } = message;
  return { subject, reply, headers, body: decoder.decode(message.data) };
}

// A bundle's reply subject ends with its own subject and a number.
function asksInBundle({ subject, reply }) {
  return reply !== undefined && reply.slice(0, reply.lastIndexOf('.')).endsWith(`.${subject}`);
}

// The length of a run of literals or of a match in an LZ4 block: 15 means that bytes follow to be added.
function runLength(first, next) {
  let length = first;
  for (let more = 255; first === 15 && more === 255;) length += more = next();
  return length;
}

// A compressed body: its length in four bytes, and one LZ4 block.
function expanded(data) {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  const out = new Uint8Array(view.getUint32(0));
  let at = 4, n = 0;
  const next = () => data[at++];
  for (;;) {
    const token = next();
    const literals = runLength(token >> 4, next);
    out.set(data.subarray(at, at + literals), n);
    at += literals;
    n += literals;
    if (at >= data.length) return out;
    const distance = next() | next() << 8;
    for (let left = runLength(token & 15, next) + 4; left > 0; left--, n++) out[n] = out[n - distance];
  }
}

// The items of a bundle as if each had come alone; see common/bus/bundle.h. The item's handle makes its
// reply subject unique.
function taken(bundle) {
  const { subject, reply, data } = bundle;
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  const items = [];
  for (let at = 0; at < data.length;) {
    const handle = view.getBigUint64(at);
    const body = at + 16 + view.getUint32(at + 8);
    const length = view.getUint32(at + 12);
    const end = body + (length & 0x7fffffff);
    const bytes = data.subarray(body, end);
    const texts = decoder.decode(data.subarray(at + 16, body)).split('\0').slice(0, -1);
    const headers = {};
    for (let i = 0; i < texts.length; i += 2) headers[texts[i]] = texts[i + 1];
    items.push({
      subject: reply ? subject : `${subject}.${handle}`,
      reply: reply ? `${reply}.${handle}` : undefined,
      headers,
      body: decoder.decode(length >>> 31 ? expanded(bytes) : bytes),
    });
    at = end;
  }
  return items;
}

// Records everything from now on: { messages, heard(subject), answered(), close() }. A message is {
// subject, reply, headers, body }; a reply also has `to`, the subject of its command.
export async function listen(url) {
  const link = await connect(place(url));
  const messages = [];
  const asked = new Map();
  const bundled = new Set();
  const waiting = new Set();
  const keep = (message) => {
    const { subject, reply } = message;
    if (reply) asked.set(reply, subject);
    // An inbox that no message named as its reply subject is where a program receives its own heartbeat.
    if (subject.startsWith('_INBOX.') && !asked.has(subject)) return;
    messages.push({ ...message, to: asked.get(subject) });
    for (const check of waiting) check();
  };
  const subscription = link.subscribe('>', {
    callback: (error, message) => {
      if (error) throw error;
      if (asksInBundle(message)) bundled.add(message.reply);
      if (message.headers?.code === 503) return; // from the server: no responders
      const isBundle = asksInBundle(message) || bundled.has(message.subject);
      for (const one of isBundle ? taken(message) : [told(message)]) keep(one);
    },
  });
  await link.flush();
  // Waits until `isSo`; returns false on timeout.
  const until = (isSo, within = 30000) =>
    new Promise((resolve) => {
      const end = (came) => {
        clearTimeout(timer);
        waiting.delete(check);
        resolve(came);
      };
      const check = () => isSo() && end(true);
      const timer = setTimeout(() => end(false), within);
      waiting.add(check);
      check();
    });
  // Waits for a message on this subject.
  const heard = async (subject) => {
    if (!await until(() => messages.some((m) => m.subject === subject && !m.to)))
      throw new Error(`${subject} was not captured`);
  };
  // Waits until all commands so far on these subjects have their replies, or times out; returns the commands.
  const answered = async (subjects) => {
    const asked = messages.filter((m) => !m.to && m.reply && subjects.has(m.subject));
    await until(() => {
      const inboxes = new Set(messages.filter((m) => m.to).map((m) => m.subject));
      return asked.every((m) => inboxes.has(m.reply));
    });
    return asked;
  };
  const close = async () => {
    subscription.unsubscribe();
    await link.close();
  };
  return { messages, heard, answered, close };
}
