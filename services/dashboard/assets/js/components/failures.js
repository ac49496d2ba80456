/* failures - why a delivery failed, in words. */
import {h} from '../dom.js';

const WORDS = {
  dns: 'The name has no address, or no answer came',
  blocked: 'An address of the name is not allowed',
  connect: 'Nobody accepts connections there',
  tls: 'No handshake, or the certificate is not good for the host',
  timeout: 'No answer within 8 seconds',
  closed: 'The connection ended before the answer did',
  protocol: 'The answer was not HTTP, or its head too long',
  http_3xx: 'A redirect; redirects are not followed',
  http_4xx: 'The receiver refused it',
  http_5xx: 'The receiver failed',
  http_other: 'An answer without success',
  interrupted: 'A process of ours ended meanwhile; it is made again',
  endpoint_disabled: 'The endpoint was disabled',
  endpoint_deleted: 'The endpoint was deleted',
  expired: 'It waited for too long',
  internal: 'A fault of ours; the operators see it in the log',
};

export const failureWords = (error) => WORDS[error] ?? error;

/* The class as the log names it, with the words to be read on hovering. */
export function failureCode(error) {
  return h('code', {title: WORDS[error]}, error);
}
