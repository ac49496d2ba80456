/** Sends one request by `fetch`, which reuses its connections. */
import type { RawAnswer } from './answer.js';
import { CertificateError, NetworkError, UnexpectedAnswerError } from './errors.js';
import { TIMER_MAX_MS } from './retry.js';
import { VERSION } from './version.js';

const ANSWER_MAX = 64 * 1024 * 1024;

export class Transport {
  readonly #baseUrl: string;
  readonly #apiKey: string;
  readonly #fetch: typeof fetch;

  constructor(baseUrl: string, apiKey: string, fetcher: typeof fetch) {
    const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined;
    if (url === undefined || !/^https?:$/.test(url.protocol))
      throw new TypeError('baseUrl must be a URL such as https://example.com/api/v1');
    if (url.username || url.password || url.search || url.hash)
      throw new TypeError('baseUrl must have no user, no query and no fragment');
    // Checked here because the error of `fetch` would contain the refused key.
    if (!/^[!-~]+$/.test(apiKey)) throw new TypeError('apiKey must be printable ASCII without spaces');
    this.#baseUrl = baseUrl.replace(/\/+$/, '');
    this.#apiKey = apiKey;
    this.#fetch = fetcher;
  }

  /** Makes one attempt. Throws a NetworkError, or the reason of `signal` if that aborted it. */
  async send(
    method: string,
    path: string,
    body: string | undefined,
    timeoutMs: number,
    signal: AbortSignal | undefined,
  ): Promise<RawAnswer> {
    const timeout = AbortSignal.timeout(Math.ceil(Math.min(timeoutMs, TIMER_MAX_MS)));
    try {
      const response = await this.#fetch(this.#baseUrl + path, {
        method,
        headers: this.#headers(body !== undefined),
        redirect: 'manual',
        signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
        ...(body !== undefined && { body }),
      });
      return { status: response.status, headers: response.headers, text: await textOf(response) };
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof UnexpectedAnswerError) throw error;
      // The error of `fetch` for a timeout differs between versions of Node.js.
      throw networkError(`${method} ${path.split('?')[0]}`, timeout.aborted ? timeout.reason : error);
    }
  }

  #headers(hasBody: boolean): Record<string, string> {
    return {
      Accept: 'application/json',
      Authorization: `Bearer ${this.#apiKey}`,
      'User-Agent': `conversations-client-typescript/${VERSION}`,
      ...(hasBody && { 'Content-Type': 'application/json' }),
    };
  }
}

async function textOf(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.length;
    if (size > ANSWER_MAX) throw new UnexpectedAnswerError(`an answer of over ${ANSWER_MAX} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function networkError(what: string, cause: unknown): NetworkError {
  const reason = cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause;
  const code = reason instanceof Error && 'code' in reason ? String(reason.code) : '';
  const text = `${what}: ${reason instanceof Error ? reason.message : String(reason)}`;
  const kind = /CERT|UNABLE_TO_VERIFY/.test(code) ? CertificateError : NetworkError;
  return new kind(text, { cause });
}
