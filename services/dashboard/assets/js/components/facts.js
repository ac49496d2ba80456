/* facts - names and values that describe one thing, as a description list. */
import {h} from '../dom.js';

/* pairs: [[name, content or null], ...] */
export function facts(pairs) {
  return h('dl', {class: 'facts'}, pairs.map(([name, content]) => [
    h('dt', null, name),
    h('dd', null, content ?? h('span', {class: 'muted'}, 'None')),
  ]));
}
