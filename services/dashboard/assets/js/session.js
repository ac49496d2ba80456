/*
 * session - the signed-in user, as the server last reported. Roles decide here what is shown; the
 * server decides what is allowed.
 */
import {setCsrf, whoIsThere} from './api.js';

const RANK = {member: 0, admin: 1, owner: 2};

/* A role may change during a session: the pages may show the old one for this long. */
const FRESH_MS = 30000;

/* The tabs of a browser share one session: each reports here when it has begun or ended. */
const tabs = new BroadcastChannel('session');

let current = null;
let askedAt = 0;

/* Throws an error if there is no session. */
async function loadSession() {
  askedAt = Date.now();
  current = await whoIsThere();
  setCsrf(current.csrf);
}

/* Whether the signed-in user and the role are the same as before. */
export async function refreshSession() {
  const before = current;

  if (before !== null && Date.now() - askedAt < FRESH_MS)
    return true;
  await loadSession();
  return before?.user.id === current.user.id && before.user.role === current.user.role;
}

export function forgetSession() {
  current = null;
  setCsrf(null);
}

/* A user has just signed in. */
export async function beginSession() {
  await loadSession();
  tabs.postMessage('begun');
}

/* Ends the local session, after a sign-out or when the server reports that the session is over. */
export function endSession() {
  forgetSession();
  tabs.postMessage('ended');
}

/* Called with 'begun' or 'ended' when another tab has reported that. */
export function whenTabsTell(listener) {
  tabs.addEventListener('message', (event) => listener(event.data));
}

export function session() {
  return current;
}

export function is(role) {
  return current !== null && RANK[current.user.role] >= RANK[role];
}
