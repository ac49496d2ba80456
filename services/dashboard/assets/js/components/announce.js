/* announce - tells what happened: to screen readers alone, or as a toast to all users. */
import {h} from '../dom.js';

const SHOWN_MS = 6000;

/* What lies behind an open dialog is not read out: so each dialog has its own. */
function place() {
  const dialog = [...document.querySelectorAll('dialog[open]')].pop();

  return dialog?.querySelector('.announcer') ?? document.getElementById('announcer');
}

export function announce(text) {
  for (const one of document.querySelectorAll('.announcer'))
    one.textContent = '';
  /* Emptied first, and filled later: the same words twice are said twice. */
  setTimeout(() => {
    place().textContent = text;
  }, 60);
}

/* The newest few stay readable; a toast says nothing that cannot be seen on the page as well. */
export function toast(text) {
  let toasts = document.querySelector('.toasts');

  if (toasts === null) {
    toasts = h('div', {class: 'toasts', 'aria-hidden': 'true'});
    document.body.append(toasts);
  }
  const item = h('div', {class: 'toast'}, text);

  toasts.append(item);
  setTimeout(() => item.remove(), SHOWN_MS);
  announce(text);
}
