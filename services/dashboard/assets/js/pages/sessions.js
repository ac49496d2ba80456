/* sessions - where the reader is signed in, and how to end these sessions. */
import {del, get, path} from '../api.js';
import {h} from '../dom.js';
import {time} from '../time.js';
import {toast} from '../components/announce.js';
import {badge} from '../components/badge.js';
import {confirmDialog} from '../components/dialog.js';
import {card, loaded} from '../components/section.js';
import {leaveBy} from '../components/shell.js';
import {listing, listState} from '../components/listing.js';

const BROWSERS = [[/Edg\//, 'Edge'], [/OPR\//, 'Opera'], [/Firefox\//, 'Firefox'],
                  [/Chrom(e|ium)\//, 'Chrome'], [/Safari\//, 'Safari'], [/curl\//, 'curl']];
const SYSTEMS = [[/Windows/, 'Windows'], [/iPhone|iPad/, 'iOS'], [/Mac OS X/, 'macOS'],
                 [/Android/, 'Android'], [/Linux/, 'Linux']];

const first = (table_, text) => table_.find(([pattern]) => pattern.test(text))?.[1];

/* A browser may report anything about itself: this only helps to recognize it. */
function device(agent) {
  const browser = first(BROWSERS, agent ?? ''), system = first(SYSTEMS, agent ?? '');

  return [browser ?? 'Unknown browser', system && `on ${system}`].filter(Boolean).join(' ');
}

function endOne(one, reload) {
  confirmDialog({
    title: 'End this session?',
    text: `${device(one.user_agent)}, from ${one.address ?? 'an unknown address'}, is signed out at ` +
      'its next request.',
    action: 'End session',
    run: async () => {
      await del(path`/data/sessions/${one.id}`);
      toast('The session has ended');
      reload();
    },
  });
}

function endAll() {
  confirmDialog({
    title: 'Sign out everywhere?',
    text: 'All your sessions end, including this one. Then you sign in again.',
    action: 'Sign out everywhere',
    run: () => leaveBy('/data/sessions'),
  });
}

function list({sessions}, state, reload) {
  return listing({caption: 'Your active sessions', rows: sessions, noun: 'session', state, columns: [
    {label: 'Browser', cell: (one) => [h('span', {title: one.user_agent}, device(one.user_agent)), ' ',
                                       one.current && badge('enabled', 'This one')]},
    {label: 'Address', cell: (one) => h('code', null, one.address ?? '–')},
    {label: 'Last seen', cell: (one) => time(one.last_seen_at)},
    {label: 'Signed in', cell: (one) => time(one.created_at)},
    {label: 'Actions', actions: true, cell: (one) => !one.current && h('button', {
      type: 'button', class: 'button compact', 'aria-label': `End session from ${one.address}`,
      on: {click: () => endOne(one, reload)},
    }, 'End')},
  ]});
}

export function sessionsCard(signal) {
  const state = listState();
  const view = loaded({
    label: 'sessions', signal, load: () => get('/data/sessions', signal),
    render: (answer) => list(answer, state, () => view.reload()),
  });

  return card({
    title: 'Active sessions', text: 'Where you are signed in. A session ends after 12 hours without use.',
    actions: h('button', {type: 'button', class: 'button compact danger', on: {click: endAll}},
               'Sign out everywhere'),
  }, view.element);
}
