// Members of an organization, and what each role may do.
import assert from 'node:assert/strict';
import {
  at, button, confirm, fact, gone, heading, nav, openAs, row, seen, signIn, takeSecret, visitor,
} from './browser.mjs';
import { answers, converse, ctl, key, organization, run, user } from './stack.mjs';
import { before, suite, test } from './suites.mjs';

suite('members');

const PASSWORD = 'correct horse battery staple';

let who;
before(async () => {
  who = await organization();
});

async function invite(page, email, role) {
  await button(page, 'Invite').click();
  await page.getByLabel('Email').fill(email);
  await page.getByRole('radio', { name: role }).check();
  await confirm(page, 'Create invitation');
  return takeSecret(page, 'Invitation link');
}

async function accept(link) {
  const page = await visitor();
  await page.goto(link);
  await page.getByLabel('Password', { exact: true }).fill(PASSWORD);
  await page.getByLabel('Repeat password').fill(PASSWORD);
  await button(page, 'Accept and sign in').click();
  await at(page, '/overview');
  return page;
}

async function setRole(page, email, role) {
  await button(page, `Change role of ${email}`).click();
  await page.getByRole('radio', { name: role }).check();
  await confirm(page, 'Change role');
}

test('a user is invited, signs in, changes role at once, and is removed at once', async () => {
  const owner = await openAs(who, '/members');
  const email = 'grace@example.com';
  const link = await invite(owner, email, 'Member');
  await seen(row(owner, email).getByText('Invited'));
  const grace = await accept(link);
  assert.ok(!grace.url().includes('#'), 'the address forgets the invitation');

  await nav(grace, 'API keys').click();
  await seen(grace.getByText(/You are a member/));
  assert.equal(await button(grace, 'Create key').count(), 0);

  await setRole(owner, email, 'Admin');
  await seen(row(owner, email).getByText('Admin'));
  await grace.reload();
  await button(grace, 'Create key').first().click();
  await setRole(owner, email, 'Member');
  await seen(row(owner, email).getByText('Member'));
  // Her page still shows an admin's dialog; the server refuses it.
  await grace.getByLabel('Name', { exact: true }).fill('too late');
  await confirm(grace, 'Create key');
  await seen(grace.getByRole('dialog').getByRole('alert').getByText(/role/));
  await grace.reload();
  await seen(grace.getByText('No active key yet'));

  await button(owner, `Remove ${email}`).click();
  await confirm(owner, 'Remove member');
  await gone(row(owner, email));
  await nav(grace, 'Inbox').click();
  await at(grace, '/sign-in?next=%2Finbox');
  await signIn(grace, { email, password: PASSWORD });
  await seen(grace.getByRole('alert'));
});

// More members than one answer holds: members on no page are found, and the earliest are at the top.
test('every member is shown, however many there are', async () => {
  const many = 1100;
  const crowd = await organization({ name: 'Crowd' });
  await run('psql', [process.env.DATABASE_URL, '-qX', '-v', 'ON_ERROR_STOP=1', '-c',
    `INSERT INTO access.users (organization_id, user_id, email, role, password_hash)
     SELECT '${crowd.org}', ('ff' || substr(gen_random_uuid()::text, 3))::uuid,
            'm' || n || '@example.com', 'member', 'x' FROM generate_series(1, ${many}) AS n`]);
  const page = await openAs(crowd, '/members');
  const rows = page.getByRole('table').locator('tbody tr');
  await seen(page.getByText(`${(1 + many).toLocaleString('en')} members`));
  await seen(rows.first().getByText(crowd.email));
  await page.getByLabel('Filter members').fill('m1@example.com');
  await seen(row(page, 'm1@example.com'));
  assert.equal(await rows.count(), 1);
});

test('an invitation is valid once', async () => {
  const owner = await openAs(who, '/members');
  const link = await invite(owner, 'alan@example.com', 'Admin');
  await accept(link);
  const late = await visitor();
  await late.goto(link);
  await late.getByLabel('Password', { exact: true }).fill(PASSWORD);
  await late.getByLabel('Repeat password').fill(PASSWORD);
  await button(late, 'Accept and sign in').click();
  await seen(late.getByRole('alert'));
  assert.deepEqual(await late.context().cookies(), []);
});

test('the last owner stays owner', async () => {
  const page = await openAs(who, '/members');
  await setRole(page, who.email, 'Admin');
  await seen(page.getByRole('dialog').getByText(/owner/).last());
  await confirm(page, 'Cancel');
  await seen(row(page, who.email).getByText('Owner'));
});

test('the owner changes the plan, and the API follows', async () => {
  const other = await organization();
  const token = await key(other.org);
  const page = await openAs(other, '/members');
  await page.getByLabel('Change the plan').selectOption('Free: no access to the API');
  await button(page, 'Save plan').click();
  await seen(page.getByText('The plan is now Free'));
  await answers(token, 403, 'api_plan_restricted');
  await page.getByLabel('Change the plan').selectOption('Growth');
  await button(page, 'Save plan').click();
  await answers(token, 200);
});

// However slowly the page loads what it shows.
test('a plan chosen while another is being saved is not lost', async () => {
  const other = await organization();
  const page = await openAs(other, '/members');
  const choice = page.getByLabel('Change the plan');
  const late = [];
  await seen(choice);
  await page.route('**/data/organization', (route) =>
    (route.request().method() === 'GET' ? late.push(route) : route.continue()));
  await choice.selectOption('Starter');
  await button(page, 'Save plan').click();
  await seen(page.getByText('The plan is now Starter'));
  await choice.selectOption('Enterprise');
  await Promise.all(late.map((route) => route.continue()));
  await button(page, 'Save plan').click();
  await seen(page.getByText('The plan is now Enterprise'));
  assert.equal(await fact(page, 'Plan').innerText(), 'Enterprise');
});

test('an admin has neither the plan nor owners to change', async () => {
  const page = await openAs(await user(who.org, 'admin'), '/members');
  await seen(page.getByText('Owners change the plan.'));
  assert.equal(await button(page, 'Save plan').count(), 0);
  assert.equal(await button(page, `Change role of ${who.email}`).count(), 0);
  await button(page, 'Invite').click();
  assert.equal(await page.getByRole('radio', { name: /^Owner/ }).count(), 0);
});

test('a member sees every page and can change nothing but their own', async () => {
  const token = await key(who.org);
  const { id } = await converse(token, { from: { external_id: 'user-7', name: 'Ada' } });
  const { id: hook } = await ctl('webhook', 'create', '--org', who.org, '--url',
    'https://127.0.0.1:1024/', '--event', 'ai.handoff');
  const page = await openAs(await user(who.org, 'member'));
  const pages = {
    [`/inbox/${id}`]: 'Ada', '/keys': 'API keys', [`/webhooks/${hook}`]: '127.0.0.1:1024',
    '/webhooks': 'Webhooks', '/security': 'Security', '/members': 'Members and plan',
    '/audit': 'Audit',
  };
  for (const [path, name] of Object.entries(pages)) {
    await page.goto(path);
    await seen(heading(page, name));
    await gone(page.locator('[aria-busy=true]'));
    const buttons = await page.getByRole('main').getByRole('button').allTextContents();
    const changing = buttons.filter((text) =>
      !/^(Copy|Details|Refresh|Sign out everywhere|Apply filters|End)$/.test(text));
    assert.deepEqual(changing, [], path);
  }
});
