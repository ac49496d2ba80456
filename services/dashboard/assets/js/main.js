/*
 * main - shows the page of the current address: asks for the signed-in user, loads the page's module,
 * puts it into the frame and moves the focus to its heading.
 *
 * A page is a module with `title` and `page(context) -> elements`; context holds the path's `params`, the
 * `query`, and a `signal` that aborts when the user leaves the page.
 */
import {ApiError, whenSignedOut} from './api.js';
import {h, replace} from './dom.js';
import {startRouter, go} from './router.js';
import {HOME, destination, find} from './routes.js';
import {endSession, forgetSession, refreshSession, session, whenTabsTell} from './session.js';
import {announce} from './components/announce.js';
import {errorNotice, notFound} from './components/notice.js';
import {settled} from './components/section.js';
import {frame, markCurrent} from './components/shell.js';
import {startShortcuts} from './components/shortcuts.js';

/* The previous page stays at most this long; then the next one is shown as far as it has loaded. */
const TIMEOUT_MS = 400;

const app = document.getElementById('app');

let leaving = new AbortController();
let framed = null;

/* Closed before they are removed: closing clears their contents. */
function closeDialogs() {
  for (const dialog of document.querySelectorAll('dialog')) {
    dialog.close();
    dialog.remove();
  }
}

function clear() {
  framed = null;
  replace(app);
  closeDialogs();
  document.querySelector('.toasts')?.remove();
}

/* Several responses may report at once that the session has ended: the first determines the page to
   return to. */
function toTheDoor() {
  const here = location.pathname + location.search;

  if (location.pathname === '/sign-in')
    return;
  endSession();
  clear();
  go(here === HOME ? '/sign-in' : `/sign-in?next=${encodeURIComponent(here)}`, {replace: true});
}

/* The element that the page goes into. */
function place(isDoor) {
  if (isDoor) {
    const main = h('main', {id: 'main', class: 'door', tabindex: '-1'});

    framed = null;
    replace(app, main);
    return main;
  }
  if (framed === null) {
    framed = frame(session());
    replace(app, framed);
  }
  markCurrent(location.pathname);
  return framed.querySelector('main');
}

function present(main, title, elements) {
  document.title = `${title} · Conversations`;
  replace(main, elements);
  scrollTo(0, 0);
  const heading = main.querySelector('h1');

  heading?.setAttribute('tabindex', '-1');
  (main.querySelector('[autofocus]') ?? heading ?? main).focus({preventScroll: true});
  announce(title);
}

function failed(error) {
  present(place(session() === null), 'Something went wrong', [
    h('h1', null, 'This page cannot be shown'),
    errorNotice(error, () => showPage()),
  ]);
}

async function open(found, signal) {
  const [module, isSame] = await Promise.all([
    found.route.load(),
    found.route.door || refreshSession(),
  ]);

  if (signal.aborted)
    return;
  if (!isSame)
    framed = null;
  const context = {params: found.params, query: new URLSearchParams(location.search), signal};
  const elements = module.page(context);

  await settled(TIMEOUT_MS);
  if (!signal.aborted)
    present(place(found.route.door === true), module.title, elements);
}

async function showPage() {
  if (location.pathname === '/')
    history.replaceState(null, '', HOME);
  const found = find(location.pathname);

  leaving.abort();
  closeDialogs();
  leaving = new AbortController();
  const {signal} = leaving;

  if (found === null) {
    present(place(true), 'Not found', notFound(HOME));
    return;
  }
  try {
    await open(found, signal);
  } catch (error) {
    if (signal.aborted)
      return;
    if (error instanceof ApiError && error.status === 401)
      toTheDoor();
    else
      failed(error);
  }
}

/* A browser may cache a page that the user left and show it again: its content is cleared. */
addEventListener('pagehide', (event) => {
  if (event.persisted)
    clear();
});
addEventListener('pageshow', (event) => {
  if (event.persisted)
    location.reload();
});

/*
 * Another tab reports a change: the page may now belong to another user. So its content is cleared at
 * once, and then the server is asked for the signed-in user. A tab at the sign-in page follows a tab that
 * has signed in.
 */
function onTabs(what) {
  if (session() !== null) {
    forgetSession();
    clear();
    showPage();
  } else if (what === 'begun' && location.pathname === '/sign-in') {
    go(destination(new URLSearchParams(location.search).get('next')), {replace: true});
  }
}

whenSignedOut(toTheDoor);
whenTabsTell(onTabs);
startShortcuts();
startRouter(showPage);
