// Operations on the API, drawn at random, and their requests.
//
// They refer to things by names, in which ~ stands for the run's unique tag. The ids that the service made are
// looked up in the model's state by these names, so a shortened sequence is still meaningful.

const NOBODY = '0190a0b1-c2d3-7e4f-8a5b-6c7d8e9fa0b1';
const CONVERSATIONS = 6, CONTACTS = 3;

// -- drawing ---------------------------------------------------------------------------------------

const drawConversation = (dice) => `c${dice.below(CONVERSATIONS)}~`;
const drawContact = (dice) => `u${dice.below(CONTACTS)}~`;
const drawOrganization = (dice) => dice.weighed([5, 0], [2, 1]);
const caller = (dice) => ({ organization: drawOrganization(dice), scope: dice.weighed([5, 'full'], [1, 'read']) });
const reader = (dice) => ({ organization: drawOrganization(dice), scope: dice.pick(['full', 'read']) });

const KEYS = ['a', 'b', 'A', 'plan.1'];
const VALUES = [1, 2, -1.5, 1e21, 'x', '', '1', 'é😀', true, false];
const drawValue = (dice) => dice.weighed([5, dice.pick(VALUES)], [1, null]);
function drawAttributes(dice) {
  if (dice.once(25)) return Object.fromEntries(dice.list(dice.between(16, 21), (i) => [`many${i}`, i]));
  return Object.fromEntries(dice.list(dice.below(4), () => [dice.pick(KEYS), drawValue(dice)]));
}

function drawProfile(dice) {
  const all = {
    name: () => dice.pick(['Ada', 'Grace', '']),
    email: () => dice.pick(['M0~@x.example', 'm0~@x.example', 'M1~@X.EXAMPLE', 'ÄRGER~@x.example']),
    phone: () => dice.pick(['0~', ' 0~\t', '1~']),
  };
  return Object.fromEntries(Object.entries(all).filter(() => dice.once(4)).map(([name, draw]) => [name, draw()]));
}

// The contact of a conversation: by external id, or by the id of another conversation's contact.
const drawWho = (dice) =>
  dice.weighed([5, { external_id: drawContact(dice) }], [2, { of: drawConversation(dice) }], [1, { id: NOBODY }]);
const drawTarget = (dice, organization) =>
  dice.weighed([12, { conversation: drawConversation(dice), in: organization }],
    [2, { conversation: drawConversation(dice), in: 1 - organization }], [1, { id: NOBODY }], [1, { id: 'none' }]);

const FILTERS = [
  (dice) =>
    ({ field: `custom_attributes.${dice.pick(KEYS)}`, operator: dice.pick(['=', '!=']), value: dice.pick(VALUES) }),
  (dice) =>
    ({ field: 'status', operator: dice.pick(['=', '!=']), value: dice.pick(['active', 'resolved', 'waiting']) }),
  (dice) => ({ field: 'state', operator: '=', value: dice.pick(['open', 'closed']) }),
  (dice) =>
    ({ field: 'external_id', operator: dice.pick(['IN', 'NIN']), value: dice.list(2, () => drawConversation(dice)) }),
  (dice) => ({ field: 'channel', operator: dice.pick(['=', '!=']), value: dice.pick(['api', 'email']) }),
  (dice) => ({ field: 'created_at', operator: dice.pick(['>', '<']), value: dice.pick([0, 4000000000]) }),
  (dice) => ({ field: 'updated_at', operator: '!=', value: dice.pick([0, '1']) }),
];

const drawCreate = (dice) => ({
  op: 'create', ...caller(dice), conversation: drawConversation(dice), by: drawWho(dice), profile: drawProfile(dice),
  ...(dice.once(2) ? { attributes: drawAttributes(dice) } : {}),
});
function drawUpdate(dice) {
  const who = caller(dice);
  return { op: 'update', ...who, target: drawTarget(dice, who.organization), attributes: drawAttributes(dice) };
}
function drawGet(dice) {
  const who = reader(dice);
  return { op: 'get', ...who, target: drawTarget(dice, who.organization) };
}
const drawSearch = (dice) => ({
  op: 'search', ...reader(dice), by: drawWho(dice), filters: dice.list(dice.below(3), () => dice.pick(FILTERS)(dice)),
  ...(dice.once(2) ? { per_page: dice.pick([1, 1, 2, 3, 0]) } : {}),
});
const drawNext = (dice) => ({ op: 'next', ...reader(dice), ...(dice.once(6) ? { isOther: true } : {}) });
const AUDITED = ['conversation.create', 'conversation.search', 'conversation.update', 'ping', 'unknown'];
const drawAudit = (dice) => ({
  op: 'audit', ...reader(dice), perPage: dice.pick([1, 5, 20, 100]),
  ...(dice.once(3) ? { only: dice.pick(AUDITED) } : {}),
});
const drawStrange = (dice) => ({
  op: 'strange', ...reader(dice), ...dice.weighed(
    [3, { method: 'GET', path: '/none', status: 404, code: 'not_found', entry: 'unknown' }],
    [3, { method: 'DELETE', path: '/ping', status: 405, code: 'method_not_allowed', entry: 'unknown' }],
    [3, { method: 'GET', path: '/conversations', status: 405, code: 'method_not_allowed', entry: 'unknown' }],
    // Rare: an address that fails too often is blocked.
    [1, { method: 'GET', path: '/ping', key: 'svc_live_none', status: 401, code: 'unauthorized' }],
  ),
});
// Calls of operators are rare, and most show an effect only with other calls for the same conversation.
const operator = (dice, op, more) => ({
  op, organization: drawOrganization(dice), conversation: dice.weighed([3, 'c0~'], [1, drawConversation(dice)]), ...more,
});
const STATUSES = ['active', 'waiting', 'human_takeover', 'resolved', 'archived'];

// Operations that may run at the same time.
const drawRace = (dice) => ({
  op: 'race', members: dice.list(dice.between(2, 4), () => {
    const one = dice.weighed([4, drawCreate], [3, drawUpdate], [1, drawGet], [2, drawSearch])(dice);
    delete one.per_page; // one page must show all conversations that are made concurrently
    return one;
  }),
});

export function drawSteps(dice, n) {
  return dice.list(n, () => dice.weighed(
    [14, drawCreate], [9, drawUpdate], [5, drawGet], [9, drawSearch], [6, drawNext], [3, drawAudit], [2, drawStrange],
    [1, () => ({ op: 'ping', ...reader(dice) })], [4, drawRace], [1, () => operator(dice, 'erase')],
    [1, () => operator(dice, 'remove')], [2, () => operator(dice, 'move', { status: dice.pick(STATUSES) })],
  )(dice));
}

// -- requests --------------------------------------------------------------------------------------

const named = (own, name) => own.conversations.find(({ external_id }) => external_id === name);
const idOf = (state, target) => target.id ?? named(state[target.in], target.conversation)?.id ?? NOBODY;
const contactFilter = (own, { external_id, of, id }) => (external_id === undefined
  ? { field: 'contact.id', operator: '=', value: id ?? named(own, of)?.contact ?? NOBODY }
  : { field: 'contact.external_id', operator: '=', value: external_id });

const isId = (text) => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text);

const requests = {
  create: ({ conversation, by: { external_id, of, id }, profile, attributes }, own) => {
    const from = external_id === undefined ? { id: id ?? named(own, of)?.contact ?? NOBODY } : { external_id };
    return {
      path: '/conversations', entry: 'conversation.create',
      body: { external_id: conversation, from: { ...from, ...profile }, custom_attributes: attributes },
    };
  },
  get: ({ target }, own, state) => {
    const id = idOf(state, target);
    return { method: 'GET', path: `/conversations/${id}`, entry: 'conversation.get', target: isId(id) ? id : null };
  },
  update: ({ target, attributes }, own, state) => {
    const id = idOf(state, target);
    return {
      method: 'PUT', path: `/conversations/${id}`, entry: 'conversation.update', target: isId(id) ? id : null,
      body: { custom_attributes: attributes },
    };
  },
  search: ({ by, filters, per_page }, own) => ({
    path: '/conversations/search', entry: 'conversation.search',
    body: {
      query: { operator: 'AND', value: [contactFilter(own, by), ...filters] },
      pagination: per_page === undefined ? undefined : { per_page },
    },
  }),
  // There may be no cursor.
  next: ({ isOther }, own) => own.cursor && {
    path: '/conversations/search', entry: 'conversation.search',
    body: {
      ...own.cursor.body,
      pagination: {
        ...own.cursor.body.pagination, starting_after: own.cursor.text, ...(isOther ? { per_page: 77 } : {}),
      },
    },
  },
  audit: ({ perPage, only }) => ({
    method: 'GET', path: `/audit?per_page=${perPage}${only === undefined ? '' : `&operation=${only}`}`,
    entry: 'audit.list', operation: only, perPage,
  }),
  ping: () => ({ method: 'GET', path: '/ping', entry: 'ping' }),
  strange: ({ method, path, key, status, code, entry }) => ({ method, path, key, status, code, entry }),
  // Operators call convctl instead of sending a request.
  erase: (step, own) => operators(own, step, (one) => ['contact', 'erase', one.contact]),
  remove: (step, own) => operators(own, step, (one) => ['conversation', 'delete', one.id]),
  move: (step, own) =>
    operators(own, step, (one) => ['conversation', 'set-status', one.id, step.status], { status: step.status }),
};

function operators(own, { conversation }, call, more) {
  const one = named(own, conversation);
  if (one === undefined) return undefined;
  const [group, verb, target, ...rest] = call(one);
  return { call: [group, verb, target, ...rest], target, ...more };
}

// The operation as the model expects it, with `request` or `call`; undefined: there is nothing to do. `world`
// has the run's tag, its organizations and their log.
export function resolve(drawn, state, world, step) {
  const operation = JSON.parse(JSON.stringify(drawn).replaceAll('~', world.tag));
  const { organization, scope } = operation;
  const made = requests[operation.op](operation, state[organization], state);
  if (made === undefined) return undefined;
  const { method, path, body, key, entry, ...more } = made;
  return {
    op: operation.op, organization, scope, step, isOther: operation.isOther, organizations: world.organizations,
    log: world.log, ...more,
    entry: entry && { operation: entry, organizations: world.organizations, organization, scope },
    request: path && {
      method, path, body: body && JSON.stringify(body),
      key: key ?? world.organizations[organization].keys[scope].token,
    },
  };
}
