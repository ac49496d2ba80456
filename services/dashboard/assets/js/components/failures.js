/* failures - why a delivery failed, in words. */
import {h} from '../dom.js';

const WORDS = {
  dns: 'The host name has no address, or the DNS lookup failed',
  blocked: 'The host name has an address that is not allowed',
  connect: 'Connection refused',
  tls: 'The TLS handshake failed, or the certificate is not valid for the host',
  timeout: 'No response within 8 seconds',
  closed: 'The connection closed before the response was complete',
  protocol: 'The response was not HTTP, or its headers were too large',
  http_3xx: 'A redirect; redirects are not followed',
  http_4xx: 'The receiver refused it',
  http_5xx: 'The receiver failed',
  http_other: 'Non-2xx response',
  interrupted: 'Interrupted on our side; it is attempted again',
  endpoint_disabled: 'The endpoint was disabled',
  endpoint_deleted: 'The endpoint was deleted',
  expired: 'It waited in the queue for too long',
  over_budget: 'Over the limit of deliveries per minute; it can be resent',
  internal: 'An internal error; the operators see it in the log',
};

export const failureWords = (error) => WORDS[error] ?? error;

/* The error's name as in the log, with its explanation shown on hover. */
export function failureCode(error) {
  return h('code', {title: WORDS[error]}, error);
}
