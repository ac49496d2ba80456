/** Reads an answer: its data and its metadata. */
import type { IncomingHttpHeaders } from 'node:http';
import { type ApiError, errorClass, UnexpectedAnswerError } from './errors.js';
import type { ErrorDetail } from './models.js';
import { retryAfterSeconds } from './retry.js';

/**
 * Requests in the current window of 10 seconds. They are those of the key or those of the organization,
 * whichever has fewer left. `reset` is when the window ends, in Unix seconds.
 */
export interface RateLimit {
  limit: number;
  remaining: number;
  reset: number;
}

/** The answer to an operation. */
export interface Answer<T> {
  data: T;
  status: number;
  requestId: string | null;
  rateLimit: RateLimit | null;
  /** True for a create whose conversation existed already: nothing was written. */
  replayed: boolean;
  /** The number of requests that were made. */
  attempts: number;
}

/** An answer as it was received. */
export interface RawAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
  /** Ends the connection that it came over. */
  disconnect(): void;
}

/** The type that an answer must have, and whose answer it must be: a member and its value. */
export interface Expected {
  type: string;
  about?: readonly ['id' | 'external_id', string];
}

export function toAnswer<T>(raw: RawAnswer, { type, about }: Expected, attempts: number): Answer<T> {
  const { status, headers, text } = raw;
  const data = parsed(text);
  if (!hasType(data, type)) throw new UnexpectedAnswerError(`${status}: the body does not have the type ${type}`);
  if (about && (data as Record<string, unknown>)[about[0]] !== about[1])
    throw new UnexpectedAnswerError(`${status}: the answer is about another ${about[0]}`);
  return {
    data: data as T,
    status,
    requestId: headerOf(headers, 'X-Service-Request-Id'),
    rateLimit: rateLimitOf(headers),
    replayed: headerOf(headers, 'X-Service-Idempotent-Replay') === 'true',
    attempts,
  };
}

/** The error that an answer describes; it has no code when a proxy made the answer. */
export function toError({ status, headers, text }: RawAnswer, now: number): ApiError {
  return new (errorClass(status))(
    status,
    errorsOf(parsed(text)),
    headerOf(headers, 'X-Service-Request-Id'),
    rateLimitOf(headers),
    retryAfterSeconds(headerOf(headers, 'Retry-After'), now),
  );
}

function headerOf(headers: IncomingHttpHeaders, name: string): string | null {
  const value = headers[name.toLowerCase()];
  return typeof value === 'string' ? value : null;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function errorsOf(body: unknown): ErrorDetail[] {
  const errors: unknown = hasType(body, 'error.list') && 'errors' in body ? body.errors : [];
  const isList = Array.isArray(errors) && errors.every((one) => typeof one === 'object' && one !== null);
  return isList ? errors : [];
}

function hasType(value: unknown, type: string): value is { type: string } {
  return typeof value === 'object' && value !== null && 'type' in value && value.type === type;
}

function rateLimitOf(headers: IncomingHttpHeaders): RateLimit | null {
  const [limit, remaining, reset] = ['Limit', 'Remaining', 'Reset'].map((name) => {
    const text = headerOf(headers, `X-RateLimit-${name}`) ?? '';
    return /^\d+$/.test(text) ? Number(text) : undefined;
  });
  if (limit === undefined || remaining === undefined || reset === undefined) return null;
  return { limit, remaining, reset };
}
