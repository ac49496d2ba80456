/*
 * plot - a drawing of values over time: stacked columns or lines. It adapts to its width, shows a
 * point's values on hover or when reached with the arrow keys, and lists all values in a table.
 *
 * plot({title, text, kind: 'columns'|'lines', at: [seconds], step, series: [{name, values, color}],
 *       format: value -> text})
 */
import {h, s, freshId, replace} from '../dom.js';
import {clockTime, dayTime} from '../time.js';
import {numbersTable} from './table.js';
import {columns, lines, frame} from './plot-drawing.js';

const HEIGHT = 210;

const said = (value, format) => (value === null ? '–' : format(value));

function legend(series) {
  return h('ul', {class: 'legend'}, series.map(({name, color}) =>
    h('li', null, h('span', {class: `swatch fill-${color}`}), name)));
}

function tip({at, step, series, format, spanDays}) {
  const element = h('div', {class: 'tip', hidden: true});

  function show(i, x, width) {
    const from = spanDays ? dayTime(at[i]) : clockTime(at[i]);

    replace(element,
      h('strong', null, `${from} – ${clockTime(at[i] + step)}`),
      [...series].reverse().map(({name, values, color}) =>
        h('span', {class: 'tip-row'}, h('span', {class: `swatch fill-${color}`}), name,
          h('b', null, said(values[i], format)))));
    element.hidden = false;
    element.style.left = `${Math.min(Math.max(x - element.offsetWidth / 2, 0),
                                     width - element.offsetWidth)}px`;
  }
  return {element, show, hide: () => {
    element.hidden = true;
  }};
}

/* Selects a point of time, by pointer or by arrow keys. */
function listen(canvas, model, box, show, hide) {
  const {at} = model;
  let current = at.length - 1;

  function move(i) {
    current = Math.min(Math.max(i, 0), at.length - 1);
    show(current);
  }
  canvas.addEventListener('pointermove', (event) => {
    const {left, x, width} = box(), inside = event.clientX - left - x;

    move(Math.floor((inside / width) * at.length));
  });
  canvas.addEventListener('pointerleave', hide);
  canvas.addEventListener('blur', hide);
  canvas.addEventListener('focus', () => {
    if (canvas.matches(':focus-visible'))
      move(current);
  });
  canvas.addEventListener('keydown', (event) => {
    const by = {ArrowLeft: -1, ArrowRight: 1, Home: -at.length, End: at.length}[event.key];

    if (by !== undefined) {
      event.preventDefault();
      move(current + by);
    } else if (event.key === 'Escape') {
      hide();
    }
  });
}

function summary({title, at, series, format}) {
  const ends = series.map(({name, values}) => {
    const known = values.filter((value) => value !== null);

    return known.length === 0 ? `${name}: none`
      : `${name}: at most ${format(Math.max(...known))}, last ${said(values.at(-1), format)}`;
  });

  return `${title}, ${at.length} points. ${ends.join('. ')}. The table below has all values.`;
}

function valuesTable({title, at, series, format, spanDays}) {
  const details = h('details', {class: 'more'}, h('summary', null, 'Show as a table'));

  details.addEventListener('toggle', () => {
    if (!details.open || details.childElementCount > 1)
      return;
    details.append(numbersTable({
      caption: title, heads: ['Time', ...series.map(({name}) => name)],
      rows: at.map((seconds, i) => [spanDays ? dayTime(seconds) : clockTime(seconds),
                                    ...series.map(({values}) => said(values[i], format))]),
    }));
  });
  return details;
}

export function plot(given) {
  const model = {...given, spanDays: given.at.at(-1) - given.at[0] > 86400};
  const draw = model.kind === 'lines' ? lines : columns;
  const hint = tip(model), titleId = freshId('plot');
  const svg = s('svg', {height: String(HEIGHT), role: 'img', 'aria-label': summary(model)});
  const canvas = h('div', {class: 'canvas', tabindex: '0', role: 'group', 'aria-labelledby': titleId},
                   svg, hint.element);
  let area = null;

  function redraw() {
    const width = canvas.clientWidth;

    if (width === 0)
      return;
    svg.setAttribute('width', String(width));
    area = frame(model, width, HEIGHT);
    replace(svg, area.grid, draw(model, area), area.cursor);
  }

  function show(i) {
    if (area === null)
      return;
    area.pointAt(i);
    hint.show(i, area.x + area.width * ((i + 0.5) / model.at.length), canvas.clientWidth);
  }

  listen(canvas, model, () => ({left: canvas.getBoundingClientRect().left, ...area}), show, () => {
    area?.pointAt(null);
    hint.hide();
  });
  new ResizeObserver(redraw).observe(canvas);
  return h('figure', {class: 'plot'},
           h('figcaption', null, h('h2', {id: titleId}, model.title),
             model.text && h('p', {class: 'muted small'}, model.text)),
           legend(model.series), canvas, valuesTable(model));
}
