/* prose - the subset of Markdown that descriptions use: paragraphs, `code` and **strong**. */
import {h} from '../dom.js';

function inline(text) {
  return text.split(/(`[^`]+`|\*\*[^*]+\*\*)/).map((part) => {
    if (part.startsWith('`'))
      return h('code', null, part.slice(1, -1));
    if (part.startsWith('**'))
      return h('strong', null, part.slice(2, -2));
    return part;
  });
}

export function prose(text) {
  return h('div', {class: 'prose'},
           text.trim().split(/\n\s*\n/).map((paragraph) => h('p', null, inline(paragraph))));
}
