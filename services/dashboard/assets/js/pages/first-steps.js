/* first-steps - what to do first, shown until it is done. */
import {h} from '../dom.js';
import {session} from '../session.js';
import {codeBlock} from '../components/copy.js';
import {pingWith} from '../components/curl.js';
import {card} from '../components/section.js';

function step(isDone, title, text, more) {
  return h('li', {class: isDone ? 'done' : null},
           h('div', null, h('strong', null, title), h('span', {class: 'unseen'}, isDone ? ' (done)' : ''),
             !isDone && [h('p', {class: 'muted'}, text), more]));
}

export function firstSteps([keys, endpoints]) {
  const hasKey = keys.length > 0, hasCalled = keys.some((key) => key.last_used_at);

  if (hasKey && hasCalled && endpoints.length > 0)
    return null;
  return card({title: 'First steps'}, h('ol', {class: 'steps'},
    step(hasKey, 'Create an API key', 'Your server authenticates its requests with it.',
         h('a', {class: 'button compact', href: '/keys'}, 'API keys')),
    step(hasCalled, 'Make the first request', 'It tests the key, the plan and the ' +
      'policy; it appears here within a minute or two.',
         hasKey && codeBlock(pingWith(session().base_url, 'YOUR_API_KEY'), {label: 'Ping'})),
    step(endpoints.length > 0, 'Add a webhook endpoint', 'Your server is notified when a conversation ' +
      'begins, and does not have to poll.',
         h('a', {class: 'button compact', href: '/webhooks'}, 'Webhooks'))));
}
