// Attacks on the dashboard through a browser.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import {
  at, button, confirm, copied, counted, gone, heading, openAs, provoked, row, seen, session, signIn, visitor,
} from './browser.mjs';
import { settled } from './seed.mjs';
import {
  DASHBOARD_URL, call, converse, convctl, ctl, key, organization, receiver, until,
} from './stack.mjs';
import { before, suite, test } from './suites.mjs';

suite('what others wrote');

const MARKUP = '"\'><img src=x onerror=alert(1)><script>alert(2)</script><svg onload=alert(3)>';

// Elements that the dashboard did not make. There must be none, whatever is stored: text stays text.
const strangers = (page) => page.evaluate(() => [...document.querySelectorAll('*')].filter((one) =>
  ['IMG', 'IFRAME', 'OBJECT', 'EMBED', 'BASE'].includes(one.tagName) ||
  (one.tagName === 'SCRIPT' && !one.src.startsWith(`${location.origin}/assets/`)) ||
  one.getAttributeNames().some((name) => name.startsWith('on')) ||
  /^\s*(javascript|data):/i.test(one.getAttribute('href') ?? '')).map((one) => one.outerHTML));

async function isOnlyText(page, text = MARKUP) {
  assert.deepEqual(await strangers(page), []);
  const shown = await page.locator('main, dialog').allTextContents();
  assert.ok(shown.join().includes(text), 'it is shown as text');
}

// An organization in which every name is MARKUP.
let signedIn, hook, conversation, talk;
before(async () => {
  const who = await organization({ name: MARKUP });
  const token = await key(who.org, 'full', MARKUP);
  const server = await receiver();
  Object.assign(server, { status: 500, answer: MARKUP });
  hook = await ctl('webhook', 'create', '--org', who.org, '--event', 'conversation.created',
    '--url', `${server.url}?a=%3Cimg%20src=x%20onerror=alert(1)%3E`);
  conversation = await converse(token, {
    external_id: MARKUP, custom_attributes: { plan: MARKUP },
    from: { external_id: MARKUP, name: MARKUP },
  });
  talk = await ctl('conversation', 'open', '--org', who.org, '--channel', 'email',
    '--contact-external-id', `2${MARKUP}`);
  await convctl('conversation', 'append', '--org', who.org, talk.id, '--body', MARKUP);
  signedIn = await session(who, { userAgent: `Mozilla/5.0 ${MARKUP}` });
});

async function open(path) {
  const page = await visitor({ storageState: signedIn });
  await page.goto(path);
  await settled(page);
  return page;
}

for (const [what, path] of Object.entries({
  'the name of an organization': () => '/overview',
  'the name of a key': () => '/keys',
  'the name of a contact': () => '/inbox',
  'an id or an attribute': () => `/inbox/${conversation.id}`,
  'a message': () => `/inbox/${talk.id}`,
  'the name of a key in the audit log and its filter': () => '/audit',
})) {
  test(`${what} does not become markup`, async () => isOnlyText(await open(path())));
}

test('the name of a browser does not become markup', async () => {
  const page = await open('/security');
  assert.deepEqual(await strangers(page), []);
  await seen(page.getByRole('table').getByTitle('onerror=alert(1)'));
});

test('the name of a key does not become markup in a dialog', async () => {
  const page = await open('/keys');
  await button(page, `Rotate ${MARKUP}`).click();
  await seen(page.getByRole('dialog'));
  await isOnlyText(page);
});

test('the name of a key does not become markup in the figures', async () => {
  const page = await visitor({ storageState: signedIn });
  await until(async () => await counted(page, 'usage', 'allowed') > 0, 'the key was used', 40);
  await page.goto('/overview');
  await settled(page);
  const figures = page.getByRole('table', { name: 'Rate limit use by key' });
  assert.ok((await figures.textContent()).includes(MARKUP));
  await isOnlyText(page);
});

test('names that people chose do not become markup in the log of changes', async () => {
  const page = await open('/audit/changes');
  await isOnlyText(page, 'onerror=alert(1)');
  await row(page, 'key.create').getByRole('button').click();
  await seen(page.getByRole('dialog').getByText('onerror=alert(1)').first());
  await isOnlyText(page, 'onerror=alert(1)');
});

test('the address of an endpoint and what it answers do not become markup', async () => {
  await isOnlyText(await open('/webhooks'), hook.url);
  const page = await open(`/webhooks/${hook.id}`);
  await button(page, 'Send test event').click();
  await seen(page.getByText(/failed: The receiver failed/));
  await isOnlyText(page, hook.url);
  await page.getByRole('button', { name: 'Details of webhook.test, failed' }).first().click();
  await seen(page.getByRole('dialog').getByText('onerror=alert(1)').first());
  await isOnlyText(page);
});

test('parts of an address do not become markup', async () => {
  const page = await openAs(await organization());
  const text = encodeURIComponent(MARKUP);
  for (const path of [`/inbox/${text}`, `/webhooks/${text}`, `/${text}`, `/overview?range=${text}`,
    `/inbox?contact=${text}&channel=${text}`, `/audit?operation=${text}&conversation_id=${text}`,
    `/audit?starting_after=${text}`, `/overview#${text}`, `/sign-in?next=${text}`,
    `/invitation#${text}`]) {
    await page.goto(path);
    await seen(page.locator('h1, pre')); // unknown paths may be answered with plain text
    assert.deepEqual(await strangers(page), [], path);
  }
});

suite('what other sites try');

test('signing in never leads to another site, whatever ?next= says', async () => {
  const who = await organization();
  const page = await visitor();
  for (const next of ['//evil.example', 'https://evil.example/overview', '/\\evil.example',
    '\\\\evil.example', '/\t/evil.example', '\t//evil.example', 'https:evil.example', '/%2Fevil.example',
    '/overview/..//evil.example', '/inbox/..//evil.example', '/@evil.example', 'javascript:alert(1)',
    'data:text/html,<script>alert(1)</script>', '/sign-in?next=//evil.example', '/data/session']) {
    await page.goto(`/sign-in?next=${encodeURIComponent(next)}`);
    await signIn(page, who);
    await at(page, '/overview');
    await seen(heading(page, 'Overview'));
    assert.equal(new URL(page.url()).origin, DASHBOARD_URL, next);
  }
});

// Opens a page of another site, which may send requests to the dashboard.
async function elsewhere(page, markup) {
  const server = createServer((_, response) =>
    response.writeHead(200, { 'Content-Type': 'text/html' }).end(markup));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  server.unref();
  await page.goto(`http://localhost:${server.address().port}/`);
  return server;
}

test('no page is shown in a frame', async () => {
  const page = await openAs(await organization(), '/keys');
  const server = await elsewhere(page, `<iframe src="${DASHBOARD_URL}/keys"></iframe>
    <iframe src="${DASHBOARD_URL}/sign-in"></iframe>`);
  await until(() => provoked(/frame-ancestors/) > 0, 'the browser refuses');
  for (const frame of page.frames().slice(1))
    assert.equal(await frame.locator('#app').count(), 0, 'none of it is there');
  provoked(/^asked: http:\/\/localhost|frame-ancestors/);
  server.close();
});

test('a form of another site creates nothing', async () => {
  const who = await organization();
  const page = await openAs(who, '/keys');
  const body = '{"name":"theirs","scope":"full","x":"';
  const server = await elsewhere(page, `<form method="post" enctype="text/plain"
    action="${DASHBOARD_URL}/data/keys"><input name='${body}' value='"}'><button>Win</button></form>`);
  const answer = page.waitForResponse(`${DASHBOARD_URL}/data/keys`);
  await button(page, 'Win').click();
  assert.equal((await answer).status(), 403);
  assert.deepEqual(await ctl('key', 'list', '--org', who.org), []);
  provoked(/^asked: http:\/\/localhost/);
  server.close();
});

test('a script of another site reads nothing and changes nothing', async () => {
  const who = await organization();
  const page = await openAs(who, '/keys');
  const server = await elsewhere(page, '<p>Another site</p>');
  const told = await page.evaluate(async (target) => {
    const answers = [];
    for (const options of [{}, { mode: 'no-cors' }, { method: 'DELETE' },
      { method: 'POST', mode: 'no-cors', body: '{}' }]) {
      try {
        const response = await fetch(`${target}/data/session`, { credentials: 'include', ...options });
        answers.push(await response.text());
      } catch (error) {
        answers.push(error.name);
      }
    }
    return answers;
  }, DASHBOARD_URL);
  for (const answer of told) assert.ok(['', 'TypeError'].includes(answer), answer);
  await page.goto('/keys');
  await seen(heading(page, 'API keys'));
  provoked(/^asked: http:\/\/localhost/);
  server.close();
});

suite('secrets');

// All places where a page could keep the secret.
const keeps = (page, secret) => page.evaluate((wanted) => [
  document.documentElement.outerHTML, location.href, document.title, JSON.stringify(history.state),
  JSON.stringify(localStorage), JSON.stringify(sessionStorage),
  ...[...document.querySelectorAll('input, textarea')].map((one) => one.value),
].some((text) => text?.includes(wanted)), secret);

// Each creates a secret and leaves the dialog that shows it open.
const secrets = {
  'an API key': async (page) => {
    await page.goto('/keys');
    await button(page, 'Create key').first().click();
    await page.getByLabel('Name', { exact: true }).fill('web');
    await confirm(page, 'Create key');
    return copied(page, 'API key');
  },
  'a signing secret': async (page) => {
    await page.goto('/webhooks');
    await button(page, 'Add endpoint').first().click();
    await page.getByLabel('URL').fill('https://127.0.0.1:1024/');
    await page.getByRole('checkbox', { name: 'ai.handoff' }).check();
    await confirm(page, 'Add endpoint');
    return copied(page, 'Signing secret');
  },
};

for (const [what, make] of Object.entries(secrets)) {
  test(`${what} is shown once`, async () => {
    const page = await openAs(await organization());
    const secret = await make(page);
    assert.ok(secret.length >= 32);
    assert.ok(await keeps(page, secret));
    await button(page, 'I have stored it').click();
    await gone(page.getByRole('dialog'));
    assert.ok(!await keeps(page, secret), 'after the dialog');
    await page.reload();
    await settled(page);
    assert.ok(!await keeps(page, secret), 'after loading the page again');

    const second = await make(page);
    await page.goBack();
    await at(page, '/overview');
    await seen(heading(page, 'Overview'));
    await gone(page.getByRole('dialog'));
    assert.ok(!await keeps(page, second), 'after going back');
    await page.goForward();
    await settled(page);
    assert.ok(!await keeps(page, second), 'after going forward');

    const third = await make(page);
    await button(page, 'I have stored it').click();
    await button(page, 'Sign out').click();
    await at(page, '/sign-in');
    await page.goBack();
    await seen(heading(page, 'Sign in'));
    for (const one of [secret, second, third]) assert.ok(!await keeps(page, one), 'after signing out');
  });
}

test('a dialog with a secret does not outlast its page', async () => {
  const page = await openAs(await organization());
  await page.getByRole('link', { name: 'API keys' }).first().click();
  await at(page, '/keys');
  await button(page, 'Create key').first().click();
  await page.getByLabel('Name', { exact: true }).fill('web');
  await confirm(page, 'Create key');
  const secret = await copied(page, 'API key');
  await page.goBack();
  await seen(heading(page, 'Overview'));
  await gone(page.getByRole('dialog'));
  assert.ok(!await keeps(page, secret));
});

test('after signing out, no visited page shows anything', async () => {
  const who = await organization({ name: 'Secretive Ltd' });
  const token = await key(who.org, 'full', 'hidden key');
  const { id } = await converse(token, { from: { external_id: 'user-7', name: 'Ada Lovelace' } });
  const page = await openAs(who, '/keys');
  for (const path of [`/inbox/${id}`, '/inbox', '/members']) {
    await page.goto(path);
    await settled(page);
  }
  const other = await page.context().newPage();
  await other.goto('/keys');
  await seen(row(other, 'hidden key'));
  await page.goto('about:blank'); // the browser may keep the whole previous page
  await button(other, 'Sign out').click();
  await at(other, '/sign-in');
  for (let i = 0; i < 4; i++) {
    await page.goBack();
    await seen(heading(page, 'Sign in'));
    const text = await page.locator('body').textContent();
    for (const word of ['Secretive', 'hidden key', 'Ada', who.email])
      assert.ok(!text.includes(word), `${page.url()} has ${word}`);
  }
  const kept = await page.evaluate(async (paths) => {
    const all = await Promise.all(paths.map((path) =>
      fetch(path, { cache: 'only-if-cached', mode: 'same-origin' }).then((one) => one.ok, () => false)));
    return [...all, (await caches.keys()).length > 0];
  }, ['/data/keys', '/data/session', `/data/conversations/${id}`, '/data/members']);
  assert.deepEqual(kept, kept.map(() => false), 'nothing is in a cache');
});

test('the ids of another organization give no access', async () => {
  const theirs = await organization();
  const token = await key(theirs.org);
  const { id } = await converse(token, { from: { external_id: 'user-7', name: 'Ada Lovelace' } });
  const hook = await ctl('webhook', 'create', '--org', theirs.org, '--url', 'https://127.0.0.1:1024/',
    '--event', 'ai.handoff');
  assert.equal((await call(token, 'GET', `/conversations/${id}`)).status, 200);
  const page = await openAs(await organization());
  for (const path of [`/inbox/${id}`, `/webhooks/${hook.id}`, `/audit?conversation_id=${id}`]) {
    await page.goto(path);
    await settled(page);
    const text = await page.getByRole('main').textContent();
    for (const word of ['Ada', '127.0.0.1:1024']) assert.ok(!text.includes(word), `${path} has ${word}`);
    assert.equal(await page.getByRole('row').count(), 0, path);
  }
});
