// API keys: created in the page, used by a server, revoked in the page.
import assert from 'node:assert/strict';
import {
  button, confirm, copied, dialog, gone, openAs, row, seen, shut, takeSecret,
} from './browser.mjs';
import { answers, call, organization, run } from './stack.mjs';
import { suite, test } from './suites.mjs';

suite('keys');

async function createKey(page, name, scope = 'Read-only') {
  await button(page, 'Create key').first().click();
  await page.getByLabel('Name', { exact: true }).fill(name);
  await page.getByRole('radio', { name: scope }).check();
  await confirm(page, 'Create key');
  await seen(dialog(page, 'Key created'));
}

// Runs the command that the dialog shows in a shell; returns the status that curl got.
async function pasteCommand(page, token) {
  const shown = await page.getByRole('dialog').getByRole('group', { name: 'Try it' }).textContent();
  const { stdout } = await run('bash', ['-c', `${shown.replace('YOUR_API_KEY', token)} \
    --silent --output /dev/null --write-out '%{http_code}'`]);
  return Number(stdout);
}

test('a key opens the API with the command shown, until it is revoked', async () => {
  const page = await openAs(await organization(), '/keys');
  await seen(page.getByText('No active key yet'));
  await createKey(page, 'billing backend');
  const token = await copied(page, 'API key');
  assert.match(token, /^svc_read_/);
  assert.equal(await pasteCommand(page, token), 200);
  assert.equal((await call(token, 'POST', '/conversations', {})).status, 403, 'its scope is to read');
  await button(page, 'I have stored it').click();
  await seen(row(page, 'billing backend').getByText('Active'));

  await button(page, 'Revoke billing backend').click();
  await confirm(page, 'Revoke key');
  await seen(dialog(page, 'Key revoked').getByText('In effect on all gateways'));
  for (let i = 0; i < 4; i++) assert.equal((await call(token, 'GET', '/ping')).status, 401);
  await shut(page);
  await page.getByText('1 ended key').click();
  await seen(row(page, 'billing backend').getByText('Revoked'));
  assert.equal(await button(page, 'Rotate billing backend').count(), 0);
});

test('a key with full scope writes', async () => {
  const page = await openAs(await organization(), '/keys');
  await createKey(page, 'web', 'Full - read + write');
  const token = await takeSecret(page, 'API key');
  assert.match(token, /^svc_live_/);
  const body = { external_id: 'order-1', from: { external_id: 'user-7' } };
  assert.equal((await call(token, 'POST', '/conversations', body)).status, 201);
  await seen(row(page, 'web').getByText('Full - read + write'));
});

test('a rotated key works alongside its successor for the chosen time', async () => {
  const page = await openAs(await organization(), '/keys');
  await createKey(page, 'worker');
  const first = await takeSecret(page, 'API key');
  await button(page, 'Rotate worker').click();
  await page.getByLabel('The old key ends').selectOption('In 1 hour');
  await confirm(page, 'Rotate key');
  const second = await takeSecret(page, 'API key');
  assert.notEqual(second, first);
  await answers(first, 200);
  await answers(second, 200);
  await seen(row(page, first.slice(-4)).getByText('Ending'));

  await row(page, second.slice(-4)).getByRole('button', { name: 'Rotate worker' }).click();
  await page.getByLabel('The old key ends').selectOption('Now');
  await confirm(page, 'Rotate key');
  const third = await takeSecret(page, 'API key');
  await answers(second, 401, 'unauthorized');
  await answers(third, 200);
});

test('a key that expires shows when', async () => {
  const page = await openAs(await organization(), '/keys');
  await button(page, 'Create key').first().click();
  await page.getByLabel('Name', { exact: true }).fill('trial');
  await page.getByLabel('Expires').selectOption('In 30 days');
  await confirm(page, 'Create key');
  await takeSecret(page, 'API key');
  await seen(row(page, 'trial').getByText(/in (29|30) days/));
});

test('errors of a name are shown at its field', async () => {
  const page = await openAs(await organization(), '/keys');
  await button(page, 'Create key').first().click();
  const name = page.getByLabel('Name', { exact: true });
  await name.fill(' ');
  await confirm(page, 'Create key');
  await seen(page.getByRole('dialog').getByText(/must/));
  assert.equal(await name.getAttribute('aria-invalid'), 'true');
  await confirm(page, 'Cancel');
  await gone(page.getByRole('dialog'));
});
