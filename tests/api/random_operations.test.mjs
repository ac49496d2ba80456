// Random sequences of operations, by several clients at once, against a model of the contract. A failing
// sequence is shrunk and printed. TEST_LONG=1 runs 3,000 sequences.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, request as forward } from 'node:http';
import { after, before, test } from 'node:test';
import { BASE_URL, ctl, organization } from '../browser/stack.mjs';
import { connections, each } from './random/connections.mjs';
import { again, dice, isLong, seed } from './random/dice.mjs';
import { Model } from './random/model.mjs';
import { drawSteps } from './random/operations.mjs';
import { run, shrink } from './random/run.mjs';

const SEQUENCES = isLong ? 3000 : 80;
const STEPS = 30;
const AT_ONCE = 4; // sequences in parallel, each with two organizations of its own
const MINIMAL = 4; // steps: a fault of one rule needs three; shrinking may end with one more
// Sequences that are searched for a fault: the rarest fault appears in one of 36, measured.
const LOOKED_AT = 1000;
const FAULTS = isLong ? Infinity : 4; // of each kind, to test the test itself

const api = connections(BASE_URL, AT_ONCE * 4);
after(() => api.close());

async function newOrganization() {
  const { org: id } = await organization();
  await ctl('org', 'set', id, '--rate-limit', '1000000');
  const [full, read] = await Promise.all(['full', 'read'].map((scope) =>
    ctl('key', 'create', '--org', id, '--name', scope, '--scope', scope)));
  return { id, keys: { full, read } };
}

const print = (steps) => steps.map((step, i) => `  ${i + 1}. ${JSON.stringify(step)}`).join('\n');

// The fault of a sequence that has failed. A race may need several runs to fail again.
async function faultOf(steps, fails) {
  let fault;
  for (let i = 0; i < 20 && fault === undefined; i++) fault = await fails(steps);
  return fault;
}

// The first sequence that fails, shrunk: { steps, fault }; undefined: none of `n` fails. Leaves out races, whose
// results vary, so that the shortest sequence does not depend on chance.
async function search(model, n, organizations, ask = api.ask) {
  const fails = (steps) => run(model, steps, organizations, ask);
  for (let i = 0; i < n; i++) {
    const steps = drawSteps(dice('operations', i), STEPS).filter((step) => !step.members);
    if (await fails(steps) === undefined) continue;
    const shortest = await shrink(steps, fails);
    return { steps: shortest, fault: await faultOf(shortest, fails) };
  }
  return undefined;
}

let pairs;
before(async () => {
  pairs = await Promise.all(Array.from({ length: AT_ONCE }, () => Promise.all([newOrganization(), newOrganization()])));
});

test(`${SEQUENCES} random sequences get the responses that the model predicts`, async (t) => {
  const free = [...pairs], started = Date.now();
  let operations = 0;
  await each(SEQUENCES, AT_ONCE, async (i) => {
    const pair = free.pop();
    const ask = (request) => {
      operations++;
      return api.ask(request);
    };
    const fails = (steps) => run(new Model(), steps, pair, ask);
    const steps = drawSteps(dice('sequence', i), STEPS);
    const fault = await fails(steps);
    if (fault !== undefined) {
      const shortest = await shrink(steps, fails);
      assert.fail(`sequence ${i}: ${fault}\nthe shortest that fails:\n${print(shortest)}\n${await faultOf(shortest, fails)}\n`
        + `again: ${again('tests/api/random_operations')}`);
    }
    free.push(pair);
  });
  t.diagnostic(`seed ${seed}: ${operations} operations in ${Date.now() - started} ms`);
  assert.ok(operations > SEQUENCES * 15);
});

// -- the test itself -------------------------------------------------------------------------------

const contract = Model.prototype;
// The contract with one wrong rule.
const WRONG = {
  'a read key may write': { mayWrite: () => true },
  'a replay is 201': { replay: () => ({ status: 201, isReplay: true }) },
  'a replay has no header': { replay: () => ({ status: 200, isReplay: false }) },
  'a conversation is anybody’s': { isSameContact: () => true },
  'an update replaces': { merged: (attributes, changes) => contract.merged({}, changes) },
  'null is kept': { merged: (attributes, changes) => ({ ...attributes, ...changes }) },
  'there is room for 19': { isTooMany: (attributes) => Object.keys(attributes).length > 19 },
  'a change is made later': { changedFrom: (_, { until }) => until + 1 },
  'an email is as it was sent': { stored: ({ name, email, phone }) => ({ name, email, phone: phone?.trim() }) },
  'a profile is anybody’s': { isOwner: () => false },
  'a profile is replaced': {
    profileAfter: (_, { name = null, email = null, phone = null }) => ({ name, email, phone }),
  },
  'what is deleted is there': { isVisible: () => true },
  'one organization is the other': { organizationOf: (state) => state[0] },
  'oldest first': { newestFirst: (a, b) => a.born - b.born || a.order - b.order },
  'any status may become any': { mayMove: () => true },
  'what is denied is rejected': { outcomeOf: (status) => (status < 300 ? 'allowed' : 'rejected') },
};

// A service with one kind of wrong answer.
const MUTATED = {
  'a conversation lacks an attribute': (json) => { delete json.custom_attributes?.a; },
  'a page has one twice': ({ conversations: all }) => { if (all?.length > 1) all[1] = all[0]; },
  'a page lacks its last': ({ conversations: all }) => { all?.pop(); },
  'a total is one less': (json) => { if (json.total_count > 1) json.total_count--; },
  'a next page is left out': (json) => { if (json.conversations) delete json.pages.next; },
  'an entry is left out': (json) => { json.audit_logs?.shift(); },
  'an error names another field': (json) => { if (json.errors?.[0].field) json.errors[0].field += 'x'; },
  'a contact has no email': (json) => { if (json.contact) json.contact.email = null; },
  'a ping is of another scope': (json) => { if (json.type === 'ping') json.scope = 'all'; },
};

// A proxy that changes answers.
async function proxy(mutate) {
  const { port, pathname } = new URL(BASE_URL);
  const server = createServer((request, response) => {
    const { method, url, headers } = request;
    const onward = forward({ host: '127.0.0.1', port, method, path: url, headers }, async (answer) => {
      const json = JSON.parse(Buffer.concat(await answer.toArray()));
      mutate(json);
      const body = JSON.stringify(json);
      response.writeHead(answer.statusCode, { ...answer.headers, 'content-length': Buffer.byteLength(body) }).end(body);
    });
    request.pipe(onward);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const altered = connections(`http://127.0.0.1:${server.address().port}${pathname}`, 4);
  return {
    ask: altered.ask,
    close() {
      altered.close();
      server.close();
      server.closeAllConnections();
    },
  };
}

const some = (faults) => dice('faults').shuffled(Object.entries(faults)).slice(0, FAULTS);

function mustBeSeen(t, name, seen) {
  assert.ok(seen, `nobody sees: ${name}`);
  t.diagnostic(`${name}: ${seen.fault?.slice(0, 300)}\n${print(seen.steps)}`);
  assert.ok(seen.steps.length <= MINIMAL, `${name}: ${seen.steps.length} steps\n${print(seen.steps)}`);
  assert.notEqual(seen.fault, undefined, `${name} is not seen again`);
}

test('a wrong model is found, by a short sequence', async (t) => {
  const all = some(WRONG), free = [...pairs];
  await each(all.length, AT_ONCE, async (i) => {
    const [name, rule] = all[i], pair = free.pop();
    mustBeSeen(t, name, await search(Object.assign(new Model(), rule), LOOKED_AT, pair));
    free.push(pair);
  });
});

test('a wrong response is found, by a short sequence', async (t) => {
  const all = some(MUTATED), free = [...pairs];
  await each(all.length, AT_ONCE, async (i) => {
    const [name, mutate] = all[i], pair = free.pop(), altered = await proxy(mutate);
    try {
      mustBeSeen(t, name, await search(new Model(), LOOKED_AT, pair, altered.ask));
    } finally {
      altered.close();
    }
    free.push(pair);
  });
});
