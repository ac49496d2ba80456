/*
 * dialog - a modal <dialog>: focus stays inside, Escape closes it, and focus then returns to where
 * it was before. A closed dialog is removed from the document with all its content.
 */
import {h, freshId, replace} from '../dom.js';
import {errorNotice} from './notice.js';

function giveBackFocus(before) {
  if (before !== null && before.isConnected)
    before.focus();
  else
    document.querySelector('main h1')?.focus();
}

/*
 * body(close) -> elements. sticky: only a button of the body closes it, not Escape and not the
 * cross. Returns {close, fill}; fill replaces the elements of the body.
 */
export function openDialog({title, body, wide = false, sticky = false, onClose = () => {}}) {
  const id = freshId('dialog'), before = document.activeElement;
  const place = h('div', {class: 'dialog-body'});
  const heading = h('h2', {id, tabindex: '-1'}, title);
  const cross = h('button', {type: 'button', class: 'close', 'aria-label': 'Close',
                             on: {click: () => close()}}, '×');
  const dialog = h('dialog', {class: wide && 'wide', 'aria-labelledby': id},
                   h('div', {class: 'dialog-head'}, heading, cross), place,
                   h('div', {class: 'announcer unseen', role: 'status'}));
  let isSticky = false;

  function close() {
    if (dialog.open)
      dialog.close();
  }

  function fill(nextTitle, elements, stick = false) {
    isSticky = stick;
    cross.hidden = stick;
    heading.textContent = nextTitle;
    replace(place, elements);
    (place.querySelector('[autofocus]') ?? heading).focus();
  }

  dialog.addEventListener('keydown', (event) => {
    if (event.key === 'Escape' && isSticky)
      event.preventDefault();
  });
  dialog.addEventListener('cancel', (event) => {
    if (isSticky)
      event.preventDefault();
  });
  dialog.addEventListener('close', () => {
    replace(place);
    dialog.remove();
    onClose();
    giveBackFocus(before);
  });
  document.body.append(dialog);
  dialog.showModal();
  fill(title, body(close), sticky);
  return {close, fill};
}

/*
 * Asks before an action that cannot be undone. run() performs it; if it throws, the error is shown
 * and the dialog stays open; its result goes to done(), which may fill the dialog with the next
 * step.
 */
export function confirmDialog({title, text, action, run, done = (answer, dialog) => dialog.close()}) {
  const trouble = h('div');
  const button = h('button', {type: 'button', class: 'button danger primary'}, action);

  async function proceed() {
    button.disabled = true;
    button.setAttribute('aria-busy', 'true');
    replace(trouble);
    try {
      done(await run(), dialog);
    } catch (error) {
      replace(trouble, errorNotice(error));
    }
    button.disabled = false;
    button.setAttribute('aria-busy', 'false');
  }

  button.addEventListener('click', proceed);
  const dialog = openDialog({
    title,
    body: (close) => [
      [text].flat().map((part) => (typeof part === 'string' ? h('p', null, part) : part)),
      trouble,
      h('div', {class: 'actions end'},
        h('button', {type: 'button', class: 'button', autofocus: true, on: {click: close}}, 'Cancel'),
        button),
    ],
  });

  return dialog;
}
