/* Webhooks: the endpoints that receive events. */
import {getAll} from '../api.js';
import {h} from '../dom.js';
import {number} from '../format.js';
import {is} from '../session.js';
import {now, time} from '../time.js';
import {badge, label} from '../components/badge.js';
import {failureCode} from '../components/failures.js';
import {empty, lookingOnly} from '../components/notice.js';
import {card, loaded, pageHead} from '../components/section.js';
import {listing, listState} from '../components/listing.js';
import {createEndpoint} from './webhook-dialogs.js';

export const title = 'Webhooks';

const address = (endpoint) => `/webhooks/${encodeURIComponent(endpoint.id)}`;

function createButton(reload) {
  return h('button', {type: 'button', class: 'button primary', on: {click: () => createEndpoint(reload)}},
           'Add endpoint');
}

const FAILS_FOR_LONG_S = 5 * 86400;

export const failsForDays = (endpoint) => endpoint.enabled && endpoint.health === 'failing' &&
  endpoint.failing_since !== null && now() - endpoint.failing_since > FAILS_FOR_LONG_S;

export function health(endpoint) {
  return h('span', {class: 'badges'}, badge(endpoint.health),
           failsForDays(endpoint) && badge('failing', 'For 5 days'),
           !endpoint.enabled && badge('disabled'));
}

function list(endpoints, state, reload) {
  if (endpoints.length === 0)
    return empty('No endpoints yet', is('admin') ? 'Enter the HTTPS address of your server and choose ' +
      'its events. Deliveries are signed, so that it can detect forgeries.'
      : 'An endpoint is a server of yours that is notified of events. Ask an admin or owner to add one.',
                 is('admin') && createButton(reload));
  return listing({caption: 'Webhook endpoints', rows: endpoints, noun: 'endpoint', state, columns: [
    {label: 'Endpoint', cell: (one) => [
      h('a', {href: address(one), class: 'strong break'}, one.url),
      h('span', {class: 'badges sub'}, one.events.map(label))]},
    {label: 'Health', cell: health},
    {label: 'Attempts', number: true, cell: (one) => number(one.attempts)},
    {label: 'Last error', cell: (one) => (one.last_error === null ? h('span', {class: 'muted'}, 'None')
      : [failureCode(one.last_error), h('span', {class: 'sub'}, time(one.last_failure_at))])},
    {label: 'Last success', cell: (one) => time(one.last_success_at)},
  ]});
}

export function page({signal}) {
  const state = listState();
  const view = loaded({
    label: 'endpoints', signal, load: () => getAll('/data/webhooks', signal),
    render: (endpoints) => list(endpoints, state, () => view.reload()),
  });

  return [
    pageHead('Webhooks', 'Each event is sent to each endpoint that listens for it. Failed deliveries ' +
      'can be resent, and are retried where the endpoint has retries.',
             is('admin') && createButton(() => view.reload())),
    lookingOnly('endpoints and their deliveries'),
    card({title: 'Endpoints', text: 'Degraded from 2 failures in a row, failing from 5; one success makes ' +
      'an endpoint healthy.'}, view.element),
  ];
}
