/*
 * table - rows under headings. On a narrow screen each row becomes a block of labelled lines, which
 * would make it lose its table semantics; so the roles are set explicitly.
 */
import {h} from '../dom.js';

/*
 * columns: [{label, cell: (row) => content, number?, actions?}]; the first cell is the row's
 * header.
 */
export function table({caption, columns, rows}) {
  const kind = (column) => (column.number ? 'number' : column.actions ? 'row-actions' : null);
  const head = columns.map((column) =>
    h('th', {role: 'columnheader', scope: 'col', class: kind(column)},
      column.actions ? h('span', {class: 'unseen'}, column.label) : column.label));
  const body = rows.map((row) => h('tr', {role: 'row'}, columns.map((column) =>
    h('td', {role: 'cell', class: kind(column), 'data-label': column.label},
      h('div', null, column.cell(row))))));

  return h('div', {class: 'table-wrap'},
           h('table', {role: 'table', class: 'stacks'},
             h('caption', {class: 'unseen'}, caption),
             h('thead', {role: 'rowgroup'}, h('tr', {role: 'row'}, head)),
             h('tbody', {role: 'rowgroup'}, body)));
}

/* A plain table of numbers that scrolls sideways: the text version of a plot. */
export function numbersTable({caption, heads, rows}) {
  return h('div', {class: 'numbers', tabindex: '0', role: 'group', 'aria-label': caption},
           h('table', null, h('caption', {class: 'unseen'}, caption),
             h('thead', null, h('tr', null, heads.map((head, i) =>
               h('th', {scope: 'col', class: i > 0 && 'number'}, head)))),
             h('tbody', null, rows.map((row) => h('tr', null, row.map((value, i) =>
               (i === 0 ? h('th', {scope: 'row'}, value) : h('td', {class: 'number'}, value))))))));
}

/* The newest page first; older ones by the server's cursor. */
export function pager(pages, address, isFirst) {
  const next = pages?.next?.starting_after;

  if (isFirst && next === undefined)
    return null;
  return h('nav', {class: 'pager', 'aria-label': 'Pages'},
           isFirst ? h('span')
             : h('a', {class: 'button', href: address(null), 'data-turn': 'back'}, '← Newest'),
           next === undefined ? h('span', {class: 'muted'}, 'No more')
             : h('a', {class: 'button', href: address(next), rel: 'next', 'data-turn': 'on'}, 'Older →'));
}
