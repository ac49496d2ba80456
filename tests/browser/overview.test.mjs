// The first page: first steps for a new organization, then its statistics. And the API reference.
import assert from 'node:assert/strict';
import { at, counted, gone, heading, openAs, seen } from './browser.mjs';
import {
  DASHBOARD_URL, call, converse, ctl, key, organization, receiver, until, user,
} from './stack.mjs';
import { suite, test } from './suites.mjs';

suite('overview');

test('a new organization sees the first steps', async () => {
  const page = await openAs(await organization());
  await seen(heading(page, 'First steps'));
  await seen(page.getByText('No requests in this period'));
  await seen(page.getByText('No deliveries in this period'));
  const steps = page.getByRole('list').filter({ hasText: 'Create an API key' });
  assert.equal(await steps.getByRole('listitem').count(), 3);
  await steps.getByRole('link', { name: 'API keys' }).click();
  await at(page, '/keys');
});

const figure = (page, name) =>
  page.getByRole('term').filter({ hasText: new RegExp(`^${name}$`) }).locator('+ dd b');

test('requests, limits and deliveries are drawn, over an hour, a day and a week', async () => {
  const who = await organization();
  const token = await key(who.org, 'full', 'shop');
  const server = await receiver();
  await ctl('webhook', 'create', '--org', who.org, '--url', server.url,
    '--event', 'conversation.created');
  for (let i = 0; i < 5; i++) await call(token, 'GET', '/ping');
  await call(token, 'GET', '/nothing');
  await converse(token, { from: { external_id: 'user-1' } });
  await until(() => server.taken.length > 0, 'a delivery');
  server.close();

  const page = await openAs(who);
  await until(async () => await counted(page, 'usage', 'allowed') === 6, 'requests are counted', 40);
  await until(async () => await counted(page, 'usage', 'rejected') === 1, 'and the failed one', 40);
  await until(async () => await counted(page, 'webhook-statistics', 'delivered') === 1, 'a delivery', 40);
  await page.reload();
  await seen(figure(page, 'Requests'));
  assert.equal(await figure(page, 'Requests').textContent(), '7');
  assert.equal(await heading(page, 'Webhook deliveries').locator('+ p').textContent(),
    '100 % delivered: 1 of 1');
  assert.equal(await figure(page, 'Allowed').textContent(), '85.7 %');
  assert.equal(await figure(page, 'Errors').textContent(), '0');
  const plot = page.getByRole('figure').filter({ has: heading(page, 'Requests a minute') });
  assert.match(await plot.getByRole('img').getAttribute('aria-label'),
    /^Requests a minute, 60 points\. .*Rejected: at most 1/);
  await plot.getByText('Show as a table').click();
  await until(async () => await plot.getByRole('row').count() === 61, 'a row a minute and a head');
  await seen(page.getByRole('row').filter({ hasText: 'shop' }).getByText('of') .or(
    page.getByRole('row').filter({ hasText: 'shop' })));

  for (const [range, points] of [['1 day', 96], ['7 days', 168]]) {
    const name = range === '1 day' ? '24 hours' : range;
    await page.getByRole('link', { name, exact: true }).click();
    await seen(page.getByRole('img', { name: new RegExp(`^Latency, ${points} points`) }));
    assert.equal(await figure(page, 'Requests').textContent(), '7');
  }
});

test('owners see which services run, others do not request it', async () => {
  const who = await organization(), admin = await user(who.org, 'admin');
  const owner = await openAs(who);
  const services = owner.getByRole('region', { name: 'Services' });
  for (const name of ['access', 'conversation', 'search', 'audit', 'webhook']) {
    const line = services.getByRole('row').filter({ hasText: name });
    await seen(line.getByText('Up'));
    assert.match(await line.getByRole('cell').nth(2).textContent(), /^\d+$/);
  }
  await seen(services.getByText(/Oldest unsealed entry: \d+ second/));
  await seen(services.getByText(/Oldest waiting event: \d+ second/));
  await seen(services.getByText('Of the whole deployment'));

  const page = await openAs(admin, '/account'), asked = [];
  page.on('request', (request) => asked.push(new URL(request.url()).pathname));
  await page.goto('/overview');
  await seen(page.getByText('No deliveries in this period'));
  await gone(page.locator('[aria-busy=true]'));
  assert.equal(await page.getByRole('region', { name: 'Services' }).count(), 0);
  assert.ok(asked.includes('/data/usage') && !asked.includes('/data/services'), asked.join());
});

test('services that do not answer are shown as down, and those that lag as behind', async () => {
  const page = await openAs(await organization(), '/account');
  await page.route('**/data/services', (route) => route.fulfill({ json: {
    as_of: 1700000000,
    services: [
      { name: 'access', replicas: 2, ready: 2, lag_s: null },
      { name: 'conversation', replicas: 2, ready: 1, lag_s: null },
      { name: 'search', replicas: 0, ready: 0, lag_s: null },
      { name: 'audit', replicas: 1, ready: 0, lag_s: 121 },
      { name: 'webhook', replicas: 1, ready: 1, lag_s: 60 },
    ],
  } }));
  await page.goto('/overview');
  const services = page.getByRole('region', { name: 'Services' });
  for (const [name, text] of [['access', /Up2/], ['conversation', /Degraded1 of 2 ready/],
    ['search', /Down0/], ['audit', /No database0 of 1 ready.*121 seconds Behind/],
    ['webhook', /Up1Oldest waiting event: 60 seconds $/]]) {
    const line = services.getByRole('row').filter({ hasText: name });
    await seen(line);
    assert.match(await line.textContent(), text);
  }
});

test('the reference has every operation of the description', async () => {
  const page = await openAs(await organization(), '/reference');
  const api = await (await fetch(`${DASHBOARD_URL}/openapi.json`)).json();
  const operations = Object.values(api.paths).flatMap((item) =>
    ['get', 'post', 'put', 'delete'].flatMap((method) => item[method] ?? []));
  assert.ok(operations.length >= 6);
  for (const { operationId, summary, responses } of operations) {
    const section = page.getByRole('region', { name: summary, exact: true });
    await seen(section);
    assert.equal(await section.getAttribute('id'), operationId);
    assert.match(await section.getByRole('group', { name: 'curl' }).textContent(), /^curl /);
    for (const status of Object.keys(responses))
      await seen(section.locator('summary').filter({ hasText: status }));
  }
});
