/* notice - shown in place of missing content: loading, empty, or an error with a way to retry. */
import {h} from '../dom.js';
import {plural} from '../format.js';
import {session} from '../session.js';

export function notice(kind, ...children) {
  return h('div', {class: `notice ${kind}`}, children);
}

/* A sentence: the message of a field is written to follow the field's name. */
function sentence({message, errors}) {
  const field = errors?.[0].field;

  return `${field ? `${field} ` : ''}${message}`.replace(/([^.!?])$/, '$1.');
}

/* The server's error message, and the id to quote when asking for help. */
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

/* Nothing here yet: what the list is for, and what to do first. */
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

/* Shown to users who may view but not change this; nothing for others. */
export function lookingOnly(what) {
  return session().user.role === 'member' &&
    h('p', {class: 'notice spaced'}, `You are a member: you see ${what}, and an admin or owner ` +
      'changes it.');
}
