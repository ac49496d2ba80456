/*
 * secret - shows a secret that the server reveals only once. The text exists only in the element
 * that shows it and is wiped when its dialog closes; to close it, the user must confirm that it is
 * stored.
 */
import {h} from '../dom.js';
import {copyButton} from './copy.js';

/* Fills `dialog`. more: additional elements below. */
export function showSecret(dialog, {title, text, label, secret, more = null}) {
  const pre = h('pre', {'data-secret': true}, secret);

  function close() {
    pre.textContent = '';
    dialog.close();
  }

  dialog.fill(title, [
    h('p', null, text),
    h('div', {class: 'code wrap'},
      h('div', {class: 'code-bar'}, h('span', null, label), copyButton(pre, label)), pre),
    h('p', {class: 'notice warn'}, 'This is shown only once. It cannot be shown again.'),
    more,
    h('div', {class: 'actions end'},
      h('button', {type: 'button', class: 'button primary', on: {click: close}}, 'I have stored it')),
  ], true);
}
