// Sends bytes over a separate connection and returns the exact answer.
import { connect } from 'node:net';
import { CLOSES, STAYS } from './rows.mjs';

const TIMEOUT_MS = 30000;

// The first response in the bytes: { status, headers, body, rest }; undefined while it is incomplete. A response
// without a length has no body.
function read(bytes) {
  const text = bytes.toString('latin1');
  const end = text.indexOf('\r\n\r\n');
  if (end < 0) return undefined;
  const [first, ...lines] = text.slice(0, end).split('\r\n');
  const status = Number(/^HTTP\/1\.[01] (\d{3}) /.exec(first)?.[1]);
  const headers = lines.map((line) => {
    const [, name, value] = /^([^:]+): (.*)$/.exec(line);
    return [name.toLowerCase(), value];
  });
  const rest = bytes.subarray(end + 4);
  if (status < 200) return read(rest);
  const length = Number(headers.find(([name]) => name === 'content-length')?.[1] ?? 0);
  if (rest.length < length) return undefined;
  return { status, headers, body: rest.subarray(0, length).toString('utf8'), rest: rest.subarray(length) };
}

// Answers to HEAD have no body, whatever length they state.
const isHead = (request) => request.startsWith('HEAD ');

/*
 * Sends `request` and reads the answer; with `ends`, it also closes our side. Then it sends `probe` on the same
 * connection and expects the status `probed`. `ending` tells whether the connection was closed, or is open and
 * in step. Status 0 means that there was no answer.
 */
export function exchange({ port, from, request, ends, probe, probed }) {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port, localAddress: from });
    let received = Buffer.alloc(0), answer, hasAsked = false;
    const timer = setTimeout(() => finish('is silent'), TIMEOUT_MS);
    const finish = (ending) => {
      clearTimeout(timer);
      socket.destroy();
      resolve({ status: 0, headers: [], body: '', ...answer, ending });
    };
    const askAgain = () => {
      hasAsked = true;
      received = answer.rest;
      if (received.length > 0) finish('has a second answer');
      else if (!answer.headers.some(([name, value]) => name === 'connection' && value === 'close'))
        socket.write(probe, 'latin1');
    };
    socket.on('connect', () => {
      if (ends) socket.end(request, 'latin1');
      else socket.write(request, 'latin1');
    });
    socket.on('data', (bytes) => {
      received = Buffer.concat([received, bytes]);
      const found = read(isHead(request) && !hasAsked ? withoutLength(received) : received);
      if (found === undefined) return;
      if (hasAsked) {
        finish(found.status === probed ? STAYS : `goes on with ${found.status}`);
      } else {
        answer = found;
        askAgain();
      }
    });
    // A request may have been answered even if the connection is reset while we write.
    socket.on('error', (error) => {
      if (answer === undefined && error.code !== 'ECONNRESET' && error.code !== 'EPIPE') {
        clearTimeout(timer);
        reject(error);
      }
    });
    socket.on('close', () => finish(received.length > 0 ? 'is cut off' : CLOSES));
  });
}

const withoutLength = (bytes) => Buffer.from(bytes.toString('latin1').replace(/content-length/i, 'x-length'),
  'latin1');
