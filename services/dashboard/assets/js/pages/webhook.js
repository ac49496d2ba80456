/* One endpoint: its health, its actions, and the log of its deliveries. */
import {get, getAll, path, post, put, query as queryOf} from '../api.js';
import {h, replace} from '../dom.js';
import {number} from '../format.js';
import {is} from '../session.js';
import {time, timeExact} from '../time.js';
import {toast} from '../components/announce.js';
import {label} from '../components/badge.js';
import {confirmDialog} from '../components/dialog.js';
import {facts} from '../components/facts.js';
import {failureCode, failureWords} from '../components/failures.js';
import {empty, errorNotice, lookingOnly, notice} from '../components/notice.js';
import {listState} from '../components/listing.js';
import {card, loaded, pageHead} from '../components/section.js';
import {pager} from '../components/table.js';
import {deliveryTable} from './deliveries.js';
import {
  chooseRetries, deleteEndpoint, dropNextSecret, resendFailed, rotateSecret, switchSecret,
} from './webhook-dialogs.js';
import {failsForDays, health} from './webhooks.js';

export const title = 'Webhook endpoint';

const SHOWN = 50;
/* The server may cut a page of long deliveries short, but never below this. */
const CUT_MIN = 30;
const POLL_MS = 700;
/* An attempt takes 8 seconds at most; it may first wait for others. */
const POLLS_MAX = 30;

/* A button for an action that may fail: the error is shown beside it. */
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
    text: 'Events that happen while it is disabled are neither sent to it nor kept for it. Waiting ' +
      'retries are dropped.',
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
             action('Retries', () => chooseRetries(endpoint, reload), trouble),
             endpoint.signing && action('Rotate secret', () => rotateSecret(endpoint, reload), trouble),
             endpoint.enabled ? action('Disable', () => switchOff(endpoint, reload), trouble)
               : action('Enable', () => switchOn(endpoint, reload), trouble, 'primary'),
             action('Delete endpoint', () => deleteEndpoint(endpoint), trouble, 'danger')),
           trouble);
}

/* Shown between the two steps of a rotation. */
function aboutRotation(endpoint, reload) {
  const trouble = h('div');

  return endpoint.next_secret_at !== null && h(
    'div', {class: 'notice spaced stack'},
    h('p', null, h('strong', null, 'The secret is being rotated. '), 'The next one was created ',
      time(endpoint.next_secret_at), '; deliveries are signed with the current one until you switch. ' +
        'Switch when your receiver accepts both.'),
    is('admin') && h(
      'div', {class: 'actions'},
      action('Switch to the next secret', () => switchSecret(endpoint, reload), trouble, 'primary'),
      action('Discard the next secret', () => dropNextSecret(endpoint, reload), trouble)),
    trouble);
}

/* A failing endpoint is reported but stays enabled; only a user disables it. */
function aboutFailing(endpoint) {
  return failsForDays(endpoint) && notice(
    'spaced bad', h('strong', null, 'This endpoint has accepted nothing for 5 days. '),
    'Failing since ', timeExact(endpoint.failing_since), '. Events are still sent to it. Fix the ' +
      'receiver, then use “Resend failed”; or disable the endpoint.');
}

function retries(endpoint) {
  if (endpoint.retries === 'none')
    return 'None';
  return h('span', null, 'Standard', endpoint.retries_waiting > 0 && [
    `: ${number(endpoint.retries_waiting)} waiting, the next `, time(endpoint.next_retry_at)]);
}

function about(endpoint) {
  return card({title: 'Endpoint'}, facts([
    ['URL', h('code', null, endpoint.url)],
    ['Health', health(endpoint)],
    ['Events', h('span', {class: 'badges'}, endpoint.events.map(label))],
    ['Signing', endpoint.signing ? 'On' : 'Off'],
    ['Retries', retries(endpoint)],
    ['Attempts', number(endpoint.attempts)],
    ['Failures in a row', number(endpoint.consecutive_failures)],
    ['Last error', endpoint.last_error && h('span', null, failureWords(endpoint.last_error), ' ',
                                            failureCode(endpoint.last_error), ' ',
                                            time(endpoint.last_failure_at))],
    ['Last HTTP status', endpoint.last_http_status],
    ['Last success', endpoint.last_success_at && timeExact(endpoint.last_success_at)],
    ['Created', timeExact(endpoint.created_at)],
  ]));
}

const isUnderWay = (delivery) => ['pending', 'claimed'].includes(delivery.state);

function outcomeOf(delivery) {
  const {event_type: type, state} = delivery;

  if (state === 'succeeded')
    return notice('spaced good', `${type} succeeded: answered ${delivery.http_status}`);
  if (isUnderWay(delivery))
    return notice('spaced', `${type} is still waiting; its result will appear in the log`);
  if (state === 'skipped')
    return notice('spaced warn', `${type} was skipped, not sent: ${failureWords(delivery.error)}`);
  return notice('spaced bad', `${type} ${state}: ${failureWords(delivery.error ?? 'internal')}`,
                delivery.http_status !== null && ` (${delivery.http_status})`);
}

/* Polls the server for the state of a delivery, until the delivery has ended. */
function follower(id, signal, place, reload) {
  const pause = () => new Promise((resolve) => setTimeout(resolve, POLL_MS));

  return async (delivery) => {
    let last = delivery;

    for (let i = 0; i < POLLS_MAX && isUnderWay(last) && !signal.aborted; i++) {
      replace(place, notice('spaced', `${last.event_type} is in progress…`));
      await pause();
      const log = await get(`${path`/data/webhooks/${id}/deliveries`}?limit=${SHOWN}`, signal);

      last = log.find((one) => one.id === delivery.id) ?? last;
    }
    replace(place, outcomeOf(last));
    reload();
  };
}

/* Events that were never tried and that the user may miss. Endpoints that were disabled or deleted
   are left out, since that is deliberate. */
function aboutSkipped(deliveries) {
  const reasons = new Set(deliveries
    .filter(({state, error}) => state === 'skipped' && ['over_budget', 'expired'].includes(error))
    .map(({error}) => error));

  return reasons.size > 0 && notice(
    'spaced warn', h('strong', null, 'Some of these events were skipped, not sent. '),
    [...reasons].map((error) => `${failureWords(error)}. `),
    is('admin') && '“Resend failed” sends them as well, for 30 days.');
}

function showLog(deliveries, state, follow, address, before) {
  if (deliveries.length === 0 && before === null)
    return empty('Nothing has been sent yet', 'Deliveries appear here as events happen. ' +
      (is('admin') ? '“Send test event” above shows at once whether your receiver answers.'
        : 'An admin or owner can send a test event.'));
  const last = deliveries.length >= CUT_MIN ? {next: {starting_after: deliveries.at(-1).id}} : {};

  return [
    aboutSkipped(deliveries),
    deliveries.length > 0 && deliveryTable(deliveries, state, follow),
    pager(last, (next) => address + queryOf({before: next}), before === null),
  ];
}

export function page({params, query, signal}) {
  const {id} = params, before = query.get('before'), state = listState();
  const outcome = h('div', {role: 'status'});
  const head = pageHead('Webhook endpoint');
  const log = loaded({
    label: 'deliveries', signal,
    load: () => get(path`/data/webhooks/${id}/deliveries` + queryOf({limit: SHOWN, before}), signal),
    render: (deliveries) => showLog(deliveries, state, follow, path`/webhooks/${id}`, before),
  });
  const endpoint = loaded({
    label: 'the endpoint', signal,
    load: async () => {
      const found = (await getAll('/data/webhooks', signal)).find((one) => one.id === id);

      if (found === undefined)
        throw new Error('There is no such endpoint; it may have been deleted.');
      return found;
    },
    render: (one) => {
      head.querySelector('h1').textContent = new URL(one.url).host;
      return [aboutFailing(one), aboutRotation(one, reload),
              is('admin') && buttons(one, {reload, reloadLog: log.reload, follow}), about(one)];
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
    card({title: 'Deliveries', text: 'Newest first; kept for 30 days',
          actions: h('button', {type: 'button', class: 'button compact', on: {click: reload}},
                     'Refresh')}, log.element),
  ];
}
