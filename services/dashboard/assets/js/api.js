/*
 * api - sends requests to the server. Functions return the server's response or throw an ApiError with
 * its status, its errors and the request id. The CSRF token of the session is kept in memory only.
 */
let csrf = null;
let onSignedOut = () => {};

export class ApiError extends Error {
  constructor(status, errors, requestId, retryAfter) {
    super(errors[0].message);
    this.status = status;
    this.code = errors[0].code;
    this.errors = errors;
    this.requestId = requestId;
    this.retryAfter = retryAfter;
  }
}

const UNREACHABLE = [{code: 'unreachable', message: 'The server cannot be reached. Check your network.'}];
const UNREADABLE = [{code: 'unreadable', message: 'The server sent a response that cannot be read'}];

export function setCsrf(token) {
  csrf = token;
}

/* Called when a response says that the session has ended. */
export function whenSignedOut(listener) {
  onSignedOut = listener;
}

async function read(response) {
  try {
    return JSON.parse(await response.text());
  } catch (error) {
    if (error.name === 'AbortError')
      throw error;
    return null;
  }
}

function failure(response, body) {
  const errors = Array.isArray(body?.errors) && body.errors.length > 0 ? body.errors : UNREADABLE;

  return new ApiError(response.status, errors, body?.request_id ?? null,
                      Number(response.headers.get('Retry-After')) || null);
}

async function send(path, options) {
  try {
    return await fetch(path, {credentials: 'same-origin', cache: 'no-store', ...options});
  } catch (error) {
    if (error.name === 'AbortError')
      throw error;
    throw new ApiError(0, UNREACHABLE, null, null);
  }
}

async function ask(method, path, body, signal, isDoor) {
  const headers = {Accept: 'application/json'};

  if (method !== 'GET') {
    headers['Content-Type'] = 'application/json';
    if (csrf !== null)
      headers['X-CSRF-Token'] = csrf;
  }
  const text = method === 'GET' || method === 'DELETE' ? undefined : JSON.stringify(body ?? {});
  const response = await send(path, {method, headers, signal, body: text});
  const answer = await read(response);

  if (response.ok && (answer !== null || response.status === 204))
    return answer;
  if (response.status === 401 && !isDoor)
    onSignedOut();
  throw failure(response, answer);
}

/* A 429 tells the client how long to wait. A request that only reads waits and is retried
   automatically. */
const WAITS = 3, WAIT_MAX_S = 5;

function pause(seconds, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, seconds * 1000);

    signal?.addEventListener('abort', () => {
      clearTimeout(timer);
      reject(signal.reason);
    }, {once: true});
  });
}

export async function get(path, signal) {
  for (let n = 0;; n++) {
    try {
      return await ask('GET', path, null, signal, false);
    } catch (error) {
      if (error.status !== 429 || n === WAITS || !error.retryAfter || error.retryAfter > WAIT_MAX_S)
        throw error;
      await pause(error.retryAfter, signal);
    }
  }
}

/* Lists without cursors are paged too: a page shorter than this is certainly the last. */
const PAGE_MIN = 50;

/* All of a list; `before` is the last id of the previous page. `listOf` takes the list out of a response
   that is an object. */
export async function getAll(address, signal, listOf = (answer) => answer) {
  const all = [];

  for (;;) {
    const page = listOf(await get(address + query({before: all.at(-1)?.id}), signal));

    all.push(...page);
    if (page.length < PAGE_MIN)
      return all;
  }
}

export const post = (path, body) => ask('POST', path, body, undefined, false);
export const put = (path, body) => ask('PUT', path, body, undefined, false);
export const del = (path) => ask('DELETE', path, null, undefined, false);

/* For the pages before sign-in, where "unauthorized" is an ordinary response. */
export const knock = (path, body) => ask('POST', path, body, undefined, true);

/* If nobody is signed in, the server responds with 200, as an error would show up in the console of every
   visitor. Here it becomes an error. */
export async function whoIsThere() {
  const view = await ask('GET', '/data/session', null, undefined, true);

  if (view.user === null)
    throw new ApiError(401, [{code: 'unauthorized', message: 'Sign in first'}], null, null);
  return view;
}

/* A path with its ids encoded, one segment each: path`/data/keys/${id}`. */
export function path(parts, ...values) {
  return parts.reduce((all, part, i) => all + encodeURIComponent(values[i - 1]) + part);
}

/* '?a=1&b=2' of the values that are present and not empty. */
export function query(values) {
  const given = Object.entries(values).filter(([, v]) => v !== null && v !== undefined && v !== '');

  return given.length === 0 ? '' : `?${new URLSearchParams(given)}`;
}
