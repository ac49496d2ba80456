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

// Hears everything from here on: { messages, heard(subject), answered(), close() }. A message is {
// subject, reply, headers, body }; a reply has `to`, the subject of what it answers.
export async function listen(url) {
  const link = await connect(place(url));
  const messages = [];
  const asked = new Map();
  const waiting = new Set();
  const keep = (message) => {
    const { subject, reply } = message;
    if (reply) asked.set(reply, subject);
    // An inbox without a name is a program's own, where it receives its own heartbeat.
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
  // Until it is so; tells whether it became so in time.
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
  // Until a message on that subject has come by.
  const heard = async (subject) => {
    if (!await until(() => messages.some((m) => m.subject === subject && !m.to)))
      throw new Error(`${subject} has not come by`);
  };
  // Until every question so far, of these subjects, has its answer or will have none; the questions.
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
