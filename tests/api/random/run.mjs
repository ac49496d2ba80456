// Runs operations against the service and the model, and shrinks a failing sequence.
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Fault, emptyState } from './model.mjs';
import { resolve } from './operations.mjs';

const { BIN_DIR } = process.env;
const STATES_MAX = 200; // that are possible after concurrent operations

// The context of a run: two organizations, a tag for unique names, and the run's entries in the audit logs.
const newWorld = (organizations) =>
  ({ organizations, tag: `-${randomBytes(6).toString('hex')}`, log: organizations.map(() => []) });

// -- requests --------------------------------------------------------------------------------------

const seconds = () => Math.floor(Date.now() / 1000);

async function timed(ask, request) {
  const since = seconds();
  const answer = await ask(request);
  return { ...answer, since, until: seconds() };
}

const STATUS = { not_found: 404, conflict: 409 };
// An operator's call, with its result as an answer of the API.
async function operate({ call: [group, verb, ...rest], organizations, organization }) {
  const args = [group, verb, '--org', organizations[organization].id, ...rest];
  try {
    const { stdout } = await promisify(execFile)(join(BIN_DIR, 'convctl'), args);
    return { status: 200, json: JSON.parse(stdout), body: stdout };
  } catch ({ stderr, message }) {
    const { error } = JSON.parse(stderr || JSON.stringify({ error: { code: message } }));
    return { status: STATUS[error.code] ?? 500, json: { errors: [error] }, body: stderr };
  }
}

// -- explaining ------------------------------------------------------------------------------------

function* permutations(n, taken = []) {
  if (taken.length === n) yield taken;
  for (let i = 0; i < n; i++) if (!taken.includes(i)) yield* permutations(n, [...taken, i]);
}

const byId = (list) => [...list].sort((a, b) => (a.id < b.id ? -1 : 1));
// Equal for states that differ only in the order of their contacts and conversations.
const nameOf = (state) => JSON.stringify(state.map((own) =>
  ({ ...own, contacts: byId(own.contacts), conversations: byId(own.conversations) })));

// The states that the answers can have led to, from any of `states` and in any order: { states, entries }, with
// all possible audit entries of each operation. If there is no such state, throws the fault of the first order.
function explain(model, states, operations, answers) {
  const after = new Map(), logged = operations.map(() => new Map());
  let first;
  for (const before of states)
    for (const order of permutations(operations.length)) {
      const state = structuredClone(before), entries = [];
      try {
        for (const i of order) entries[i] = model.apply(state, operations[i], answers[i]);
      } catch (error) {
        first ??= error;
        continue;
      }
      if (after.size < STATES_MAX) after.set(nameOf(state), state);
      for (const [i, entry] of entries.entries())
        if (entry !== undefined) logged[i].set(JSON.stringify(entry), entry);
    }
  // An answer of an unexpected shape may throw any error.
  if (after.size === 0) throw first instanceof Fault ? first : new Fault(first.stack);
  return { states: [...after.values()], entries: logged.map((all) => [...all.values()]) };
}

// A search for each contact for whom one step made several conversations: it shows their order.
function searchesAfter(step, { organizations }, operations, answers) {
  const made = operations.map(({ op, organization }, i) =>
    (op === 'create' && answers[i].status === 201 ? `${organization} ${answers[i].json.contact?.id}` : undefined));
  const twice = new Set(made.filter((whose, i) => whose !== undefined && made.indexOf(whose) !== i));
  return [...twice].map((text) => {
    const [organization, value] = text.split(' ');
    const entry =
      { operation: 'conversation.search', organizations, organization: Number(organization), scope: 'full' };
    return {
      ...entry, op: 'search', step, settles: true, entry,
      request: {
        path: '/conversations/search', key: organizations[organization].keys.full.token,
        body: JSON.stringify({ query: { field: 'contact.id', operator: '=', value }, pagination: { per_page: 100 } }),
      },
    };
  });
}

async function take(model, states, operations, world, ask) {
  const answers = await Promise.all(operations.map((one) => (one.call ? operate(one) : timed(ask, one.request))));
  const { states: after, entries } = explain(model, states, operations, answers);
  for (const organization of [0, 1])
    world.log[organization].push(entries.filter((all, i) =>
      all.length > 0 && operations[i].organization === organization));
  return { states: after, answers };
}

// The first fault as text; undefined if there is none.
export async function run(model, steps, organizations, ask) {
  const world = newWorld(organizations);
  let states = [emptyState()];
  for (const [i, drawn] of steps.entries()) {
    const operations = (drawn.members ?? [drawn]).map((one) => resolve(one, states[0], world, i)).filter(Boolean);
    if (operations.length === 0) continue;
    try {
      let answers;
      ({ states, answers } = await take(model, states, operations, world, ask));
      for (const search of searchesAfter(i, world, operations, answers))
        ({ states } = await take(model, states, [search], world, ask));
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      return `step ${i + 1}: ${error.message}`;
    }
  }
  return undefined;
}

// -- shrinking -------------------------------------------------------------------------------------

const without = (list, at, n = 1) => [...list.slice(0, at), ...list.slice(at + n)];

// Simpler variants of one step.
function* simpler(step) {
  for (const [i, one] of (step.members ?? []).entries()) {
    yield one;
    if (step.members.length > 2) yield { ...step, members: without(step.members, i) };
    for (const form of simpler(one)) yield { ...step, members: replaced(step.members, i, form) };
  }
  for (const name of ['profile', 'attributes']) {
    for (const key of Object.keys(step[name] ?? {})) {
      const { [key]: _, ...rest } = step[name];
      yield { ...step, [name]: rest };
    }
  }
  if (step.per_page > 1) yield { ...step, per_page: 1 };
  for (const i of (step.filters ?? []).keys()) yield { ...step, filters: without(step.filters, i) };
  for (const name of ['per_page', 'only', 'isOther']) {
    if (step[name] === undefined) continue;
    const { [name]: _, ...rest } = step;
    yield rest;
  }
}
const replaced = (list, at, one) => [...list.slice(0, at), one, ...list.slice(at + 1)];

// If the step at `i` names its contact by a conversation: the step with the contact as named by the step that
// made the conversation. Otherwise undefined.
function withItsContact(steps, i) {
  const { of } = steps[i].by ?? {};
  const maker = of && steps.slice(0, i).find((step) => step.op === 'create' && step.conversation === of);
  return maker && { ...steps[i], by: maker.by };
}

// The shortest sequence found that still fails; `fails` runs one. Sequences with concurrent operations are tried
// several times.
export async function shrink(steps, fails, tries = 2000) {
  let best = steps;
  const isWorse = async (candidate) => {
    for (let i = candidate.some(({ members }) => members) ? 3 : 1; i > 0 && tries > 0; i--, tries--)
      if (await fails(candidate)) {
        best = candidate;
        return true;
      }
    return false;
  };
  const cut = async () => {
    for (let n = best.length; n >= 1; n = Math.floor(n / 2))
      for (let at = 0; at < best.length;)
        if (best.length === n || !await isWorse(without(best, at, n))) at += n;
  };
  const simplify = async () => {
    for (const [i, step] of best.entries())
      if (step.members && await isWorse([...best.slice(0, i), ...step.members, ...best.slice(i + 1)])) return true;
    for (const i of best.keys()) {
      const direct = withItsContact(best, i);
      if (direct && await isWorse(replaced(best, i, direct))) return true;
    }
    for (const [i, step] of best.entries())
      for (const form of simpler(step)) if (await isWorse(replaced(best, i, form))) return true;
    return false;
  };
  await cut();
  while (await simplify());
  await cut(); // a simpler step may need fewer before it
  return best;
}
