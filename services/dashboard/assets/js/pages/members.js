/* Members and plan: who manages the organization, and what it pays for. */
import {del, get, getAll, path, post, put} from '../api.js';
import {h, replace} from '../dom.js';
import {words} from '../format.js';
import {is, session} from '../session.js';
import {exactTime, time} from '../time.js';
import {toast} from '../components/announce.js';
import {badge} from '../components/badge.js';
import {confirmDialog, openDialog} from '../components/dialog.js';
import {facts} from '../components/facts.js';
import {form, input, radios, select} from '../components/form.js';
import {lookingOnly} from '../components/notice.js';
import {card, loaded, pageHead} from '../components/section.js';
import {showSecret} from '../components/secret.js';
import {listing, listState} from '../components/listing.js';

export const title = 'Members and plan';

const ROLES = [
  ['member', 'Member', 'Sees everything, changes nothing'],
  ['admin', 'Admin', 'Changes everything but the plan and the owners'],
  ['owner', 'Owner', 'Also the plan, and who is an owner'],
];
const PLANS = [['free', 'Free: no access to the API'], ['starter', 'Starter'], ['growth', 'Growth'],
               ['enterprise', 'Enterprise']];

/* Only an owner may give or take the role owner. */
const mayGive = () => ROLES.filter(([role]) => role !== 'owner' || is('owner'));
const mayTouch = (member) => is('admin') && (member.role !== 'owner' || is('owner'));

function invite(reload) {
  const dialog = openDialog({
    title: 'Invite a user',
    onClose: reload,
    body: (close) => form({
      fields: [
        input({name: 'email', label: 'Email', type: 'email', required: true, autofocus: true,
               maxlength: '255', autocomplete: 'off'}),
        radios({name: 'role', label: 'Role', options: mayGive(), checked: ['member']}),
      ],
      submit: 'Create invitation', cancel: close,
      run: async (values) => {
        const answer = await post('/data/members', values);

        showSecret(dialog, {
          title: 'Invitation created', label: 'Invitation link',
          text: `Give this link to ${answer.email}; no mail is sent. The first person who opens it chooses ` +
            `the password. It is valid until ${exactTime(answer.expires_at)}.`,
          secret: `${location.origin}/invitation#${answer.invitation}`,
        });
      },
    }),
  });
}

function changeRole(member, reload) {
  openDialog({
    title: `Role of ${member.email}`,
    body: (close) => form({
      fields: [radios({name: 'role', label: 'Role', options: mayGive(), checked: [member.role]})],
      submit: 'Change role', cancel: close,
      run: async (values) => {
        const answer = await put(path`/data/members/${member.id}`, values);

        toast(`${member.email} is now ${words(answer.role).toLowerCase()}`);
        close();
        reload();
      },
    }),
  });
}

function remove(member, reload) {
  confirmDialog({
    title: `Remove ${member.email}?`,
    text: 'They are signed out at once and can no longer sign in to this organization. Their changes ' +
      'stay in the audit log.',
    action: 'Remove member',
    run: async () => {
      await del(path`/data/members/${member.id}`);
      toast(`${member.email} has been removed`);
      reload();
    },
  });
}

function rowActions(member, reload) {
  const act = (name, label, run) => h('button', {
    type: 'button', class: 'button compact', 'aria-label': label, on: {click: () => run(member, reload)},
  }, name);

  return h('div', {class: 'actions'},
           act('Change role', `Change role of ${member.email}`, changeRole),
           act('Remove', `Remove ${member.email}`, remove));
}

/* A warning: an only member may lose the password or leave. */
function alone(members) {
  return members.length === 1 && is('admin') &&
    h('p', {class: 'muted spaced'}, 'You are the only member. Invite a second owner, so that the ' +
      'organization can be managed without you.');
}

function list(members, state, reload) {
  return [alone(members), listing({caption: 'Members', rows: members, noun: 'member', state, columns: [
    {label: 'Email', cell: (one) => [h('strong', {class: 'break'}, one.email),
                                     one.id === session().user.id && h('span', {class: 'sub'}, 'You'),
                                     one.invited_by && h('span', {class: 'sub'},
                                                         `Invited by ${one.invited_by}`)]},
    {label: 'Role', cell: (one) => h('span', {class: 'badges'}, badge(one.role),
                                     one.invited && badge('invited'))},
    {label: 'Last seen', cell: (one) => time(one.last_seen_at)},
    {label: 'Added', cell: (one) => time(one.created_at)},
    is('admin') && {label: 'Actions', actions: true,
                    cell: (one) => mayTouch(one) && rowActions(one, reload)},
  ].filter(Boolean)})];
}

/* The form is not rebuilt on saving, so a plan chosen meanwhile stays chosen. */
function plan(organization) {
  const known = h('div');
  const show = (one) => replace(known, facts([['Organization', one.name],
                                              ['Plan', badge('owner', words(one.plan))]]));

  show(organization);
  if (!is('owner'))
    return h('div', {class: 'stack'}, known,
             h('p', {class: 'muted'}, 'Owners change the plan.'));
  return h('div', {class: 'stack'}, known, form({
    fields: [select({name: 'plan', label: 'Change the plan', options: PLANS, value: organization.plan,
                     hint: 'On Free every request to the API gets a 403'})],
    submit: 'Save plan', kind: '',
    run: async (values) => {
      const saved = await put('/data/organization', values);

      toast(`The plan is now ${words(saved.plan)}`);
      show(saved);
    },
  }));
}

export function page({signal}) {
  /* Oldest first. */
  const allMembers = async () =>
    (await getAll('/data/members', signal, (answer) => answer.members)).reverse();
  const state = listState();
  const members = loaded({
    label: 'members', signal, load: allMembers,
    render: (all) => list(all, state, () => members.reload()),
  });
  const organization = loaded({
    label: 'the plan', signal, load: () => get('/data/organization', signal),
    render: plan,
  });

  return [
    pageHead('Members and plan', 'The users who manage the organization.',
             is('admin') && h('button', {type: 'button', class: 'button primary',
                                         on: {click: () => invite(() => members.reload())}}, 'Invite')),
    lookingOnly('who else is here'),
    card({title: 'Members'}, members.element),
    card({title: 'Plan'}, organization.element),
  ];
}
