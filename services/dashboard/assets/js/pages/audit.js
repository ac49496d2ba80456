/* Audit, first tab: every request made with a key. */
import {get, getAll, query as queryOf} from '../api.js';
import {h} from '../dom.js';
import {shortId, words} from '../format.js';
import {go} from '../router.js';
import {time, timeExact} from '../time.js';
import {badge} from '../components/badge.js';
import {copyButton} from '../components/copy.js';
import {openDialog} from '../components/dialog.js';
import {facts} from '../components/facts.js';
import {filters, input, select} from '../components/form.js';
import {empty} from '../components/notice.js';
import {card, loaded, pageHead} from '../components/section.js';
import {pager, table} from '../components/table.js';
import {verifyCard} from './audit-verify.js';

export const title = 'Audit';

const OPERATIONS = ['ping', 'conversation.create', 'conversation.get', 'conversation.update',
                    'conversation.search', 'audit.list', 'unknown'];
const OUTCOMES = ['allowed', 'denied', 'rejected', 'error'];
const NAMES = ['operation', 'outcome', 'api_key_id', 'conversation_id', 'created_at_after',
               'created_at_before', 'starting_after'];

export function tabs(current) {
  const tab = (href, name) =>
    h('a', {href, 'aria-current': href === current && 'page'}, name);

  return h('nav', {class: 'tabs', 'aria-label': 'Kinds of audit'},
           tab('/audit', 'API requests'), tab('/audit/changes', 'Changes by people'));
}

/* Converts Unix seconds to and from the value of a datetime-local control, in the reader's time
   zone. */
function toControl(seconds) {
  if (!seconds)
    return '';
  const date = new Date(Number(seconds) * 1000);

  return new Date(date - date.getTimezoneOffset() * 60000).toISOString().slice(0, 16);
}

const fromControl = (control) =>
  (control.value === '' ? '' : String(Math.floor(new Date(control.value) / 1000)));

function moment(name, text, given) {
  return input({name, label: text, type: 'datetime-local', value: toControl(given[name]),
                read: fromControl});
}

function filterForm(given, keys) {
  return filters({
    label: 'Filter the audit log',
    fields: [
      select({name: 'operation', label: 'Operation', value: given.operation ?? '',
              options: [['', 'Any'], ...OPERATIONS.map((name) => [name, name])]}),
      select({name: 'outcome', label: 'Outcome', value: given.outcome ?? '',
              options: [['', 'Any'], ...OUTCOMES.map((name) => [name, words(name)])]}),
      select({name: 'api_key_id', label: 'API key', value: given.api_key_id ?? '',
              options: [['', 'Any'], ...keys.map((key) => [key.id, `${key.name} …${key.last_four}`])]}),
      input({name: 'conversation_id', label: 'Conversation id', value: given.conversation_id ?? '',
             autocomplete: 'off', spellcheck: 'false', maxlength: '36'}),
      moment('created_at_after', 'After', given),
      moment('created_at_before', 'Before', given),
    ],
    apply: (values) => go(`/audit${queryOf(values)}`),
    clear: Object.keys(given).length > 0 && '/audit',
  });
}

function withCopy(text) {
  const code = h('code', null, text);

  return h('span', {class: 'with-copy'}, code, ' ', copyButton(code, 'id'));
}

function openEntry(entry, keyName) {
  openDialog({
    title: entry.operation, wide: true,
    body: () => [facts([
      ['Time', timeExact(entry.created_at)],
      ['Outcome', badge(entry.outcome)],
      ['HTTP status', String(entry.http_status)],
      ['Denied because', entry.denial_reason && h('code', null, entry.denial_reason)],
      ['Request id', withCopy(entry.request_id)],
      ['API key', h('span', null, keyName(entry), ' ', h('code', null, entry.api_key_id))],
      ['Conversation', entry.conversation_id &&
        h('a', {href: `/inbox/${encodeURIComponent(entry.conversation_id)}`},
          h('code', null, entry.conversation_id))],
      ['Contact', entry.contact_id && h('code', null, entry.contact_id)],
    ])],
  });
}

function list({audit_logs: entries, pages}, keys, given) {
  const {starting_after: cursor, ...narrowing} = given;
  const names = new Map(keys.map((key) => [key.id, key.name]));
  const keyName = (entry) => names.get(entry.api_key_id) ?? shortId(entry.api_key_id);

  if (entries.length === 0)
    return Object.keys(given).length > 0
      ? empty('Nothing matches', 'No request matches these filters.',
              h('a', {class: 'button', href: '/audit'}, 'Clear the filters'))
      : empty('No requests yet', 'Every request made with a key of the organization is ' +
          'listed here, whatever its outcome.', h('a', {class: 'button', href: '/keys'}, 'Go to API keys'));
  return [
    table({caption: 'API requests, newest first', rows: entries, columns: [
      {label: 'Time', cell: (entry) => time(entry.created_at)},
      {label: 'Operation', cell: (entry) => h('code', null, entry.operation)},
      {label: 'Outcome', cell: (entry) => badge(entry.outcome)},
      {label: 'Status', number: true, cell: (entry) => String(entry.http_status)},
      {label: 'API key', cell: keyName},
      {label: 'Actions', actions: true, cell: (entry) => h('button', {
        type: 'button', class: 'button compact',
        'aria-label': `Details of ${entry.operation}, ${entry.http_status}`,
        on: {click: () => openEntry(entry, keyName)},
      }, 'Details')},
    ]}),
    pager(pages, (next) => `/audit${queryOf({...narrowing, starting_after: next})}`,
          cursor === undefined),
  ];
}

function downloads(given) {
  const range = queryOf({after: given.created_at_after, before: given.created_at_before});

  return ['ndjson', 'csv'].map((kind) =>
    h('a', {class: 'button compact', href: `/data/audit/export.${kind}${range}`, download: true},
      `Download ${kind.toUpperCase()}`));
}

export function page({query, signal}) {
  const given = {};

  for (const name of NAMES) {
    if (query.get(name))
      given[name] = query.get(name);
  }
  const keys = getAll('/data/keys', signal);
  const controls = loaded({label: 'filters', signal, load: () => keys,
                           render: (all) => filterForm(given, all)});
  const auditLog = loaded({
    label: 'the audit log', signal, render: ([answer, all]) => list(answer, all, given),
    load: () => Promise.all([get(`/data/audit${queryOf({...given, per_page: 50})}`, signal), keys]),
  });

  return [
    pageHead('Audit', 'Every request made with a key. Entries are sealed within a second; ' +
      'a later change would be detected.'),
    tabs('/audit'),
    h('div', {class: 'card'}, controls.element),
    card({title: 'API requests', text: 'Downloads contain every entry in the time range of ' +
      'the filters', actions: downloads(given)}, auditLog.element),
    verifyCard(signal),
  ];
}
