/*
 * listing - a table whose rows are all loaded, with a text filter and pages. If the server pages a list,
 * the filter covers only the current page.
 */
import {h, replace} from '../dom.js';
import {plural} from '../format.js';
import {empty} from './notice.js';
import {table} from './table.js';

const PER_PAGE = 25;

/* The filter text and the current page: kept while the list is reloaded. */
export const listState = () => ({text: '', page: 0});

/* The text of a row, and its text on hover: full ids and times. */
function textOf(row) {
  return [...row.querySelectorAll('td:not(.row-actions)')].flatMap((cell) =>
    [cell.textContent, ...[...cell.querySelectorAll('[title]')].map((one) => one.title)])
    .join(' ').toLowerCase();
}

function matching(rows, text) {
  const wanted = text.toLowerCase().split(/\s+/);

  return rows.filter((row) => wanted.every((word) => row.text.includes(word)));
}

/* A button at the first or last page stays enabled, so that it keeps the focus; it is only marked as
   disabled for screen readers. */
function turn(name, by, isEnd, go) {
  return h('button', {type: 'button', class: 'button', 'data-turn': by, 'aria-disabled': isEnd && 'true',
                      on: {click: () => !isEnd && go()}}, name);
}

function turner(state, last, show) {
  const to = (page, by) => () => {
    state.page = page;
    show().querySelector(`[data-turn=${by}]`).focus({preventScroll: true});
  };

  return h('nav', {class: 'pager', 'aria-label': 'Pages'},
           turn('← Previous', 'back', state.page === 0, to(state.page - 1, 'back')),
           h('span', {class: 'muted'}, `Page ${state.page + 1} of ${last + 1}`),
           turn('Next →', 'on', state.page === last, to(state.page + 1, 'on')));
}

function bar(state, nouns, show) {
  const input = h('input', {
    type: 'search', 'aria-label': `Filter ${nouns}`, 'data-filter': true, value: state.text,
    autocomplete: 'off', spellcheck: 'false', maxlength: '100',
    on: {input: () => {
      state.text = input.value;
      state.page = 0;
      show();
    }},
  });
  const count = h('p', {class: 'muted small', role: 'status'});

  return {input, count, element: h('div', {class: 'list-bar'}, h('label', null, 'Filter', input), count)};
}

/*
 * caption, columns and rows are the table's; noun and nouns: a row and several rows in words. isPart: the
 * server pages this list, and these rows are one page.
 */
export function listing({caption, columns, rows, noun, nouns = `${noun}s`, state, isPart = false}) {
  const whole = table({caption, columns, rows});
  const body = whole.querySelector('tbody');
  const all = [...body.children].map((element) => ({element, text: textOf(element)}));
  const place = h('div'), per = isPart ? all.length : PER_PAGE;

  if (all.length < 2)
    return whole;
  const {input, count, element} = bar(state, nouns, show);

  function clear() {
    input.value = state.text = '';
    show();
    input.focus();
  }

  function show() {
    const found = matching(all, state.text);
    const last = Math.max(0, Math.ceil(found.length / per) - 1);

    state.page = Math.min(state.page, last);
    body.replaceChildren(...found.slice(state.page * per, (state.page + 1) * per).map((row) => row.element));
    count.textContent = `${found.length === all.length ? '' : `${found.length} of `}` +
      `${plural(all.length, noun, nouns)}${isPart ? ' on this page' : ''}`;
    replace(place, found.length > 0 ? whole
      : empty('Nothing matches', `No ${noun} ${isPart ? 'on this page ' : ''}contains what you typed.`,
              h('button', {type: 'button', class: 'button', on: {click: clear}}, 'Clear the filter')),
            last > 0 && turner(state, last, show));
    return place;
  }

  show();
  return [element, place];
}
