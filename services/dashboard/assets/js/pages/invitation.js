/* Accepts an invitation: the token follows the # of the link, so that it reaches no server's log. */
import {knock} from '../api.js';
import {h} from '../dom.js';
import {form} from '../components/form.js';
import {brand, themeSwitch} from '../components/shell.js';
import {passwordFields, samePasswords} from '../components/password.js';
import {go} from '../router.js';
import {beginSession} from '../session.js';

export const title = 'Accept an invitation';

/* Removes the token from the address at once; after that only the form's closure has it. */
function takeToken() {
  const token = location.hash.slice(1);

  history.replaceState(null, '', location.pathname);
  return token;
}

function welcome(token) {
  return [
    h('h1', null, 'Welcome'),
    h('p', {class: 'muted'}, 'You have been invited to manage an organization. Choose a ' +
      'password; you sign in with it and your email address from now on.'),
    form({
      fields: passwordFields({name: 'password', label: 'Password', first: true}),
      submit: 'Accept and sign in',
      run: async (values) => {
        samePasswords(values, 'password');
        await knock('/data/invitation', {token, password: values.password});
        await beginSession();
        go('/overview', {replace: true});
      },
    }),
  ];
}

export function page() {
  const token = takeToken();

  return [
    brand(null),
    h('div', {class: 'card stack'}, token !== '' ? welcome(token) : [
      h('h1', null, 'This link is incomplete'),
      h('p', {class: 'muted'}, 'The invitation is the part of the link after the #. Open the ' +
        'complete link that you received, or ask for another invitation.'),
      h('a', {class: 'button', href: '/sign-in'}, 'Go to sign in'),
    ]),
    h('div', {class: 'door-foot'}, themeSwitch()),
  ];
}
