/* icons - stroke drawings on a 24 x 24 grid, in the colour of the text beside them. */
import {s} from '../dom.js';

const PATHS = {
  chart: 'M4 20V10M10 20V4M16 20v-7M21 20H3',
  inbox: 'M4 13l2.5-8h11L20 13v6H4zM4 13h4.5l1.5 2.5h4l1.5-2.5H20',
  key: 'M14.5 9.5a4.5 4.5 0 1 1-1.3-3.2 4.5 4.5 0 0 1 1.3 3.2zM13 13l7 7M17 17l2.5-2.5',
  send: 'M21 3L10 14M21 3l-7 18-4-7-7-4z',
  book: 'M5 4h11a3 3 0 0 1 3 3v13H8a3 3 0 0 1-3-3zM5 17a3 3 0 0 1 3-3h11',
  list: 'M9 6h11M9 12h11M9 18h11M4 6h1M4 12h1M4 18h1',
  shield: 'M12 3l7.5 3v5.5c0 4.6-3.2 8-7.5 9.5-4.3-1.5-7.5-4.9-7.5-9.500V6zM9 12l2.2 2.200L15.5 10',
  people: 'M9 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7z' +
    'M2.5 20a6.5 6.5 0 0 1 13 0M16 4.500a3.5 3.5 0 0 1 0 6.500M18 14.500a6 6 0 0 1 3.5 5.5',
  person: 'M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM4.5 20.500a7.5 7.5 0 0 1 15 0',
};

export function icon(name) {
  return s('svg', {viewBox: '0 0 24 24', fill: 'none', stroke: 'currentColor', 'stroke-width': '1.7',
                   'stroke-linecap': 'round', 'stroke-linejoin': 'round', 'aria-hidden': 'true'},
           s('path', {d: PATHS[name]}));
}

/* The logo of the product; the same as icon.svg. */
export function mark() {
  return s('svg', {viewBox: '0 0 32 32', 'aria-hidden': 'true'},
           s('rect', {width: '32', height: '32', rx: '8', fill: '#2952cc'}),
           s('path', {fill: '#fff', d: 'M8 10.5A2.5 2.5 0 0 1 10.5 8h11a2.5 2.5 0 0 1 2.5 2.5v7a2.5 ' +
             '2.5 0 0 1-2.5 2.5H15l-4.5 4v-4A2.5 2.5 0 0 1 8 17.5z'}));
}
