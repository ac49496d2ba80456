/* Sets the chosen theme before anything is painted. Not a module: it must run at once. */
(function () {
  'use strict';
  var theme = null;

  try {
    theme = localStorage.getItem('theme');
  } catch (error) {
    theme = null; /* storage is switched off: follow the system */
  }
  if (theme === 'light' || theme === 'dark')
    document.documentElement.dataset.theme = theme;
})();
