/* Overview: how the API and the webhooks are doing, over an hour, a day or a week. */
import {get, getAll} from '../api.js';
import {h} from '../dom.js';
import {compact, milliseconds, percent, rate} from '../format.js';
import {is, session} from '../session.js';
import {plot} from '../components/plot.js';
import {card, loaded, pageHead} from '../components/section.js';
import {empty} from '../components/notice.js';
import {firstSteps} from './first-steps.js';
import {limits} from './limits.js';
import {servicesCard} from './services.js';
import {onGrid, RANGES, total} from './usage-data.js';

export const title = 'Overview';

const OUTCOMES = [
  {field: 'allowed', name: 'Allowed', color: 1},
  {field: 'denied', name: 'Denied', color: 2},
  {field: 'rejected', name: 'Rejected', color: 3},
  {field: 'error', name: 'Error', color: 4},
  {field: 'limited', name: 'Limited', color: 6},
];
const PERCENTILES = [
  {field: 'p99', name: 'p99', color: 4},
  {field: 'p95', name: 'p95', color: 2},
  {field: 'p50', name: 'p50', color: 1},
];
const REFRESH_MS = 60000;

function figure(name, value, hint) {
  return h('div', {class: 'figure'}, h('dt', null, name),
           h('dd', null, h('b', {class: 'figure-number'}, value), hint && h('span', null, hint)));
}

const allRequests = (points) => OUTCOMES.reduce((n, {field}) => n + total(points, field), 0);

function requestFigures(points) {
  const all = allRequests(points);
  const slowest = Math.max(...points.map((point) => point?.latency_ms?.p95 ?? 0));

  return h('dl', {class: 'figures'},
           figure('Requests', compact(all)),
           figure('Allowed', percent(total(points, 'allowed'), all)),
           figure('Errors', compact(total(points, 'error')), 'answered 5xx'),
           figure('Rate limited', compact(total(points, 'limited')), 'answered 429'),
           figure('Slowest p95', slowest > 0 ? milliseconds(slowest) : '–'));
}

function requestPlots(usage, range) {
  const {at, points, step} = onGrid(usage, range), minutes = step / 60;

  if (allRequests(points) === 0)
    return [
      card({title: 'Requests'}, empty('No requests in this period', 'As soon as your server calls ' +
        'the API, its requests, their latency and the use of its limits are drawn here.',
                                      h('a', {class: 'button', href: '/keys'}, 'Go to API keys'))),
    ];
  return [
    requestFigures(points),
    h('div', {class: 'columns'},
      h('section', {class: 'card'}, plot({
        title: 'Requests a minute', text: 'By outcome; new requests appear after a minute',
        kind: 'columns', at, step, format: rate,
        series: OUTCOMES.map(({field, name, color}) => ({
          name, color, values: points.map((point) => (point?.[field] ?? 0) / minutes),
        })),
      })),
      h('section', {class: 'card'}, plot({
        title: 'Latency', text: 'Of all requests, as the gateway measures it',
        kind: 'lines', at, step, format: milliseconds,
        series: PERCENTILES.map(({field, name, color}) => ({
          name, color, values: points.map((point) => point?.latency_ms?.[field] ?? null),
        })),
      }))),
    limits(usage, range),
  ];
}

function webhookPlot(statistics, range) {
  const {at, points, step} = onGrid(statistics, range);
  const delivered = total(points, 'delivered'), failed = total(points, 'failed');
  const skipped = total(points, 'skipped');

  if (delivered + failed + skipped === 0)
    return card({title: 'Webhook deliveries'},
                empty('No deliveries in this period', 'Your endpoint is notified of new ' +
                  'conversations, ticket changes and takeovers.',
                      h('a', {class: 'button', href: '/webhooks'}, 'Go to webhooks')));
  return h('section', {class: 'card'}, plot({
    title: 'Webhook deliveries',
    text: `${percent(delivered, delivered + failed)} delivered: ${compact(delivered)} of ` +
      `${compact(delivered + failed)}${skipped > 0 ? `; ${compact(skipped)} skipped, not sent at all` : ''}`,
    kind: 'columns', at, step, format: compact,
    series: [
      {name: 'Delivered', color: 5, values: points.map((point) => point?.delivered ?? 0)},
      {name: 'Failed', color: 4, values: points.map((point) => point?.failed ?? 0)},
      ...skipped > 0 ? [{name: 'Skipped', color: 6, values: points.map((point) => point?.skipped ?? 0)}]
        : [],
    ],
  }));
}

function rangeSwitch(range) {
  return h('nav', {class: 'segments', 'aria-label': 'Time range'},
           Object.entries(RANGES).map(([name, {label}]) =>
             h('a', {href: `/overview?range=${name}`, 'aria-current': name === range && 'true'}, label)));
}

/* The user is neither in a table of the element nor at a point of its plot. */
function isAtRest({element}) {
  const active = document.activeElement;

  return !document.hidden && (active === element || !element.contains(active)) &&
    element.querySelector('details[open]') === null;
}

export function page({query, signal}) {
  const asked = query.get('range'), range = Object.hasOwn(RANGES, asked) ? asked : '1h';
  const usage = loaded({label: 'requests', signal, render: (answer) => requestPlots(answer, range),
                        load: () => get(`/data/usage?range=${range}`, signal)});
  const webhooks = loaded({label: 'webhook deliveries', signal,
                           render: (answer) => webhookPlot(answer, range),
                           load: () => get(`/data/webhook-statistics?range=${range}`, signal)});
  const steps = loaded({label: 'first steps', signal, render: firstSteps,
                        load: () => Promise.all([getAll('/data/keys', signal),
                                                 getAll('/data/webhooks', signal)])});
  const services = is('owner') && session().shows_services &&
    loaded({label: 'the state of the services', signal, render: servicesCard,
            load: () => get('/data/services', signal)});
  const shown = [usage, webhooks, services].filter(Boolean);
  const timer = setInterval(() => shown.filter(isAtRest).forEach((one) => one.reload()), REFRESH_MS);

  signal.addEventListener('abort', () => clearInterval(timer));
  return [
    pageHead('Overview', session().organization.name, rangeSwitch(range)),
    steps.element, shown.map(({element}) => element),
  ];
}
