/*
 * shortcuts - single keys that focus the filter of a list and turn its pages, and the list of these
 * keys. They work while no field has the focus and no dialog is open. They can be switched off,
 * since speech input may trigger them by accident.
 */
import {h} from '../dom.js';
import {toast} from './announce.js';
import {openDialog} from './dialog.js';

const STORED = 'shortcuts', OFF = 'off';

let areOn = true;
try {
  areOn = localStorage.getItem(STORED) !== OFF;
} catch (error) {
  areOn = true; /* nothing is stored in this browser */
}

/* Also called after signing out, which clears the browser's storage. */
export function keepShortcuts() {
  try {
    if (areOn)
      localStorage.removeItem(STORED);
    else
      localStorage.setItem(STORED, OFF);
  } catch (error) {
    toast('The choice is kept until this page is closed: nothing is stored in the browser.');
  }
}

/* The one in the list that has the focus, or the first one on the page. */
function nearest(selector) {
  const here = document.activeElement?.closest('.card') ?? document;
  const usable = (one) => one.checkVisibility() && one.getAttribute('aria-disabled') !== 'true';
  const find = (where) => [...where.querySelectorAll(selector)].find(usable);

  return find(here) ?? find(document);
}

function press(selector) {
  const target = nearest(selector);

  target?.click();
  return target !== undefined;
}

function toFilter() {
  const target = nearest('[data-filter]');

  target?.focus();
  return target !== undefined;
}

const KEYS = [
  {key: '/', text: 'Go to the filter of the list', act: toFilter},
  {key: 'n', text: 'Next page of the list', act: () => press('[data-turn=on]')},
  {key: 'p', text: 'Previous page, or back to the newest', act: () => press('[data-turn=back]')},
  {key: '?', text: 'Show these keys', act: () => showShortcuts() ?? true},
];

export function showShortcuts() {
  const choice = h('input', {type: 'checkbox', name: 'shortcuts', checked: areOn, on: {change: () => {
    areOn = choice.checked;
    keepShortcuts();
  }}});

  openDialog({
    title: 'Keyboard shortcuts',
    body: () => [
      h('dl', {class: 'facts keys'}, KEYS.map(({key, text}) => [
        h('dt', null, h('kbd', null, key)), h('dd', null, text)])),
      h('p', {class: 'muted'}, 'Tab, Enter and Escape work everywhere. In a filter, Enter applies it.'),
      h('label', {class: 'choice'}, choice, h('span', null, 'Use these single keys',
        h('span', {class: 'hint'}, 'Switch them off if you press them by accident'))),
    ],
  });
}

const isTyping = (target) => target.closest?.('input, textarea, select') != null;

function onKey(event) {
  if (!areOn || event.defaultPrevented || event.isComposing || event.ctrlKey || event.metaKey ||
      event.altKey || isTyping(event.target) || document.querySelector('dialog[open]') !== null)
    return;
  if (KEYS.find(({key}) => key === event.key)?.act())
    event.preventDefault();
}

export function startShortcuts() {
  document.addEventListener('keydown', onKey);
}
