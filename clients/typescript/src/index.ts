/** A typed client for the Conversations API, version 1. It has no dependencies. */
export type { Answer, RateLimit } from './answer.js';
export { type CallOptions, Client, type ClientOptions, type ListOptions } from './client.js';
export {
  ApiError,
  BadRequestError,
  CertificateError,
  ConflictError,
  ConversationsError,
  ForbiddenError,
  NetworkError,
  NotFoundError,
  RateLimitError,
  ServerError,
  UnauthorizedError,
  UnexpectedAnswerError,
  WebhookError,
} from './errors.js';
export type * from './models.js';
export type { OnRestart } from './pages.js';
export { type Clock, defaultPolicy, type Retry, type RetryPolicy } from './retry.js';
export { VERSION } from './version.js';
export { type Delivery, verifyWebhook, type WebhookEvent } from './webhooks.js';
