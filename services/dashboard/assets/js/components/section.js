/*
 * section - the parts of a page: its head, cards, and content that is loaded, with a loading state,
 * errors and a way to reload.
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
 * Resolves when all initial loads have finished, or after this time: a page shown then neither
 * flickers nor shifts while it is read.
 */
export function settled(milliseconds) {
  return Promise.race([
    Promise.all(first),
    new Promise((resolve) => setTimeout(resolve, milliseconds)),
  ]);
}

const nameOf = (control) =>
  control.getAttribute('aria-label') ?? (control.textContent || control.getAttribute('name'));

/* Replaces the content of an element. If a control inside had the focus, the control with the same
   name gets it, else the element itself. */
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
 * load() returns data, render(data) makes elements of it. The old content stays until the next
 * response arrives. Returns {element, reload}.
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
