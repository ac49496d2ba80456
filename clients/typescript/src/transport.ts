/** Sends one request over node:http or node:https, by an agent that keeps connections. */
import * as http from 'node:http';
import * as https from 'node:https';
import type { RawAnswer } from './answer.js';
import { CertificateError, NetworkError, UnexpectedAnswerError } from './errors.js';
import { TIMER_MAX_MS } from './retry.js';
import { VERSION } from './version.js';

const ANSWER_MAX = 64 * 1024 * 1024;

/** A connection that was kept from an earlier request broke before the answer began. */
class KeptConnectionLost extends Error {}

interface Request {
  method: string;
  path: string;
  body: string | undefined;
}

export class Transport {
  readonly #url: string;
  readonly #apiKey: string;
  readonly #isSecure: boolean;
  readonly #agent: http.Agent;
  /** How an agent's names of connections to the service begin. */
  readonly #name: string;

  constructor(baseUrl: string, apiKey: string, agent: http.Agent | undefined) {
    const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined;
    if (url === undefined || !/^https?:$/.test(url.protocol))
      throw new TypeError('baseUrl must be a URL such as https://example.com/api/v1');
    if (url.username || url.password || url.search || url.hash)
      throw new TypeError('baseUrl must have no user, no query and no fragment');
    // Checked here because an error of Node.js would contain the refused key.
    if (!/^[!-~]+$/.test(apiKey)) throw new TypeError('apiKey must be printable ASCII without spaces');
    this.#url = baseUrl.replace(/\/+$/, '');
    this.#apiKey = apiKey;
    this.#isSecure = url.protocol === 'https:';
    this.#agent = agent ?? new (this.#isSecure ? https : http).Agent({ keepAlive: true });
    const host = url.hostname.replace(/^\[|\]$/g, '');
    this.#name = `${host}:${url.port || (this.#isSecure ? 443 : 80)}:`;
  }

  /** Makes one attempt. Throws a NetworkError, or the reason of `signal` if that aborted it. */
  async send(request: Request, timeoutMs: number, signal: AbortSignal): Promise<RawAnswer> {
    signal.throwIfAborted();
    // AbortSignal.timeout() would leave a timer of each attempt until its time.
    const stop = new AbortController();
    const onAbort = () => stop.abort(signal.reason);
    const onTimeout = () => stop.abort(new DOMException('The attempt took too long', 'TimeoutError'));
    const timer = setTimeout(onTimeout, Math.ceil(Math.min(timeoutMs, TIMER_MAX_MS)));
    signal.addEventListener('abort', onAbort);
    try {
      return await this.#exchange(request, stop.signal).catch((error: unknown) => {
        if (!(error instanceof KeptConnectionLost)) throw error;
        // This does not count as an attempt: every request can be repeated. The other connections may be lost as well.
        this.#endIdle();
        return this.#exchange(request, stop.signal);
      });
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof UnexpectedAnswerError) throw error;
      const cause = error instanceof KeptConnectionLost ? error.cause : error;
      throw networkError(request, stop.signal.aborted ? stop.signal.reason : cause);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
    }
  }

  /** Ends the idle connections to the service. The caller's agent may have others, or no such list. */
  #endIdle(): void {
    const { freeSockets = {} } = this.#agent as Partial<http.Agent>;
    for (const [name, sockets] of Object.entries(freeSockets))
      if (name.startsWith(this.#name)) for (const socket of sockets ?? []) socket.destroy();
  }

  #exchange({ method, path, body }: Request, signal: AbortSignal): Promise<RawAnswer> {
    return new Promise((resolve, reject) => {
      const options = { method, headers: this.#headers(body), agent: this.#agent, signal };
      const sent = (this.#isSecure ? https : http).request(this.#url + path, options);
      sent.on('response', (response) => {
        sent.removeListener('error', onEarlyError);
        sent.on('error', reject);
        read(response).then(resolve, reject);
      });
      const onEarlyError = (error: Error) =>
        reject(sent.reusedSocket && !signal.aborted ? new KeptConnectionLost('', { cause: error }) : error);
      sent.on('error', onEarlyError);
      sent.end(body);
    });
  }

  #headers(body: string | undefined): http.OutgoingHttpHeaders {
    return {
      Accept: 'application/json',
      Authorization: `Bearer ${this.#apiKey}`,
      'User-Agent': `conversations-client-typescript/${VERSION}`,
      ...(body !== undefined && {
        'Content-Type': 'application/json',
        'Content-Length': Buffer.byteLength(body),
      }),
    };
  }
}

async function read(response: http.IncomingMessage): Promise<RawAnswer> {
  const { socket } = response;
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length;
    // To leave the loop closes the connection.
    if (size > ANSWER_MAX) throw new UnexpectedAnswerError(`an answer of over ${ANSWER_MAX} bytes`);
    chunks.push(chunk);
  }
  const text = Buffer.concat(chunks).toString('utf8');
  const { statusCode: status = 0, headers } = response;
  return { status, headers, text, disconnect: () => socket.destroy() };
}

function networkError({ method, path }: Request, cause: unknown): NetworkError {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
  const reason = cause instanceof Error ? cause.message || code : String(cause);
  const kind = /CERT|UNABLE_TO_VERIFY/.test(code) ? CertificateError : NetworkError;
  return new kind(`${method} ${path.split('?')[0]}: ${reason}`, { cause });
}
