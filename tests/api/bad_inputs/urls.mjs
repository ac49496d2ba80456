// Targets: a path has only one spelling, an id is a UUID in lower case, and a query has only the parameters of
// its operation.
import { SECONDS, bad, get, invalid, noConversation, noMethod, notFound, send, taken, update } from './rows.mjs';

const paths = [
  ...['/api/v1', '/api/v1/', '/api/v1//ping', '/api/v1/ping/', '/api/v1/ping//', '/api/v1/./ping', '/api/v1/ping/.',
    '/api/v1/x/../ping', '/api/v1/../v1/ping', '/api/v1/ping/..', '/api/v1/%2e/ping', '/api/v1/x/%2e%2e/ping',
    '/api/v1/x/.%2e/ping', '/api/v1/%70ing', '/api/v1/pin%67', '/api/v1/ping%20', '/api/v1/ping%00',
    '/api/v1/ping%00.json', '/api/v1/%00ping', '/api/v1/ping%0a', '/api/v1/ping%0d%0aX-A:%20b', '/api/v1/ping;a=1',
    '/api/v1/ping;', '/api/v1;a=1/ping', '/api/v1/PING', '/api/v1/Ping', '/api/v1/ping.json', '/api/v1/ping\\',
    '/api/v1\\ping', '/api/v1/..\\v1\\ping', '/api/v1/ping%5c', '/api/v1/ping%3fa=1', '/api/v1/ping%23a',
    '/api/v1/ping#a', '/api/v1/ping&a=1', '/api/v1/ping%', '/api/v1/ping%2', '/api/v1/ping%zz', '/api/v1/%c0%afping',
    '/api/v1/%u0070ing', '/api/v1/%2570ing', '/api/v1/{ping}', '/api/v1/<script>', '/api/v1/*', '/api/v1/%2a',
    '/api/v1/audit/', '/api/v1/audit/x', '/api/v1/conversations/', '/api/v1/conversations//search',
    '/api/v1/conversations/a/b', '/api/v1/conversations/{{id}}/', '/api/v1/conversations/{{id}}/messages',
    '/api/v1/conversations/{{id}}/../{{id}}', '/api/v1/conversations/../ping', '/api/v1/contacts',
    '/api/v1/organizations', '/api/v1/keys', '/api/v1/webhooks', '/api/v1/metrics', '/api/v1/data/session',
    '/api/v1/search', `/api/v1/${'a'.repeat(8000)}`, `/api/v1/${'a/'.repeat(4000)}`,
    `/api/v1/${'../'.repeat(2000)}ping`]
    .map((path) => [`the path ${path.length > 60 ? `${path.slice(0, 40)}...` : path}`, get(path), notFound]),
  ...['/', '//', '/.', '/api', '/api/', '/api/v2/ping', '/api/v1ping', '/api/v10/ping', '/API/v1/ping',
    '/api/V1/ping',
    '//api/v1/ping', '/./api/v1/ping', '/x/../api/v1/ping', '/api//v1/ping', '/api%2fv1%2fping', '/%61pi/v1/ping',
    '/api/%76%31/ping', '/ping', '/livez', '/readyz', '/metrics', '/data/session', '/.git/config', '/.env',
    '/robots.txt', '/server-status', '/actuator/health', '/etc/passwd', '/..%2f..%2fetc/passwd',
    '/http://127.0.0.1/', '/\\api\\v1\\ping', '/api/v1%00/ping']
    .map((path) => [`the path ${path}`, get(path), notFound]),
  ['DELETE of a conversation', send('DELETE', '/api/v1/conversations/{{id}}', ''), noMethod],
  ['PATCH of a conversation', send('PATCH', '/api/v1/conversations/{{id}}', '{}'), noMethod],
  ['POST to a conversation', send('POST', '/api/v1/conversations/{{id}}', '{}'), noMethod],
  ['GET of all conversations', get('/api/v1/conversations'), noMethod],
  ['PUT to all conversations', send('PUT', '/api/v1/conversations', '{}'), noMethod],
  ['POST to the audit log', send('POST', '/api/v1/audit', '{}'), noMethod],
  ['DELETE of the audit log', send('DELETE', '/api/v1/audit', ''), noMethod],
  ['POST to ping', send('POST', '/api/v1/ping', '{}'), noMethod],
];

const id = '0190a0b1-c2d3-7e4f-8a5b-6c7d8e9fa0b1';
const ids = [
  ...[id, id.toUpperCase(), id.replace('b', 'B'), id.replaceAll('-', ''), `{${id}}`, `urn:uuid:${id}`, id.slice(1),
    `${id}0`, `${id.slice(0, -1)}g`, id.replace('-', '_'), id.replaceAll('-', ':'), `%30${id.slice(1)}`, `${id}%00`,
    `${id}%20`, `%20${id}`, `${id};a=1`, `${id}.json`, `${id}'--`, `${id}%27%20OR%201=1`, '0', '-1', '1e3', '*',
      '%2a',
    '>', 'v1.conversation.get', '..', '.', '%2e%2e', '%2e%2e%2fping', '..%2fping', '..%5cping', '%252e%252e',
    '%c3%a9',
    '%ff', '%00', '%', '%zz', '+', '~', 'null', 'undefined', 'NaN', '[object%20Object]', '%5b%5d', '$%7b7*7%7d',
    '%7b%7b7*7%7d', '%3Cscript%3E', '00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff',
    'a'.repeat(64), 'a'.repeat(65), 'a'.repeat(8000)]
    .map((text) => [`the id ${text.length > 60 ? `of ${text.length} letters` : text}`,
      get(`/api/v1/conversations/${text}`), noConversation]),
  ['an id in capitals, to write', send('PUT', `/api/v1/conversations/${id.toUpperCase()}`,
    '{"custom_attributes":{}}'), noConversation],
  ['an id with NUL after, to write', send('PUT', `/api/v1/conversations/${id}%00`, '{"custom_attributes":{}}'),
    noConversation],
  ['search as an id', get('/api/v1/conversations/search'), noMethod],
  ['search as an id, to write', send('PUT', '/api/v1/conversations/search', '{"custom_attributes":{}}'), noMethod],
];

const audit = (query) => get(`/api/v1/audit?${query}`);
const PER_PAGE = bad('per_page', 'must be an integer from 1 to 100');
const WELL_FORMED = 'is not well-formed percent-encoded text';
const OPERATION = 'must be ping, conversation.create, conversation.get, conversation.update, conversation.search, '
  + 'audit.list or unknown';
const CURSOR = 'is not a cursor of this list, or has expired';
const queries = [
  ...['', '0', '-1', '101', '1000', '1.0', '1e1', '0x10', '+5', '%205', '5%20', '5+', '05.', '1,2', 'ten',
    'null', 'true', '%', '%3', '%zz5', '5%00', '%ff', '%d9%a5', '18446744073709551617', '4294967297', '9'.repeat(100)]
    .map((text) => [`per_page=${text.slice(0, 30)}`, audit(`per_page=${text}`),
      /%($|3$|zz)|%00|%ff/.test(text) ? bad('per_page', WELL_FORMED) : PER_PAGE]),
  ['per_page without a value', audit('per_page'), PER_PAGE],
  ['per_page twice', audit('per_page=1&per_page=1'), bad('per_page', 'is given more than once')],
  ['per_page twice, once escaped', audit('per_page=1&%70er_page=1'), bad('per_page', 'is given more than once')],
  ['per_page in capitals', audit('Per_Page=1'), bad('Per_Page', 'is not a parameter of this operation')],
  ['per_page as a list', audit('per_page[]=1'), bad('per_page[]', 'is not a parameter of this operation')],
  ['an unknown parameter', audit('page=1'), bad('page', 'is not a parameter of this operation')],
  ['a parameter without a name', audit('=1'), bad('', 'is not a parameter of this operation')],
  ['a parameter that is an organization', audit('organization_id=1'),
    bad('organization_id', 'is not a parameter of this operation')],
  ['a parameter in two parts', audit('per_page;=1'), bad('per_page;', 'is not a parameter of this operation')],
  ['a parameter whose name is not text', audit('%ff=1'), bad('%ff', 'is not a well-formed parameter name')],
  ['a parameter whose name holds NUL', audit('a%00=1'), bad('a%00', 'is not a well-formed parameter name')],
  ['a parameter with markup', audit('%3Cb%3E=1'), bad('<b>', 'is not a parameter of this operation')],
  ['an extra question mark', audit('?per_page=1'), bad('?per_page', 'is not a parameter of this operation')],
  ['an unknown operation', audit('operation=conversation.delete'), bad('operation', OPERATION)],
  ['an operation in capitals', audit('operation=PING'), bad('operation', OPERATION)],
  ['an operation of blanks', audit('operation=+'), bad('operation', OPERATION)],
  ['no operation', audit('operation='), bad('operation', OPERATION)],
  ['an operation with a wildcard', audit('operation=%25'), bad('operation', OPERATION)],
  ['an unknown outcome', audit('outcome=ok'), bad('outcome', 'must be allowed, denied, rejected or error')],
  ['two outcomes', audit('outcome=allowed,denied'), bad('outcome', 'must be allowed, denied, rejected or error')],
  ['a key that is not an id', audit('api_key_id=svc_live_a'), bad('api_key_id', 'must be a UUID in lower case')],
  ['a key in capitals', audit(`api_key_id=${id.toUpperCase()}`), bad('api_key_id', 'must be a UUID in lower case')],
  ['a conversation in braces', audit(`conversation_id=%7b${id}%7d`),
    bad('conversation_id', 'must be a UUID in lower case')],
  ['a conversation that is SQL', audit("conversation_id='%20OR%20''='"),
    bad('conversation_id', 'must be a UUID in lower case')],
  ['a time before 1970', audit('created_at_after=-1'), bad('created_at_after', SECONDS)],
  ['a time after the year 9999', audit('created_at_before=253402300800'), bad('created_at_before', SECONDS)],
  ['a time with a fraction', audit('created_at_after=1.5'), bad('created_at_after', SECONDS)],
  ['a date', audit('created_at_after=2026-01-01'), bad('created_at_after', SECONDS)],
  ['a time of 2 to the 64', audit('created_at_after=18446744073709551616'), bad('created_at_after', SECONDS)],
  ['a cursor of nothing', audit('starting_after='),
    invalid(['invalid_cursor', CURSOR, 'starting_after'])],
  ['a malformed cursor', audit('starting_after=abc'), invalid(['invalid_cursor', CURSOR, 'starting_after'])],
  ['a cursor with NUL', audit('starting_after=%00'), bad('starting_after', WELL_FORMED)],
  ['a cursor of 8,000 letters', audit(`starting_after=${'A'.repeat(8000)}`),
    invalid(['invalid_cursor', CURSOR, 'starting_after'])],
  ['a cursor that is an id', audit(`starting_after=${id}`), invalid(['invalid_cursor', CURSOR, 'starting_after'])],
  ['two faults', audit('per_page=0&x=1'),
    invalid(['parameter_invalid', 'must be an integer from 1 to 100', 'per_page'],
      ['parameter_invalid', 'is not a parameter of this operation', 'x'])],
  ['eleven faults', audit(Array.from({ length: 11 }, (_, i) => `x${i}=1`).join('&')),
    invalid(...Array.from({ length: 10 }, (_, i) =>
      ['parameter_invalid', 'is not a parameter of this operation', `x${i}`]))],
  ['nothing between two marks', audit('&&'), taken()],
  ['an escaped five', audit('per_page=%35'), taken()],
  ['a fragment', audit('per_page=5#per_page=6'), PER_PAGE],
  ['a query of an operation that takes none', get('/api/v1/ping?per_page=0&%ff'), taken()],
  ['a query of an update', update('{"custom_attributes":{}}').replace(' HTTP', '?a=%zz HTTP'), taken()],
];

export const rows = [...paths, ...ids, ...queries];
