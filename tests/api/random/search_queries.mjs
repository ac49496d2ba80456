// Random bodies of a search: valid ones, which mostly find something, and ones that break a rule or two.
import { CHANNELS, KEYS, VALUES } from './search_data.mjs';
import { spelled } from './json_text.mjs';
import { OPERATORS, STATES, STATUSES, fieldOf } from './search_rules.mjs';

const SECOND = 1700000000;
const NOBODY = '0190a0b1-c2d3-7e4f-8a5b-6c7d8e9fa0b1';

// -- filters ---------------------------------------------------------------------------------------

const drawSecond = (dice) => dice.weighed([12, SECOND + dice.between(-2, 62)], [12, SECOND + dice.below(3)], [1, 0],
  [1, -5],
  [1, spelled('9223372036854775807')], [1, spelled('-9223372036854775808')], [1, spelled('-0')], [1, 253402300800]);

function drawValue(dice, field, data) {
  switch (field) {
    case 'external_id': return dice.weighed([8, dice.pick(data.all).external_id ?? 'e-0'], [1,
      `e-${dice.below(3000)}`]);
    case 'channel': case 'source.type': return dice.weighed([9, dice.pick(CHANNELS)], [1, dice.pick(['', 'API',
      'pigeon', 'api '])]);
    case 'state': return dice.pick(STATES);
    case 'status': return dice.pick(STATUSES);
    case 'created_at': case 'updated_at': return drawSecond(dice);
    default: return dice.pick(VALUES);
  }
}

function drawField(dice) {
  return dice.weighed([6, `custom_attributes.${dice.pick(KEYS)}`], [1, 'custom_attributes.absent'], [2,
    'external_id'],
    [2, 'channel'], [2, 'source.type'], [3, 'state'], [3, 'status'], [3, 'created_at'], [3, 'updated_at']);
}

// Puts the members in random order.
const inAnyOrder = (dice, object) => Object.fromEntries(dice.shuffled(Object.entries(object)));

function drawFilter(dice, data) {
  const field = drawField(dice);
  const operator = dice.pick(fieldOf(field)[0]);
  const draw = () => drawValue(dice, field, data);
  const isList = operator === 'IN' || operator === 'NIN';
  return inAnyOrder(dice, { field, operator, value: isList ? dice.list(dice.between(1, dice.pick([3, 3, 100])),
    draw) : draw() });
}

// A contact filter by one of the contact's names; sometimes it matches no contact.
function drawContact(dice, data) {
  const contact = dice.pick(data.contacts);
  const field = dice.pick(['contact.external_id', 'contact.id', 'contact_ids']);
  const known = field === 'contact.external_id' ? contact.external_id ?? 'nobody' : contact.id;
  const value = dice.weighed([20, known], [1, known.toUpperCase()], [1, NOBODY], [1, 'nobody'],
    [1, dice.pick(data.others).id]);
  return inAnyOrder(dice, { field, operator: '=', value });
}

function drawQuery(dice, data) {
  const contact = drawContact(dice, data);
  if (dice.once(12)) return contact;
  const filters = dice.list(dice.weighed([12, dice.below(2)], [6, dice.below(5)], [1, dice.below(50)]),
    () => drawFilter(dice, data));
  if (filters.length > 1 && dice.once(6)) filters[0] = filters.at(-1); // the same filter twice
  return inAnyOrder(dice, { operator: 'AND', value: dice.shuffled([contact, ...filters]).slice(0, 50) });
}

// -- bodies ----------------------------------------------------------------------------------------

const perPage = (dice) =>
  dice.weighed([2, undefined], [1, dice.between(1, 10)], [5, dice.between(8, 60)], [2, 100]);

// A valid body, except that 50 filters may have displaced the contact.
function drawRight(dice, data) {
  const per_page = perPage(dice);
  const pagination = inAnyOrder(dice, {
    ...(per_page === undefined ? {} : { per_page }), ...(dice.once(6) ? { starting_after: null } : {}),
  });
  const hasPages = per_page !== undefined || dice.once(4);
  return inAnyOrder(dice, { query: drawQuery(dice, data), ...(hasPages ? { pagination } : {}) });
}

// -- invalid bodies --------------------------------------------------------------------------------

const ODD_VALUES = [null, '', 'a', 'closed', ' api', 1, 1.5, true, [], [1], ['a', null], {}, { a: 1 },
  'x'.repeat(501), '\0',
  spelled('99999999999999999999'), spelled('1.0'), spelled('1e1')];
const ODD_FIELDS = ['contact', 'contact.email', 'State', 'custom_attributes', 'custom_attributes.',
  'custom_attributes.9a',
  'custom_attributes.service_a', 'custom_attributes.a b', '', 1, null, ['state'], '\0', '__proto__'];
const ODD_OPERATORS = [...OPERATORS, '~', '!~', '^', '$', 'OR', 'AND', 'NOT', 'and', '>=', '', 1, null, {}, '='];

// Nested groups; their leaves are valid.
function drawTree(dice, data, depth) {
  if (depth === 0 || dice.once(3)) return dice.once(5) ? drawContact(dice, data) : drawFilter(dice, data);
  return inAnyOrder(dice, {
    operator: dice.pick(['AND', 'OR', 'AND', 'NOT']),
    value: dice.list(dice.below(4), () => drawTree(dice, data, depth - 1)),
  });
}

// Each makes a random change in a copy of the body.
const mutations = [
  (dice, body, { filters }) => { dice.pick(filters).value = dice.pick(ODD_VALUES); },
  (dice, body, { filters }) => { dice.pick(filters).field = dice.pick(ODD_FIELDS); },
  (dice, body, { filters }) => { dice.pick(filters).operator = dice.pick(ODD_OPERATORS); },
  (dice, body, { filters }) => { delete dice.pick(filters)[dice.pick(['field', 'operator', 'value'])]; },
  (dice, body, { filters }) => { dice.pick(filters)[dice.pick(['Field', 'x', '', 'values'])] = 1; },
  (dice, body) => { body.query.operator = dice.pick(ODD_OPERATORS); },
  (dice, body) => { body[dice.pick(['sort', 'Query', 'filters', 'organization_id', ''])] = 1; },
  (dice, body) => { body.pagination = dice.pick([null, 1, [], 'a', { page: 2 }]); },
  (dice, body) => { body.pagination = { per_page: dice.pick([0, -1, 101, 1.5, '10', null, true, [], spelled('1e1'),
    spelled('10.0')]) }; },
  (dice, body) => { body.pagination = { starting_after: dice.pick([1, true, [], {}, '\0']) }; },
  (dice, body, { data }) => { body.query = drawTree(dice, data, 4); },
  (dice, body, { data }) => { body.query = { operator: 'AND', value: dice.list(dice.below(5), () => drawTree(dice,
    data, 2)) }; },
  (dice, body, { data }) => { body.query = { operator: 'AND', value: dice.list(51, () => drawFilter(dice, data)) }; },
  (dice, body, { data }) => { body.query = { operator: 'AND', value: dice.list(2, () => drawContact(dice, data)) }; },
  (dice, body) => { body.query = dice.pick([null, 1, 'a', [], {}, { operator: 'AND' }, { value: [] },
    { operator: 'AND', value: {} }]); },
  (dice, body) => { delete body[dice.pick(['query', 'pagination'])]; },
];

function drawWrong(dice, data) {
  const body = drawRight(dice, data);
  for (let i = dice.weighed([4, 1], [1, 2], [1, 4]); i > 0; i--) {
    const { query } = body;
    const all = [query, ...(Array.isArray(query?.value) ? query.value : [])];
    const filters = all.filter((one) => one !== null && typeof one === 'object' && !Array.isArray(one));
    const mutate = dice.pick(mutations);
    if (filters.length > 0) mutate(dice, body, { filters, data });
  }
  return body;
}

// Mostly valid. `data.others` are contacts of another organization.
export const drawBody = (dice, data) => (dice.once(6) ? drawWrong(dice, data) : drawRight(dice, data));
