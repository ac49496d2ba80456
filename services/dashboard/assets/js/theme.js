/* Sets the chosen theme before the first paint. Not a module, which would run too late. */
(function () {
  'use strict';
  var theme = null;

  try {
    theme = localStorage.getItem('theme');
  } catch (error) {
    theme = null; /* storage is switched off: use the system's theme */
  }
  if (theme === 'light' || theme === 'dark')
    document.documentElement.dataset.theme = theme;
})();
