// Helpers for the tables of bad inputs. A row is [WHY, REQUEST, ANSWER].
//
// REQUEST has every byte that is sent, one character a byte. Names in double braces are replaced when the row is
// sent: {{full}} and {{read}} are keys, {{revoked}} is a revoked key, {{id}} is a conversation's id, and
// {{foreign}} the id of another organization's conversation; {{host}}, {{origin}}, {{cookie}} and {{csrf}} belong
// to a session of the dashboard.
//
// ANSWER is { status, errors, ending }: `errors` is the exact list in the envelope, except that a message may be
// a pattern; `ending` is the state of the connection afterwards.

export const STAYS = 'stays open';
export const CLOSES = 'is closed';

// The text's UTF-8 bytes, one character each.
export const utf8 = (text) => Buffer.from(text, 'utf8').toString('latin1');

// -- requests --------------------------------------------------------------------------------------

export const HOST = 'Host: api.example\r\n';
export const KEY = 'Authorization: Bearer {{full}}\r\n';
export const JSON_TYPE = 'Content-Type: application/json\r\n';

export const get = (target, headers = '') => `GET ${target} HTTP/1.1\r\n${HOST}${KEY}${headers}\r\n`;
export const ping = (headers = '') => get('/api/v1/ping', headers);

// A request with a body and its correct length.
export const send = (method, target, body, headers = KEY + JSON_TYPE) =>
  `${method} ${target} HTTP/1.1\r\n${HOST}${headers}Content-Length: ${body.length}\r\n\r\n${body}`;
export const create = (body, headers) => send('POST', '/api/v1/conversations', body, headers);
export const update = (body, headers) => send('PUT', '/api/v1/conversations/{{id}}', body, headers);
export const search = (body, headers) => send('POST', '/api/v1/conversations/search', body, headers);

// A create whose head ends with `headers`, followed by the body unchanged.
export const createWith = (headers, body = '') =>
  `POST /api/v1/conversations HTTP/1.1\r\n${HOST}${KEY}${JSON_TYPE}${headers}\r\n${body}`;
export const chunked = (body) => createWith('Transfer-Encoding: chunked\r\n', body);

// -- answers ---------------------------------------------------------------------------------------

const error = (code, message, field) => (field === undefined ? { code, message } : { code, message, field });
export const refused = (status, code, message, field) =>
  ({ status, errors: [error(code, message, field)], ending: STAYS });
export const closing = (answer) => ({ ...answer, ending: CLOSES });
// Several errors of one body, each [CODE, MESSAGE, FIELD].
export const invalid = (...errors) =>
  ({ status: 400, errors: errors.map((one) => error(...one)), ending: STAYS });
// Unusual but valid.
export const taken = (status = 200) => ({ status, errors: [], ending: STAYS });
// The connection is closed without an answer.
export const nothing = { status: 0, errors: [], ending: CLOSES };

const unsoundly = (message, status = 400) => closing(refused(status, 'parameter_invalid', message));
// Requests that are not HTTP/1.1, or that parsers could read differently.
export const unsound = {
  malformed: unsoundly('The request line or a header is malformed'),
  headersTooLarge: unsoundly('The headers are larger than 16384 bytes'),
  lineFeed: unsoundly('A line ends in a bare line feed'),
  folded: unsoundly('A header is continued on a second line'),
  method: unsoundly('The request method is invalid'),
  target: unsoundly('The request target must be a path, or a URL with http or https and a host'),
  host: unsoundly('Exactly one valid Host header is required'),
  length: unsoundly('Content-Length must be given once, in digits'),
  coding: unsoundly('Transfer-Encoding must be given once, as chunked, in HTTP/1.1'),
  lengthAndCoding: unsoundly('Content-Length and Transfer-Encoding must not both be given'),
  chunk: unsoundly('The chunked body is malformed'),
  expectation: unsoundly('The only supported expectation is 100-continue', 417),
};

export const tooLarge = closing(refused(413, 'payload_too_large', 'The body is larger than 65536 bytes'));
export const notFound = refused(404, 'not_found', 'There is no such resource');
export const noConversation = refused(404, 'not_found', 'No such conversation');
export const noMethod =
  refused(405, 'method_not_allowed', 'The resource does not support this method; see the Allow header');
export const notAcceptable =
  refused(406, 'not_acceptable', 'Accept must include application/json or */*');
const noBodyOf = (message) => refused(415, 'unsupported_media_type', message);
export const notJson = noBodyOf('Content-Type must be application/json');
export const notUtf8 = noBodyOf('The body must be UTF-8; send it as Content-Type: application/json');
export const packed = noBodyOf('The body must not be compressed; send it as it is, without Content-Encoding');
export const noKey = refused(401, 'unauthorized',
  'There is no Authorization header; send the API key as Authorization: Bearer KEY');
export const badKey = refused(401, 'unauthorized',
  'The Authorization header holds no well-formed API key; send it as Authorization: Bearer KEY');
export const unknownKey = refused(401, 'unauthorized', 'The API key is unknown, revoked or expired');
export const legacyKey = refused(403, 'legacy_key_not_accepted',
  'Keys that begin with svc_test_ are no longer accepted; create a new key');
export const readOnly = refused(403, 'insufficient_scope',
  'The API key is read-only; writing requires a key with scope full');

// A body that is not JSON, with the reason and, if given, the place: [LINE, COLUMN].
export const badJson = (reason, place) => refused(400, 'invalid_json', place
  ? `invalid JSON at line ${place[0]}, column ${place[1]}: ${reason}`
  : new RegExp(`^invalid JSON at line \\d+, column \\d+: ${reason}$`));
export const bad = (field, message) => invalid(['parameter_invalid', message, field]);
export const SECONDS =
  'must be Unix seconds (not milliseconds), an integer from 0 to 253402300799';
export const missing = (field, message = 'is required') => invalid(['parameter_not_found', message, field]);
