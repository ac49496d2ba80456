/* notice - what stands where content is missing: loading, nothing yet, an error with a way on. */
import {h} from '../dom.js';
import {plural} from '../format.js';
import {session} from '../session.js';

export function notice(kind, ...children) {
  return h('div', {class: `notice ${kind}`}, children);
}

/* A sentence: problems of a field are written to follow its name. */
function sentence({message, errors}) {
  const field = errors?.[0].field;

  return `${field ? `${field} ` : ''}${message}`.replace(/([^.!?])$/, '$1.');
}

/* What the server said, and what to quote when asking for help. */
export function errorNotice(error, retry) {
  const waits = error.retryAfter ? ` Try again in ${plural(error.retryAfter, 'second')}.` : '';

  return h('div', {class: 'notice bad', role: 'alert'},
           h('p', null, sentence(error), waits),
           error.requestId && h('p', {class: 'small'}, 'Request ', h('code', null, error.requestId)),
           retry && h('div', {class: 'actions'},
                      h('button', {type: 'button', class: 'button compact', on: {click: retry}},
                        'Try again')));
}

export function loading(label) {
  return h('div', {class: 'loading'}, h('p', {class: 'unseen'}, `Loading ${label}`),
           h('span'), h('span'), h('span'));
}

/* Nothing here yet: what this is for, and what to do first. */
export function empty(title, text, action) {
  return h('div', {class: 'empty'}, h('h3', null, title), h('p', null, text), action);
}

export function notFound(home) {
  return [
    h('h1', null, 'There is no such page'),
    h('p', {class: 'muted'}, 'The address may be mistyped, or what it named has been deleted.'),
    h('a', {class: 'button primary', href: home}, 'Go to the overview'),
  ];
}

/* For those who may look and not touch; absent for the others. */
export function lookingOnly(what) {
  return session().user.role === 'member' &&
    h('p', {class: 'notice spaced'}, `You are a member: you see ${what}, and an admin or owner ` +
      'changes it.');
}
