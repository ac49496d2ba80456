// Bodies that are JSON but break the contract: a field that is missing, of the wrong type, too long or unknown.
import { SECONDS, bad, create, invalid, missing, noConversation, refused, search, send, taken, update } from './rows.mjs';

const json = JSON.stringify;
const NULL = 'must not be null';
const UNKNOWN = 'is not a field of this request';
const STRING = 'must be a string';

// -- creates ---------------------------------------------------------------------------------------

const VALID = { external_id: 'bodies', from: { external_id: 'bad-inputs' } };
const made = (members) => create(json({ ...VALID, ...members }));
const by = (members) => made({ from: { external_id: 'bad-inputs', ...members } });
const id = '0190a0b1-c2d3-7e4f-8a5b-6c7d8e9fa0b1';

const kinds = { number: 1, boolean: true, list: ['a'], object: { a: 1 } };
const wrong = (field, make, message = STRING) => [
  ...Object.entries(kinds).map(([kind, value]) => [`${field} as ${kind}`, make(value), bad(field, message)]),
  [`${field} as null`, make(null), bad(field, NULL)],
];
const creates = [
  ...wrong('external_id', (value) => made({ external_id: value })),
  ...wrong('from.external_id', (value) => by({ external_id: value })),
  ...wrong('from.name', (value) => by({ name: value })),
  ...wrong('from.email', (value) => by({ email: value })),
  ...wrong('from.phone', (value) => by({ phone: value })),
  ...wrong('from.type', (value) => by({ type: value }), 'must be one of: contact, user, lead, customer'),
  ...wrong('from.id', (value) => made({ from: { id: value } }), 'must be a UUID'),
  ...Object.entries({ number: 1, string: 'a', list: [], boolean: false })
    .map(([kind, value]) => [`from as ${kind}`, made({ from: value }), bad('from', 'must be an object')]),
  ['from as null', made({ from: null }), bad('from', NULL)],
  ['no external_id', create(json({ from: VALID.from })), missing('external_id')],
  ['no from', create(json({ external_id: 'a' })), missing('from')],
  ['an empty from', made({ from: {} }), missing('from.external_id', 'is required unless from.id is given')],
  ['from with a name alone', made({ from: { name: 'a' } }),
    missing('from.external_id', 'is required unless from.id is given')],
  ['from with both ids', by({ id }), bad('from.id', 'must not be given together with from.external_id')],
  ['from with both ids, one of them null', by({ id: null }),
    invalid(['parameter_invalid', NULL, 'from.id'],
      ['parameter_invalid', 'must not be given together with from.external_id', 'from.id'])],
  ['from.id of an unknown contact', made({ from: { id } }), refused(404, 'not_found', 'is not the id of a contact', 'from.id')],
  ['from.id of an unknown contact, in capitals', made({ from: { id: id.toUpperCase() } }),
    refused(404, 'not_found', 'is not the id of a contact', 'from.id')],
  ['from.id in braces', made({ from: { id: `{${id}}` } }), bad('from.id', 'must be a UUID')],
  ['from.id without hyphens', made({ from: { id: id.replaceAll('-', '') } }), bad('from.id', 'must be a UUID')],
  ['from.id of another form', made({ from: { id: `urn:uuid:${id}` } }), bad('from.id', 'must be a UUID')],
  ['from.id with a letter after f', made({ from: { id: `${id.slice(0, -1)}g` } }), bad('from.id', 'must be a UUID')],
  ['from.id that is empty', made({ from: { id: '' } }), bad('from.id', 'must be a UUID')],
  ['from.type in capitals', by({ type: 'User' }), bad('from.type', 'must be one of: contact, user, lead, customer')],
  ['from.type that is empty', by({ type: '' }), bad('from.type', 'must be one of: contact, user, lead, customer')],
  ['from.type that is none', by({ type: 'admin' }), bad('from.type',
    'must be one of: contact, user, lead, customer')],
  ['an email that is empty', by({ email: '' }), bad('from.email', 'must be 1 to 255 characters long')],
  ['a phone that is empty', by({ phone: '' }), bad('from.phone', 'must be 1 to 50 characters long')],
  ['a phone that is too long only with its blanks', by({ phone: `1${' '.repeat(50)}` }),
    bad('from.phone', 'must be 1 to 50 characters long')],
  ...['body', 'message', 'messages', 'status', 'state', 'open', 'channel', 'source', 'id', 'type', 'contact',
    'created_at', 'updated_at', 'assignee', 'metadata', 'External_Id', 'externalId', ' external_id', '$where', 'a.b']
    .map((name) => [`a create with the field ${name}`, made({ [name]: 'a' }), bad(name, UNKNOWN)]),
  ...['user_id', 'role', 'avatar', 'custom_attributes', 'Email', 'erased_at']
    .map((name) => [`a customer with the field ${name}`, by({ [name]: 'a' }), bad(`from.${name}`, UNKNOWN)]),
  ['eleven unknown fields', made(Object.fromEntries(Array.from({ length: 11 }, (_, i) => [`x${i}`, 1]))),
    invalid(...Array.from({ length: 10 }, (_, i) => ['parameter_invalid', UNKNOWN, `x${i}`]))],
  ['faults in the order of the document',
    create('{"x":1,"from":{"type":"a","y":2},"external_id":3}'), invalid(
      ['parameter_invalid', UNKNOWN, 'x'],
      ['parameter_invalid', 'must be one of: contact, user, lead, customer', 'from.type'],
      ['parameter_invalid', UNKNOWN, 'from.y'],
      ['parameter_not_found', 'is required unless from.id is given', 'from.external_id'],
      ['parameter_invalid', STRING, 'external_id'])],
];

// -- attributes ------------------------------------------------------------------------------------

const attributes = (value) => update(json({ custom_attributes: value }));
const CONTENTS = 'must be a string, a number, true, false or null';
const KEY = 'must begin with a letter and consist of letters, digits, \'_\', \'-\' and \'.\'';
const of = (key, message) => bad(`custom_attributes.${key}`, `custom_attributes.${key} ${message}`);
const long = 'k'.repeat(65);
const many = (n, value = 1) => Object.fromEntries(Array.from({ length: n }, (_, i) => [`k${i}`, value]));
const TOO_MANY = bad('custom_attributes', /20/);

const updates = [
  ...Object.entries({ number: 1, string: 'a', list: [], boolean: false })
    .map(([kind, value]) => [`attributes as ${kind}`, attributes(value),
      bad('custom_attributes', 'custom_attributes must be an object')]),
  ['attributes as null', attributes(null), bad('custom_attributes', NULL)],
  ['attributes of a create as null', made({ custom_attributes: null }), bad('custom_attributes', NULL)],
  ['attributes of a create as text', made({ custom_attributes: '{}' }),
    bad('custom_attributes', 'custom_attributes must be an object')],
  ['an attribute that is a list', attributes({ a: [1] }), of('a', CONTENTS)],
  ['an attribute that is an empty list', attributes({ a: [] }), of('a', CONTENTS)],
  ['an attribute that is an object', attributes({ a: { b: 1 } }), of('a', CONTENTS)],
  ['an attribute that is an empty object', attributes({ a: {} }), of('a', CONTENTS)],
  ['an attribute of 501 letters', attributes({ a: 'x'.repeat(501) }), of('a', 'must be at most 500 characters long')],
  ...['', ' ', '1a', '_a', '-a', '.a', 'a b', 'a:b', 'a/b', 'a$', 'a[0]', "a'", 'a"', 'a\\', 'a,b', 'a;b', '$set',
    '__proto__',
    'a\n', '<b>', '%61', 'a+b', '*', '@a', 'a=1']
    .map((key) => [`an attribute with the name ${json(key)}`,
      update(`{"custom_attributes":{${json(key)}:1}}`), of(key, KEY)]),
  ['an attribute with a name of 65 letters', attributes({ [long]: 1 }), of(long,
    'must be a key of at most 64 characters')],
  ...['service_', 'service_a', 'SERVICE_A', 'Service_tier', 'sErViCe_1']
    .map((key) => [`an attribute with the name ${key}`, attributes({ [key]: 1 }),
      of(key, 'must not use the reserved prefix service_')]),
  ['a reserved name that is removed', attributes({ service_a: null }),
    of('service_a', 'must not use the reserved prefix service_')],
  ['a bad name that is removed', attributes({ '1a': null }), of('1a', KEY)],
  ['21 attributes', attributes(many(21)), TOO_MANY],
  ['21 attributes of a create', made({ custom_attributes: many(21) }), TOO_MANY],
  ['5,000 attributes', attributes(many(5000)), TOO_MANY],
  ['a bad one among 21', attributes({ ...many(20), a: [] }), invalid(
    ['parameter_invalid', `custom_attributes.a ${CONTENTS}`, 'custom_attributes.a'],
    ['parameter_invalid', /20/, 'custom_attributes'])],
  ...['external_id', 'from', 'status', 'state', 'channel', 'id', 'created_at', 'assignee', 'Custom_Attributes', 'a.b',
    '']
    .map((name) => [`an update of ${json(name)}`, update(`{"custom_attributes":{},${json(name)}:1}`), bad(name,
      UNKNOWN)]),
  ['an update of nothing but the status', update('{"status":"resolved"}'),
    invalid(['parameter_invalid', UNKNOWN, 'status'], ['parameter_not_found', 'is required', 'custom_attributes'])],
  ['an update of a conversation of another organization',
    send('PUT', '/api/v1/conversations/{{foreign}}', '{"custom_attributes":{}}'), noConversation],
  ['an update of nothing', update('{"custom_attributes":{}}'), taken()],
  ['an attribute removed that is not there', update('{"custom_attributes":{"absent":null}}'), taken()],
];

// -- searches --------------------------------------------------------------------------------------

const OWN = { field: 'contact.external_id', operator: '=', value: 'bad-inputs' };
const query = (value, more) => search(json({ query: value, ...more }));
const and = (...filters) => query({ operator: 'AND', value: [OWN, ...filters] });
const filter = (field, operator, value) => and({ field, operator, value });
const one = (n) => `query.value[${n}]`;
const paged = (pagination) => query(OWN, { pagination });
const FIELDS = 'cannot be searched; use one of: contact.external_id, contact.id, contact_ids, custom_attributes.{key}, '
  + 'external_id, channel, source.type, state, status, created_at, updated_at';
const operators = {
  'contact.external_id': '=', 'contact.id': '=', contact_ids: '=', 'custom_attributes.a': '=, !=',
  external_id: '=, !=, IN, NIN', channel: '=, !=, IN, NIN', 'source.type': '=, !=, IN, NIN', state: '=, !=',
  status: '=, !=, IN, NIN', created_at: '=, !=, >, <', updated_at: '=, !=, >, <',
};
const notHere = (name, allowed, where) =>
  invalid(['invalid_operator', `${name} is not supported here; use one of: ${allowed}`, where]);
const noField = (where) => invalid(['invalid_field', FIELDS, where]);
const NO_CONTACT = 'must have a filter on contact.external_id, contact.id or contact_ids';
const PER_PAGE = bad('pagination.per_page', 'must be an integer from 1 to 100');
const STATUS = 'must be one of: active, waiting, human_takeover, resolved, archived';

const searches = [
  // each field with every operator that it does not have
  ...Object.entries(operators).flatMap(([field, allowed]) =>
    ['=', '!=', 'IN', 'NIN', '>', '<', '~', '!~', '^', '$'].filter((op) => !allowed.split(', ').includes(op))
      .map((op) => field.startsWith('contact')
        ? [`${field} ${op}`, query({ field, operator: op, value: 'a' }), notHere(op, allowed, 'query.operator')]
        : [`${field} ${op}`, filter(field, op, 'a'), notHere(op, allowed, `${one(1)}.operator`)])),
  ...['==', 'eq', 'LIKE', 'in', 'not in', '>=', '<=', '<>', '', ' =', 'OR', 'XOR', '=;--']
    .map((op) => [`the operator ${json(op)}`, filter('state', op, 'open'),
      notHere(op === 'OR' ? 'OR' : 'this operator', '=, !=', `${one(1)}.operator`)]),
  ...['name', 'email', 'contact.email', 'contact.name', 'contact', 'id', 'open', 'message_count', 'last_message_at',
    'State',
    'state ', 'custom_attributes', 'custom_attributes.', 'custom_attributes.1a', 'custom_attributes.service_x',
    'custom_attributes.a b', 'Custom_attributes.a', `custom_attributes.${'a'.repeat(65)}`, 'source', 'created', '',
    '*',
    "state' OR '1'='1", 'organization_id']
    .map((field) => [`the field ${field.slice(0, 40)}`, filter(field, '=', 'a'), noField(`${one(1)}.field`)]),
  ...Object.entries({ number: 1, boolean: true, list: [], object: {} }).flatMap(([kind, value]) => [
    [`a field that is a ${kind}`, and({ field: value, operator: '=', value: 'a' }), bad(`${one(1)}.field`, STRING)],
    [`an operator that is a ${kind}`, and({ field: 'state', operator: value, value: 'open' }),
      bad(`${one(1)}.operator`, STRING)],
    [`a query that is a ${kind}`, query(value), kind === 'object' ? invalid(
      ...['field', 'operator', 'value'].map((name) => ['parameter_not_found', 'is required', `query.${name}`]),
      ['parameter_not_found', NO_CONTACT, 'query']) : bad('query', 'must be an object')],
    [`a filter that is a ${kind}`, and(value), kind === 'object' ? invalid(
      ...['field', 'operator', 'value'].map((name) => ['parameter_not_found', 'is required', `${one(1)}.${name}`]))
      : bad(one(1), 'must be an object')],
    [`pages that are a ${kind}`, paged(value), kind === 'object' ? taken() : bad('pagination', 'must be an object')],
    [`a cursor that is a ${kind}`, paged({ starting_after: value }), bad('pagination.starting_after', STRING)],
  ]),
  ['a query that is null', query(null), bad('query', NULL)],
  ['a filter that is null', and(null), bad(one(1), 'must be an object')],
  ['pages that are null', paged(null), bad('pagination', NULL)],
  ['a field that is null', and({ field: null, operator: '=', value: 'a' }), bad(`${one(1)}.field`, NULL)],
  ['a filter without a value', and({ field: 'state', operator: '=' }), missing(`${one(1)}.value`)],
  ['a filter without an operator', and({ field: 'state', value: 'open' }), missing(`${one(1)}.operator`)],
  ['a filter with something more', and({ field: 'state', operator: '=', value: 'open', x: 1 }), bad(`${one(1)}.x`,
    UNKNOWN)],
  ['a group with something more', query({ operator: 'AND', value: [OWN], x: 1 }), bad('query.x', UNKNOWN)],
  ['a search with something more', query(OWN, { sort: 'created_at' }), bad('sort', UNKNOWN)],
  ['pages with something more', paged({ page: 2 }), bad('pagination.page', UNKNOWN)],
  // groups
  ['a root of OR', query({ operator: 'OR', value: [OWN] }),
    invalid(['invalid_operator', 'OR is not supported here; use AND', 'query.operator'])],
  ['a root of and', query({ operator: 'and', value: [OWN] }),
    invalid(['invalid_operator', 'this operator is not supported here; use AND', 'query.operator'])],
  ['a root of NOT', query({ operator: 'NOT', value: [OWN] }),
    invalid(['invalid_operator', 'this operator is not supported here; use AND', 'query.operator'])],
  ['a group in a group', and({ operator: 'AND', value: [] }), bad(one(1),
    'must be a filter: groups cannot be nested')],
  ['a group of OR in a group', and({ operator: 'OR', value: [OWN] }),
    bad(one(1), 'must be a filter: groups cannot be nested')],
  ['a contact that is only in a nested group', query({ operator: 'AND', value: [{ operator: 'AND', value: [OWN] }] }),
    invalid(['parameter_invalid', 'must be a filter: groups cannot be nested', 'query.value[0]'],
      ['parameter_not_found', NO_CONTACT, 'query'])],
  ['a group of nothing', query({ operator: 'AND', value: [] }), missing('query', NO_CONTACT)],
  ['a group without filters', query({ operator: 'AND' }),
    invalid(['parameter_not_found', 'is required', 'query.value'], ['parameter_not_found', NO_CONTACT, 'query'])],
  ['a group of an object', query({ operator: 'AND', value: {} }),
    bad('query.value', 'must be an array of at most 50 filters')],
  ['a group of 51', query({ operator: 'AND', value: Array(51).fill(OWN) }),
    bad('query.value', 'must be an array of at most 50 filters')],
  ['a query that is a list of filters', query([OWN]), bad('query', 'must be an object')],
  // contacts
  ['no contact', query({ operator: 'AND', value: [{ field: 'state', operator: '=', value: 'open' }] }),
    missing('query', NO_CONTACT)],
  ['no contact, in one filter', query({ field: 'state', operator: '=', value: 'open' }), missing('query',
    NO_CONTACT)],
  ['two contacts', and(OWN), bad(`${one(1)}.field`, 'there must be exactly one contact filter')],
  ['two contacts by two names', and({ field: 'contact_ids', operator: '=', value: id }),
    bad(`${one(1)}.field`, 'there must be exactly one contact filter')],
  ['a contact of a number', query({ field: 'contact.external_id', operator: '=', value: 1 }), bad('query.value',
    STRING)],
  ['a contact of null', query({ field: 'contact.id', operator: '=', value: null }), bad('query.value', NULL)],
  ['a contact of a list', query({ field: 'contact_ids', operator: '=', value: [id] }), bad('query.value', STRING)],
  ['a contact without letters', query({ field: 'contact.external_id', operator: '=', value: '' }),
    bad('query.value', 'must be 1 to 255 characters long')],
  // values
  ...['state', 'status'].flatMap((field) => ['OPEN', 'Active', '', 'closed ', 'deleted', 1, true, {}]
    .map((value) => [`${field} of ${json(value)}`, filter(field, '=', value), bad(`${one(1)}.value`,
      field === 'state' ? 'must be one of: open, closed' : STATUS)])),
  ['status of the legacy closed', filter('status', '=', 'closed'), bad(`${one(1)}.value`, STATUS)],
  ['status of a list that holds closed', filter('status', 'IN', ['active', 'closed']), bad(`${one(1)}.value[1]`,
    STATUS)],
  ...['created_at', 'updated_at'].flatMap((field) => ['1', '2026-01-01', true, [1], {}, 1.5, -1, 253402300800, 1795914820000]
    .map((value) => [`${field} of ${json(value)}`, filter(field, '>', value),
      bad(`${one(1)}.value`, SECONDS)])),
  ['created_at of null', filter('created_at', '<', null), bad(`${one(1)}.value`, NULL)],
  ...['IN', 'NIN'].flatMap((op) => [
    ...[[], 'api', 1, {}, Array(101).fill('a')].map((value) => [`${op} of ${json(value).slice(0, 20)}`,
      filter('channel', op, value), bad(`${one(1)}.value`, 'must be an array of 1 to 100 values')]),
    [`${op} of null`, filter('channel', op, null), bad(`${one(1)}.value`, NULL)],
    [`${op} of a number in a list`, filter('channel', op, ['a', 1]), bad(`${one(1)}.value[1]`, STRING)],
    [`${op} of null in a list`, filter('external_id', op, [null]), bad(`${one(1)}.value[0]`, STRING)],
    [`${op} of a list in a list`, filter('external_id', op, ['a', ['b']]), bad(`${one(1)}.value[1]`, STRING)],
    [`${op} of an empty id`, filter('external_id', op, ['']), bad(`${one(1)}.value[0]`,
      'must be 1 to 255 characters long')],
  ]),
  ['an attribute of a list', filter('custom_attributes.a', '=', [1]),
    bad(`${one(1)}.value`, 'must be a string, a number, true or false')],
  ['an attribute of an object', filter('custom_attributes.a', '!=', {}),
    bad(`${one(1)}.value`, 'must be a string, a number, true or false')],
  ['an attribute of null', filter('custom_attributes.a', '=', null), bad(`${one(1)}.value`, NULL)],
  // pages
  ...[0, -1, 101, 1000, 1.5, '10', true, [10], {}].map((value) =>
    [`per_page of ${json(value)}`, paged({ per_page: value }), PER_PAGE]),
  ...['1.0', '1e1', '10.0', '1E0', '-0', '99999999999999999999', '1e300'].map((text) =>
    [`per_page of ${text}`, search(`{"query":${json(OWN)},"pagination":{"per_page":${text}}}`), PER_PAGE]),
  ['per_page of null', paged({ per_page: null }), bad('pagination.per_page', NULL)],
  ...['', 'a', 'null', '0', id, 'AAAA', 'A'.repeat(1000), '=', '../..', '<b>'].map((text) =>
    [`a cursor of ${json(text).slice(0, 20)}`, paged({ starting_after: text }),
      invalid(['invalid_cursor', 'is not a cursor of this search, or has expired', 'pagination.starting_after'])]),
];

export const rows = [...creates, ...updates, ...searches];
