/*
 * router - moves from one page to another without reloading the shell. Links are ordinary links;
 * those to pages of the dashboard are intercepted here.
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

/* replace: going back skips the current page. */
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
  /* Moving to another anchor of the same page shows nothing new. */
  addEventListener('popstate', () => {
    if (here() !== shown)
      showHere();
  });
  showHere();
}
