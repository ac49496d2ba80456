/* limits - how much of its rate limit each key uses. */
import {h} from '../dom.js';
import {compact, percent, rate} from '../format.js';
import {card} from '../components/section.js';
import {spark} from '../components/spark.js';
import {table} from '../components/table.js';
import {onGrid} from './usage-data.js';

/* A meter, which repeats the number beside it. */
function meter(share) {
  const kind = share >= 0.9 ? 'bad' : share >= 0.7 ? 'warn' : '';

  return h('meter', {class: `use ${kind}`, min: '0', max: '1', value: Math.min(share, 1),
                     'aria-label': 'Share of the limit'});
}

export function limits(usage, range) {
  const {places, step} = onGrid(usage, range), minutes = step / 60;
  const rows = usage.keys.map((key) => {
    const values = places.map((i) => (i === null ? 0 : (key.points[i] ?? 0) / minutes));

    return {...key, values, peak: Math.max(...values)};
  }).sort((a, b) => b.peak / b.limit_per_minute - a.peak / a.limit_per_minute);
  const unit = step === 60 ? 'busiest minute' : `busiest ${step / 60} minutes, as a mean`;

  if (rows.length === 0)
    return null;
  return card({title: 'Rate limit use', text: `By key, in the ${unit}`},
              table({caption: 'Rate limit use by key', rows, columns: [
                {label: 'Key', cell: (key) => h('strong', null, key.name)},
                {label: 'Over time', cell: (key) => spark(key.values, key.limit_per_minute)},
                {label: 'Peak a minute', number: true, cell: (key) => rate(key.peak)},
                {label: 'Limit a minute', number: true, cell: (key) => compact(key.limit_per_minute)},
                {label: 'Used', cell: (key) => h('span', {class: 'used'},
                  meter(key.peak / key.limit_per_minute), percent(key.peak, key.limit_per_minute))},
              ]}));
}
