/*
 * router - from one page to another without loading the shell again. Links are ordinary links; those
 * to pages of the dashboard are caught here.
 */
let show = () => {};
let shown = null;

const here = () => location.pathname + location.search;

function showHere() {
  shown = here();
  show();
}

function isPage(link) {
  return link.origin === location.origin && !link.hasAttribute('download') && link.target === '' &&
    !link.pathname.startsWith('/data/') && !link.getAttribute('href').startsWith('#');
}

function onClick(event) {
  const link = event.target.closest?.('a[href]');

  if (link === null || link === undefined || event.defaultPrevented || event.button !== 0 ||
      event.metaKey || event.ctrlKey || event.shiftKey || event.altKey || !isPage(link))
    return;
  event.preventDefault();
  go(link.pathname + link.search);
}

/* replace: going back skips the page that is left. */
export function go(address, {replace = false} = {}) {
  if (replace)
    history.replaceState(null, '', address);
  else
    history.pushState(null, '', address);
  showHere();
}

export function startRouter(listener) {
  show = listener;
  document.addEventListener('click', onClick);
  /* A step to another place of the same page, such as its content, shows nothing new. */
  addEventListener('popstate', () => {
    if (here() !== shown)
      showHere();
  });
  showHere();
}
