/* One conversation: its data, and what users can do with it. */
import {del, get, path, post, put} from '../api.js';
import {h} from '../dom.js';
import {plural, words} from '../format.js';
import {go} from '../router.js';
import {is} from '../session.js';
import {time, timeExact} from '../time.js';
import {toast} from '../components/announce.js';
import {badge, label} from '../components/badge.js';
import {copyButton} from '../components/copy.js';
import {confirmDialog, openDialog} from '../components/dialog.js';
import {facts} from '../components/facts.js';
import {form, select} from '../components/form.js';
import {lookingOnly} from '../components/notice.js';
import {card, loaded, pageHead} from '../components/section.js';
import {table} from '../components/table.js';
import {contactName} from './inbox.js';

export const title = 'Conversation';

/* The allowed next statuses; the server checks them. */
const NEXT = {
  active: ['waiting', 'human_takeover', 'resolved'],
  waiting: ['active', 'human_takeover', 'resolved'],
  human_takeover: ['active', 'waiting', 'resolved'],
  resolved: ['active', 'archived'],
  archived: ['resolved'],
};

const id = (text) => {
  const code = h('code', null, text);

  return h('span', {class: 'with-copy'}, code, ' ', copyButton(code, 'id'));
};

async function setStatus(conversation, status, reload) {
  const moved = await put(path`/data/conversations/${conversation.id}/status`, {status});

  toast(`Status is now ${words(moved.status).toLowerCase()}`);
  reload();
}

function takeOver(conversation, reload) {
  confirmDialog({
    title: 'Take over this conversation?',
    text: 'A person replies from now on: the status changes to human takeover, and webhooks that listen ' +
      'for ai.handoff are notified.',
    action: 'Take over',
    run: () => setStatus(conversation, 'human_takeover', reload),
  });
}

function changeStatus(conversation, reload) {
  openDialog({
    title: 'Change status',
    body: (close) => form({
      fields: [select({name: 'status', label: 'New status', hint:
        `Now: ${words(conversation.status).toLowerCase()}`,
                       options: NEXT[conversation.status].map((name) => [name, words(name)])})],
      submit: 'Change status', cancel: close,
      run: async ({status}) => {
        await setStatus(conversation, status, reload);
        close();
      },
    }),
  });
}

function erase(contact, reload) {
  confirmDialog({
    title: 'Erase this contact?',
    text: [h('p', null, 'Name, email, phone and external id of ', h('strong', null, contactName(contact)),
             ' are removed for good, from all of their conversations. The conversations stay.'),
           'This cannot be undone.'],
    action: 'Erase contact',
    run: async () => {
      await post(path`/data/contacts/${contact.id}/erase`, {});
      toast('The contact has been erased');
      reload();
    },
  });
}

function remove(conversation) {
  confirmDialog({
    title: 'Delete this conversation?',
    text: 'It disappears from the inbox and the API, with its messages. Its external id cannot be ' +
      'used again. This cannot be undone.',
    action: 'Delete conversation',
    run: async () => {
      await del(path`/data/conversations/${conversation.id}`);
      toast('The conversation has been deleted');
      go('/inbox', {replace: true});
    },
  });
}

function buttons(conversation, reload) {
  const button = (name, run, kind = '') =>
    h('button', {type: 'button', class: `button ${kind}`, on: {click: run}}, name);
  const next = NEXT[conversation.status] ?? [];

  return h('div', {class: 'actions spaced'},
           next.includes('human_takeover') &&
             button('Take over', () => takeOver(conversation, reload), 'primary'),
           next.length > 0 && button('Change status', () => changeStatus(conversation, reload)),
           conversation.contact &&
             button('Erase contact', () => erase(conversation.contact, reload), 'danger'),
           button('Delete conversation', () => remove(conversation), 'danger'));
}

function contactFacts(contact, erased) {
  if (contact === null)
    return h('p', {class: 'muted'}, erased ? 'The contact has been erased.' : 'No linked contact.');
  return facts([
    ['Name', contact.name], ['Email', contact.email], ['Phone', contact.phone],
    ['External id', contact.external_id && h('code', null, contact.external_id)],
    ['Id', id(contact.id)],
  ]);
}

function attributes(given) {
  const rows = Object.entries(given);

  if (rows.length === 0)
    return h('p', {class: 'muted'}, 'None. Your servers set them with ',
             h('a', {href: '/reference'}, 'PUT /conversations/{id}'), '.');
  return table({caption: 'Custom attributes', rows, columns: [
    {label: 'Key', cell: ([key]) => h('code', null, key)},
    {label: 'Value', cell: ([, value]) => String(value)},
    {label: 'Type', cell: ([, value]) => label(typeof value)},
  ]});
}

function messageList(messages, count) {
  if (messages.length === 0)
    return h('p', {class: 'muted'}, 'No messages. The API creates conversations empty; messages come in by ' +
      'other channels.');
  return [
    messages.length < count && h('p', {class: 'muted'}, `The newest ${messages.length} of ${count}`),
    h('ol', {class: 'messages'}, messages.map((message) =>
      h('li', null, h('p', {class: 'message'}, message.body ?? 'No text'), time(message.created_at)))),
  ];
}

function show({conversation, messages, erased}, reload) {
  const one = conversation;

  return [
    is('admin') && buttons(one, reload),
    h('div', {class: 'columns'},
      card({title: 'Conversation'}, facts([
        ['Status', badge(one.status)], ['State', words(one.state)], ['Channel', label(one.channel)],
        ['External id', one.external_id && h('code', null, one.external_id)],
        ['Created', timeExact(one.created_at)], ['Updated', timeExact(one.updated_at)],
        ['Last message', one.last_message_at && timeExact(one.last_message_at)], ['Id', id(one.id)],
      ])),
      h('div', null,
        card({title: 'Contact'}, contactFacts(one.contact, erased)),
        card({title: 'Custom attributes'}, attributes(one.custom_attributes)))),
    card({title: 'Messages', text: plural(one.message_count, 'message')},
         messageList(messages, one.message_count)),
  ];
}

export function page({params, signal}) {
  const head = pageHead('Conversation');
  const view = loaded({
    label: 'the conversation', signal,
    load: () => get(path`/data/conversations/${params.id}`, signal),
    render: (answer) => {
      head.querySelector('h1').textContent = answer.erased ? 'Erased contact'
        : contactName(answer.conversation.contact);
      return show(answer, () => view.reload());
    },
  });

  return [
    h('p', {class: 'back'}, h('a', {href: '/inbox'}, '← Inbox')),
    head,
    lookingOnly('the conversation'),
    view.element,
  ];
}
