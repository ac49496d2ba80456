/* API keys: the base URL, an example call, and the keys. */
import {getAll} from '../api.js';
import {h} from '../dom.js';
import {plural} from '../format.js';
import {is, session} from '../session.js';
import {time} from '../time.js';
import {badge, label} from '../components/badge.js';
import {codeBlock} from '../components/copy.js';
import {createWith, pingWith} from '../components/curl.js';
import {empty, lookingOnly} from '../components/notice.js';
import {card, loaded, pageHead} from '../components/section.js';
import {listing, listState} from '../components/listing.js';
import {createKey, keyState, revokeKey, rotateKey} from './key-dialogs.js';

export const title = 'API keys';

const SCOPES = {read: 'Read-only', full: 'Full - read + write'};

function rowActions(key, reload) {
  const act = (name, run) => h('button', {
    type: 'button', class: 'button compact', 'aria-label': `${name} ${key.name}`,
    on: {click: () => run(key, reload)},
  }, name);

  return h('div', {class: 'actions'}, act('Rotate', rotateKey), act('Revoke', revokeKey));
}

function columns(reload) {
  return [
    {label: 'Name', cell: (key) => [h('strong', null, key.name),
                                    h('code', {class: 'sub'}, `${key.prefix}…${key.last_four}`)]},
    {label: 'Scope', cell: (key) => label(SCOPES[key.scope])},
    {label: 'State', cell: (key) => badge(keyState(key))},
    {label: 'Last used', cell: (key) => time(key.last_used_at)},
    {label: 'Expires', cell: (key) => time(key.expires_at)},
    {label: 'Created', cell: (key) => time(key.created_at)},
    is('admin') && {label: 'Actions', actions: true,
                    cell: (key) => isLive(key) && rowActions(key, reload)},
  ].filter(Boolean);
}

const isLive = (key) => ['active', 'ending'].includes(keyState(key));

function list(keys, states, reload) {
  const live = keys.filter(isLive), ended = keys.filter((key) => !isLive(key));
  const showing = columns(reload);

  return [
    live.length > 0
      ? listing({caption: 'Active API keys', columns: showing, rows: live, noun: 'active key',
                 state: states.live})
      : empty('No active key yet', is('admin') ? 'A key lets your server call the API. Create one, give it ' +
          'to your backend, and paste the command below to try it.'
        : 'A key lets your server call the API. Ask an admin or owner to create one.',
              is('admin') && createButton(reload)),
    ended.length > 0 && h('details', {class: 'more'},
                          h('summary', null, plural(ended.length, 'ended key')),
                          listing({caption: 'Revoked and expired API keys', rows: ended, noun: 'ended key',
                                   state: states.ended,
                                   columns: showing.filter((column) => !column.actions)})),
  ];
}

function createButton(reload) {
  return h('button', {type: 'button', class: 'button primary', on: {click: () => createKey(reload)}},
           'Create key');
}

export function page({signal}) {
  const base = session().base_url, states = {live: listState(), ended: listState()};
  const keys = loaded({label: 'keys', signal, load: () => getAll('/data/keys', signal),
                       render: (answer) => list(answer, states, () => keys.reload())});

  return [
    pageHead('API keys', 'For your servers only. A key gives access to all conversations; ' +
      'keep it out of browsers, apps, addresses and logs.',
             is('admin') && createButton(() => keys.reload())),
    lookingOnly('the keys, never their tokens'),
    card({title: 'Keys'}, keys.element),
    card({title: 'Call the API', text: 'Replace YOUR_API_KEY with your key.',
          actions: h('a', {class: 'button compact', href: '/reference'}, 'API reference')},
         h('div', {class: 'stack'},
           codeBlock(base, {label: 'Base URL', wrap: true}),
           codeBlock(pingWith(base, 'YOUR_API_KEY'), {label: 'Try a key'}),
           codeBlock(createWith(base, 'YOUR_API_KEY'), {label: 'Create a conversation (full scope)'}))),
  ];
}
