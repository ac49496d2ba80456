/* copy - text with a button that copies it, and a manual way if the browser forbids copying. */
import {h} from '../dom.js';
import {announce} from './announce.js';

const SAID_MS = 2000;

function select(element) {
  const range = document.createRange();

  range.selectNodeContents(element);
  getSelection().removeAllRanges();
  getSelection().addRange(range);
}

/* Copies the text of `element`, which is stored nowhere else. */
export function copyButton(element, what) {
  const button = h('button', {type: 'button', class: 'button compact'});

  function say(word) {
    button.textContent = word;
    button.setAttribute('aria-label', `${word} ${what}`);
  }

  say('Copy');
  button.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(element.textContent);
      say('Copied');
      announce(`Copied ${what}`);
    } catch (error) {
      select(element);
      say('Press Ctrl+C:');
      announce(`Selected ${what}: press Control C to copy`);
    }
    setTimeout(() => say('Copy'), SAID_MS);
  });
  return button;
}

/* A block of code under a bar with its name. wrap: break long lines instead of scrolling. */
export function codeBlock(text, {label, wrap = false}) {
  const pre = h('pre', {tabindex: wrap ? null : '0', 'aria-label': wrap ? null : label,
                        role: wrap ? null : 'group'}, text);

  return h('div', {class: wrap ? 'code wrap' : 'code'},
           h('div', {class: 'code-bar'}, h('span', null, label), copyButton(pre, label)),
           pre);
}
