// All messages on the bus are as proto/asyncapi.yaml describes them. tools/check-contract checks that file
// against the tables in proto.
import assert from 'node:assert/strict';
import { execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { check, operations } from './asyncapi.mjs';
import { listen } from './bus.mjs';
import { root } from './description.mjs';
import { sendEveryCommand } from './every_command.mjs';
import { linters } from './linters.mjs';

const { BIN_DIR, NATS_URL, RUN_DIR } = process.env;
const run = promisify(execFile);

test('redocly reports no problem', async () => {
  assert.deepEqual(await linters.redocly('proto/asyncapi.yaml'), []);
});

// -- the traffic -----------------------------------------------------------------------------------

// Runs the sample as the bus user of an external system.
async function handIn(organization, ...args) {
  const program = join(mkdtempSync(join(tmpdir(), 'external-system-')), 'external-system');
  execFileSync('cc', ['-o', program, new URL('docs/samples/external_system.c', root).pathname, '-lnats']);
  const url = new URL(NATS_URL);
  url.username = 'external';
  url.password = readFileSync(join(RUN_DIR, 'secrets/bus-external'), 'utf8');
  const env = { ...process.env, NATS_URL: url.href };
  return (await run(program, [organization, ...args], { env })).stdout;
}

// Heads of chains are published once a minute and when an audit service starts, so this starts another one.
function startAudit() {
  const settings = `eval "$(grep ^export '${RUN_DIR}/start/audit-0')"`;
  const own = 'export ADMIN_PORT=0 SERVICE_INSTANCE=9';
  return spawn('bash', ['-c', `${settings}; ${own}; exec '${BIN_DIR}/audit'`], { stdio: 'ignore' });
}

let tap;
let asked;
let handedIn;

// Messages with their answers: [{ subject, headers, body, reply, answer }]. Other tests send commands at the
// same time: those sent after the round was complete may have no answer yet and are left out. Service discovery
// is described by NATS.
function exchanges() {
  const replies = new Map(tap.messages.filter((m) => m.to).map((m) => [m.subject, m]));
  const late = (m) => operations.get(m.subject)?.success && m.reply && !asked.has(m);
  return tap.messages.filter((m) => !m.to && !m.subject.startsWith('$SRV.') && !late(m))
    .map((m) => ({ ...m, answer: replies.get(m.reply) }));
}

const isRefused = ({ answer }) => answer !== undefined && check(
  operations.get(answer.to).problems, answer,
).length === 0;

// Bodies come from clients, so only those of accepted commands must be as described.
function faultsOf(exchange) {
  const { subject, answer } = exchange;
  const operation = operations.get(subject);
  if (operation === undefined) return [`${subject} is not described`];
  const about = (what) => (fault) => `${subject} ${what} ${fault}`;
  const refused = operation.problems !== undefined && isRefused(exchange);
  const sent = check(operation.message, exchange).filter((f) => !refused || !f.startsWith('body'));
  if (operation.success === undefined) return sent.map(about('sent'));
  if (answer === undefined) return [`${subject} was not answered`];
  const told = refused ? [] : check(operation.success, answer);
  return [...sent.map(about('sent')), ...told.map(about('answered'))];
}

describe('a round through everything', () => {
  before(async () => {
    tap = await listen(NATS_URL);
    const organization = await sendEveryCommand();
    handedIn = await handIn(organization, 'ticket.created', 'T-2');
    await tap.heard('v1.access.used');
    const audit = startAudit();
    await tap.heard('v1.notice.audit-head');
    audit.kill('SIGTERM');
    await once(audit, 'exit');
    const commands = [...operations].filter(([, one]) => one.success).map(([subject]) => subject);
    asked = new Set(await tap.answered(new Set(commands)));
  });
  after(() => tap.close());

  test('every message is as described', () => {
    assert.ok(tap.messages.length > 100, 'too few messages were captured');
    assert.deepEqual([...new Set(exchanges().flatMap(faultsOf))], []);
  });

  test('every described subject was used, and its replies conform', () => {
    const good = exchanges().filter((e) => operations.has(e.subject) && !isRefused(e));
    const used = new Set(good.filter((e) => e.answer || !e.reply).map((e) => e.subject));
    assert.deepEqual([...operations.keys()].filter((subject) => !used.has(subject)), []);
  });

  test('every command is sent by a program with permission', () => {
    for (const { subject, reply } of exchanges().filter((e) => e.reply?.startsWith('_INBOX.')))
      assert.ok(operations.get(subject).senders.includes(reply.split('.')[1]), `${reply}: ${subject}`);
  });

  test('the sample of an external system publishes an event', () => {
    assert.match(handedIn, /^ok \{"id" : "evt_[0-9a-f]{32}", "type" : "ticket.created"\}\n$/);
  });

  test('the check fails for missing and extra members of bodies and headers', () => {
    let count = 0;
    for (const exchange of exchanges().filter((e) => e.answer && !isRefused(e))) {
      const { success } = operations.get(exchange.subject);
      const { headers, body } = exchange.answer;
      const fails = (changed, what) => {
        assert.notDeepEqual(check(success, changed), [], `${exchange.subject} ${what}`);
        count++;
      };
      fails({ headers: {}, body }, 'without headers');
      fails({ headers: { ...headers, Surplus: '1' }, body }, 'with another header');
      fails({ headers, body: `${body}{` }, 'with a broken body');
      if (body === '' || Array.isArray(JSON.parse(body))) continue;
      const whole = JSON.parse(body);
      fails({ headers, body: JSON.stringify({ ...whole, surplus: 1 }) }, 'with another member');
    }
    assert.ok(count > 100);
  });
});
