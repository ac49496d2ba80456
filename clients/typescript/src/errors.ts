/** The errors of the client. None of them ever contains the API key. */
import type { RateLimit } from './answer.js';
import type { ErrorCode, ErrorDetail } from './models.js';

/** The base class. */
export class ConversationsError extends Error {
  override readonly name: string = 'ConversationsError';
  /** The number of requests that were made. */
  attempts = 1;

  /** Whether the same request may succeed later. */
  get isTemporary(): boolean {
    return false;
  }
}

/**
 * No answer came: no connection, a broken one, or a timeout. The request may have been carried out.
 * `cause` is the reason.
 */
export class NetworkError extends ConversationsError {
  override readonly name: string = 'NetworkError';

  override get isTemporary(): boolean {
    return true;
  }
}

/** The server's certificate is not valid for its name. Retrying does not help. */
export class CertificateError extends NetworkError {
  override readonly name: string = 'CertificateError';

  override get isTemporary(): boolean {
    return false;
  }
}

/**
 * A successful answer that is not as proto/openapi.yaml describes it. Most likely something other than the
 * service answers at this address.
 */
export class UnexpectedAnswerError extends ConversationsError {
  override readonly name: string = 'UnexpectedAnswerError';
}

/**
 * The service, or a proxy in front of it, refused the request or failed.
 *
 * `errors` lists all errors in the order of the request; `code` and `field` are those of the first.
 * Branch on `code`. It is undefined when the answer has no list of errors, for example when it comes
 * from a proxy.
 */
export class ApiError extends ConversationsError {
  override readonly name: string = 'ApiError';
  readonly code: ErrorCode | undefined;
  readonly field: string | undefined;

  constructor(
    readonly status: number,
    readonly errors: readonly ErrorDetail[] = [],
    readonly requestId: string | null = null,
    readonly rateLimit: RateLimit | null = null,
    /** Seconds, from the header Retry-After. */
    readonly retryAfter: number = 0,
  ) {
    super(wordsOf(status, errors, requestId));
    this.code = errors[0]?.code;
    this.field = errors[0]?.field;
  }

  override get isTemporary(): boolean {
    return [429, 500, 502, 503, 504].includes(this.status);
  }
}

function wordsOf(status: number, errors: readonly ErrorDetail[], requestId: string | null): string {
  const told = errors.map(({ code, field, message }) => `${code}: ${field ? `${field} ` : ''}${message}`);
  return `${status} ${told.join('; ') || 'without a list of errors'} (request ${requestId})`;
}

/** 400: the request breaks a rule, or its cursor is no longer valid (`invalid_cursor`). */
export class BadRequestError extends ApiError {
  override readonly name = 'BadRequestError';
}

/** 401: no key, or one that is malformed, unknown, revoked or expired. */
export class UnauthorizedError extends ApiError {
  override readonly name = 'UnauthorizedError';
}

/** 403: the key's scope, the organization's plan or its policy forbids it. */
export class ForbiddenError extends ApiError {
  override readonly name = 'ForbiddenError';
}

/** 404: there is no such conversation or contact. */
export class NotFoundError extends ApiError {
  override readonly name = 'NotFoundError';
}

/** 409: the request contradicts what is stored. Nothing was written. */
export class ConflictError extends ApiError {
  override readonly name = 'ConflictError';
}

/** 429: wait at least `retryAfter` seconds. */
export class RateLimitError extends ApiError {
  override readonly name = 'RateLimitError';
}

/** 5xx: the request may have been carried out, unless `code` is `service_unavailable`. */
export class ServerError extends ApiError {
  override readonly name = 'ServerError';
}

const byStatus = new Map<number, typeof ApiError>([
  [400, BadRequestError],
  [401, UnauthorizedError],
  [403, ForbiddenError],
  [404, NotFoundError],
  [409, ConflictError],
  [429, RateLimitError],
]);

/** The class for a status. */
export function errorClass(status: number): typeof ApiError {
  return status >= 500 ? ServerError : (byStatus.get(status) ?? ApiError);
}

/** A delivery that the service did not send, that was changed, or that is too old. */
export class WebhookError extends ConversationsError {
  override readonly name = 'WebhookError';
}
