/** Verifies a webhook delivery before anything else is done with it. */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { WebhookError } from './errors.js';

const TOLERANCE_S = 300;

/** An event. It may arrive twice: remember the `id` of those you have handled. */
export interface WebhookEvent {
  id: string;
  type: string;
  created_at: number;
  data: { [key: string]: unknown };
}

/** A header as a server has it; a list, from a header that came more than once, is refused. */
type Header = string | readonly string[] | null | undefined;

export interface Delivery {
  /** The endpoint's, with `whsec_`. */
  secret: string;
  /** The header X-Service-Timestamp. */
  timestamp: Header;
  /** The header X-Service-Signature. */
  signature: Header;
  /** The raw body: its bytes would differ after parsing and writing. */
  body: Uint8Array;
  /** How many seconds its timestamp may be off, 300 by default. */
  tolerance?: number;
  /** Unix seconds, for tests. */
  now?: number;
}

/**
 * Returns the event of a delivery. Throws a WebhookError when the service did not send it, when it was
 * changed, or when its timestamp is more than `tolerance` seconds off.
 */
export function verifyWebhook(delivery: Delivery): WebhookEvent {
  const { secret, timestamp, signature, body } = delivery;
  const { tolerance = TOLERANCE_S, now = Date.now() / 1000 } = delivery;
  if (!(body instanceof Uint8Array)) throw new TypeError('body must be the raw bytes');
  if (!secret) throw new TypeError('secret must not be empty');
  if (typeof timestamp !== 'string' || typeof signature !== 'string' || !timestamp || !signature)
    throw new WebhookError('X-Service-Timestamp and X-Service-Signature must be there, each once');
  const digest = createHmac('sha256', secret).update(`${timestamp}.`).update(body).digest('hex');
  const expected = Buffer.from(`v1=${digest}`);
  const given = Buffer.from(signature);
  if (given.length !== expected.length || !timingSafeEqual(given, expected))
    throw new WebhookError('the signature does not match');
  if (!/^\d+$/.test(timestamp)) throw new WebhookError('the timestamp is not a number');
  if (Math.abs(now - Number(timestamp)) > tolerance)
    throw new WebhookError('the timestamp is too far from now');
  return JSON.parse(Buffer.from(body).toString('utf8')) as WebhookEvent;
}
