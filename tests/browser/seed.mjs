// Seeds an organization with data for every page, and lists the pages.
import { button, gone, heading, seen } from './browser.mjs';
import { call, converse, convctl, ctl, key, receiver, until } from './stack.mjs';

const EVENTS = ['--event', 'conversation.created', '--event', 'ai.handoff'];

async function conversations(org, token) {
  const { id } = await converse(token, {
    external_id: 'order-1042', custom_attributes: { plan: 'pro', seats: 5, vip: true },
    from: { external_id: 'user-7', name: 'Ada Lovelace', email: 'ada@shop.example' },
  });
  for (const [i, name] of ['Grace Hopper', 'Katherine Johnson'].entries())
    await converse(token, { external_id: `order-${1043 + i}`, from: { external_id: `user-${8 + i}`, name } });
  const { id: widget } = await ctl('conversation', 'open', '--org', org, '--channel', 'widget',
    '--contact-email', 'alan@shop.example', '--status', 'waiting');
  for (const text of ['Hello, is my order on its way?', 'It left us this morning.'])
    await convctl('conversation', 'append', '--org', org, widget, '--body', text);
  return { conversation: id, talk: widget };
}

// One endpoint that accepts deliveries, one that answers 503.
async function webhooks(org) {
  const good = await receiver(), bad = await receiver();
  Object.assign(bad, { status: 503, answer: 'out of order' });
  const [hook, broken] = await Promise.all([good, bad].map(async (server) =>
    (await ctl('webhook', 'create', '--org', org, '--url', server.url, ...EVENTS)).id));
  return { good, bad, hook, broken };
}

// {who, token, conversation, talk, hook, broken}
export async function seed(who) {
  const token = await key(who.org, 'full', 'Web shop');
  await key(who.org, 'read', 'Reporting');
  const old = await ctl('key', 'create', '--org', who.org, '--name', 'Old backend', '--scope', 'read');
  await convctl('key', 'revoke', '--org', who.org, old.id);
  await convctl('member', 'invite', '--org', who.org, '--email', 'grace@shop.example', '--role', 'admin');
  const { good, bad, hook, broken } = await webhooks(who.org);
  const talks = await conversations(who.org, token);
  for (let i = 0; i < 8; i++) await call(token, 'GET', '/ping');
  await call(token, 'GET', '/conversations/none');
  await call('svc_live_wrong', 'GET', '/ping');
  await until(() => good.taken.length >= 3 && bad.taken.length >= 3, 'deliveries');
  good.close();
  bad.close();
  return { who, token, hook, broken, ...talks };
}

// Pages, each with its name, its path, its heading, and possibly a function that opens a dialog on it.
export const pagesOf = ({ conversation, broken }) => [
  { name: 'overview', path: '/overview', title: 'Overview' },
  { name: 'inbox', path: '/inbox', title: 'Inbox' },
  { name: 'conversation', path: `/inbox/${conversation}`, title: 'Ada Lovelace' },
  { name: 'keys', path: '/keys', title: 'API keys' },
  { name: 'key-create', path: '/keys', title: 'API keys',
    open: (page) => button(page, 'Create key').first().click() },
  { name: 'reference', path: '/reference', title: 'API reference' },
  { name: 'webhooks', path: '/webhooks', title: 'Webhooks' },
  { name: 'webhook-create', path: '/webhooks', title: 'Webhooks',
    open: (page) => button(page, 'Add endpoint').first().click() },
  { name: 'webhook', path: `/webhooks/${broken}` },
  { name: 'delivery', path: `/webhooks/${broken}`,
    open: (page) => page.getByRole('button', { name: /^Details of/ }).first().click() },
  { name: 'audit', path: '/audit', title: 'Audit' },
  { name: 'audit-changes', path: '/audit/changes', title: 'Audit' },
  { name: 'security', path: '/security', title: 'Security' },
  { name: 'members', path: '/members', title: 'Members and plan' },
  { name: 'account', path: '/account', title: 'Account' },
  { name: 'shortcuts', path: '/account', title: 'Account',
    open: (page) => page.keyboard.press('?') },
];

export const doors = [
  { name: 'sign-in', path: '/sign-in', title: 'Sign in' },
  { name: 'invitation', path: '/invitation#not-a-token', title: 'Welcome' },
];

// Opens the page and waits until everything on it is loaded.
export async function visit(page, place) {
  await page.goto(place.path);
  await settled(page, place.title);
  if (place.open) await show(page, place);
}

// Opens the dialog of a place whose page is loaded.
export async function show(page, { open }) {
  await open(page);
  await seen(page.getByRole('dialog'));
}

export async function settled(page, title) {
  await seen(title ? heading(page, title) : page.locator('h1'));
  await gone(page.locator('[aria-busy=true]'));
}
