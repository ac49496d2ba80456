/*
 * section - the parts of a page: its head, cards, and content that is loaded, with its waiting, its
 * errors and a way to load it again.
 */
import {h, freshId, replace} from '../dom.js';
import {errorNotice, loading} from './notice.js';

export function pageHead(title, text, ...actions) {
  return h('header', {class: 'page-head'},
           h('div', null, h('h1', null, title), text && h('p', null, text)),
           h('div', {class: 'actions'}, actions));
}

export function card({title, text, actions}, ...children) {
  const id = freshId('section');

  return h('section', {class: 'card', 'aria-labelledby': id},
           h('div', {class: 'card-head'},
             h('div', null, h('h2', {id}, title), text && h('p', null, text)),
             actions && h('div', {class: 'actions'}, actions)),
           children);
}

const first = new Set();

/*
 * Ends when what was begun to be loaded for the first time is there, but waits no longer than so long:
 * a page that is shown then neither flickers nor moves under the reader's eyes.
 */
export function settled(milliseconds) {
  return Promise.race([
    Promise.all(first),
    new Promise((resolve) => setTimeout(resolve, milliseconds)),
  ]);
}

const nameOf = (control) =>
  control.getAttribute('aria-label') ?? (control.textContent || control.getAttribute('name'));

/* Puts other content into an element. Who stood on a control in there stands on its successor then,
   or at the place itself. */
function swap(element, content) {
  const active = document.activeElement, wasInside = element.contains(active);
  const name = wasInside && nameOf(active);

  replace(element, content);
  if (!wasInside)
    return;
  const successor = [...element.querySelectorAll('a, button, summary, input')]
    .find((one) => nameOf(one) === name);

  (successor ?? element).focus({preventScroll: true});
}

/*
 * load() answers with data, render(data) makes elements of it. What was there stays until the next
 * answer is. {element, reload}
 */
export function loaded({label, signal, load, render}) {
  const element = h('div', {'aria-busy': 'true', tabindex: '-1'}, loading(label));

  async function reload() {
    element.setAttribute('aria-busy', 'true');
    try {
      const data = await load();

      if (!signal.aborted)
        swap(element, render(data));
    } catch (error) {
      if (!signal.aborted)
        swap(element, errorNotice(error, retry));
    }
    element.setAttribute('aria-busy', 'false');
  }

  function retry() {
    swap(element, loading(label));
    reload();
  }

  const begun = reload();

  first.add(begun);
  begun.finally(() => first.delete(begun));
  return {element, reload};
}
