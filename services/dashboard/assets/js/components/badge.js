/* badge - a word with a colour; the colour adds no information. */
import {h} from '../dom.js';
import {words} from '../format.js';

const KINDS = {
  allowed: 'good', denied: 'warn', rejected: 'info', error: 'bad',
  healthy: 'good', degraded: 'warn', failing: 'bad',
  active: 'good', waiting: 'info', human_takeover: 'warn', resolved: '', archived: '',
  pending: 'info', claimed: 'info', succeeded: 'good', failed: 'bad', skipped: 'warn',
  interrupted: 'warn', quarantined: 'bad',
  enabled: 'good', disabled: '', revoked: '', expired: '', ending: 'warn',
  owner: 'info', admin: 'info', member: '', invited: 'warn',
};

export function badge(name, text = words(name)) {
  return h('span', {class: `badge ${KINDS[name] ?? ''}`}, text);
}

export function label(text) {
  return h('span', {class: 'badge plain'}, text);
}
