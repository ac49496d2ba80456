/*
 * time - Unix seconds as users read them: how long ago, with the exact time on hover. One timer
 * updates all times on a page.
 */
import {h} from './dom.js';

const UNITS = [['year', 31557600], ['month', 2629800], ['day', 86400], ['hour', 3600],
               ['minute', 60]];
const relative = new Intl.RelativeTimeFormat('en', {numeric: 'auto'});
const exact = new Intl.DateTimeFormat('en', {
  year: 'numeric', month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit',
  second: '2-digit', hourCycle: 'h23', timeZoneName: 'short',
});
const clock = new Intl.DateTimeFormat('en', {hour: '2-digit', minute: '2-digit', hourCycle: 'h23'});
const dayAndClock = new Intl.DateTimeFormat('en', {
  weekday: 'short', day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit',
  hourCycle: 'h23',
});

export const now = () => Math.floor(Date.now() / 1000);

export function relativeTime(seconds) {
  const ahead = seconds - now();

  for (const [unit, length] of UNITS) {
    if (Math.abs(ahead) >= length)
      return relative.format(Math.trunc(ahead / length), unit);
  }
  return ahead > 0 ? 'in a moment' : Math.abs(ahead) < 10 ? 'just now' : `${-ahead} seconds ago`;
}

export const exactTime = (seconds) => exact.format(seconds * 1000);
export const clockTime = (seconds) => clock.format(seconds * 1000);
export const dayTime = (seconds) => dayAndClock.format(seconds * 1000);

/* <time>, or `none` if there is no time. */
export function time(seconds, none = 'Never') {
  if (seconds === null || seconds === undefined)
    return h('span', {class: 'muted'}, none);
  return h('time', {
    datetime: new Date(seconds * 1000).toISOString(), title: exactTime(seconds), class: 'nowrap',
  }, relativeTime(seconds));
}

/* The exact time, for places where it matters more than how long ago it was. */
export function timeExact(seconds) {
  return h('time', {datetime: new Date(seconds * 1000).toISOString(), 'data-exact': true},
           exactTime(seconds), h('span', {class: 'muted'}, ` (${relativeTime(seconds)})`));
}

setInterval(() => {
  for (const element of document.querySelectorAll('time[title]'))
    element.textContent = relativeTime(Date.parse(element.dateTime) / 1000);
}, 20000);
