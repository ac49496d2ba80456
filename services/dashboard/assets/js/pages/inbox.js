/* Inbox: the conversations of the organization, newest first. */
import {get, query as queryOf} from '../api.js';
import {h} from '../dom.js';
import {words} from '../format.js';
import {go} from '../router.js';
import {time} from '../time.js';
import {badge, label} from '../components/badge.js';
import {filters, input, select} from '../components/form.js';
import {empty} from '../components/notice.js';
import {card, loaded, pageHead} from '../components/section.js';
import {pager, table} from '../components/table.js';

export const title = 'Inbox';

export const STATUSES = ['active', 'waiting', 'human_takeover', 'resolved', 'archived'];
const CHANNELS = ['api', 'widget', 'email', 'slack', 'voice'];

export function contactName(contact) {
  return contact === null ? 'No contact'
    : contact.name ?? contact.email ?? contact.external_id ?? contact.phone ?? 'Unnamed contact';
}

function filterForm(given) {
  const channels = h('datalist', {id: 'channels'}, CHANNELS.map((name) => h('option', {value: name})));

  return h('div', {class: 'card'}, channels, filters({
    label: 'Filter conversations',
    fields: [
      select({name: 'status', label: 'Status', value: given.status ?? '',
              options: [['', 'Any'], ...STATUSES.map((name) => [name, words(name)])]}),
      input({name: 'channel', label: 'Channel', value: given.channel ?? '', list: 'channels',
             placeholder: 'Any', autocomplete: 'off', maxlength: '64'}),
      input({name: 'contact', label: 'Contact', value: given.contact ?? '', maxlength: '255',
             placeholder: 'Email, external id or id', autocomplete: 'off'}),
    ],
    apply: (values) => go(`/inbox${queryOf(values)}`),
    clear: Object.keys(given).length > 0 && '/inbox',
  }));
}

function list({conversations, pages}, given) {
  const {starting_after: cursor, ...narrowing} = given;
  const turner = pager(pages, (next) => `/inbox${queryOf({...narrowing, starting_after: next})}`,
                       cursor === undefined);

  /* The server searches only a limited number of conversations for a page; the next page continues
     there. */
  if (conversations.length === 0 && pages.next)
    return [empty('Nothing matches so far', 'Older conversations have not been searched yet.'), turner];
  if (conversations.length === 0 && Object.keys(given).length > 0)
    return empty('Nothing matches', 'No conversation matches these filters.',
                 h('a', {class: 'button', href: '/inbox'}, 'Clear the filters'));
  if (conversations.length === 0)
    return empty('No conversations yet', 'They appear here as your servers create them through the ' +
      'API, or as they come in by other channels.',
                 h('a', {class: 'button', href: '/keys'}, 'Make the first request'));
  return [
    table({caption: 'Conversations, newest first', rows: conversations, columns: [
      {label: 'Contact', cell: (one) => [
        h('a', {href: `/inbox/${encodeURIComponent(one.id)}`, class: 'strong'}, contactName(one.contact)),
        one.contact?.email && one.contact.name && h('span', {class: 'sub'}, one.contact.email)]},
      {label: 'Status', cell: (one) => badge(one.status)},
      {label: 'Channel', cell: (one) => label(one.channel)},
      {label: 'External id', cell: (one) => one.external_id ?? h('span', {class: 'muted'}, '–')},
      {label: 'Messages', number: true, cell: (one) => String(one.message_count)},
      {label: 'Created', cell: (one) => time(one.created_at)},
    ]}),
    turner,
  ];
}

export function page({query, signal}) {
  const given = {};

  for (const name of ['status', 'channel', 'contact', 'starting_after']) {
    if (query.get(name))
      given[name] = query.get(name);
  }
  const {element} = loaded({
    label: 'conversations', signal, render: (answer) => list(answer, given),
    load: () => get(`/data/conversations${queryOf({...given, per_page: 50})}`, signal),
  });

  return [
    pageHead('Inbox', 'Every conversation of the organization, newest first.'),
    filterForm(given),
    card({title: 'Conversations'}, element),
  ];
}
