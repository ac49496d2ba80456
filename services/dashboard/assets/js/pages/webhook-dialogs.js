/* Dialogs to add, change and delete an endpoint, and to resend failed deliveries. */
import {del, path, post, put} from '../api.js';
import {h} from '../dom.js';
import {plural} from '../format.js';
import {go} from '../router.js';
import {now} from '../time.js';
import {toast} from '../components/announce.js';
import {confirmDialog, openDialog} from '../components/dialog.js';
import {checkbox, checkboxes, form, input, select} from '../components/form.js';
import {showSecret} from '../components/secret.js';

const EVENTS = [
  ['conversation.created', 'conversation.created', 'A conversation begins, through the API or in web chat'],
  ['ticket.created', 'ticket.created', 'A ticket is created'],
  ['ticket.resolved', 'ticket.resolved', 'A ticket is closed'],
  ['ai.handoff', 'ai.handoff', 'A person takes over a conversation'],
];
const RETRIES = [['none', 'None: an event is sent once'],
                 ['standard', 'Standard: after 5 s, 1 min, 5 min, 30 min, 2 h and 6 h']];
const SINCE = [['3600', 'In the last hour'], ['86400', 'In the last 24 hours'],
               ['604800', 'In the last 7 days'], ['2592000', 'In the last 30 days']];

function created(dialog, endpoint) {
  if (!endpoint.secret) {
    dialog.close();
    toast('The endpoint has been added, without signing');
    return;
  }
  showSecret(dialog, {
    title: 'Endpoint added',
    text: 'Your receiver uses this secret to verify that a delivery comes from here: HMAC-SHA256 of ' +
      'the timestamp, a full stop and the raw body.',
    label: 'Signing secret', secret: endpoint.secret,
  });
}

export function createEndpoint(reload) {
  const dialog = openDialog({
    title: 'Add an endpoint',
    onClose: reload,
    body: (close) => form({
      fields: [
        input({name: 'url', label: 'URL', type: 'url', required: true, autofocus: true, maxlength: '2048',
               placeholder: 'https://hooks.example.com/conversations', autocomplete: 'off',
               hint: 'HTTPS, on a public address. It must answer 2xx within 8 seconds.'}),
        checkboxes({name: 'events', label: 'Events', options: EVENTS, checked: ['conversation.created']}),
        checkbox({name: 'signing', label: 'Sign deliveries', checked: true,
                  hint: 'Recommended: without it your receiver cannot verify the sender'}),
        select({name: 'retries', label: 'Retries', options: RETRIES, value: 'none',
                hint: 'A retry sends the same event, with its id, as a new delivery'}),
      ],
      submit: 'Add endpoint', cancel: close,
      run: async (values) => created(dialog, await post('/data/webhooks', values)),
    }),
  });
}

export function chooseRetries(endpoint, reload) {
  openDialog({
    title: 'Retries',
    body: (close) => [
      endpoint.retries_waiting > 0 && h('p', null, 'Waiting: ',
                                        plural(endpoint.retries_waiting, 'retry', 'retries'),
                                        '. Without a schedule they are dropped; “Resend failed” sends ' +
                                          'their events.'),
      form({
        fields: [select({name: 'retries', label: 'When a delivery fails', options: RETRIES,
                         value: endpoint.retries})],
        submit: 'Save', cancel: close,
        run: async (values) => {
          await put(path`/data/webhooks/${endpoint.id}`, values);
          toast(values.retries === 'none' ? 'Failed deliveries are not retried'
            : 'Failed deliveries are retried from now on');
          close();
          reload();
        },
      }),
    ],
  });
}

const rotate = (endpoint, step) => post(path`/data/webhooks/${endpoint.id}/rotate-secret`, {step});

/* Nothing changes for the receiver until the rotation is finished, so the first step is always safe. */
export function rotateSecret(endpoint, reload) {
  const dialog = openDialog({
    title: 'Rotate the secret',
    onClose: reload,
    body: (close) => [
      h('p', null, 'This creates the next secret and shows it once. Deliveries stay signed with the ' +
        'current one until you switch, so that you can first have your receiver accept both.'),
      form({
        fields: [], submit: 'Create the next secret', cancel: close,
        run: async () => {
          const {next_secret: secret} = await rotate(endpoint, 'begin');

          showSecret(dialog, {
            title: 'The next secret', label: 'Next signing secret', secret,
            text: 'Have your receiver accept this secret as well as the current one. Then switch on the ' +
              'page of this endpoint.',
          });
        },
      }),
    ],
  });
}

export function switchSecret(endpoint, reload) {
  confirmDialog({
    title: 'Sign with the next secret?',
    text: 'From now on deliveries are signed with the next secret alone, except those already in ' +
      'progress. A receiver that does not accept it refuses them. The current secret is deleted.',
    action: 'Switch',
    run: async () => {
      await rotate(endpoint, 'finish');
      toast('Deliveries are signed with the new secret');
      reload();
    },
  });
}

export async function dropNextSecret(endpoint, reload) {
  await rotate(endpoint, 'cancel');
  toast('The next secret is discarded; the current one stays');
  reload();
}

export function deleteEndpoint(endpoint) {
  confirmDialog({
    title: 'Delete this endpoint?',
    text: [h('p', null, h('code', null, endpoint.url)),
           'It receives no more events and its secret is deleted. The log of its deliveries is kept ' +
             'for 30 days. To pause it, disable it instead.'],
    action: 'Delete endpoint',
    run: async () => {
      await del(path`/data/webhooks/${endpoint.id}`);
      toast('The endpoint has been deleted');
      go('/webhooks', {replace: true});
    },
  });
}

export function resendFailed(endpoint, reload) {
  openDialog({
    title: 'Resend failed deliveries',
    body: (close) => [
      h('p', null, 'Every event whose latest delivery has not succeeded is sent again.'),
      form({
        fields: [select({name: 'since', label: 'That failed', options: SINCE, value: '86400'})],
        submit: 'Resend all', cancel: close,
        run: async ({since}) => {
          const answer = await post(path`/data/webhooks/${endpoint.id}/resend-failed`,
                                    {since: now() - Number(since)});

          toast(`${plural(answer.resent, 'delivery', 'deliveries')} queued again` +
            (answer.left > 0 ? '; there are more: resend again' : ''));
          close();
          reload();
        },
      }),
    ],
  });
}
