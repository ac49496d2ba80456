/* Audit, second tab: changes made by users of the dashboard and by operators. */
import {get, query as queryOf} from '../api.js';
import {h} from '../dom.js';
import {shortId} from '../format.js';
import {go} from '../router.js';
import {time, timeExact} from '../time.js';
import {openDialog} from '../components/dialog.js';
import {codeBlock} from '../components/copy.js';
import {facts} from '../components/facts.js';
import {filters, input} from '../components/form.js';
import {empty} from '../components/notice.js';
import {card, loaded, pageHead} from '../components/section.js';
import {pager, table} from '../components/table.js';
import {tabs} from './audit.js';

export const title = 'Changes';

const asText = (value) => (typeof value === 'string' ? value : JSON.stringify(value));

function gist(change) {
  const parts = Object.entries(change.detail).map(([name, value]) => `${name}: ${asText(value)}`);

  return parts.join(', ');
}

function openChange(change) {
  openDialog({
    title: change.change, wide: true,
    body: () => [
      facts([
        ['Time', timeExact(change.created_at)],
        ['Who', change.who],
        ['User id', change.user_id && h('code', null, change.user_id)],
        ['Target', change.target && h('code', null, change.target)],
        ['From address', change.address && h('code', null, change.address)],
        ['Id', h('code', null, change.id)],
      ]),
      codeBlock(JSON.stringify(change.detail, null, 2), {label: 'Detail'}),
    ],
  });
}

function target(id) {
  if (id === null)
    return h('span', {class: 'muted'}, '–');
  return h('code', {title: id, class: 'nowrap'}, id.length > 20 ? shortId(id) : id);
}

/* The kinds of change that the filter suggests; the server accepts others as well. */
const KINDS = ['audit', 'contact', 'conversation', 'delivery', 'endpoint', 'invitation', 'key', 'member',
               'organization', 'password', 'policy', 'session', 'user'];

function filterForm(given) {
  const kinds = h('datalist', {id: 'kinds'}, KINDS.map((name) => h('option', {value: name})));

  return h('div', {class: 'card'}, kinds, filters({
    label: 'Filter changes',
    fields: [
      input({name: 'who', label: 'Who', value: given.who ?? '', maxlength: '255', autocomplete: 'off',
             placeholder: 'Email, or operator'}),
      input({name: 'change', label: 'Change', value: given.change ?? '', maxlength: '64', list: 'kinds',
             placeholder: 'key, or key.create', autocomplete: 'off', spellcheck: 'false'}),
    ],
    apply: (values) => go(`/audit/changes${queryOf(values)}`),
    clear: Object.keys(given).length > 0 && '/audit/changes',
  }));
}

function list({changes, pages}, given) {
  const {starting_after: cursor, ...narrowing} = given;
  const turner = pager(pages, (next) => `/audit/changes${queryOf({...narrowing, starting_after: next})}`,
                       cursor === undefined);

  /* The server searches only a limited number of changes for a page; the next page continues
     there. */
  if (changes.length === 0 && pages.next)
    return [empty('Nothing matches so far', 'Older changes have not been searched yet.'), turner];
  if (changes.length === 0 && Object.keys(given).length > 0)
    return empty('Nothing matches', 'No change matches these filters.',
                 h('a', {class: 'button', href: '/audit/changes'}, 'Clear the filters'));
  if (changes.length === 0)
    return empty('No changes yet', 'Sign-ins, new keys, policy changes and takeovers ' +
      'are listed here, with the user, the time and what was changed.',
                 h('a', {class: 'button', href: '/keys'}, 'Go to API keys'));
  return [
    table({caption: 'Changes by people, newest first', rows: changes, columns: [
      {label: 'Time', cell: (one) => time(one.created_at)},
      {label: 'Who', cell: (one) => h('span', {class: 'who-cell'}, one.who,
                                      one.user_id && h('code', {class: 'sub', title: one.user_id},
                                                       shortId(one.user_id)))},
      {label: 'Change', cell: (one) => h('code', {class: 'nowrap'}, one.change)},
      {label: 'Target', cell: (one) => target(one.target)},
      {label: 'Detail', cell: (one) => h('span', {class: 'clipped'}, gist(one))},
      {label: 'Actions', actions: true, cell: (one) => h('button', {
        type: 'button', class: 'button compact', 'aria-label': `Details of ${one.change}`,
        on: {click: () => openChange(one)},
      }, 'Details')},
    ]}),
    turner,
  ];
}

export function page({query, signal}) {
  const given = {};

  for (const name of ['who', 'change', 'starting_after']) {
    if (query.get(name))
      given[name] = query.get(name);
  }
  const {element} = loaded({
    label: 'changes', signal, render: (answer) => list(answer, given),
    load: () => get(`/data/changes${queryOf({...given, per_page: 50})}`, signal),
  });

  return [
    pageHead('Audit', 'Changes made here and with the operators’ tools: who, what and when.'),
    tabs('/audit/changes'),
    filterForm(given),
    card({title: 'Changes by people'}, element),
  ];
}
