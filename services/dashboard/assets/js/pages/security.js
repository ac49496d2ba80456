/* Security: what the organization requires of a request in addition to a key. */
import {ApiError, get, put} from '../api.js';
import {h} from '../dom.js';
import {is, session} from '../session.js';
import {toast} from '../components/announce.js';
import {badge} from '../components/badge.js';
import {confirmDialog} from '../components/dialog.js';
import {facts} from '../components/facts.js';
import {checkbox, form, textarea} from '../components/form.js';
import {lookingOnly} from '../components/notice.js';
import {card, loaded, pageHead} from '../components/section.js';
import {sessionsCard} from './sessions.js';

export const title = 'Security';

const HTTPS_TEXT = 'Requests over plain HTTP are refused with https_required.';
const LIST_TEXT = 'Requests from any other address are refused with ip_not_allowed. Exact IPv4 and IPv6 ' +
  'addresses, no ranges.';

/* Saving one form rebuilds neither, so input in the other, or entered meanwhile, stays. */
function httpsForm(policy) {
  return form({
    fields: [checkbox({name: 'require_https', label: 'Require HTTPS', checked: policy.require_https,
                       hint: 'For every request to the API, on all gateways within 5 seconds'})],
    submit: 'Save HTTPS policy',
    run: async (values) => {
      const saved = await put('/data/policy', values);

      toast(saved.require_https ? 'HTTPS is required' : 'HTTPS is not required');
    },
  });
}

/* Only the server can tell whether the list contains the reader's address, in any spelling. */
function askAnyway(values, saved) {
  confirmDialog({
    title: 'This would lock you out',
    text: [h('p', null, 'Your own address ', h('code', null, session().address),
             ' is not in the list. Requests to the API from your address would be refused.'),
           'You can still sign in here and change the list.'],
    action: 'Save anyway',
    run: async () => saved(await put('/data/policy', {...values, confirmed: true})),
  });
}

function allowlistForm(policy) {
  const enabled = checkbox({name: 'ip_allowlist_enabled', label: 'Turn the allowlist on',
                            checked: policy.ip_allowlist_enabled});
  const list = textarea({
    name: 'ip_allowlist', label: 'Addresses', hint: 'One per line',
    value: policy.ip_allowlist.join('\n'),
    read: (control) => control.value.split(/[\s,]+/).filter((line) => line !== ''),
  });
  const own = session().address;
  const add = h('button', {type: 'button', class: 'button compact', on: {click: () => {
    if (!list.read().includes(own))
      list.control.value = [...list.read(), own].join('\n');
  }}}, 'Add my address');

  function saved(answer) {
    toast(answer.ip_allowlist_enabled ? 'The allowlist is on' : 'The allowlist is saved but off');
  }

  return h('div', {class: 'stack'},
           h('p', {class: 'with-copy'}, 'Your address, as the server sees it: ', h('code', null, own),
             ' ', add),
           form({
             fields: [enabled, list], submit: 'Save allowlist',
             run: async (values) => {
               try {
                 saved(await put('/data/policy', values));
               } catch (error) {
                 if (!(error instanceof ApiError) || error.code !== 'would_lock_out')
                   throw error;
                 askAnyway(values, saved);
               }
             },
           }));
}

function asFacts(policy) {
  const state = (isOn) => badge(isOn ? 'enabled' : 'disabled', isOn ? 'On' : 'Off');

  return card({title: 'Policy'}, facts([
    ['Require HTTPS', state(policy.require_https)],
    ['IP allowlist', state(policy.ip_allowlist_enabled)],
    ['Addresses', policy.ip_allowlist.length === 0 ? null
      : h('ul', {class: 'plain'}, policy.ip_allowlist.map((one) => h('li', null, h('code', null, one))))],
    ['Your address', h('code', null, session().address)],
  ]));
}

function show(policy) {
  if (!is('admin'))
    return asFacts(policy);
  return h('div', {class: 'columns'},
           card({title: 'HTTPS', text: HTTPS_TEXT}, httpsForm(policy)),
           card({title: 'IP allowlist', text: LIST_TEXT}, allowlistForm(policy)));
}

export function page({signal}) {
  const view = loaded({
    label: 'the policy', signal, load: () => get('/data/policy', signal), render: show,
  });

  return [
    pageHead('Security', 'What the API requires of requests besides a key, and where you are signed in.'),
    lookingOnly('the policy'),
    view.element,
    sessionsCard(signal),
  ];
}
