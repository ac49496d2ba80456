// Contacts and conversations such as years of several channels could have left, drawn and stored: equal times,
// texts of every kind, numbers in every spelling, similar keys, erased contacts, deleted conversations, and a
// status that is no longer written.
import { randomUUID } from 'node:crypto';
import { execFile } from 'node:child_process';
import { spelled, write } from './json_text.mjs';
import { shownStatus, stateOf } from './search_rules.mjs';

const { DATABASE_URL } = process.env;
const SECOND = 1700000000;

export const CHANNELS = ['api', 'widget', 'email', 'slack', 'voice', 'e,\\"m{}ail', 'каnал'];
const STORED = ['active', 'waiting', 'human_takeover', 'resolved', 'archived', 'closed'];
export const KEYS = ['plan', 'Plan', 'pla', 'a.b-c_1', 'a.b', 'a', 'seats', 'k'.repeat(64)];
// Attribute values of JSON's types; null is not a value.
export const VALUES = [
  ...['1', '1.0', '10e-1', '0.1e1', '-1', '0', '-0', '0.0', '2', '0.1', '1e-1', '0.10000000000000001',
    '9007199254740993', '9007199254740992', '123456789012345678901234567890', '1e30', '1e300', '-1e-300',
    '2.50'].map(spelled),
  '1', '1.0', 'true', 'false', 'null', '', ' ', 'a', 'A', 'a ', 'é', 'e\u0301', '😀', 'ﬀ', 'ß', 'SS', '\u202eabc',
  '\uFFFF',
  'a"b\\c{},[]\'', '%', '_', 'a%', '\t\n', 'x'.repeat(500), true, false,
];

function drawAttributes(dice) {
  return new Map(KEYS.filter(() => dice.once(3)).map((key) => [key, dice.pick(VALUES)]));
}

function drawConversation(dice, n, contact) {
  const channel = dice.weighed([4, 'api'], [3, dice.pick(CHANNELS)]);
  const created = (SECOND + dice.below(dice.pick([3, 60]))) * 1000000 + dice.pick([0, 0, 1, 500000, 999999]);
  const updated = created + dice.pick([0, 1, 1000000, 5000000]);
  return {
    id: randomUUID().replace(/^.{8}/, (head) => (dice.once(2) ? '0190a0b1' : head)),
    contact, channel, status: dice.pick(STORED), attributes: drawAttributes(dice),
    external_id: channel === 'api' ? dice.pick([`e-${n}`, `Ⅷ ${n}`, `e-${n}-'",{}\\`]) : null,
    created_us: created, updated_us: updated,
    created_at: Math.floor(created / 1000000), updated_at: Math.floor(updated / 1000000),
    last_message_us: dice.once(3) ? updated : null, message_count: dice.below(4), isDeleted: dice.once(12),
  };
}

const newestFirst = (a, b) => b.created_us - a.created_us || (a.id < b.id ? 1 : -1);

// { contacts, of(contact) }: a few contacts have many conversations, most have some, one has none.
export function drawData(dice, organization) {
  const contacts = dice.list(14, (i) => ({
    organization, id: randomUUID(), isErased: i === 5,
    external_id: i === 4 || i === 5 ? null : dice.pick([`u-${i}`, `U-${i}`, `ü ${i}`, `${i}'"\\,{}😀`]),
    name: dice.pick([null, 'Ada', '']), email: null, phone: null,
  }));
  const sizes = contacts.map((_, i) => (i === 13 ? 0 : i < 2 ? 250 : 20 + dice.below(60)));
  const all = contacts.flatMap((contact, i) =>
    dice.list(sizes[i], (n) => drawConversation(dice, i * 1000 + n, contact)));
  const lists = new Map(contacts.map((contact) => [contact, []]));
  for (const one of all) if (!one.isDeleted) lists.get(one.contact).push(one);
  for (const list of lists.values()) list.sort(newestFirst);
  return { organization, contacts, all, of: (contact) => lists.get(contact) ?? [] };
}

// -- as clients see it -----------------------------------------------------------------------------

// The conversation's JSON, parsed.
export function shown(one) {
  const { contact: { id, external_id, name, email, phone } } = one;
  return JSON.parse(write({
    type: 'conversation', id: one.id, external_id: one.external_id, created_at: one.created_at,
    updated_at: one.updated_at, last_message_at: one.last_message_us && Math.floor(one.last_message_us / 1000000),
    channel: one.channel, source: { type: one.channel }, state: stateOf(one.status),
    open: stateOf(one.status) === 'open', status: shownStatus(one.status),
    custom_attributes: Object.fromEntries(one.attributes), message_count: one.message_count,
    contact: { type: 'contact', id, external_id, name, email, phone },
    contacts: { type: 'contact.list', contacts: [{ type: 'contact', id, external_id }] },
  }), (_, value) => (value === 0 ? 0 : value)); // -0 becomes 0
}

// -- stored ----------------------------------------------------------------------------------------

const CONTACTS = `INSERT INTO conversation.contacts (organization_id, id, external_id, name, created_at, erased_at)
  SELECT organization, id, external_id, name, now(), CASE WHEN is_erased THEN now() END
    FROM jsonb_to_recordset(:'rows') AS r (organization uuid, id uuid, external_id text, name text, is_erased bool);`;
const CONVERSATIONS = `INSERT INTO conversation.conversations (organization_id, id, external_id, contact_id, channel,
    status, custom_attributes, created_at, updated_at, last_message_at, message_count, deleted_at)
  SELECT organization, id, external_id, contact, channel, status, attributes, us(created), us(updated), us(last),
         messages, CASE WHEN is_deleted THEN now() END
    FROM jsonb_to_recordset(:'rows') AS r (organization uuid, id uuid, external_id text, contact uuid, channel text,
         status text, attributes jsonb, created bigint, updated bigint, last bigint, messages int, is_deleted bool);`;

// As the administrator of the database, since no channel could write all of the data.
function run(statement, rows) {
  const tag = `$rows${randomUUID().replaceAll('-', '')}$`;
  const script = `CREATE FUNCTION pg_temp.us(bigint) RETURNS timestamptz LANGUAGE sql AS
    'SELECT timestamptz ''epoch'' + $1 * interval ''1 microsecond''';
    ${statement.replaceAll('us(', 'pg_temp.us(').replace(":'rows'", `${tag}${write(rows)}${tag}::jsonb`)}`;
  return new Promise((resolve, reject) => {
    const psql = execFile('psql', ['-qXAt', '-v', 'ON_ERROR_STOP=1', DATABASE_URL],
      (error) => (error ? reject(error) : resolve()));
    psql.stdin.end(script);
  });
}

export async function store({ organization, contacts, all }) {
  await run(CONTACTS, contacts.map(({ id, external_id, name, isErased }) =>
    ({ organization, id, external_id, name: isErased ? null : name, is_erased: isErased })));
  await run(CONVERSATIONS, all.map((one) => ({
    organization, id: one.id, external_id: one.external_id, contact: one.contact.id, channel: one.channel,
    status: one.status, attributes: Object.fromEntries(one.attributes), created: one.created_us,
      updated: one.updated_us,
    last: one.last_message_us, messages: one.message_count, is_deleted: one.isDeleted,
  })));
}
