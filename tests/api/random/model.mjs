// The contract as a program: how the API must answer an operation, and what is stored then.
//
// An operation refers to things by symbolic names (operations.mjs); the ids that the service makes come from
// its answers. `apply` checks one answer against the state and updates the state, or throws a Fault. It works on
// copies: some order of concurrent operations must explain all of their answers (run.mjs).
import { isDeepStrictEqual } from 'node:util';
import { contactOf, errorsOf, found, shownStatus, stateOf } from './search_rules.mjs';

export class Fault extends Error {}

const MOVES = {
  active: ['waiting', 'human_takeover', 'resolved'], waiting: ['active', 'human_takeover', 'resolved'],
  human_takeover: ['active', 'waiting', 'resolved'], resolved: ['active', 'archived'], archived: ['resolved'],
};
const ATTRIBUTES_MAX = 20;

// Two organizations. A contact is { id, external_id, name, email, phone, isErased }, a conversation
// { id, external_id, contact, attributes, status, created_at, updated_at, born, order, isDeleted }: `born` is
// the step that made it, and `order` orders the conversations of one step once their order was observed.
export const emptyState = () => [0, 1].map(() => ({ contacts: [], conversations: [], cursor: undefined }));

const must = (isSo, what) => {
  if (!isSo) throw new Fault(what);
};
const mustEqual = (given, wanted, what) =>
  must(isDeepStrictEqual(given, wanted), `${what} is ${JSON.stringify(given)}, not ${JSON.stringify(wanted)}`);

export class Model {
  // -- rules: one each, so that a test can replace one by a wrong rule ----------------------------

  mayWrite(scope) {
    return scope === 'full';
  }

  replay() {
    return { status: 200, isReplay: true };
  }

  isSameContact(conversation, named) {
    return conversation.contact === named?.id;
  }

  merged(attributes, changes) {
    return Object.fromEntries(Object.entries({ ...attributes, ...changes }).filter(([, value]) => value !== null));
  }

  isTooMany(attributes) {
    return Object.keys(attributes).length > ATTRIBUTES_MAX;
  }

  // The earliest time at which a change can have been made.
  changedFrom(conversation, { since }) {
    return Math.max(conversation.updated_at, since);
  }

  // Emails are compared in lower case, phones without outer white space.
  stored({ name, email, phone }) {
    return { name, email: email?.toLowerCase(), phone: phone?.trim() };
  }

  isOwner(contact, kind, value) {
    return !contact.isErased && contact[kind] === value;
  }

  profileAfter(contact, profile) {
    return Object.fromEntries(['name', 'email', 'phone'].map((kind) => [kind, profile[kind] ?? contact[kind]]));
  }

  isVisible(conversation) {
    return !conversation.isDeleted;
  }

  organizationOf(state, organization) {
    return state[organization];
  }

  newestFirst(a, b) {
    return b.born - a.born || b.order - a.order;
  }

  mayMove(from, to) {
    return from === to || MOVES[from].includes(to);
  }

  outcomeOf(status) {
    if (status < 300) return 'allowed';
    if (status === 403 || status === 429) return 'denied';
    return status < 500 ? 'rejected' : 'error';
  }

  // -- views --------------------------------------------------------------------------------------

  view(own, conversation) {
    const contact = own.contacts.find(({ id, isErased }) => id === conversation.contact && !isErased);
    const { id, external_id, name, email, phone } = contact ?? {};
    return {
      type: 'conversation', id: conversation.id, external_id: conversation.external_id,
      created_at: conversation.created_at, updated_at: conversation.updated_at, last_message_at: null, channel: 'api',
      source: { type: 'api' }, state: stateOf(conversation.status), open: stateOf(conversation.status) === 'open',
      status: conversation.status, custom_attributes: conversation.attributes, message_count: 0,
      contact: contact === undefined ? null : { type: 'contact', id, external_id, name, email, phone },
      contacts: {
        type: 'contact.list',
        contacts: contact === undefined ? [] : [{ type: 'contact', id, external_id }],
      },
    };
  }

  // -- answers ------------------------------------------------------------------------------------

  refused(answer, status, code, field, ids) {
    const given = answer.json.errors?.[0].code ?? '';
    must(answer.status === status, `status is ${answer.status} ${given}, not ${status} ${code}`);
    const [error] = answer.json.errors;
    mustEqual({ code: error.code, field: error.field }, { code, field }, 'the error');
    return { ...ids };
  }

  // -- operations: each returns its part of the audit entry --------------------------------------

  create(state, { organization, scope, request, step }, answer) {
    const own = this.organizationOf(state, organization), body = JSON.parse(request.body), { from } = body;
    if (!this.mayWrite(scope)) return this.refused(answer, 403, 'insufficient_scope');
    const changes = body.custom_attributes ?? {};
    if (this.isTooMany(this.merged({}, changes)))
      return this.refused(answer, 400, 'parameter_invalid', 'custom_attributes');
    const named = own.contacts.find((one) => !one.isErased
      && (from.id === undefined ? one.external_id === from.external_id : one.id === from.id));
    const there = own.conversations.find(({ external_id }) => external_id === body.external_id);
    const ids = { conversation_id: there?.id ?? null, contact_id: named?.id ?? null };
    if (there && own.contacts.find(({ id }) => id === there.contact).isErased)
      return this.refused(answer, 409, 'customer_unavailable', undefined, ids);
    if (from.id !== undefined && named === undefined) return this.refused(answer, 404, 'not_found', 'from.id', ids);
    if (there && (!this.isVisible(there) || !this.isSameContact(there, named)))
      return this.refused(answer, 409, 'external_id_conflict', 'external_id', ids);
    if (there) return this.answered(own, there, answer, this.replay());
    const profile = this.stored(from);
    for (const kind of ['email', 'phone']) {
      const owner = profile[kind] !== undefined
        && own.contacts.find((one) => one !== named && this.isOwner(one, kind, profile[kind]));
      if (owner) {
        must(answer.json.errors?.[0].message.includes(owner.id), `the other contact is not named: ${answer.body}`);
        return this.refused(answer, 409, 'customer_profile_conflict', `from.${kind}`, ids);
      }
    }
    return this.make(own, { body, named, profile, step }, answer);
  }

  make(own, { body, named, profile, step }, answer) {
    must(answer.status === 201, `status is ${answer.status}, not 201: ${answer.body}`);
    const { id, created_at, contact } = answer.json;
    must(own.conversations.every((one) => one.id !== id), `the id ${id} was given before`);
    const whose = named
      ?? { id: contact?.id, external_id: body.from.external_id, name: null, email: null, phone: null };
    if (named === undefined) {
      must(own.contacts.every((one) => one.id !== whose.id), 'the contact is another existing one');
      own.contacts.push(whose);
    }
    Object.assign(whose, this.profileAfter(whose, profile));
    const made = {
      id, external_id: body.external_id, contact: whose.id, attributes: this.merged({}, body.custom_attributes ?? {}),
      status: 'active', created_at, updated_at: created_at, born: step,
      order: own.conversations.filter(({ contact: other }) => other === whose.id).length,
    };
    must(answer.since <= created_at && created_at <= answer.until, `created_at is ${created_at}`);
    own.conversations.push(made);
    return this.answered(own, made, answer, { status: 201, isReplay: false });
  }

  answered(own, conversation, answer, { status, isReplay }) {
    must(answer.status === status, `status is ${answer.status}, not ${status}: ${answer.body}`);
    const header = answer.headers.get('x-service-idempotent-replay');
    mustEqual(header, isReplay ? 'true' : undefined, 'the header of replays');
    mustEqual(answer.json, this.view(own, conversation), 'the conversation');
    const { contact } = answer.json;
    return { conversation_id: conversation.id, contact_id: contact?.id ?? null };
  }

  get(state, { organization, target }, answer) {
    const own = this.organizationOf(state, organization);
    const one = own.conversations.find((each) => each.id === target && this.isVisible(each));
    if (one === undefined) return this.refused(answer, 404, 'not_found', undefined, { conversation_id: target });
    return this.answered(own, one, answer, { status: 200, isReplay: false });
  }

  update(state, { organization, scope, target, request }, answer) {
    const own = this.organizationOf(state, organization), ids = { conversation_id: target };
    if (!this.mayWrite(scope)) return this.refused(answer, 403, 'insufficient_scope', undefined, ids);
    const changes = JSON.parse(request.body).custom_attributes;
    if (this.isTooMany(this.merged({}, changes)))
      return this.refused(answer, 400, 'parameter_invalid', 'custom_attributes', ids);
    const one = own.conversations.find((each) => each.id === target && this.isVisible(each));
    if (one === undefined) return this.refused(answer, 404, 'not_found', undefined, ids);
    const merged = this.merged(one.attributes, changes);
    if (this.isTooMany(merged)) return this.refused(answer, 400, 'parameter_invalid', 'custom_attributes', ids);
    const { updated_at } = answer.json;
    const isInTime = updated_at >= this.changedFrom(one, answer) && updated_at <= answer.until;
    must(answer.status !== 200 || isInTime, `updated_at is ${updated_at}`);
    Object.assign(one, { attributes: merged, updated_at });
    return this.answered(own, one, answer, { status: 200, isReplay: false });
  }

  // -- searches -----------------------------------------------------------------------------------

  // All conversations that a body finds, newest first, and their contact.
  findAll(own, body) {
    const contact = contactOf(body, own.contacts);
    const rows = own.conversations.filter((one) => one.contact === contact?.id && this.isVisible(one));
    const fitting = found(body, rows.map((one) => ({
      ...one, one, channel: 'api', status: shownStatus(one.status), attributes: new Map(Object.entries(one.attributes)),
    })));
    return { contact, all: fitting.map(({ one }) => one).sort((a, b) => this.newestFirst(a, b)) };
  }

  search(state, operation, answer) {
    const own = this.organizationOf(state, operation.organization), body = JSON.parse(operation.request.body);
    const [wrong] = errorsOf(body);
    own.cursor = undefined;
    if (wrong !== undefined) return this.refused(answer, 400, wrong.code, wrong.field);
    return this.page(own, { body, page: 1, behind: undefined, settles: operation.settles }, answer);
  }

  // The next page of the last search, or of another search with its cursor.
  next(state, { organization, isOther }, answer) {
    const own = this.organizationOf(state, organization), { cursor } = own;
    if (isOther) return this.refused(answer, 400, 'invalid_cursor', 'pagination.starting_after');
    return this.page(own, cursor, answer);
  }

  page(own, { body, page, behind, settles }, answer) {
    const { contact, all } = this.findAll(own, body);
    const perPage = body.pagination?.per_page ?? 50;
    const rest = behind === undefined ? all : all.filter((one) => this.newestFirst(behind, one) < 0);
    must(answer.status === 200, `status is ${answer.status}, not 200: ${answer.body}`);
    const { conversations, total_count, pages: { next, ...pages } } = answer.json;
    this.settle(conversations, rest, settles);
    const shown = rest.slice(0, perPage);
    mustEqual(conversations, shown.map((one) => this.view(own, one)), 'the page');
    mustEqual(total_count, all.length, 'total_count');
    mustEqual(pages, { type: 'pages', page, per_page: perPage }, 'pages');
    mustEqual(next !== undefined, rest.length > perPage, 'whether there is a next page');
    if (next !== undefined) {
      const { born, order } = shown.at(-1);
      own.cursor = { body, page: page + 1, behind: { born, order }, text: next.starting_after };
    } else {
      own.cursor = undefined;
    }
    return { contact_id: contact?.id ?? null };
  }

  // The service decides which conversation of one step is newer. The search that follows such a step returns
  // all of them and fixes their order.
  settle(conversations, rest, settles) {
    const at = new Map(conversations.map(({ id }, i) => [id, i]));
    for (const born of new Set(rest.map((one) => one.born))) {
      const together = rest.filter((one) => one.born === born && at.has(one.id) && !one.isSettled);
      const orders = together.map(({ order }) => order).sort((a, b) => b - a);
      together.sort((a, b) => at.get(a.id) - at.get(b.id))
        .forEach((one, i) => Object.assign(one, { order: orders[i], isSettled: settles }));
    }
    rest.sort((a, b) => this.newestFirst(a, b));
  }

  // -- the rest -----------------------------------------------------------------------------------

  ping(state, { organizations, organization, scope }, answer) {
    must(answer.status === 200, `status is ${answer.status}, not 200`);
    const { server_time, ...others } = answer.json;
    mustEqual(others, { type: 'ping', organization_id: organizations[organization].id, scope }, 'the ping');
    must(answer.since <= server_time && server_time <= answer.until, `server_time is ${server_time}`);
    return {};
  }

  // A request with an unknown path, a wrong method, or no valid key.
  strange(state, { status, code }, answer) {
    return this.refused(answer, status, code);
  }

  // `log` has the run's entries by step. The entries of a step are unordered; each is a list of possible
  // forms, of which there are several if it depends on which operation came first.
  audit(state, { organization, log, operation: only, perPage }, answer) {
    must(answer.status === 200, `status is ${answer.status}, not 200: ${answer.body}`);
    const entries = answer.json.audit_logs;
    must(new Set(entries.map(({ request_id }) => request_id)).size === entries.length, 'an entry is there twice');
    const steps = log[organization]
      .map((step) => step.filter(([entry]) => only === undefined || entry.operation === only)).reverse();
    const count = steps.reduce((sum, step) => sum + step.length, 0);
    let at = 0;
    for (const step of steps)
      for (const last = at + step.length; at < last && at < entries.length; at++) this.entry(entries[at], step);
    must(entries.length >= Math.min(count, perPage), `${entries.length} entries of ${count}`);
    must(count <= perPage || answer.json.pages.next !== undefined, 'there is no next page');
    return {};
  }

  entry({ id, created_at, ...given }, step) {
    must(/^[0-9a-f-]{36}$/.test(id) && Number.isInteger(created_at), `${id} at ${created_at}`);
    const wanted = step.find(([{ request_id }]) => request_id === given.request_id);
    must(wanted !== undefined, `an entry of another request: ${JSON.stringify(given)}`);
    if (!wanted.some((one) => isDeepStrictEqual(given, { type: 'audit_log', ...one })))
      mustEqual(given, { type: 'audit_log', ...wanted[0] }, 'the entry');
  }

  // -- operators ----------------------------------------------------------------------------------

  erase(state, { organization, target }, answer) {
    const contact = this.organizationOf(state, organization).contacts.find(({ id }) => id === target);
    must(answer.status === 200, `erasing: ${answer.body}`);
    Object.assign(contact, { isErased: true, external_id: null, name: null, email: null, phone: null });
  }

  remove(state, { organization, target }, answer) {
    const one = this.organizationOf(state, organization).conversations.find(({ id }) => id === target);
    if (!this.isVisible(one)) return this.refused(answer, 404, 'not_found');
    must(answer.status === 200, `deleting: ${answer.body}`);
    one.isDeleted = true;
    return {};
  }

  move(state, { organization, target, status }, answer) {
    const one = this.organizationOf(state, organization).conversations.find(({ id }) => id === target);
    if (!this.isVisible(one)) return this.refused(answer, 404, 'not_found');
    if (!this.mayMove(one.status, status)) return this.refused(answer, 409, 'conflict');
    must(answer.status === 200, `moving: ${answer.body}`);
    Object.assign(one, { status, updated_at: answer.json.updated_at });
    mustEqual(answer.json, this.view(this.organizationOf(state, organization), one), 'the conversation');
    return {};
  }

  // Applies one answer; returns its entry in the audit log, undefined if it has none.
  apply(state, operation, answer) {
    const ids = this[operation.op](state, operation, answer);
    const { operation: name, organizations, organization, scope } = operation.entry ?? {};
    if (name === undefined) return undefined;
    const { status } = answer;
    const outcome = this.outcomeOf(status);
    return {
      request_id: answer.headers.get('x-service-request-id'), api_key_id: organizations[organization].keys[scope].id,
      operation: name, http_status: status, outcome,
      denial_reason: outcome === 'denied' ? answer.json.errors[0].code : null,
      conversation_id: null, contact_id: null, ...ids,
    };
  }
}
