// The dashboard: requests that another site's page makes in the user's browser (CSRF), path traversal, and text
// that could become part of a page or of a header (XSS). Every row uses the session of an owner, who may do
// everything.
import {
  CLOSES, badJson, bad, closing, invalid, noMethod, notFound, refused, taken, tooLarge, unsound, utf8,
} from './rows.mjs';

const ORIGIN = 'Origin: {{origin}}\r\n';
const COOKIE = 'Cookie: {{cookie}}\r\n';
const CSRF = 'X-CSRF-Token: {{csrf}}\r\n';
const TYPE = 'Content-Type: application/json\r\n';
const ALL = ORIGIN + COOKIE + CSRF + TYPE;

const open = (method, target, headers) => `${method} ${target} HTTP/1.1\r\nHost: {{host}}\r\n${headers}`;
export const change = (method, target, body = '{}', headers = ALL) =>
  `${open(method, target, headers)}Content-Length: ${body.length}\r\n\r\n${body}`;
const look = (target, headers = COOKIE) => `${open('GET', target, headers)}\r\n`;

const KEYS = '/data/keys';
const NEW_KEY = '{"name":"of another site","scope":"full"}';
const makeKey = (headers) => change('POST', KEYS, NEW_KEY, headers);

const foreign = refused(403, 'forbidden_origin', 'The request does not come from the dashboard\'s own pages');
const noToken = refused(403, 'invalid_csrf_token',
  'The X-CSRF-Token header is missing or does not match this session');
const noSession = refused(401, 'unauthorized', 'Sign in first');

// -- from another site -----------------------------------------------------------------------------

const origin = (value) => makeKey(`Origin:${value}\r\n${COOKIE}${CSRF}${TYPE}`);
const origins = [
  ['no Origin', makeKey(COOKIE + CSRF + TYPE)],
  ['an empty Origin', origin('')],
  ['the Origin null', origin(' null')],
  ['the Origin of another site', origin(' https://evil.example')],
  ['another scheme', origin(' https://{{host}}')],
  ['a scheme in capitals', origin(' HTTP://{{host}}')],
  ['no scheme', origin(' {{host}}')],
  ['no scheme but its slashes', origin(' //{{host}}')],
  ['another port', origin(' http://127.0.0.1:1')],
  ['no port', origin(' http://127.0.0.1')],
  ['a name for the address', origin(' http://localhost')],
  ['the address in another spelling', origin(' http://127.1')],
  ['the address as one number', origin(' http://2130706433')],
  ['itself with a slash', origin(' {{origin}}/')],
  ['itself with a path', origin(' {{origin}}/data')],
  ['itself with a query', origin(' {{origin}}?a')],
  ['itself with a point', origin(' {{origin}}.')],
  ['itself as the front of a name', origin(' {{origin}}.evil.example')],
  ['itself as a user', origin(' {{origin}}@evil.example')],
  ['itself after a user', origin(' http://a@{{host}}')],
  ['itself as a path of another', origin(' http://evil.example/{{origin}}')],
  ['itself in quotes', origin(' "{{origin}}"')],
  ['itself and another', origin(' {{origin}} http://evil.example')],
  ['itself with a comma and another', origin(' {{origin}}, http://evil.example')],
  ['itself in two lines', makeKey(ORIGIN + ALL)],
  ['itself and another in two lines', makeKey(`${ALL}Origin: http://evil.example\r\n`)],
  ['a Referer in its place', makeKey(`Referer: {{origin}}/keys\r\n${COOKIE}${CSRF}${TYPE}`)],
  ['as the browser says: another site', makeKey(`${ALL}Sec-Fetch-Site: cross-site\r\n`)],
  ['as the browser says: a sister', makeKey(`${ALL}Sec-Fetch-Site: same-site\r\n`)],
  ['as the browser says: something new', makeKey(`${ALL}Sec-Fetch-Site: elsewhere\r\n`)],
  ['two Sec-Fetch-Site headers', makeKey(`${ALL}Sec-Fetch-Site: same-origin\r\nSec-Fetch-Site: same-origin\r\n`)],
  ['as the browser says nothing', makeKey(`${ALL}Sec-Fetch-Site:\r\n`)],
  ['an Origin and a Host that agree on another',
    makeKey(`Origin: http://evil.example\r\n${COOKIE}${CSRF}${TYPE}X-Forwarded-Host: evil.example\r\n`)],
  ['to sign in', change('POST', '/data/session', '{"email":"a@b.example","password":"a"}',
    `Origin: http://evil.example\r\n${TYPE}`)],
  ['to sign in, without Origin', change('POST', '/data/session', '{"email":"a@b.example","password":"a"}', TYPE)],
  ['to sign out', change('DELETE', '/data/session', '', `Origin: http://evil.example\r\n${COOKIE}${CSRF}${TYPE}`)],
  ['to sign out everywhere', change('DELETE', '/data/sessions', '', `${COOKIE}${CSRF}${TYPE}`)],
  ['to change the password', change('POST', '/data/password', '{}', `Origin: null\r\n${COOKIE}${CSRF}${TYPE}`)],
  ['to take an invitation', change('POST', '/data/invitation', '{}', `Origin: null\r\n${TYPE}`)],
  ['to change the policy', change('PUT', '/data/policy', '{}', `Origin: null\r\n${COOKIE}${CSRF}${TYPE}`)],
  ['to change the plan', change('PUT', '/data/organization', '{}', `Origin: null\r\n${COOKIE}${CSRF}${TYPE}`)],
  ['to look, by a script', look('/data/session', `${COOKIE}Origin: http://evil.example\r\n`)],
  ['to look, by a frame', look('/data/session', `${COOKIE}Sec-Fetch-Site: cross-site\r\n`)],
  ['to take the audit log home', look('/data/audit/export.csv', `${COOKIE}Origin: null\r\n`)],
].map(([why, request]) => [`of another site: ${why}`, request, foreign]);

const token = (value) => makeKey(ORIGIN + COOKIE + TYPE + value);
const tokens = [
  ['none', token('')],
  ['an empty one', token('X-CSRF-Token:\r\n')],
  ['zeros', token(`X-CSRF-Token: ${'0'.repeat(64)}\r\n`)],
  ['a word', token('X-CSRF-Token: true\r\n')],
  ['one with a letter more', token('X-CSRF-Token: {{csrf}}0\r\n')],
  ['one in quotes', token('X-CSRF-Token: "{{csrf}}"\r\n')],
  ['two', token(CSRF + CSRF)],
  ['in another field', token('X-XSRF-Token: {{csrf}}\r\n')],
  ['in the cookie', makeKey(`${ORIGIN}${TYPE}Cookie: {{cookie}}; csrf={{csrf}}\r\n`)],
  ['in the query', change('POST', `${KEYS}?csrf={{csrf}}`, NEW_KEY, ORIGIN + COOKIE + TYPE)],
  ['the session itself', token('X-CSRF-Token: {{cookie}}\r\n')],
  ['none, to sign out', change('DELETE', '/data/session', '', ORIGIN + COOKIE + TYPE)],
  ['none, to erase a contact', change('POST', '/data/contacts/a/erase', '', ORIGIN + COOKIE + TYPE)],
].map(([why, request]) => [`a token: ${why}`, request, noToken]);

const cookies = [
  ['none', makeKey(ORIGIN + CSRF + TYPE)],
  ['an empty one', makeKey(`${ORIGIN}${CSRF}${TYPE}Cookie:\r\n`)],
  ['of another name', makeKey(`${ORIGIN}${CSRF}${TYPE}Cookie: x{{cookie}}\r\n`)],
  ['of a name in capitals', makeKey(`${ORIGIN}${CSRF}${TYPE}Cookie: S{{cookie}}\r\n`)],
  ['in quotes', makeKey(`${ORIGIN}${CSRF}${TYPE}Cookie: session="a"\r\n`)],
  ['too short', makeKey(`${ORIGIN}${CSRF}${TYPE}Cookie: session=a\r\n`)],
  ['with a letter more', makeKey(`${ORIGIN}${CSRF}${TYPE}Cookie: {{cookie}}a\r\n`)],
  ['twice', makeKey(`${ORIGIN}${CSRF}${TYPE}Cookie: {{cookie}}; {{cookie}}\r\n`)],
  ['twice, in two lines', makeKey(`${ORIGIN}${CSRF}${TYPE}${COOKIE}${COOKIE}`)],
  ['beside one of another', makeKey(`${ORIGIN}${CSRF}${TYPE}Cookie: session=${'A'.repeat(43)}; {{cookie}}\r\n`)],
  ['as a key of the API', makeKey(`${ORIGIN}${CSRF}${TYPE}Authorization: Bearer {{full}}\r\n`)],
  ['as SQL', makeKey(`${ORIGIN}${CSRF}${TYPE}Cookie: session=' OR 1=1\r\n`)],
  ['none, to look', look('/data/keys', '')],
  ['none, for the audit log', look('/data/audit', '')],
].map(([why, request]) => [`a cookie: ${why}`, request, noSession]);

const types = [
  ['none', makeKey(ORIGIN + COOKIE + CSRF)],
  ...['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=a',
    'text/plain; a=application/json',
    'application/json-patch+json', 'text/json', 'application/json, text/plain']
    .map((value) => [value, makeKey(`${ORIGIN}${COOKIE}${CSRF}Content-Type: ${value}\r\n`)]),
  ['JSON twice', makeKey(ALL + TYPE)],
].map(([why, request]) => [`what a form can send: ${why}`, request,
  refused(415, 'unsupported_media_type',
    'The body must be JSON in UTF-8, with Content-Type: application/json and without Content-Encoding')]);

// -- paths -----------------------------------------------------------------------------------------

const paths = [
  ...['/data/', '/data/none', '/data/keys/', '/data//keys', '/data/./keys', '/data/x/../keys', '/data/%6beys',
    '/data/keys%00',
    '/data/keys;a=1', '/Data/keys', '/data/KEYS', '/data/conversations/..', '/data/conversations/%2e%2e',
    '/data/conversations/a.b',
    '/data/conversations/a%2fb', '/data/conversations/a/b', `/data/conversations/${'a'.repeat(65)}`,
    '/data/conversations/*',
    '/data/conversations/>', '/data/session.json', '/data/keys#a', '/data/\\keys']
    .map((path) => [`the path ${path.slice(0, 50)}`, look(path), notFound]),
  ...['/data', '/none', '/keys/', '/keys/a', '/KEYS', '/./keys', '//keys', '/x/../keys', '/%6beys', '/keys%00',
    '/keys;a',
    '/assets', '/assets/', '/assets/js', '/assets/js/', '/assets/../services', '/assets/%2e%2e/%2e%2e/etc/passwd',
    '/assets/..%2f..%2fetc/passwd', '/assets/..%5c..%5cetc%5cpasswd', '/assets/js/main.js%00', '/assets/js/main.js/',
    '/assets/js/none.js', '/assets/js/main.js.map', '/.git/HEAD', '/.env', '/index.html', '/api/v1/ping', '/metrics',
    '/livez',
    '/etc/passwd', '//evil.example/', '/\\evil.example', '/http://evil.example/', '/javascript:alert(1)']
    .map((path) => [`the page ${path}`, look(path), notFound]),
  ...[['GET', '/data/keys/a/revoke'], ['GET', '/data/keys/a/rotate'], ['GET', '/data/deliveries/a/resend'],
    ['GET', '/data/contacts/a/erase'], ['GET', '/data/audit/verify'], ['HEAD', '/data/keys'], ['OPTIONS',
      '/data/keys'],
    ['TRACE', '/data/keys'], ['PATCH', '/data/policy'], ['get', '/data/keys'], ['PUT', '/data/session'], ['POST',
      '/keys'],
    ['PUT', '/'], ['DELETE', '/assets/js/main.js'], ['OPTIONS', '/'], ['PROPFIND', '/']]
    .map(([method, path]) => [`${method} ${path}`, `${open(method, path, COOKIE)}\r\n`, noMethod]),
];

const SERVER = 'is set by the server';
const OBJECT = refused(400, 'parameter_invalid', 'The body must be a JSON object with the documented fields');
const PARAMETER = 'is an unknown parameter or has an invalid value';
const BAD_JSON = refused(400, 'invalid_json', 'The body is not valid JSON');
const contents = [
  ['a form for a body', change('POST', '/data/members', 'email=a'), BAD_JSON],
  ['a form that pretends to be JSON', change('POST', '/data/members', '{"email":"a","role":"member"}='), BAD_JSON],
  ['a name twice in a body', change('POST', '/data/members', '{"email":"a","email":"b"}'), BAD_JSON],
  ['a body that is not UTF-8', change('POST', '/data/members', '{"email":"\xff"}'), BAD_JSON],
  ['a list for a body', change('POST', '/data/members', '[]'), OBJECT],
  ['null for a body', change('POST', '/data/members', 'null'), OBJECT],
  ['an id in addition to that of the path', change('POST', '/data/keys/a/rotate', '{"id":"b"}'), bad('id', SERVER)],
  ['an id in addition to that of the path, of null', change('POST', '/data/keys/a/rotate', '{"id":null}'), bad('id', SERVER)],
  ['a role to act by', change('POST', '/data/members', '{"email":"a@b.example","by_role":"owner"}'), bad('by_role',
    SERVER)],
  ['a user to act for', change('POST', '/data/password', '{"user_id":"a"}'), bad('user_id', SERVER)],
  ['an address to come from', change('PUT', '/data/policy', '{"editor_address":"192.0.2.1"}'), bad('editor_address',
    SERVER)],
  ['a rate limit to have', change('PUT', '/data/organization', '{"rate_limit":1}'), bad('rate_limit', SERVER)],
  ['fields of a request that has none', change('POST', '/data/keys/a/revoke', '{"a":1}'),
    refused(400, 'parameter_invalid', 'This request takes no fields')],
  ['a parameter of a request that has none', look('/data/organization?a=1'), bad('a', PARAMETER)],
  ['a parameter twice', look('/data/audit?per_page=1&per_page=1'), bad('per_page', PARAMETER)],
  ['a parameter with NUL', look('/data/audit?operation=%00'), bad('operation', PARAMETER)],
  ['a parameter that is not UTF-8', look('/data/audit?operation=%ff'), bad('operation', PARAMETER)],
  ['an unknown range', look('/data/usage?range=1y'), bad('range', 'must be 1h, 24h or 7d')],
  ['too large a body', change('POST', KEYS, ' '.repeat(65537)), tooLarge],
];

const host = (value) => `GET /keys HTTP/1.1\r\nHost:${value}\r\n${COOKIE}\r\n`;
const framing = [
  ['no Host', `GET /keys HTTP/1.1\r\n${COOKIE}\r\n`, unsound.host],
  ['a Host with markup', host(' <script>'), unsound.host],
  ['a Host with a quote', host(' a"onload=b'), unsound.host],
  ['a Host with two names', host(' {{host}}, evil.example'), unsound.host],
  ['a length beside chunks',
    `${open('POST', KEYS, ALL)}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    unsound.lengthAndCoding],
  ['two lengths', `${open('POST', KEYS, ALL)}Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}`, unsound.length],
  ['a header that goes on', `${open('GET', '/keys', COOKIE)}X-A: b\r\n c\r\n\r\n`, unsound.folded],
].map(([why, ...rest]) => [`a page: ${why}`, ...rest]);

// -- injected text ---------------------------------------------------------------------------------

// Marks that no answer may contain, in a header or in a page.
const MARKS = ['<script', '"onload', 'evil=1', 'javascript:', '\x1b'];
const text = (why, request, answer) => [`text: ${why}`, request, { ...answer, absent: MARKS }];
const field = (name) => bad(name, PARAMETER);
const texts = [
  text('a script in a path', look('/%3Cscript%3Ealert(1)%3C/script%3E'), notFound),
  text('a script in a path, as it is', look('/<script>alert(1)</script>'), notFound),
  text('a script in the name of a file', look('/assets/<script>'), notFound),
  text('a script in an id', look('/data/conversations/<script>'), notFound),
  text('a script in the name of a parameter', look('/data/audit?<script>=1'), field('_script_')),
  text('an escaped one', look('/data/audit?%3Cscript%3E=1'), field('_3Cscript_3E')),
  text('an attribute in the name of a parameter', look('/data/audit?"onload="=1'), field('_onload')),
  text('a script in a value', look('/data/audit?operation=<script>'), bad('operation', /^must be ping, /)),
  text('a script in a cursor', look('/data/audit?starting_after=<script>'),
    invalid(['invalid_cursor', /.*/, 'starting_after'])),
  text('a script in a number', look('/data/audit?per_page=<script>'), field('per_page')),
  text('a script in a range', look('/data/usage?range=<script>'), bad('range', 'must be 1h, 24h or 7d')),
  text('a script in the query of a page', look('/keys?<script>alert(1)</script>'), taken()),
  text('a script in the query of signing in', look('/sign-in?next=javascript:alert(1)'), taken()),
  text('another page to go on to', look('/sign-in?next=//evil=1/'), taken()),
  text('a header in a path', look('/keys%0d%0aSet-Cookie:%20evil=1'), notFound),
  text('a header in a query', look('/keys?%0d%0aSet-Cookie:%20evil=1'), taken()),
  text('a header in a parameter', look('/data/audit?starting_after=%0d%0aSet-Cookie:%20evil=1'),
    invalid(['invalid_cursor', /.*/, 'starting_after'])),
  text('a header after a line feed', look('/data/audit?operation=a%0aSet-Cookie:%20evil=1'), bad('operation',
    /^must be ping, /)),
  text('a script in a browser’s name', look('/keys', `${COOKIE}User-Agent: <script>\r\n`), taken()),
  text('a script in a Referer', look('/keys', `${COOKIE}Referer: http://a/<script>\r\n`), taken()),
  text('a script in a cookie', look('/keys', 'Cookie: a=<script>\r\n'), taken()),
  text('a script in the language', look('/keys', `${COOKIE}Accept-Language: <script>\r\n`), taken()),
  text('a script as another host', look('/keys', `${COOKIE}X-Forwarded-Host: "onload=\r\n`), taken()),
  text('a script as another address', look('/keys', `${COOKIE}X-Forwarded-For: <script>\r\n`), taken()),
  text('a script as an entity tag', look('/keys', `${COOKIE}If-None-Match: "<script>"\r\n`), taken()),
  text('a script as a request id', look('/keys', `${COOKIE}X-Service-Request-Id: <script>\r\n`), taken()),
  text('a script in an Origin', look('/data/session', `${COOKIE}Origin: http://<script>\r\n`), foreign),
  text('a script as a method', `${open('SCRIPT', '/data/keys', COOKIE)}\r\n`, noMethod),
  text('a script in the name of a field',
    change('POST', '/data/keys/a/revoke', '{"<script>":1}'), refused(400, 'parameter_invalid',
      'This request takes no fields')),
  text('a script in a body that is not JSON', change('POST', '/data/members', '<script>'), BAD_JSON),
  text('a script in an email', change('POST', '/data/members', '{"email":"<script>","role":"member"}'), bad('email',
    /.*/)),
  text('a script in a role', change('POST', '/data/members', '{"email":"a@b.example","role":"<script>"}'), bad('role',
    /.*/)),
  text('a script in an address that may enter', change('PUT', '/data/policy', '{"ip_allowlist":["<script>"]}'),
    bad('ip_allowlist[0]', /.*/)),
  text('a script in the scope of a key', change('POST', KEYS, '{"name":"a","scope":"<script>"}'), bad('scope', /.*/)),
  text('a script in a plan', change('PUT', '/data/organization', '{"plan":"<script>"}'), bad('plan', /.*/)),
  text('a script in an endpoint', change('POST', '/data/webhooks',
    '{"url":"https://<script>/","events":["ai.handoff"]}'),
    bad('url', 'has a character that URLs do not allow: write it as % and two hexadecimal digits')),
  text('a colour for terminals in a browser’s name', look('/keys', `${COOKIE}User-Agent: a\x1b[31m\r\n`),
    unsound.malformed),
  text('a script in UTF-8 that is none', look('/data/audit?operation=%e0%80%bcscript'), field('operation')),
  text('a script of full width', look(`/data/audit?operation=${encodeURIComponent('＜script＞')}`), bad('operation',
    /^must be ping, /)),
];

export const rows = [
  ...origins, ...tokens, ...cookies, ...types, ...paths, ...contents, ...framing, ...texts,
];
