/** The operations of the API. */
import { setMaxListeners } from 'node:events';
import type { Agent } from 'node:http';
import { type Answer, type Expected, toAnswer, toError } from './answer.js';
import type {
  AttributeChanges,
  AuditLog,
  AuditLogList,
  AuditQuery,
  Conversation,
  ConversationList,
  CreateConversation,
  Ping,
  Query,
  SearchConversations,
  UpdateConversation,
} from './models.js';
import { each, type OnRestart } from './pages.js';
import { type Clock, defaultPolicy, type Retry, type RetryPolicy, systemClock, withRetries } from './retry.js';
import { Transport } from './transport.js';

export interface ClientOptions {
  /** Differences from `defaultPolicy`. */
  policy?: Partial<RetryPolicy>;
  /** Called before each retry. */
  onRetry?: (retry: Retry) => void;
  /** Another agent, such as one that uses a proxy or trusts other certificates. Let it keep connections. */
  agent?: Agent;
  clock?: Clock;
}

export interface CallOptions {
  /** The milliseconds that all attempts together may take, in place of the policy's. */
  budgetMs?: number;
  /** Aborts the call, which then throws the signal's reason. */
  signal?: AbortSignal;
}

export interface ListOptions extends CallOptions {
  /**
   * A cursor is valid for 7 days. After that an error (`invalid_cursor`) is thrown. With this
   * function, it is called with the error instead, and the list starts over.
   */
  onRestart?: OnRestart;
}

/**
 * The API of one service, with one key. Make one client and keep it.
 *
 * Every method throws an ApiError for a refusal and a NetworkError when no answer came.
 */
export class Client {
  readonly #transport: Transport;
  readonly #policy: RetryPolicy;
  readonly #clock: Clock;
  readonly #onRetry: ((retry: Retry) => void) | undefined;

  constructor(baseUrl: string, apiKey: string, options: ClientOptions = {}) {
    this.#transport = new Transport(baseUrl, apiKey, options.agent);
    this.#policy = { ...defaultPolicy, ...options.policy };
    this.#clock = options.clock ?? systemClock;
    this.#onRetry = options.onRetry;
  }

  // -- operations -----------------------------------------------------------------------------------

  /** Checks that the key works, and returns whose it is. */
  ping(options?: CallOptions): Promise<Answer<Ping>> {
    return this.#call({ type: 'ping' }, 'GET', '/ping', undefined, options);
  }

  /**
   * Creates an empty conversation, once for each `external_id`. Choose the id before the first call and
   * keep it. `replayed` of the answer is true if the conversation existed already.
   */
  createConversation(body: CreateConversation, options?: CallOptions): Promise<Answer<Conversation>> {
    return this.#call(about('external_id', body.external_id), 'POST', '/conversations', body, options);
  }

  /** Reads a conversation, by the id that the service gave it. */
  getConversation(id: string, options?: CallOptions): Promise<Answer<Conversation>> {
    return this.#call(about('id', id.toLowerCase()), 'GET', pathOf(id), undefined, options);
  }

  /** Sets attributes and removes those that are null; the others stay as they are. */
  updateConversation(
    id: string,
    customAttributes: AttributeChanges,
    options?: CallOptions,
  ): Promise<Answer<Conversation>> {
    const body: UpdateConversation = { custom_attributes: customAttributes };
    return this.#call(about('id', id.toLowerCase()), 'PUT', pathOf(id), body, options);
  }

  /** Returns one page of a contact's conversations; `conversations()` returns all of them. */
  searchConversations(body: SearchConversations, options?: CallOptions): Promise<Answer<ConversationList>> {
    return this.#call({ type: 'conversation.list' }, 'POST', '/conversations/search', body, options);
  }

  /** Returns one page of the audit log; `auditLogs()` returns all of it. */
  listAuditLogs(query: AuditQuery = {}, options?: CallOptions): Promise<Answer<AuditLogList>> {
    const parameters = new URLSearchParams();
    for (const [name, value] of Object.entries(query))
      if (value !== undefined) parameters.set(name, String(value));
    const path = parameters.size > 0 ? `/audit?${parameters}` : '/audit';
    return this.#call({ type: 'audit_log.list' }, 'GET', path, undefined, options);
  }

  // -- all pages ------------------------------------------------------------------------------------

  /** Iterates over all that a search finds, newest first, each once. A budget is for each page. */
  conversations(
    query: Query,
    options: ListOptions & { perPage?: number } = {},
  ): AsyncGenerator<Conversation, void, undefined> {
    return each(async (cursor) => {
      const pagination = {
        starting_after: cursor ?? null,
        ...(options.perPage !== undefined && { per_page: options.perPage }),
      };
      const { data } = await this.searchConversations({ query, pagination }, options);
      return { items: data.conversations, next: data.pages.next?.starting_after };
    }, options.onRestart);
  }

  /** Iterates over the audit log, newest first. A budget is for each page. */
  auditLogs(
    query: Omit<AuditQuery, 'starting_after'> = {},
    options: ListOptions = {},
  ): AsyncGenerator<AuditLog, void, undefined> {
    return each(async (cursor) => {
      const from = cursor === undefined ? {} : { starting_after: cursor };
      const { data } = await this.listAuditLogs({ ...query, ...from }, options);
      return { items: data.audit_logs, next: data.pages.next?.starting_after };
    }, options.onRestart);
  }

  // -- requests -------------------------------------------------------------------------------------

  async #call<T>(
    expected: Expected,
    method: string,
    path: string,
    body: object | undefined,
    { budgetMs, signal = new AbortController().signal }: CallOptions = {},
  ): Promise<Answer<T>> {
    const text = body && JSON.stringify(body, finite);
    const policy = { ...this.#policy, ...(budgetMs !== undefined && { budgetMs }) };
    listenWithoutWarning(signal);
    const attempt = async (timeoutMs: number) => {
      const answer = await this.#transport.send({ method, path, body: text }, timeoutMs, signal);
      if (answer.status < 200 || answer.status > 299) throw toError(answer, Date.now());
      return answer;
    };
    const { value, attempts } = await withRetries(attempt, {
      policy,
      clock: this.#clock,
      signal,
      onRetry: this.#onRetry,
    });
    try {
      return toAnswer<T>(value, expected, attempts);
    } catch (error) {
      // It may be the answer to another request: what comes next here would be wrong as well.
      value.disconnect();
      throw error;
    }
  }
}

/** Node.js 18 and 20 warn when more than ten calls have one signal. Their own fetch() does as this does. */
function listenWithoutWarning(signal: AbortSignal): void {
  try {
    setMaxListeners(0, signal);
  } catch {
    // It is another implementation's, such as jsdom's, which does not warn.
  }
}

/** JSON.stringify() turns NaN into null, and null removes an attribute. */
function finite(name: string, value: unknown): unknown {
  if (typeof value === 'number' && !Number.isFinite(value)) throw new TypeError(`${name} is ${value}`);
  return value;
}

function about(member: 'id' | 'external_id', value: string): Expected {
  return { type: 'conversation', about: [member, value] };
}

function pathOf(id: string): string {
  return `/conversations/${encodeURIComponent(id)}`;
}
