// What crosses the bus, as its administrator hears it.
import { connect } from 'nats';

const decoder = new TextDecoder();

// nats://USER:PASSWORD@HOST:PORT as what the client wants to be told.
function place(url) {
  const { hostname, port, username, password } = new URL(url);
  return { servers: `${hostname}:${port}`, user: username, pass: password };
}

function told(message) {
  const headers = {};
  for (const [name, values] of message.headers ?? []) headers[name] = values.join(', ');
  const { subject, reply } = message;
  return { subject, reply, headers, body: decoder.decode(message.data) };
}

// Hears everything from here on: { messages, heard(subject), close() }. A message is { subject,
// headers, body }; a reply has `to`, the subject of what it answers.
export async function listen(url) {
  const link = await connect(place(url));
  const messages = [];
  const asked = new Map();
  const waiting = new Set();
  const keep = (message) => {
    const { subject, reply } = message;
    if (reply) asked.set(reply, subject);
    // An inbox that nobody named is a program's own: it listens to its own pulse.
    if (subject.startsWith('_INBOX.') && !asked.has(subject)) return;
    messages.push({ ...message, to: asked.get(subject) });
    for (const check of waiting) check();
  };
  const subscription = link.subscribe('>', {
    callback: (error, message) => {
      if (error) throw error;
      keep(told(message));
    },
  });
  await link.flush();
  // Until a message on that subject has come by.
  const heard = (subject, within = 30000) =>
    new Promise((resolve, reject) => {
      const check = () => {
        if (!messages.some((m) => m.subject === subject && !m.to)) return;
        clearTimeout(timer);
        waiting.delete(check);
        resolve();
      };
      const timer = setTimeout(() => {
        waiting.delete(check);
        reject(new Error(`${subject} has not come by`));
      }, within);
      waiting.add(check);
      check();
    });
  const close = async () => {
    subscription.unsubscribe();
    await link.close();
  };
  return { messages, heard, close };
}
