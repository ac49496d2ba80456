// Webhook endpoints, with a receiver that accepts deliveries.
import assert from 'node:assert/strict';
import { verified } from '../../docs/samples/webhooks/verify.mjs';
import {
  at, button, confirm, counted, dialog, fact, gone, heading, openAs, row, seen, shut, takeSecret,
} from './browser.mjs';
import { DASHBOARD_URL, converse, key, organization, receiver, run, until } from './stack.mjs';
import { after, before, suite, test } from './suites.mjs';

suite('webhooks');

let who, token, server;
before(async () => {
  who = await organization();
  token = await key(who.org);
  server = await receiver();
});
after(() => server.close());

const eventOf = ({ headers, body }, secret) =>
  verified(secret, headers['x-service-timestamp'], headers['x-service-signature'], body);

const sql = (text) => run('psql', [process.env.DATABASE_URL, '-qX', '-v', 'ON_ERROR_STOP=1', '-c', text]);

const idOf = (page) => new URL(page.url()).pathname.split('/').at(-1);

async function addEndpoint(page, url, ...events) {
  await button(page, 'Add endpoint').first().click();
  await page.getByLabel('URL').fill(url);
  for (const name of events) await page.getByRole('checkbox', { name }).check();
  await confirm(page, 'Add endpoint');
}

// Adds an endpoint, opens its page, and returns its secret.
async function openNew(page, path = '') {
  const url = server.url + path;
  await addEndpoint(page, url, 'ai.handoff');
  const secret = await takeSecret(page, 'Signing secret');
  await page.getByRole('link', { name: url, exact: true }).click();
  await seen(heading(page, new URL(url).host));
  return secret;
}

async function sendTest(page, outcome) {
  await button(page, 'Send test event').click();
  await seen(page.getByText(outcome));
}

const health = (page, word) => seen(fact(page, 'Health').getByText(word, { exact: true }));

test('an endpoint receives signed events, and its log shows them', async () => {
  const page = await openAs(who, '/webhooks');
  await seen(page.getByText('No endpoints yet'));
  const secret = await openNew(page);
  const before = server.taken.length;
  const { id } = await converse(token, { from: { external_id: 'user-7' } });
  await until(() => server.taken.length > before, 'a delivery');
  const event = eventOf(server.taken.at(-1), secret);
  assert.equal(event.type, 'conversation.created');
  assert.equal(event.data.id, id);
  assert.equal(eventOf(server.taken.at(-1), `${secret}x`), null);

  await until(async () => {
    await button(page, 'Refresh').click();
    return button(page, 'Details of conversation.created, succeeded').isVisible();
  }, 'the log has the delivery');
  await button(page, 'Details of conversation.created, succeeded').click();
  const open = dialog(page, 'Delivery of conversation.created');
  assert.equal(await fact(open, 'HTTP status').textContent(), '204');
  assert.equal(await fact(open, 'Event').textContent(), event.id);
  assert.match(await fact(open, 'TLS').textContent(), /ms/);
  await shut(page);
  await health(page, 'Healthy');
});

test('a receiver that breaks shows as degraded, then failing, then healthy again', async () => {
  const page = await openAs(who, '/webhooks');
  await openNew(page, '/broken');
  Object.assign(server, { status: 503, answer: 'out of order' });
  await sendTest(page, /failed: The receiver failed \(503\)/);
  await health(page, 'Healthy');
  await sendTest(page, /failed: The receiver failed/);
  await health(page, 'Degraded');
  for (let i = 3; i <= 5; i++) {
    await sendTest(page, /failed: The receiver failed/);
    await seen(fact(page, 'Failures in a row').getByText(String(i), { exact: true }));
  }
  await health(page, 'Failing');
  assert.match(await fact(page, 'Last error').textContent(), /http_5xx/);
  await page.getByRole('link', { name: '← Webhooks' }).click();
  await seen(row(page, '/broken').getByText('Failing'));
  await page.goBack();
  await button(page, 'Details of webhook.test, failed').first().click();
  await seen(dialog(page, 'Delivery of webhook.test').getByText('out of order'));
  await shut(page);

  Object.assign(server, { status: 204 });
  await sendTest(page, 'webhook.test succeeded: answered 204');
  await health(page, 'Healthy');
  assert.equal(await fact(page, 'Failures in a row').textContent(), '0');
});

test('an endpoint that has failed for 5 days shows that and stays enabled', async () => {
  const page = await openAs(who, '/webhooks');
  await openNew(page, '/long');
  await sql(`UPDATE webhook.progress SET consecutive_failures = 9,
             failing_since = now() - interval '5 days 1 hour' WHERE id = '${idOf(page)}'`);
  await page.reload();
  await seen(page.getByText('This endpoint has accepted nothing for 5 days.'));
  await health(page, 'For 5 days');
  await seen(button(page, 'Disable'));
  await sendTest(page, 'webhook.test succeeded: answered 204');
  await health(page, 'Healthy');
  await gone(page.getByText('This endpoint has accepted nothing for 5 days.'));
  assert.equal(await fact(page, 'Last HTTP status').textContent(), '204');
});

test('failed deliveries are resent, one or all', async () => {
  const page = await openAs(who, '/webhooks');
  const secret = await openNew(page, '/again');
  server.status = 500;
  const failed = [];
  for (let i = 0; i < 3; i++) {
    const sent = server.taken.length;
    await sendTest(page, /failed: The receiver failed/);
    await until(() => server.taken.length > sent, 'a test event'); // the message may belong to the last one
    await until(async () => await fact(page, 'Failures in a row').textContent() === `${i + 1}`,
      'counted');
    failed.push(eventOf(server.taken.at(-1), secret).id);
  }
  server.status = 204;
  await button(page, 'Details of webhook.test, failed').first().click();
  await confirm(page, 'Resend');
  await seen(page.getByText('webhook.test succeeded: answered 204'));
  assert.equal(eventOf(server.taken.at(-1), secret).id, failed[2]);

  const before = server.taken.length;
  await button(page, 'Resend failed').click();
  await page.getByLabel('That failed').selectOption('In the last hour');
  await confirm(page, 'Resend all');
  await seen(page.getByText('2 deliveries queued again'));
  await until(() => server.taken.length === before + 2, 'two more deliveries');
  const again = server.taken.slice(-2).map((one) => eventOf(one, secret).id);
  assert.deepEqual(again.sort(), failed.slice(0, 2).sort());
});

const ofPath = (path) => server.taken.filter(({ url }) => url.endsWith(path));

// Makes the endpoint's waiting retries due after `interval`.
const delayRetries = (endpoint, interval) => sql(
  `UPDATE webhook.retries SET due_at = now() + interval '${interval}' WHERE endpoint_id = '${endpoint}';
   UPDATE webhook.progress SET retry_at = now() + interval '${interval}', retries_from = '-infinity',
                               version = nextval('webhook.version')
    WHERE id = '${endpoint}' AND retries_waiting > 0`);

test('failed deliveries are retried if the endpoint has a schedule', async () => {
  const page = await openAs(who, '/webhooks');
  const secret = await openNew(page, '/retried');
  const id = idOf(page);
  assert.equal(await fact(page, 'Retries').textContent(), 'None');
  await button(page, 'Retries').click();
  await page.getByLabel('When a delivery fails').selectOption('standard');
  await confirm(page, 'Save');
  await seen(fact(page, 'Retries').getByText('Standard', { exact: true }));

  server.status = 500;
  await converse(token, { from: { external_id: 'user-9' } });
  await until(() => ofPath('/retried').length > 0, 'the first attempt');
  server.status = 204;
  await until(async () => {
    await delayRetries(id, '90 min');
    await button(page, 'Refresh').click();
    return fact(page, 'Retries').getByText('Standard: 1 waiting, the next in 1 hour').isVisible();
  }, 'the retry waits');
  await seen(row(page, 'conversation.created').getByText('Retry in 1 hour'));
  await delayRetries(id, '0');
  await until(() => ofPath('/retried').length > 1, 'the retry');
  const [first, second] = ofPath('/retried').map((one) => eventOf(one, secret));
  assert.deepEqual(first, second);
  await until(async () => {
    await button(page, 'Refresh').click();
    return row(page, 'Retry 1 of 6').getByText('Succeeded').isVisible();
  }, 'the log has it');
});

test('a secret is rotated in two steps, and can be kept', async () => {
  const page = await openAs(who, '/webhooks');
  const present = await openNew(page, '/rotated');
  const begin = async () => {
    await button(page, 'Rotate secret').click();
    await confirm(page, 'Create the next secret');
    return takeSecret(page, 'Next signing secret');
  };
  const signs = async (secret) => {
    const sent = ofPath('/rotated').length;
    await button(page, 'Send test event').click();
    await until(() => ofPath('/rotated').length > sent, 'a test event');
    await seen(page.getByText('webhook.test succeeded: answered 204'));
    return eventOf(ofPath('/rotated').at(-1), secret) !== null;
  };

  const dropped = await begin();
  await seen(page.getByText('The secret is being rotated.'));
  await button(page, 'Discard the next secret').click();
  await gone(page.getByText('The secret is being rotated.'));
  const next = await begin();
  assert.equal(new Set([present, dropped, next]).size, 3);
  await seen(page.getByText('The secret is being rotated.'));
  assert(await signs(present));
  await button(page, 'Switch to the next secret').click();
  await confirm(page, 'Switch');
  await gone(page.getByText('The secret is being rotated.'));
  assert(await signs(next));
  assert.equal(eventOf(ofPath('/rotated').at(-1), present), null);
});

// Uses up the organization's delivery budget for this minute.
async function spendBudget() {
  await until(() => new Date().getSeconds() < 40, 'room in the minute', 30);
  await sql(`DELETE FROM webhook.statistics
              WHERE organization_id = '${who.org}' AND minute >= date_trunc('minute', now(), 'UTC')`);
  await sql(`INSERT INTO webhook.statistics (organization_id, minute, delivered, failed, queued)
             VALUES ('${who.org}', date_trunc('minute', now(), 'UTC'), 0, 0, 10000000)`);
}

test('events beyond the budget are shown as skipped, and can be sent', async () => {
  const page = await openAs(who, '/webhooks');
  await openNew(page, '/budget');
  await spendBudget();
  const before = server.taken.length;
  await converse(token, { from: { external_id: 'user-8' } });
  await until(async () => {
    await button(page, 'Refresh').click();
    return button(page, 'Details of conversation.created, skipped').isVisible();
  }, 'the log has what was skipped');
  assert.equal(server.taken.length, before);
  await seen(page.getByText('Some of these events were skipped, not sent.'));
  await seen(row(page, 'conversation.created').getByText('over_budget'));
  await button(page, 'Details of conversation.created, skipped').click();
  assert.match(await fact(dialog(page, 'Delivery of conversation.created'), 'Error').textContent(),
    /Over the limit of deliveries per minute/);
  await confirm(page, 'Resend');
  await seen(page.getByText('conversation.created succeeded: answered 204'));

  await page.goto(`${DASHBOARD_URL}/overview`);
  await until(async () => await counted(page, 'webhook-statistics', 'skipped') > 0, 'it is counted', 40);
  await page.reload();
  await seen(heading(page, 'Webhook deliveries').locator('+ p').getByText(/skipped, not sent at all/));
});

test('a disabled endpoint gets no events until it is enabled, and a deleted one is gone', async () => {
  const page = await openAs(who, '/webhooks');
  await openNew(page, '/switch');
  await button(page, 'Disable').click();
  await confirm(page, 'Disable endpoint');
  await seen(button(page, 'Enable'));
  assert.equal(await button(page, 'Send test event').count(), 0);
  await health(page, 'Disabled');
  await button(page, 'Enable').click();
  await sendTest(page, 'webhook.test succeeded: answered 204');
  await button(page, 'Delete endpoint').click();
  await confirm(page, 'Delete endpoint');
  await at(page, '/webhooks');
  await gone(row(page, '/switch'));
});

test('an endpoint that is not allowed is refused at its field', async () => {
  const page = await openAs(who, '/webhooks');
  await addEndpoint(page, 'https://localhost/hooks');
  await seen(page.getByRole('dialog').getByText('needs a host name with a domain'));
  assert.equal(await page.getByLabel('URL').getAttribute('aria-invalid'), 'true');
});
