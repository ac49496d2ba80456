/* announce - reports what happened: to screen readers only, or as a toast to all users. */
import {h} from '../dom.js';

const SHOWN_MS = 6000;

/* Screen readers ignore what is behind an open dialog, so each dialog has its own place. */
function place() {
  const dialog = [...document.querySelectorAll('dialog[open]')].pop();

  return dialog?.querySelector('.announcer') ?? document.getElementById('announcer');
}

export function announce(text) {
  for (const one of document.querySelectorAll('.announcer'))
    one.textContent = '';
  /* Emptied first and filled later, so that the same text twice is read out twice. */
  setTimeout(() => {
    place().textContent = text;
  }, 60);
}

/* Keeps only the newest few toasts; a toast repeats what the page itself shows. */
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
