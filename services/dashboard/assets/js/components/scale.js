/* scale - maps values to positions in a drawing, and picks the numbers on its axes. */
import {clockTime, dayTime} from '../time.js';

/* A round number at or above the highest value, and the ticks up to it. */
export function ticks(highest, about = 4) {
  if (!(highest > 0))
    return [0, 1];
  const rough = highest / about, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((n) => n * power).find((n) => n >= rough);
  const all = [];

  for (let value = 0; value < highest + step; value += step)
    all.push(Number(value.toPrecision(12)));
  return all;
}

const STRIDES = [300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800];

/* Ticks of the time axis: round hours in the reader's time zone, no more than fit. */
export function timeTicks(since, until, most) {
  const stride = STRIDES.find((seconds) => (until - since) / seconds <= most) ?? 604800;
  const shift = new Date(since * 1000).getTimezoneOffset() * 60, all = [];

  for (let at = Math.ceil((since - shift) / stride) * stride + shift; at <= until; at += stride)
    all.push({at, text: tickText(at, stride)});
  return all;
}

function tickText(at, stride) {
  if (stride < 86400)
    return clockTime(at);
  return dayTime(at).replace(/,? \d\d:\d\d$/, '');
}
