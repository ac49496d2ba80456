/* announce - tells what happened: to screen readers alone, or as a toast to everybody. */
import {h} from '../dom.js';

const SHOWN_MS = 6000;

export function announce(text) {
  const place = document.getElementById('announcer');

  place.textContent = '';
  /* Emptied first, and filled later: the same words twice are said twice. */
  setTimeout(() => {
    place.textContent = text;
  }, 60);
}

/* The newest few stay readable; a toast says nothing that cannot be seen on the page as well. */
export function toast(text) {
  let place = document.querySelector('.toasts');

  if (place === null) {
    place = h('div', {class: 'toasts', 'aria-hidden': 'true'});
    document.body.append(place);
  }
  const item = h('div', {class: 'toast'}, text);

  place.append(item);
  setTimeout(() => item.remove(), SHOWN_MS);
  announce(text);
}
