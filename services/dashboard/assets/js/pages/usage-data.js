/* usage-data - counts over time, with one entry for every step. */
import {now} from '../time.js';

export const RANGES = {
  '1h': {label: '1 hour', seconds: 3600},
  '24h': {label: '24 hours', seconds: 86400},
  '7d': {label: '7 days', seconds: 604800},
};

export const total = (points, field) =>
  points.reduce((all, point) => all + (point?.[field] ?? 0), 0);

/* {at, points, places, step}: a point or null for every step; places: the index of each in the
   response. */
export function onGrid(answer, range) {
  const {step} = answer, found = new Map(answer.points.map((point, i) =>
    [Math.floor(point.at / step) * step, i]));
  const until = Math.floor(now() / step) * step, at = [];

  for (let time = until - RANGES[range].seconds + step; time <= until; time += step)
    at.push(time);
  const places = at.map((time) => found.get(time) ?? null);

  return {at, step, places, points: places.map((i) => (i === null ? null : answer.points[i]))};
}
