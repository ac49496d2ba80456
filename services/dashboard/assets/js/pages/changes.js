/* Audit, second tab: what people changed in the dashboard and operators by hand. */
import {get, query as queryOf} from '../api.js';
import {h} from '../dom.js';
import {shortId} from '../format.js';
import {time, timeExact} from '../time.js';
import {openDialog} from '../components/dialog.js';
import {codeBlock} from '../components/copy.js';
import {facts} from '../components/facts.js';
import {empty} from '../components/notice.js';
import {card, loaded, pageHead} from '../components/section.js';
import {listing, listState} from '../components/listing.js';
import {pager} from '../components/table.js';
import {tabs} from './audit.js';

export const title = 'Changes';

const asText = (value) => (typeof value === 'string' ? value : JSON.stringify(value));

function gist(change) {
  const parts = Object.entries(change.detail ?? {}).map(([name, value]) => `${name}: ${asText(value)}`);

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
      codeBlock(JSON.stringify(change.detail ?? {}, null, 2), {label: 'Detail'}),
    ],
  });
}

function target(id) {
  if (id === null)
    return h('span', {class: 'muted'}, '–');
  return h('code', {title: id, class: 'nowrap'}, id.length > 20 ? shortId(id) : id);
}

function list({changes, pages}, state, isFirst) {
  if (changes.length === 0)
    return empty('No changes yet', 'Sign-ins, new keys, policy changes and takeovers ' +
      'are listed here, with the user, the time and what was changed.',
                 h('a', {class: 'button', href: '/keys'}, 'Go to API keys'));
  return [
    listing({caption: 'Changes by people, newest first', rows: changes, noun: 'change', state,
             isPart: true, columns: [
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
    pager(pages, (next) => `/audit/changes${queryOf({starting_after: next})}`, isFirst),
  ];
}

export function page({query, signal}) {
  const cursor = query.get('starting_after'), state = listState();
  const {element} = loaded({
    label: 'changes', signal, render: (answer) => list(answer, state, cursor === null),
    load: () => get(`/data/changes${queryOf({per_page: 50, starting_after: cursor})}`, signal),
  });

  return [
    pageHead('Audit', 'Changes made here and with the operators’ tools: who, what and when.'),
    tabs('/audit/changes'),
    card({title: 'Changes by people'}, element),
  ];
}
