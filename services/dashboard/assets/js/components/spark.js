/* spark - a small line without numbers, for a table cell beside the numbers. */
import {s} from '../dom.js';

const WIDTH = 160, HEIGHT = 30;

/* limit: the height of the reference line; the drawing only repeats what the row says. */
export function spark(values, limit) {
  const top = Math.max(limit, ...values) || 1;
  const points = values.map((value, i) =>
    `${((WIDTH * (i + 0.5)) / values.length).toFixed(1)},` +
    `${(HEIGHT - 2 - ((HEIGHT - 4) * value) / top).toFixed(1)}`);

  return s('svg', {class: 'spark', width: WIDTH, height: HEIGHT, viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
                   'aria-hidden': 'true'},
           s('line', {class: 'grid', x1: 0, x2: WIDTH, y1: 2, y2: 2}),
           s('polyline', {class: 'line stroke-1', points: points.join(' ')}));
}
