// Header fields of a request: the key, the media types, and duplicate fields.
import {
  HOST, JSON_TYPE, KEY, bad, badJson, badKey, closing, create, get, legacyKey, noKey, notAcceptable, notFound,
    notJson, notUtf8,
  noConversation, packed, readOnly, search, send, taken, tooLarge, unknownKey, update, utf8,
} from './rows.mjs';

const with_ = (headers) => `GET /api/v1/ping HTTP/1.1\r\n${HOST}${headers}\r\n`;
const key = (value) => with_(`Authorization:${value}\r\n`);

const keys = [
  ['no field', with_(''), noKey],
  ['the key in another field', with_('X-Api-Key: {{full}}\r\n'), noKey],
  ['the key for a proxy', with_('Proxy-Authorization: Bearer {{full}}\r\n'), noKey],
  ['the key as a cookie', with_('Cookie: key={{full}}\r\n'), noKey],
  ['the key in the query', `GET /api/v1/ping?key={{full}} HTTP/1.1\r\n${HOST}\r\n`, noKey],
  ['the key as a user in Host', `GET /api/v1/ping HTTP/1.1\r\n${HOST}X-Host: {{full}}@a\r\n\r\n`, noKey],
  ['a field of nothing', key(''), badKey],
  ['a field of blanks', key('  '), badKey],
  ['a scheme alone', key(' Bearer'), badKey],
  ['a scheme and a blank', key(' Bearer '), badKey],
  ['a key without its scheme', key(' {{full}}'), badKey],
  ['another scheme', key(' Basic {{full}}'), badKey],
  ['the scheme of another messaging service', key(' Token {{full}}'), badKey],
  ['a key as user and password', key(` Basic ${Buffer.from('{{full}}:').toString('base64')}`), badKey],
  ['the scheme in quotes', key(' "Bearer" {{full}}'), badKey],
  ['the scheme with a colon', key(' Bearer: {{full}}'), badKey],
  ['the scheme twice', key(' Bearer Bearer {{full}}'), badKey],
  ['a tab after the scheme', key(' Bearer\t{{full}}'), badKey],
  ['two blanks after the scheme', key(' Bearer  {{full}}'), badKey],
  ['no blank after the scheme', key(' Bearer{{full}}'), badKey],
  ['a comma after the scheme', key(' Bearer,{{full}}'), badKey],
  ['a blank after the key', key(' Bearer {{full}} '), badKey],
  ['a tab after the key', key(' Bearer {{full}}\t'), badKey],
  ['a comma after the key', key(' Bearer {{full}},'), badKey],
  ['a semicolon after the key', key(' Bearer {{full}};'), badKey],
  ['a no-break space after the key', key(` Bearer {{full}}${utf8('\xA0')}`), badKey],
  ['two keys in a line', key(' Bearer {{full}}, Bearer {{full}}'), badKey],
  ['a parameter with the key', key(' Bearer token={{full}}'), badKey],
  ['the key in quotes', key(' Bearer "{{full}}"'), badKey],
  ['the key in braces', key(' Bearer {{{full}}}'), badKey],
  ['the key escaped', key(' Bearer svc%5Flive%5F'), badKey],
  ['a key with a letter more', key(' Bearer {{full}}a'), badKey],
  ['a key without its prefix', key(` Bearer ${'a'.repeat(38)}`), badKey],
  ['a key with the prefix in capitals', key(` Bearer SVC_LIVE_${'a'.repeat(38)}`), badKey],
  ['a key with another sum', key(` Bearer svc_live_${'a'.repeat(38)}`), badKey],
  ['a key of another environment', key(` Bearer svc_prod_${'a'.repeat(38)}`), badKey],
  ['a key that is only a prefix', key(' Bearer svc_live_'), badKey],
  ['a key that is a path', key(' Bearer svc_live_../../etc/passwd'), badKey],
  ['a key that is SQL', key(" Bearer ' OR '1'='1"), badKey],
  ['a key of a wildcard', key(' Bearer *'), badKey],
  ['a key that is a subject of the bus', key(' Bearer svc_live_>'), badKey],
  ['a key of 10,000 letters', key(` Bearer svc_live_${'a'.repeat(10000)}`), badKey],
  ['a token of another kind', key(' Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiIxIn0.'), badKey],
  ['a null', key(' Bearer null'), badKey],
  ['a key that is undefined', key(' Bearer undefined'), badKey],
  ['the same key twice', with_(KEY + KEY), badKey],
  ['a key and an empty field', with_(`${KEY}Authorization:\r\n`), badKey],
  ['a key and another scheme', with_(`${KEY}Authorization: Basic YTpi\r\n`), badKey],
  ['a key that was revoked', key(' Bearer {{revoked}}'), unknownKey],
  ['a key that was revoked, and a body', create('{}', `Authorization: Bearer {{revoked}}\r\n${JSON_TYPE}`),
    unknownKey],
  ['a key that was revoked, for a path that is not there',
    `GET /api/v1/none HTTP/1.1\r\n${HOST}Authorization: Bearer {{revoked}}\r\n\r\n`, unknownKey],
  ['a retired key', key(` Bearer svc_test_${'a'.repeat(38)}`), legacyKey],
  ['a short retired key', key(' Bearer svc_test_'), legacyKey],
  ['a retired key, to write', create('{}', `Authorization: Bearer svc_test_a\r\n${JSON_TYPE}`), legacyKey],
  ['the scheme in small letters', key(' bearer {{full}}'), taken()],
  ['the scheme in capitals', key(' BEARER {{read}}'), taken()],
  ['the field in small letters', with_('authorization: Bearer {{full}}\r\n'), taken()],
].map(([why, ...rest]) => [`a key: ${why}`, ...rest]);

const READ = `Authorization: Bearer {{read}}\r\n${JSON_TYPE}`;
const VALID = '{"external_id":"headers","from":{"external_id":"bad-inputs"}}';
const scopes = [
  ['a read key that creates', create(VALID, READ), readOnly],
  ['a read key that creates nothing', create('', READ), readOnly],
  ['a read key that creates what is not JSON', create('{', READ), readOnly],
  ['a read key that creates with another type', create(VALID, 'Authorization: Bearer {{read}}\r\n'), readOnly],
  ['a read key that updates', update('{"custom_attributes":{}}', READ), readOnly],
  ['a read key that updates what is not there', send('PUT', '/api/v1/conversations/none', '{}', READ), readOnly],
  ['a read key and too large a body',
    `POST /api/v1/conversations HTTP/1.1\r\n${HOST}${READ}Content-Length: 70000\r\n\r\n`, closing(readOnly)],
  ['a key of another organization', `GET /api/v1/conversations/{{foreign}} HTTP/1.1\r\n${HOST}${KEY}\r\n`,
    noConversation],
  ['a key of another organization, to write', send('PUT', '/api/v1/conversations/{{foreign}}',
    '{"custom_attributes":{"a":1}}'), noConversation],
];

const accept = (value) => get('/api/v1/ping', `Accept: ${value}\r\n`);
const accepts = [
  ...['text/html', 'text/*', 'application/xml', 'image/webp', 'json', '*', '/', 'application/', '/json',
    'application/jsonp', 'application/json+x', 'application/vnd.api+json', 'application/problem+json', 'text/json',
    'application\\json', '"application/json"', 'application/json/x', 'application /json', 'application/ json',
    'application/json;q=0', 'application/json;q=0.000', 'application/json; Q=0', '*/*;q=0', 'application/*;q=0.0',
    '*/*, application/json;q=0', '*/*, application/*;q=0', 'text/html, application/xml;q=0.9', 'x, y, z',
    '*/json', 'a/b;application/json', utf8('application/jsön'), 'application/*+json']
    .map((value) => [`the wish for ${value.replace(/[^ -~]/g, '?')}`, accept(value), notAcceptable]),
  ['the wish for another type in two lines', accept('text/html\r\nAccept: text/plain'), notAcceptable],
  ['the wish for another type, of a path that is not there', get('/api/v1/none', 'Accept: text/html\r\n'), notFound],
  ['the wish for another type, of an update',
    update('{"custom_attributes":{}}', `${KEY}${JSON_TYPE}Accept: text/html\r\n`), notAcceptable],
  ['the wish for JSON in the second line', accept('text/html\r\nAccept: application/json'), taken()],
  ['the wish for anything, least of all', accept('text/html, */*;q=0.001'), taken()],
  ['the wish for nothing', accept(''), taken()],
];

const typed = (...values) => create('{}', KEY + values.map((value) => `Content-Type:${value}\r\n`).join(''));
const types = [
  ['no type', create('{}', KEY), notJson],
  ['an empty type', typed(''), notJson],
  ...['text/plain', 'text/json', 'text/html', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=a',
    'application/jsonp', 'application/x-json', 'application/json5', 'application/ld+json', 'application/problem+json',
    'application/x-ndjson', 'application/octet-stream', 'application/*', '*/*', 'json', 'application', 'application/',
    '"application/json"', 'application/json,application/json', 'application/json, text/plain', 'application /json',
    'application/ json', 'application\\json', 'application/json/', ';application/json', 'text/plain;application/json',
    'application/json=utf-8', utf8('application/jsоn')]
    .map((value) => [`the type ${value.replace(/[^ -~]/g, '?')}`, typed(` ${value}`), notJson]),
  ['the same type twice', typed(' application/json', ' application/json'), notJson],
  ['two types', typed(' application/json', ' text/plain'), notJson],
  ['a type and an empty one', typed(' application/json', ''), notJson],
  ['another type, of a search', search('{}', `${KEY}Content-Type: text/plain\r\n`), notJson],
  ['another type, of an update', update('{}', `${KEY}Content-Type: text/plain\r\n`), notJson],
  ['another type and too large a body',
    `POST /api/v1/conversations HTTP/1.1\r\n${HOST}${KEY}Content-Type: text/plain\r\nContent-Length: 70000\r\n\r\n`,
    closing(notJson)],
  ['too large a body',
    `POST /api/v1/conversations HTTP/1.1\r\n${HOST}${KEY}${JSON_TYPE}Content-Length: 70000\r\n\r\n`,
    tooLarge],
  ['too large a body of a GET', get('/api/v1/ping', 'Content-Length: 65537\r\n'), tooLarge],
  ['a type in capitals', typed(' APPLICATION/JSON'), noBody()],
  ['a type with a character set', typed(' application/json;charset=UTF-8'), noBody()],
  ['a type with another character set', typed(' application/json; charset=utf-16'), notUtf8],
  ['a type with a character set of Windows', typed(' application/json; charset="windows-1252"'), notUtf8],
  ['a type with blanks before its parameter', typed(' application/json \t; charset=utf-8'), noBody()],
];
function noBody() {
  return {
    status: 400,
    errors: ['external_id', 'from'].map((field) => ({ code: 'parameter_not_found', message: 'is required', field })),
    ending: 'stays open',
  };
}

const compressed = [
  ['gzip', '\x1f\x8b\x08\0\0\0\0\0\0\x03\xab\xae\x05\0'],
  ['br', '\x0b\x00\x80{}\x03'],
  ['zstd', '\x28\xb5\x2f\xfd'],
].map(([name, body]) => [`a body packed by ${name}`,
  create(body, `${KEY}${JSON_TYPE}Content-Encoding: ${name}\r\n`), packed]);

// None of these headers determines the client, its address or the organization.
const claims = [
  ['X-Organization-Id', 'Organization-Id: 00000000-0000-0000-0000-000000000000'],
  ['a role', 'X-Role: owner'],
  ['another method', 'X-HTTP-Method-Override: DELETE'],
  ['another path', 'X-Original-URL: /data/session'],
  ['another path, as a proxy rewrites it', 'X-Rewrite-URL: /api/v1/none'],
  ['another host', 'X-Forwarded-Host: evil.example'],
  ['another address', 'X-Forwarded-For: 127.0.0.1, 8.8.8.8'],
  ['a malformed list of addresses', 'X-Forwarded-For: ,,,;\'--'],
  ['HTTPS', 'X-Forwarded-Proto: https'],
  ['a request id', 'X-Service-Request-Id: 00000000-0000-0000-0000-000000000000'],
  ['a malformed trace context', 'Traceparent: 00-zz-zz-zz'],
  ['a trace of 8,000 letters', `Traceparent: ${'a'.repeat(8000)}`],
  ['a range', 'Range: bytes=0-1'],
  ['a match', 'If-Match: "a"'],
  ['a cookie of 8,000 letters', `Cookie: ${'a'.repeat(8000)}`],
  ['an origin', 'Origin: http://evil.example'],
].map(([why, field]) => [`a claim of ${why}`, get('/api/v1/ping', `${field}\r\n`), taken()]);

const ids = [
  ['organization_id in a body', create(`${VALID.slice(0, -1)},"organization_id":"a"}`),
    bad('organization_id', 'is not a field of this request')],
  ['workspace_id in a body', create(`${VALID.slice(0, -1)},"workspace_id":"a"}`),
    bad('workspace_id', 'is not a field of this request')],
  ['organization_id in a customer',
    create('{"external_id":"a","from":{"external_id":"bad-inputs","organization_id":"a"}}'),
    bad('from.organization_id', 'is not a field of this request')],
  ['organization_id in an update', update('{"custom_attributes":{},"organization_id":"a"}'),
    bad('organization_id', 'is not a field of this request')],
  ['organization_id in a search',
    search('{"query":{"field":"contact_ids","operator":"=","value":"a"},"organization_id":"a"}'),
    bad('organization_id', 'is not a field of this request')],
];

export const rows = [...keys, ...scopes, ...accepts, ...types, ...compressed, ...claims, ...ids];
