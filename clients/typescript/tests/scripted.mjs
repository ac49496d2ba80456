// A real HTTP server on the loopback address that follows a script, and a clock that does not wait.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'conversations-client';

export const KEY = 'svc_live_0123456789abcdef';

// Steps of a script.
export const answer = (status, body, headers = {}) => (request, response) =>
  response.writeHead(status, headers).end(typeof body === 'string' ? body : JSON.stringify(body));
export const refusal = (status, code = 'server_error', headers = {}) => {
  const errors = [{ code, message: 'told by a test', field: 'from.email' }];
  return answer(status, { type: 'error.list', request_id: 'r-1', errors }, headers);
};
export const ping = answer(200, { type: 'ping', organization_id: 'o', scope: 'full', server_time: 1 });
export const cut = (request) => request.socket.destroy();
export const hang = () => {};
// A byte every few milliseconds, without end.
export const drip = (request, response) => {
  response.writeHead(200, { 'Content-Length': '1000000' });
  const timer = setInterval(() => response.write(' '), 5);
  response.on('close', () => clearInterval(timer));
};

// Answers about the conversation that the request names.
export const askedFor = (request, response, body) => answer(200, {
  type: 'conversation', id: request.url.split('/').at(-1),
  external_id: body ? JSON.parse(body).external_id : null,
})(request, response);

// The key and certificate of a server at 127.0.0.1, signed by itself.
export function certificate() {
  const folder = mkdtempSync(join(tmpdir(), 'certificate-'));
  try {
    execFileSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes',
      '-days', '2', '-subj', '/CN=server', '-addext', 'subjectAltName=IP:127.0.0.1', '-keyout', 'key', '-out', 'pem'],
    { cwd: folder, stdio: 'ignore' });
    return { key: readFileSync(join(folder, 'key')), cert: readFileSync(join(folder, 'pem')) };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

// Uses one step for each request, and the last step for all further requests: use({ url, requests, server }). With
// a certificate, it is served over TLS.
export async function scripted(script, use, secret) {
  const steps = [...script], requests = [];
  const answered = async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString();
    const { method, url, headers } = request;
    requests.push({ method, path: url, headers, body, port: request.socket.remotePort });
    (steps.length > 1 ? steps.shift() : steps[0])(request, response, body);
  };
  const server = secret ? createSecureServer(secret, answered) : createServer(answered);
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    const url = `${secret ? 'https' : 'http'}://127.0.0.1:${server.address().port}/api/v1`;
    return await use({ url, requests, server });
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

// A clock that advances only in sleep().
export function clockOf(jitter = 1) {
  const waits = [];
  let now = 1000;
  return {
    waits,
    now: () => now,
    sleep: async (ms) => { waits.push(ms); now += ms; },
    jitter: () => jitter,
  };
}

export const client = (url, clock = clockOf(), options = {}) => new Client(url, KEY, { clock, ...options });
