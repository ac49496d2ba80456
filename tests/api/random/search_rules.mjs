// The simplest search: it checks every conversation against every filter, and a query against every rule of
// docs/api.md in turn. It shares no code with the service.
import { Spelled, isInteger, isNumber, numberOf, valueName } from './json_text.mjs';

// -- errors of a query -----------------------------------------------------------------------------

const CONTACT = ['contact.external_id', 'contact.id', 'contact_ids'];
const EQUALITY = ['=', '!='], SETS = [...EQUALITY, 'IN', 'NIN'], ORDER = [...EQUALITY, '>', '<'];
export const OPERATORS = [...SETS, '>', '<'];
export const STATES = ['open', 'closed'];
export const STATUSES = ['active', 'waiting', 'human_takeover', 'resolved', 'archived'];
const SPACE = '[\\t-\\r \\x85\\xA0\\u1680\\u2000-\\u200A\\u2028\\u2029\\u202F\\u205F\\u3000]';
const OUTER_SPACE = new RegExp(`^${SPACE}|${SPACE}$`);

const length = (text) => [...text].length;
const isText = (value) => typeof value === 'string' && !value.includes('\0');
const isId = (value) =>
  isText(value) && length(value) >= 1 && length(value) <= 255 && !OUTER_SPACE.test(value);
const isAttribute = (value) =>
  typeof value === 'boolean' || isNumber(value) || (isText(value) && length(value) <= 500);
// Up to the year 9999; milliseconds are beyond it.
const isTime = (value) => isInteger(value) && numberOf(value) >= 0 && numberOf(value) <= 253402300799;

const FIELDS = {
  'contact.external_id': [['='], isId], 'contact.id': [['='], isText], contact_ids: [['='], isText],
  external_id: [SETS, isId], channel: [SETS, isText], 'source.type': [SETS, isText],
  state: [EQUALITY, (value) => STATES.includes(value)], status: [SETS, (value) => STATUSES.includes(value)],
  created_at: [ORDER, isTime], updated_at: [ORDER, isTime],
};
// [OPERATORS, VALUE]; undefined: the field cannot be searched.
export function fieldOf(name) {
  if (typeof name !== 'string') return undefined;
  const key = /^custom_attributes\.([A-Za-z][A-Za-z0-9_.-]{0,63})$/.exec(name)?.[1];
  if (key !== undefined && !/^service_/i.test(key)) return [EQUALITY, isAttribute];
  return Object.hasOwn(FIELDS, name) ? FIELDS[name] : undefined;
}

const isObject = (value) =>
  value !== null && typeof value === 'object' && !Array.isArray(value) && !(value instanceof Spelled);
const join = (path, name) => (path === '' ? name : `${path}.${name}`);

const MISSING = 'parameter_not_found', INVALID = 'parameter_invalid';

// Checks each member by its rule, in the order of the document, then reports the missing ones.
function readMembers(object, path, rules, add) {
  if (!isObject(object)) return add(INVALID, path === '' ? undefined : path);
  for (const [name, value] of Object.entries(object)) {
    const rule = Object.hasOwn(rules, name) ? rules[name] : undefined;
    const where = join(path, name);
    if (rule === undefined) add(INVALID, where);
    else if (value === null && !rule.mayBeNull) add(INVALID, where);
    else if (value !== null) rule.read(value, where);
  }
  for (const [name, rule] of Object.entries(rules))
    if (rule.isRequired && !Object.hasOwn(object, name)) add(MISSING, join(path, name));
}

function readValues(value, where, [, isRight], operator, add) {
  if (operator !== 'IN' && operator !== 'NIN') {
    if (!isRight(value)) add(INVALID, where);
    return;
  }
  if (!Array.isArray(value) || value.length < 1 || value.length > 100) {
    add(INVALID, where);
    return;
  }
  value.forEach((one, i) => isRight(one) || add(INVALID, `${where}[${i}]`));
}

// Returns whether the filter names the contact.
function readFilter(filter, path, add) {
  const searched = isObject(filter) ? fieldOf(filter.field) : undefined;
  const allowed = searched?.[0] ?? OPERATORS;
  const isAllowed = isObject(filter) && allowed.includes(filter.operator);
  readMembers(filter, path, {
    field: {
      isRequired: true,
      read: (name, where) => (isText(name) ? searched ?? add('invalid_field', where) : add(INVALID, where)),
    },
    operator: {
      isRequired: true,
      read: (name, where) => (isText(name) ? isAllowed || add('invalid_operator', where) : add(INVALID, where)),
    },
    value: {
      isRequired: true,
      read: (value, where) => searched && isAllowed && readValues(value, where, searched, filter.operator, add),
    },
  }, add);
  return isObject(filter) && CONTACT.includes(filter.field);
}

const isGroup = (value) => isObject(value) && !Object.hasOwn(value, 'field')
  && (Array.isArray(value.value) || value.operator === 'AND' || value.operator === 'OR');

function readQuery(query, path, add) {
  let hasContact = false;
  const take = (filter, where) => {
    if (!readFilter(filter, where, add)) return;
    if (hasContact) add(INVALID, `${where}.field`);
    hasContact = true;
  };
  if (isGroup(query))
    readMembers(query, path, {
      operator: {
        isRequired: true,
        read: (name, where) => (isText(name) ? name === 'AND' || add('invalid_operator', where) : add(INVALID,
          where)),
      },
      value: {
        isRequired: true,
        read: (filters, where) => {
          if (!Array.isArray(filters) || filters.length > 50) {
            add(INVALID, where);
            hasContact = true; // unknown, so not reported as missing
            return;
          }
          filters.forEach((one, i) => (isGroup(one) ? add(INVALID, `${where}[${i}]`) : take(one, `${where}[${i}]`)));
        },
      },
    }, add);
  else take(query, path);
  if (!hasContact && isObject(query)) add(MISSING, path);
}

// The errors of a body, each { code, field }; none if it is valid.
export function errorsOf(body) {
  const errors = [];
  const add = (code, field) => errors.push(field === undefined ? { code } : { code, field });
  readMembers(body, '', {
    query: { isRequired: true, read: (query, where) => readQuery(query, where, add) },
    pagination: {
      read: (pagination, path) => readMembers(pagination, path, {
        per_page: {
          read: (n, where) => (isInteger(n) && numberOf(n) >= 1 && numberOf(n) <= 100) || add(INVALID, where),
        },
        starting_after: { mayBeNull: true, read: (text, where) => isText(text) || add(INVALID, where) },
      }, add),
    },
  }, add);
  return errors.slice(0, 10);
}

// -- results of a query ----------------------------------------------------------------------------

// How a stored status is shown: the former `closed` is `resolved`.
export const shownStatus = (stored) => (stored === 'closed' ? 'resolved' : stored);
export const stateOf = (stored) => (['resolved', 'archived', 'closed'].includes(stored) ? 'closed' : 'open');

function has(one, field, value) {
  switch (field) {
    case 'external_id': return one.external_id === value;
    case 'channel': case 'source.type': return one.channel === value;
    case 'state': return stateOf(one.status) === value;
    case 'status': return shownStatus(one.status) === value;
    case 'created_at': return one.created_at === numberOf(value);
    case 'updated_at': return one.updated_at === numberOf(value);
    default: {
      const key = field.slice('custom_attributes.'.length);
      return one.attributes.has(key) && valueName(one.attributes.get(key)) === valueName(value);
    }
  }
}

function isFound(one, { field, operator, value }) {
  if (field === 'external_id' && one.channel !== 'api') return false;
  const some = Array.isArray(value) && value.some((each) => has(one, field, each));
  switch (operator) {
    case '=': return has(one, field, value);
    case '!=': return !has(one, field, value);
    case 'IN': return some;
    case 'NIN': return !some;
    case '>': return one[field] > numberOf(value);
    default: return one[field] < numberOf(value);
  }
}

const filtersOf = ({ query }) => (isGroup(query) ? query.value : [query]);
const isContacts = ({ field }) => CONTACT.includes(field);

// The contact whose conversations a valid body asks for; undefined: none. Contacts are { id, external_id,
// isErased }.
export function contactOf(body, contacts) {
  const { field, value } = filtersOf(body).find(isContacts);
  const key = field === 'contact.external_id' ? 'external_id' : 'id';
  return contacts.find((contact) => !contact.isErased && contact[key] === value);
}

// The conversations of one contact that a valid body finds. They are { external_id, channel, status, created_at,
// updated_at, attributes } with attributes as a Map.
export const found = (body, conversations) => {
  const filters = filtersOf(body).filter((filter) => !isContacts(filter));
  return conversations.filter((one) => filters.every((filter) => isFound(one, filter)));
};
