/* One endpoint: its health, what can be done with it, and the log of its deliveries. */
import {get, path, post, put} from '../api.js';
import {h, replace} from '../dom.js';
import {number} from '../format.js';
import {is} from '../session.js';
import {time, timeExact} from '../time.js';
import {toast} from '../components/announce.js';
import {label} from '../components/badge.js';
import {confirmDialog} from '../components/dialog.js';
import {facts} from '../components/facts.js';
import {empty, errorNotice, lookingOnly, notice} from '../components/notice.js';
import {card, loaded, pageHead} from '../components/section.js';
import {deliveryTable} from './deliveries.js';
import {deleteEndpoint, resendFailed} from './webhook-dialogs.js';
import {health} from './webhooks.js';

export const title = 'Webhook endpoint';

const SHOWN = 100;
const POLL_MS = 700;
/* An attempt takes 8 seconds at most; one may wait for others before. */
const POLLS_MOST = 30;

/* A button whose work may fail: the trouble is shown beside it. */
function action(name, run, trouble, kind = '') {
  const button = h('button', {type: 'button', class: `button ${kind}`}, name);

  button.addEventListener('click', async () => {
    button.disabled = true;
    replace(trouble);
    try {
      await run();
    } catch (error) {
      replace(trouble, errorNotice(error));
    }
    button.disabled = false;
  });
  return button;
}

function switchOff(endpoint, reload) {
  confirmDialog({
    title: 'Disable this endpoint?',
    text: 'Events that happen while it is disabled are not sent to it, and not kept for it either.',
    action: 'Disable endpoint',
    run: async () => {
      await put(path`/data/webhooks/${endpoint.id}`, {enabled: false});
      toast('The endpoint is disabled');
      reload();
    },
  });
}

async function switchOn(endpoint, reload) {
  await put(path`/data/webhooks/${endpoint.id}`, {enabled: true});
  toast('The endpoint is enabled');
  reload();
}

function buttons(endpoint, {reload, reloadLog, follow}) {
  const trouble = h('div');

  return h('div', {class: 'spaced stack'},
           h('div', {class: 'actions'},
             endpoint.enabled && action('Send test event', async () =>
               follow(await post(path`/data/webhooks/${endpoint.id}/test`, {})), trouble, 'primary'),
             endpoint.enabled && action('Resend failed', () => resendFailed(endpoint, reloadLog), trouble),
             endpoint.enabled ? action('Disable', () => switchOff(endpoint, reload), trouble)
               : action('Enable', () => switchOn(endpoint, reload), trouble, 'primary'),
             action('Delete endpoint', () => deleteEndpoint(endpoint), trouble, 'danger')),
           trouble);
}

function about(endpoint) {
  return card({title: 'Endpoint'}, facts([
    ['URL', h('code', null, endpoint.url)],
    ['Health', health(endpoint)],
    ['Events', h('span', {class: 'badges'}, endpoint.events.map(label))],
    ['Signing', endpoint.signing ? 'On' : 'Off'],
    ['Attempts', number(endpoint.attempts)],
    ['Failures in a row', number(endpoint.consecutive_failures)],
    ['Last error', endpoint.last_error && h('span', null, h('code', null, endpoint.last_error), ' ',
                                            time(endpoint.last_failure_at))],
    ['Last success', endpoint.last_success_at && timeExact(endpoint.last_success_at)],
    ['Created', timeExact(endpoint.created_at)],
  ]));
}

const isUnderWay = (delivery) => ['pending', 'claimed'].includes(delivery.state);

/* What the server says of a delivery, until it has ended. */
function follower(id, signal, place, reload) {
  const pause = () => new Promise((resolve) => setTimeout(resolve, POLL_MS));

  return async (delivery) => {
    let last = delivery;

    for (let i = 0; i < POLLS_MOST && isUnderWay(last) && !signal.aborted; i++) {
      replace(place, notice('spaced', `${last.event_type} is under way…`));
      await pause();
      const log = await get(`${path`/data/webhooks/${id}/deliveries`}?limit=${SHOWN}`, signal);

      last = log.find((one) => one.id === delivery.id) ?? last;
    }
    const result = last.state === 'succeeded' ? `answered ${last.http_status}` : last.error ?? last.state;

    replace(place, notice(`spaced ${last.state === 'succeeded' ? 'good' : isUnderWay(last) ? '' : 'bad'}`,
                          `${last.event_type}: ${result}`));
    reload();
  };
}

export function page({params, signal}) {
  const {id} = params, outcome = h('div', {role: 'status'});
  const head = pageHead('Webhook endpoint');
  const log = loaded({
    label: 'deliveries', signal,
    load: () => get(`${path`/data/webhooks/${id}/deliveries`}?limit=${SHOWN}`, signal),
    render: (deliveries) => (deliveries.length === 0
      ? empty('Nothing has been sent yet', 'Deliveries appear here as events happen. A test event ' +
          'shows at once whether your receiver answers.')
      : deliveryTable(deliveries, follow)),
  });
  const endpoint = loaded({
    label: 'the endpoint', signal,
    load: async () => {
      const found = (await get('/data/webhooks', signal)).find((one) => one.id === id);

      if (found === undefined)
        throw new Error('There is no such endpoint; it may have been deleted.');
      return found;
    },
    render: (one) => {
      head.querySelector('h1').textContent = new URL(one.url).host;
      return [is('admin') && buttons(one, {reload, reloadLog: log.reload, follow}), about(one)];
    },
  });

  function reload() {
    endpoint.reload();
    log.reload();
  }

  function follow(delivery) {
    return follower(id, signal, outcome, reload)(delivery);
  }

  return [
    h('p', {class: 'back'}, h('a', {href: '/webhooks'}, '← Webhooks')),
    head,
    lookingOnly('the endpoint and its deliveries'),
    outcome, endpoint.element,
    card({title: 'Deliveries', text: `The newest ${SHOWN}; kept for 30 days`,
          actions: h('button', {type: 'button', class: 'button compact', on: {click: reload}},
                     'Refresh')}, log.element),
  ];
}
