/* Creating, rotating and revoking a key. */
import {path, post} from '../api.js';
import {h} from '../dom.js';
import {session} from '../session.js';
import {exactTime, now, timeExact} from '../time.js';
import {announce} from '../components/announce.js';
import {codeBlock} from '../components/copy.js';
import {pingWith} from '../components/curl.js';
import {confirmDialog, openDialog} from '../components/dialog.js';
import {facts} from '../components/facts.js';
import {form, input, radios, select} from '../components/form.js';
import {showSecret} from '../components/secret.js';

const DAY = 86400;
/* A gateway looks up a key again when its record is older than this, whether or not it got the notice. */
const IN_FORCE_MS = 5000;

export function keyState(key) {
  if (key.revoked_at)
    return 'revoked';
  if (!key.expires_at)
    return 'active';
  if (key.expires_at <= now())
    return 'expired';
  return key.expires_at - now() <= 7 * DAY ? 'ending' : 'active';
}

function showToken(dialog, key, title, text) {
  showSecret(dialog, {
    title, text, label: 'API key', secret: key.token,
    more: codeBlock(pingWith(session().base_url, 'YOUR_API_KEY'), {label: 'Try it'}),
  });
}

export function createKey(reload) {
  const fields = [
    input({name: 'name', label: 'Name', required: true, maxlength: '255', autofocus: true,
           autocomplete: 'off', hint: 'Where the key will be used, such as “billing backend”'}),
    radios({name: 'scope', label: 'Scope', checked: ['read'], options: [
      ['read', 'Read-only', 'Ping, get, search, and the audit log'],
      ['full', 'Full - read + write', 'Also creates conversations and sets attributes'],
    ]}),
    select({name: 'expires_in', label: 'Expires', value: '', options: [
      ['', 'Never'], [String(30 * DAY), 'In 30 days'], [String(90 * DAY), 'In 90 days'],
      [String(365 * DAY), 'In a year'],
    ]}),
  ];
  const dialog = openDialog({
    title: 'Create an API key',
    onClose: reload,
    body: (close) => form({
      fields, submit: 'Create key', cancel: close,
      run: async ({name, scope, expires_in: lifetime}) => {
        const key = await post('/data/keys', lifetime === '' ? {name, scope}
          : {name, scope, expires_in: Number(lifetime)});

        showToken(dialog, key, 'Key created', `${key.name} works from now on. Copy the key to where ` +
          'it will be used.');
      },
    }),
  });
}

export function rotateKey(key, reload) {
  const dialog = openDialog({
    title: `Rotate ${key.name}`,
    onClose: reload,
    body: (close) => [
      h('p', null, 'Creates a second key with the same name and scope. The old one keeps working for ' +
        'the time you choose, so that your servers can switch.'),
      form({
        fields: [select({name: 'overlap', label: 'The old key ends', value: '24h', options: [
          ['now', 'Now'], ['1h', 'In 1 hour'], ['24h', 'In 24 hours'], ['7d', 'In 7 days'],
        ]})],
        submit: 'Rotate key', cancel: close,
        run: async (values) => {
          const successor = await post(path`/data/keys/${key.id}/rotate`, values);

          showToken(dialog, successor, 'Key rotated', 'This is the new key. The old one ends ' +
            `${exactTime(successor.replaces.expires_at)}.`);
        },
      }),
    ],
  });
}

/* The revocation is in force once every gateway must have looked up the key again. */
function showRevoked(dialog, key) {
  const state = h('p', {class: 'notice', role: 'status'}, 'Revoked. Waiting for all gateways…');

  dialog.fill('Key revoked', [
    facts([['Key', key.name], ['Revoked', timeExact(key.revoked_at)]]),
    state,
    h('div', {class: 'actions end'},
      h('button', {type: 'button', class: 'button primary', on: {click: dialog.close}}, 'Close')),
  ]);
  setTimeout(() => {
    state.classList.add('good');
    state.textContent = 'In effect on all gateways: every request with this key gets a 401.';
    announce(state.textContent);
  }, IN_FORCE_MS);
}

export function revokeKey(key, reload) {
  const dialog = confirmDialog({
    title: `Revoke ${key.name}?`,
    text: [
      facts([['Key', h('code', null, `${key.prefix}…${key.last_four}`)]]),
      'Requests with this key are refused on all gateways within 1 second, 5 at most. This cannot ' +
        'be undone. To switch without a gap, rotate the key instead.',
    ],
    action: 'Revoke key',
    run: () => post(path`/data/keys/${key.id}/revoke`, {}),
    done: (revoked) => {
      showRevoked(dialog, revoked);
      reload();
    },
  });
}
