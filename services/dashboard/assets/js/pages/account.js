/* Account: the reader's own password and sessions. */
import {post} from '../api.js';
import {h} from '../dom.js';
import {plural, words} from '../format.js';
import {session} from '../session.js';
import {toast} from '../components/announce.js';
import {facts} from '../components/facts.js';
import {form, input} from '../components/form.js';
import {passwordFields, samePasswords} from '../components/password.js';
import {card, pageHead} from '../components/section.js';
import {sessionsCard} from './sessions.js';

export const title = 'Account';

function passwordForm(onChanged) {
  const fields = [
    input({name: 'password', label: 'Current password', type: 'password', required: true,
           autocomplete: 'current-password', maxlength: '1024'}),
    ...passwordFields({name: 'new_password', label: 'New password'}),
  ];

  return form({
    fields, submit: 'Change password',
    /* For password managers. */
    extra: h('input', {type: 'text', autocomplete: 'username', value: session().user.email, hidden: true,
                       readonly: true}),
    run: async (values) => {
      samePasswords(values, 'new_password');
      const answer = await post('/data/password',
                                {password: values.password, new_password: values.new_password});

      for (const field of fields)
        field.control.value = '';
      toast(answer?.ended > 0 ? `Password changed; ${plural(answer.ended, 'other session')} ended`
        : 'Password changed');
      onChanged();
    },
  });
}

export function page({signal}) {
  const {user, organization} = session();
  const place = h('div', null, sessionsCard(signal));

  return [
    pageHead('Account'),
    h('div', {class: 'columns'},
      card({title: 'You'}, facts([
        ['Email', user.email], ['Role', words(user.role)], ['Organization', organization.name],
        ['Organization id', h('code', null, organization.id)],
      ])),
      card({title: 'Password', text: 'Changing it ends your other sessions.'},
           passwordForm(() => place.replaceChildren(sessionsCard(signal))))),
    place,
  ];
}
