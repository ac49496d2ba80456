/* The state of the services, for owners: which run, and how far their background work lags. */
import {h} from '../dom.js';
import {plural} from '../format.js';
import {time} from '../time.js';
import {badge} from '../components/badge.js';
import {card} from '../components/section.js';
import {table} from '../components/table.js';

const TASKS = {
  access: 'Keys, policy, users',
  conversation: 'Conversations and messages',
  search: 'Search',
  audit: 'Audit log',
  webhook: 'Webhooks',
};

/* The kind of lag of a service, and the seconds above which it is worth a warning, as in the alerts. */
const LAGS = {
  audit: {text: 'Oldest unsealed entry', most: 120},
  webhook: {text: 'Oldest waiting event', most: 60},
};

function state({replicas, ready}) {
  if (ready === 0)
    return badge('failing', replicas === 0 ? 'Down' : 'No database');
  return ready < replicas ? badge('degraded') : badge('healthy', 'Up');
}

const count = ({replicas, ready}) =>
  (ready === replicas ? String(replicas) : `${ready} of ${replicas} ready`);

function lag({name, lag_s: seconds}) {
  const known = LAGS[name];

  if (known === undefined || seconds === null)
    return h('span', {class: 'muted'}, '–');
  return [h('span', null, `${known.text}: ${plural(seconds, 'second')}`), ' ',
          seconds > known.most && badge('degraded', 'Behind')];
}

export function servicesCard({services, as_of: asOf}) {
  return card({
    title: 'Services',
    text: ['Of the whole deployment, which other organizations use as well; only owners see this. As of ',
           time(asOf), '.'],
  }, table({caption: 'Services', rows: services, columns: [
    {label: 'Service', cell: (one) => [h('strong', null, one.name),
                                       h('span', {class: 'sub'}, TASKS[one.name])]},
    {label: 'State', cell: state},
    {label: 'Replicas', number: true, cell: count},
    {label: 'Behind with', cell: lag},
  ]}));
}
