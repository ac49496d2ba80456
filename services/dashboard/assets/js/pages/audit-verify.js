/* audit-verify - verifies the audit log against its seal, step by step, and shows the result. */
import {post} from '../api.js';
import {h, replace} from '../dom.js';
import {number, plural} from '../format.js';
import {is} from '../session.js';
import {announce} from '../components/announce.js';
import {facts} from '../components/facts.js';
import {errorNotice, notice} from '../components/notice.js';
import {card} from '../components/section.js';

const FOUND = {
  changed: 'An entry differs from what was sealed',
  removed: 'A sealed entry, a block or a signed retention note is missing',
  inserted: 'An entry was added that was never sealed',
  rewritten: 'The chain was replaced from here on',
  implausible: 'An entry was sealed that no service can have appended',
  misdated: 'The time of an entry is a wrong clock’s, or was made up',
  not_sealed: 'Entries have waited too long to be sealed',
  not_compared: 'The given head is older than the chain',
  forged_note: 'A retention note is not as the service has signed it',
};

/* The first finding of a kind, and how many there are. */
function finding(kind, {count, request_id: request, block, detail}) {
  return [
    notice('bad', h('strong', null, `${FOUND[kind] ?? kind}.`)),
    facts([['Kind', h('code', null, kind)], ['Found', number(count)],
           ['Request', request && h('code', null, request)],
           ['Block', block === null ? null : String(block)],
           ['Detail', detail]]),
  ];
}

function verdict(answer) {
  const counts = facts([
    ['Entries checked', number(answer.entries)], ['Of them sealed', number(answer.sealed)],
    ['Not sealed yet', number(answer.unsealed)],
    ['Expired', number(answer.expired)], ['Blocks', number(answer.blocks)],
    ['Head', answer.head?.block_hash && h('code', null, answer.head.block_hash)],
  ]);

  return h('div', {class: 'stack'},
           answer.ok ? notice('good', h('strong', null, 'The audit log is complete and unaltered.'))
             : Object.entries(answer.findings).flatMap(([kind, found]) => finding(kind, found)),
           counts);
}

/* Repeats the request until the response has no position to continue from. */
async function walk(signal, isStopped, show) {
  let answer = await post('/data/audit/verify', {});

  while (answer.position && !signal.aborted && !isStopped()) {
    show(answer);
    answer = await post('/data/audit/verify', {position: answer.position});
  }
  return answer;
}

export function verifyCard(signal) {
  const place = h('div', {role: 'status'});
  const start = h('button', {type: 'button', class: 'button'}, 'Verify the audit log');
  const stop = h('button', {type: 'button', class: 'button', hidden: true}, 'Stop');
  let isStopped = false;

  function progress({entries, position}) {
    replace(place, h('p', null, h('progress', {'aria-label': 'Verifying'}), ' ',
                     `${plural(Math.max(entries, position.chained), 'entry', 'entries')} checked so far…`));
  }

  stop.addEventListener('click', () => {
    isStopped = true;
  });
  start.addEventListener('click', async () => {
    isStopped = false;
    start.disabled = true;
    stop.hidden = false;
    replace(place, h('p', null, h('progress', {'aria-label': 'Verifying'}), ' Verifying…'));
    try {
      const answer = await walk(signal, () => isStopped, progress);

      replace(place, answer.position ? notice('', 'Stopped before the end: the check is incomplete.')
        : verdict(answer));
      announce(answer.position ? 'Stopped' : answer.ok ? 'The audit log is complete and unaltered'
        : 'The audit log has been altered');
    } catch (error) {
      replace(place, errorNotice(error));
    }
    start.disabled = false;
    stop.hidden = true;
  });
  return card({title: 'Verify', text: 'Checks every entry against the chain of sealed blocks, and the ' +
    'chain against its signatures and published heads.', actions: is('admin') && [stop, start]},
              is('admin') ? place : h('p', {class: 'muted'}, 'An admin or owner can do this.'));
}
