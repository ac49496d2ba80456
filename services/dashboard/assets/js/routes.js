/*
 * routes - every page: its path, its module, and its place in the navigation. Modules are fetched
 * when their page is first opened. `door`: visible without being signed in.
 */
export const HOME = '/overview';

export const routes = [
  {path: '/sign-in', door: true, load: () => import('./pages/sign-in.js')},
  {path: '/invitation', door: true, load: () => import('./pages/invitation.js')},
  {path: '/overview', load: () => import('./pages/overview.js')},
  {path: '/inbox', load: () => import('./pages/inbox.js')},
  {path: '/inbox/:id', load: () => import('./pages/conversation.js')},
  {path: '/keys', load: () => import('./pages/keys.js')},
  {path: '/reference', load: () => import('./pages/reference.js')},
  {path: '/webhooks', load: () => import('./pages/webhooks.js')},
  {path: '/webhooks/:id', load: () => import('./pages/webhook.js')},
  {path: '/audit', load: () => import('./pages/audit.js')},
  {path: '/audit/changes', load: () => import('./pages/changes.js')},
  {path: '/security', load: () => import('./pages/security.js')},
  {path: '/members', load: () => import('./pages/members.js')},
  {path: '/account', load: () => import('./pages/account.js')},
];

export const navigation = [
  {links: [
    {path: '/overview', name: 'Overview', icon: 'chart'},
    {path: '/inbox', name: 'Inbox', icon: 'inbox'},
  ]},
  {group: 'Integrations', links: [
    {path: '/keys', name: 'API keys', icon: 'key'},
    {path: '/webhooks', name: 'Webhooks', icon: 'send'},
    {path: '/reference', name: 'API reference', icon: 'book'},
  ]},
  {group: 'Organization', links: [
    {path: '/audit', name: 'Audit', icon: 'list'},
    {path: '/security', name: 'Security', icon: 'shield'},
    {path: '/members', name: 'Members and plan', icon: 'people'},
  ]},
  {group: 'You', links: [
    {path: '/account', name: 'Account', icon: 'person'},
  ]},
];

function match(pattern, path) {
  const wanted = pattern.split('/'), given = path.split('/'), params = {};

  if (wanted.length !== given.length)
    return null;
  for (let i = 0; i < wanted.length; i++) {
    if (wanted[i].startsWith(':') && given[i] !== '')
      params[wanted[i].slice(1)] = given[i];
    else if (wanted[i] !== given[i])
      return null;
  }
  return params;
}

/* {route, params}, or null if the path has no page. */
export function find(path) {
  for (const route of routes) {
    const params = match(route.path, path);

    if (params !== null)
      return {route, params};
  }
  return null;
}

/* Where a sign-in leads: to `next` if that is a page that needs a session, else to HOME. */
export function destination(next) {
  const found = find((next ?? '').split('?')[0]);

  return found !== null && !found.route.door ? next : HOME;
}
