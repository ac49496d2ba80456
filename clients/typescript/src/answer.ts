/** Reads an answer: its data and its metadata. */
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
  headers: Headers;
  text: string;
}

export function toAnswer<T>({ status, headers, text }: RawAnswer, type: string, attempts: number): Answer<T> {
  const data = parsed(text);
  if (!hasType(data, type)) throw new UnexpectedAnswerError(`${status}: the body does not have the type ${type}`);
  return {
    data: data as T,
    status,
    requestId: headers.get('X-Service-Request-Id'),
    rateLimit: rateLimitOf(headers),
    replayed: headers.get('X-Service-Idempotent-Replay') === 'true',
    attempts,
  };
}

/** The error that an answer describes; it has no code when a proxy made the answer. */
export function toError({ status, headers, text }: RawAnswer, now: number): ApiError {
  return new (errorClass(status))(
    status,
    errorsOf(parsed(text)),
    headers.get('X-Service-Request-Id'),
    rateLimitOf(headers),
    retryAfterSeconds(headers.get('Retry-After'), now),
  );
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

function rateLimitOf(headers: Headers): RateLimit | null {
  const [limit, remaining, reset] = ['Limit', 'Remaining', 'Reset'].map((name) => {
    const text = headers.get(`X-RateLimit-${name}`) ?? '';
    return /^\d+$/.test(text) ? Number(text) : undefined;
  });
  if (limit === undefined || remaining === undefined || reset === undefined) return null;
  return { limit, remaining, reset };
}
