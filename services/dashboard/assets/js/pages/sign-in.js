/* Sign in: email and password, then the organization if several match. */
import {knock} from '../api.js';
import {h, replace} from '../dom.js';
import {form, input, radios} from '../components/form.js';
import {brand, themeSwitch} from '../components/shell.js';
import {go} from '../router.js';
import {destination} from '../routes.js';
import {beginSession} from '../session.js';

export const title = 'Sign in';

async function enter(next) {
  await beginSession();
  go(next, {replace: true});
}

function chooseOrganization(place, organizations, credentials, next) {
  const options = organizations.map(({id, name}) => [id, name]);

  replace(place,
    h('h1', null, 'Choose an organization'),
    form({
      fields: [radios({name: 'organization_id', label: 'Your password is valid for several', options,
                       checked: [organizations[0].id]})],
      submit: 'Continue',
      run: async (values) => {
        await knock('/data/session', {...credentials, ...values});
        await enter(next);
      },
    }));
  place.querySelector('input').focus();
}

export function page({query}) {
  const next = destination(query.get('next'));
  const place = h('div', {class: 'card stack'});
  /* If many organizations have the email, the server tries only a few: the user must name any
     other. */
  const organization = input({
    name: 'organization_id', label: 'Organization id', autocomplete: 'organization', maxlength: '36',
    hint: 'Needed only if your email belongs to many organizations',
    read: (control) => control.value.trim(),
  });

  replace(place,
    h('h1', null, 'Sign in'),
    query.has('next') && h('p', {class: 'notice'}, 'Sign in to continue to the page you requested.'),
    form({
      fields: [
        input({name: 'email', label: 'Email', type: 'email', autocomplete: 'username',
               required: true, autofocus: true, maxlength: '255'}),
        input({name: 'password', label: 'Password', type: 'password', required: true,
               autocomplete: 'current-password', maxlength: '1024'}),
        organization,
      ],
      submit: 'Sign in',
      run: async ({organization_id, ...credentials}) => {
        const values = organization_id === '' ? credentials : {...credentials, organization_id};
        const answer = await knock('/data/session', values);

        if (answer?.organizations)
          chooseOrganization(place, answer.organizations, values, next);
        else
          await enter(next);
      },
    }));
  return [brand(null), place, h('div', {class: 'door-foot'}, themeSwitch())];
}
