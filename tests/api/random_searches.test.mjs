// Random searches against a naive evaluator, which determines for each whether it is valid, and what it finds, in
// which order and how many. TEST_LONG=1 runs 100,000 of them.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { BASE_URL, ctl, key, organization } from '../browser/stack.mjs';
import { connections, each } from './random/connections.mjs';
import { again, dice, isLong, seed } from './random/dice.mjs';
import { write } from './random/json_text.mjs';
import { drawData, shown, store } from './random/search_data.mjs';
import { drawBody } from './random/search_queries.mjs';
import { contactOf, errorsOf, found } from './random/search_rules.mjs';

const QUERIES = isLong ? 100000 : 500;
const WALKS = isLong ? 1000 : 40;
const AT_ONCE = 32;
const PATH = '/conversations/search';

const api = connections(BASE_URL, AT_ONCE + 8);
after(() => api.close());
const say = (what) => `${what}\nagain: ${again('tests/api/random_searches')}`;

async function newOrganization() {
  const { org } = await organization({ cell: 'main' }); // rows are written directly to this cell's database
  await ctl('org', 'set', org, '--rate-limit', '1000000');
  return { id: org, keys: await Promise.all(['full', 'read'].map((scope) => key(org, scope))) };
}

// -- one query -------------------------------------------------------------------------------------

// The conversations' JSON as clients see it, computed once.
const known = new Map();
const isShown = (given, one) => {
  if (!known.has(one.id)) known.set(one.id, shown(one));
  return isDeepStrictEqual(given, known.get(one.id));
};

// The fault of a page that should show `expected` from `at` on.
function pageFault({ status, json }, { expected, at, perPage, page }) {
  if (status !== 200) return `status ${status}: ${JSON.stringify(json)}`;
  const part = expected.slice(at, at + perPage);
  const isLast = at + perPage >= expected.length;
  const { next, ...pages } = json.pages;
  if (json.type !== 'conversation.list') return `type ${json.type}`;
  if (json.total_count !== expected.length) return `total_count ${json.total_count}, not ${expected.length}`;
  if (!isDeepStrictEqual(pages, { type: 'pages', page, per_page: perPage })) return `pages ${JSON.stringify(pages)}`;
  if (Object.hasOwn(json.pages, 'next') === isLast) return `page ${page} ${isLast ? 'has' : 'lacks'} a next one`;
  const ids = json.conversations.map(({ id }) => id);
  if (!isDeepStrictEqual(ids, part.map(({ id }) => id)))
    return `page ${page} holds ${ids.join(' ')}, not ${part.map(({ id }) => id).join(' ')}`;
  const other = part.findIndex((one, i) => !isShown(json.conversations[i], one));
  return other < 0 ? undefined
    : `${JSON.stringify(json.conversations[other])}, not ${JSON.stringify(shown(part[other]))}`;
}

const withCursor = (body, starting_after, per_page) =>
  ({ ...body, pagination: { ...body.pagination, ...(per_page === undefined ? {} : { per_page }), starting_after } });

// Searches other than the one that the cursor belongs to.
const others = [
  (body, perPage) => ({ body: withCursor(body, undefined, perPage === 100 ? 99 : perPage + 1) }),
  (body) => ({ body: { ...body, query: { operator: 'AND', value: [...[body.query.field ? body.query : body.query.value]
    .flat(), { field: 'state', operator: '=', value: 'open' }].slice(-50) } } }),
  () => ({ isChanged: true }),
];

async function cursorFault(draw, ask, body, cursor, perPage) {
  const { body: other = body, isChanged } = draw.pick(others)(body, perPage);
  const at = draw.below(cursor.length);
  const changed = `${cursor.slice(0, at)}${cursor[at] === 'A' ? 'B' : 'A'}${cursor.slice(at + 1)}`;
  const asked = withCursor(other, isChanged ? changed : cursor);
  if (errorsOf(asked).length > 0) return undefined;
  const { status, json } = await ask(asked);
  return status === 400 && json.errors[0].code === 'invalid_cursor' ? undefined
    : `a cursor of another search: ${status} ${JSON.stringify(json)}`;
}

async function walkFault(draw, ask, body, expected) {
  const perPage = body.pagination?.per_page ?? 50;
  let cursor = null;
  for (let at = 0, page = 1; page === 1 || at < expected.length; at += perPage, page++) {
    const answer = await ask(cursor === null ? body : withCursor(body, cursor));
    const fault = pageFault(answer, { expected, at, perPage, page });
    if (fault !== undefined) return fault;
    cursor = answer.json.pages.next?.starting_after;
    if (cursor !== undefined && draw.once(20)) {
      const other = await cursorFault(draw, ask, body, cursor, perPage);
      if (other !== undefined) return other;
    }
  }
  return undefined;
}

const codesOf = ({ errors }) => errors?.map(({ code, field }) => (field === undefined ? { code } : { code, field }));

async function queryFault(draw, data, counts) {
  const body = drawBody(draw, data), wrong = errorsOf(body);
  const ask = (asked) => api.ask({ key: draw.pick(data.keys), path: PATH, body: write(asked, draw) });
  counts.wrong += wrong.length > 0;
  if (wrong.length > 0) {
    const { status, json } = await ask(body);
    return status === 400 && isDeepStrictEqual(codesOf(json), wrong) ? undefined
      : `${write(body)}\n${status} ${JSON.stringify(json.errors ?? json)}\nnot ${JSON.stringify(wrong)}`;
  }
  const expected = found(body, data.of(contactOf(body, data.contacts)));
  counts.found += expected.length > 0;
  const fault = await walkFault(draw, ask, body, expected);
  return fault && `${write(body)}\n${fault}`;
}

// -- all of them -----------------------------------------------------------------------------------

let all;
before(async () => {
  const made = await Promise.all([newOrganization(), newOrganization()]);
  all = made.map(({ id, keys }, i) => ({ ...drawData(dice('data', i), id), keys }));
  all.forEach((data, i) => { data.others = all[1 - i].contacts; });
  for (const data of all) await store(data);
});

describe('random searches', () => {
  test(`${QUERIES} of them find the right conversations`, async (t) => {
    const counts = { wrong: 0, found: 0 }, started = Date.now();
    let asked = 0;
    await each(QUERIES, AT_ONCE, async (i) => {
      const draw = dice('query', i);
      const fault = await queryFault(draw, draw.pick(all), counts);
      assert.equal(fault, undefined, say(`query ${i}: ${fault}`));
      asked++;
    });
    t.diagnostic(`seed ${seed}: ${asked} queries in ${Date.now() - started} ms`
      + `, ${counts.wrong} wrong ones, ${counts.found} that found something`);
    assert.ok(counts.found > QUERIES / 3 && counts.wrong > QUERIES / 20, say(JSON.stringify(counts)));
  });

  // The check of pages finds a wrong page.
  test('a different response is found', async () => {
    const lies = [
      (json) => { json.total_count++; }, (json) => { json.conversations.pop(); },
      (json) => { json.conversations.reverse(); }, (json) => { json.pages.next = { starting_after: 'a' }; },
      (json) => { json.conversations[0].custom_attributes.surplus = 1; }, (json) => { json.pages.page++; },
      (json) => { json.conversations[1] = json.conversations[0]; },
    ];
    const data = all[0], [contact] = data.contacts;
    const body = { query: { field: 'contact.id', operator: '=', value: contact.id }, pagination: { per_page: 100 } };
    const expected = data.of(contact).slice(0, 50);
    const answer = await api.ask({ key: data.keys[0], path: PATH, body: write(body) });
    const page = { expected: data.of(contact), at: 0, perPage: 100, page: 1 };
    assert.equal(pageFault(answer, page), undefined);
    for (const lie of lies) {
      const json = structuredClone(answer.json);
      lie(json);
      const isLast = lie === lies[3];
      const about = isLast ? { ...page, expected: page.expected.slice(0, 100) } : page;
      if (isLast) json.total_count = 100;
      assert.notEqual(pageFault({ ...answer, json }, about), undefined, String(lie));
    }
    assert.equal(expected.length, 50);
  });
});

// -- while others write ----------------------------------------------------------------------------

// Unchanged conversations must be in each walk exactly once; created, changed or deleted ones at most once.
class Writers {
  constructor(draw, { keys: [key] }) {
    Object.assign(this, { draw, key, steady: new Set(), wavering: [], n: 0, writes: 0, isOver: false });
    this.user = `walks-${seed}-${Date.now()}`;
  }

  async create(kind) {
    const { status, json } = await api.ask({
      key: this.key, path: '/conversations',
      body: JSON.stringify({
        external_id: `${this.user}-${this.n++}`, from: { external_id: this.user },
        custom_attributes: { kind, wanted: true },
      }),
    });
    assert.equal(status, 201, JSON.stringify(json));
    return json.id;
  }

  async change() {
    const isSteady = this.draw.once(2);
    const id = this.draw.pick(isSteady ? [...this.steady] : this.wavering);
    const custom_attributes = isSteady ? { touched: this.n++ } : { wanted: this.draw.pick([true, false, null]) };
    const answer = await api.ask({
      key: this.key, method: 'PUT', path: `/conversations/${id}`, body: JSON.stringify({ custom_attributes }),
    });
    assert.equal(answer.status, 200, answer.body);
  }

  async run() {
    for (; !this.isOver; this.writes++) {
      if (this.draw.once(20)) this.wavering.push(await this.create('wavering'));
      else await this.change();
    }
  }

  // All ids of one walk, in order.
  async walk() {
    const query = {
      operator: 'AND', value: [{ field: 'contact.external_id', operator: '=', value: this.user },
        { field: 'custom_attributes.wanted', operator: '=', value: true }],
    };
    const per_page = this.draw.between(3, 40), ids = [];
    let starting_after = null;
    while (starting_after !== undefined) {
      const body = JSON.stringify({ query, pagination: { per_page, starting_after } });
      const { status, json } = await api.ask({ key: this.key, path: PATH, body });
      assert.equal(status, 200, JSON.stringify(json));
      ids.push(...json.conversations.map(({ id }) => id));
      starting_after = json.pages.next?.starting_after;
    }
    return ids;
  }
}

function walkedFault(ids, steady) {
  const once = new Set(ids);
  if (once.size !== ids.length) return `${ids.length - once.size} are there twice`;
  const lost = [...steady].filter((id) => !once.has(id));
  return lost.length === 0 ? undefined : `${lost.length} of ${steady.length} are lost, such as ${lost[0]}`;
}

test(`${WALKS} walks under writes lose nothing and see nothing twice`, async (t) => {
  const writers = new Writers(dice('writes'), all[0]);
  for (let i = 0; i < 120; i++) {
    if (i % 2) writers.wavering.push(await writers.create('wavering'));
    else writers.steady.add(await writers.create('steady'));
  }
  const running = [1, 2, 3, 4].map(() => writers.run());
  try {
    await Promise.race([Promise.all(running), each(WALKS, 4, async (i) => {
      const steady = [...writers.steady];
      const ids = await writers.walk();
      assert.equal(walkedFault(ids, steady), undefined, say(`walk ${i}: ${walkedFault(ids, steady)}`));
      // Another unchanged one, which later walks must include.
      if (i % 10 === 0) writers.steady.add(await writers.create('steady'));
    })]);
  } finally {
    writers.isOver = true;
    await Promise.all(running);
  }
  t.diagnostic(`seed ${seed}: ${writers.writes} writes meanwhile`);
  assert.ok(writers.writes > WALKS, `${writers.writes} writes`);
  assert.notEqual(walkedFault(['a', 'a'], ['a']), undefined);
  assert.notEqual(walkedFault(['a'], ['a', 'b']), undefined);
});
