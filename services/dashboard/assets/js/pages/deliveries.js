/* deliveries - the log of an endpoint, and one delivery in full. */
import {path, post} from '../api.js';
import {h, replace} from '../dom.js';
import {milliseconds, words} from '../format.js';
import {is} from '../session.js';
import {time, timeExact} from '../time.js';
import {badge, label} from '../components/badge.js';
import {openDialog} from '../components/dialog.js';
import {facts} from '../components/facts.js';
import {failureCode, failureWords} from '../components/failures.js';
import {errorNotice} from '../components/notice.js';
import {listing} from '../components/listing.js';

const PHASES = [['dns_ms', 'DNS lookup'], ['connect_ms', 'Connect'], ['tls_ms', 'TLS'],
                ['wait_ms', 'Response time']];

function timings(delivery) {
  if (delivery.timings === null)
    return null;
  const most = Math.max(...PHASES.map(([name]) => delivery.timings[name] ?? 0), 1);

  return h('div', null, h('h3', null, 'Timings'),
           h('dl', {class: 'timings'}, PHASES.map(([name, text]) => [
             h('dt', null, text),
             h('dd', null, h('meter', {min: '0', max: String(most), value: delivery.timings[name] ?? 0,
                                       'aria-label': text}),
               h('span', {class: 'figure-number'}, milliseconds(delivery.timings[name]))),
           ])));
}

function excerpt(delivery) {
  return delivery.excerpt && h('div', null, h('h3', null, 'Response, first 4 KB'),
                               h('div', {class: 'code wrap'}, h('pre', null, delivery.excerpt)));
}

function resendButton(delivery, close, follow) {
  const trouble = h('div');
  const button = h('button', {type: 'button', class: 'button primary'}, 'Resend');

  button.addEventListener('click', async () => {
    button.disabled = true;
    try {
      const again = await post(path`/data/deliveries/${delivery.id}/resend`, {});

      close();
      follow(again);
    } catch (error) {
      replace(trouble, errorNotice(error));
      button.disabled = false;
    }
  });
  return [trouble, h('div', {class: 'actions end'}, button)];
}

const cause = ({cause: name, retry}) => (name === 'retry' ? `Retry ${retry} of 6` : words(name));

function openDelivery(delivery, follow) {
  openDialog({
    title: `Delivery of ${delivery.event_type}`, wide: true,
    body: (close) => [
      facts([
        ['State', badge(delivery.state)],
        ['HTTP status', delivery.http_status],
        ['Error', delivery.error && h('span', null, failureWords(delivery.error), ' ',
                                      failureCode(delivery.error))],
        ['Address', delivery.address && h('code', null, delivery.address)],
        ['Cause', cause(delivery)],
        ['Queued', timeExact(delivery.created_at)],
        ['Finished', delivery.finished_at && timeExact(delivery.finished_at)],
        ['Duration', milliseconds(delivery.duration_ms)],
        ['Next retry', delivery.retry_at && timeExact(delivery.retry_at)],
        ['Delivery', h('code', null, delivery.id)],
        ['Event', h('code', null, delivery.event_id)],
        ['Repeats', delivery.previous_id && h('code', null, delivery.previous_id)],
      ]),
      timings(delivery), excerpt(delivery),
      is('admin') && delivery.finished_at && resendButton(delivery, close, follow),
    ],
  });
}

export function deliveryTable(deliveries, state, follow) {
  return listing({caption: 'Deliveries, newest first', rows: deliveries, noun: 'delivery',
                  nouns: 'deliveries', state,
                  isPart: true, columns: [
    {label: 'Event', cell: (one) => [h('strong', null, one.event_type),
                                     one.cause !== 'event' && label(cause(one))]},
    {label: 'State', cell: (one) => [badge(one.state), one.retry_at &&
      h('span', {class: 'sub'}, 'Retry ', time(one.retry_at))]},
    {label: 'Result', cell: (one) => (one.http_status === null && one.error ? failureCode(one.error)
      : h('code', null, String(one.http_status ?? '–')))},
    {label: 'Duration', number: true, cell: (one) => milliseconds(one.duration_ms)},
    {label: 'Queued', cell: (one) => time(one.created_at)},
    {label: 'Actions', actions: true, cell: (one) => h('button', {
      type: 'button', class: 'button compact',
      'aria-label': `Details of ${one.event_type}, ${one.state}`,
      on: {click: () => openDelivery(one, follow)},
    }, 'Details')},
  ]});
}
