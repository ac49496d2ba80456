/* plot-drawing - the lines, columns and numbers inside a plot. */
import {s} from '../dom.js';
import {ticks, timeTicks} from './scale.js';

const LEFT = 48, RIGHT = 8, TOP = 10, BOTTOM = 26;
const TICK_WIDTH = 84;

const sum = (values) => values.reduce((all, value) => all + (value ?? 0), 0);

function highest({kind, series, at}) {
  if (kind === 'lines')
    return Math.max(0, ...series.flatMap(({values}) => values.map((value) => value ?? 0)));
  return Math.max(0, ...at.map((_, i) => sum(series.map(({values}) => values[i]))));
}

function gridLines(area, values, format) {
  return values.map((value) => {
    const y = area.y(value);

    return s('g', null,
             s('line', {class: value === 0 ? 'axis' : 'grid', x1: area.x, x2: area.x + area.width,
                        y1: y, y2: y}),
             s('text', {class: 'tick', x: area.x - 8, y: y + 4, 'text-anchor': 'end'}, format(value)));
  });
}

function timeMarks(area, since, until) {
  const most = Math.max(2, Math.floor(area.width / TICK_WIDTH));

  return timeTicks(since, until, most).map(({at, text}) => {
    const x = area.x + (area.width * (at - since)) / (until - since);
    const anchor = x - area.x < 20 ? 'start' : area.x + area.width - x < 26 ? 'end' : 'middle';

    return s('text', {class: 'tick', x, y: area.foot + 18, 'text-anchor': anchor}, text);
  });
}

/* {x, width, foot, y(value), grid, cursor, pointAt(i or null)} */
export function frame(model, width, height) {
  const values = ticks(highest(model)), top = values.at(-1), foot = height - BOTTOM;
  const area = {
    x: LEFT, width: width - LEFT - RIGHT, foot,
    y: (value) => foot - ((foot - TOP) * value) / top,
  };
  const cursor = s('line', {class: 'cursor', y1: TOP, y2: foot, visibility: 'hidden'});

  area.grid = s('g', null, gridLines(area, values, model.format),
                timeMarks(area, model.at[0], model.at.at(-1) + model.step));
  area.cursor = cursor;
  area.pointAt = (i) => {
    if (i !== null) {
      const x = area.x + (area.width * (i + 0.5)) / model.at.length;

      cursor.setAttribute('x1', String(x));
      cursor.setAttribute('x2', String(x));
    }
    cursor.setAttribute('visibility', i === null ? 'hidden' : 'visible');
  };
  return area;
}

export function columns({at, series}, area) {
  const slot = area.width / at.length, gap = slot > 5 ? 1 : 0;
  const paths = series.map(() => '');

  at.forEach((_, i) => {
    let below = 0;

    series.forEach(({values}, layer) => {
      const value = values[i] ?? 0;

      if (value > 0) {
        const y = area.y(below + value), tall = area.y(below) - y;

        paths[layer] += `M${(area.x + slot * i + gap / 2).toFixed(2)} ${y.toFixed(2)}` +
          `h${(slot - gap).toFixed(2)}v${tall.toFixed(2)}h${(gap - slot).toFixed(2)}z`;
      }
      below += value;
    });
  });
  return s('g', null, series.map(({color}, i) => s('path', {class: `fill-${color}`, d: paths[i]})));
}

/* Missing values leave a gap; a point without neighbours is drawn as a dot. */
export function lines({at, series}, area) {
  const x = (i) => area.x + (area.width * (i + 0.5)) / at.length;

  return s('g', null, series.map(({values, color}) => {
    const known = (i) => (values[i] ?? null) !== null, dots = [];
    let d = '';

    values.forEach((value, i) => {
      if (!known(i))
        return;
      if (!known(i - 1) && !known(i + 1))
        dots.push(s('circle', {class: `fill-${color}`, cx: x(i), cy: area.y(value), r: 3}));
      else
        d += `${known(i - 1) ? 'L' : 'M'}${x(i).toFixed(2)} ${area.y(value).toFixed(2)}`;
    });
    return [s('path', {class: `line stroke-${color}`, d}), dots];
  }));
}
