/* shell - the frame around the pages: navigation, the signed-in user, the theme, sign-out. */
import {del} from '../api.js';
import {h} from '../dom.js';
import {words} from '../format.js';
import {go} from '../router.js';
import {navigation} from '../routes.js';
import {endSession} from '../session.js';
import {toast} from './announce.js';
import {icon, mark} from './icons.js';
import {keepShortcuts, showShortcuts} from './shortcuts.js';

const THEMES = [['', 'System'], ['light', 'Light'], ['dark', 'Dark']];

function chosenTheme() {
  return document.documentElement.dataset.theme ?? '';
}

function chooseTheme(theme) {
  if (theme === '')
    delete document.documentElement.dataset.theme;
  else
    document.documentElement.dataset.theme = theme;
  try {
    localStorage.setItem('theme', theme);
  } catch (error) {
    toast('The theme is used until this page is closed: nothing is stored in the browser.');
  }
}

export function themeSwitch() {
  return h('label', {class: 'theme-switch'}, 'Theme',
           h('select', {on: {change: (event) => chooseTheme(event.target.value)}},
             THEMES.map(([value, name]) =>
               h('option', {value, selected: value === chosenTheme()}, name))));
}

export function brand(organization) {
  return h('a', {class: 'brand', href: '/overview'}, mark(),
           h('span', {class: 'brand-words'}, h('strong', null, 'Conversations'),
             organization && h('span', null, organization.name)));
}

/* Ends the sessions at `address`, including this one. */
export async function leaveBy(address) {
  await del(address);
  endSession();
  chooseTheme(chosenTheme()); /* signing out cleared the browser's storage */
  keepShortcuts();
  go('/sign-in');
}

async function signOut(event) {
  const button = event.currentTarget;

  button.disabled = true;
  try {
    await leaveBy('/data/session');
  } catch (error) {
    if (error.status === 401)
      return; /* it had already ended, and the sign-in page is shown */
    button.disabled = false;
    toast(`You are still signed in: ${error.message}`);
  }
}

function navLinks() {
  return navigation.map(({group, links}) => [
    group && h('p', {class: 'nav-group', 'aria-hidden': 'true'}, group),
    h('ul', {'aria-label': group}, links.map((link) =>
      h('li', null, h('a', {class: 'nav-link', href: link.path}, icon(link.icon), link.name)))),
  ]);
}

function side(session) {
  return h('aside', {class: 'side', id: 'side', 'aria-label': 'Navigation and account'},
           brand(session.organization),
           h('nav', {'aria-label': 'Main'}, navLinks()),
           h('div', {class: 'side-foot'},
             h('p', {class: 'who'}, h('strong', {title: session.user.email}, session.user.email),
               h('span', {class: 'muted'}, words(session.user.role))),
             themeSwitch(),
             h('button', {type: 'button', class: 'button compact', on: {click: showShortcuts}},
               'Keyboard shortcuts'),
             h('button', {type: 'button', class: 'button compact', on: {click: signOut}},
               'Sign out')));
}

function toggleMenu(button, sideBar, isOpen) {
  sideBar.classList.toggle('open', isOpen);
  button.setAttribute('aria-expanded', String(isOpen));
}

export function frame(session) {
  const sideBar = side(session);
  const button = h('button', {
    type: 'button', class: 'button compact', 'aria-expanded': 'false', 'aria-controls': 'side',
    on: {click: () => toggleMenu(button, sideBar, !sideBar.classList.contains('open'))},
  }, 'Menu');

  sideBar.addEventListener('click', (event) => {
    if (event.target.closest('a'))
      toggleMenu(button, sideBar, false);
  });
  sideBar.addEventListener('keydown', (event) => {
    if (event.key === 'Escape' && sideBar.classList.contains('open')) {
      toggleMenu(button, sideBar, false);
      button.focus();
    }
  });
  return h('div', {class: 'frame'},
           h('header', {class: 'top'}, brand(session.organization), button),
           sideBar,
           h('main', {id: 'main', tabindex: '-1'}));
}

export function markCurrent(path) {
  for (const link of document.querySelectorAll('.nav-link')) {
    const own = link.getAttribute('href');

    if (path === own || path.startsWith(`${own}/`))
      link.setAttribute('aria-current', 'page');
    else
      link.removeAttribute('aria-current');
  }
}
