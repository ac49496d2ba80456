/*
 * session - who is signed in, as the server last said. Asked for once a visit; roles decide what is
 * shown, never what is allowed: that is the server's part.
 */
import {setCsrf, whoIsThere} from './api.js';

const RANK = {member: 0, admin: 1, owner: 2};

let current = null;

/* Throws what the server answers when nobody is signed in. */
export async function loadSession() {
  current = await whoIsThere();
  setCsrf(current.csrf);
  return current;
}

export function forgetSession() {
  current = null;
  setCsrf(null);
}

export function session() {
  return current;
}

export function is(role) {
  return current !== null && RANK[current.user.role] >= RANK[role];
}
