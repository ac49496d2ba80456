/* format - formats numbers and codes for users. */
const whole = new Intl.NumberFormat('en');
const short = new Intl.NumberFormat('en', {notation: 'compact', maximumFractionDigits: 1});

export const number = (n) => whole.format(n);
export const compact = (n) => (Math.abs(n) < 10000 ? whole.format(n) : short.format(n));

/* Two significant digits below 100, whole numbers above. */
export function rate(n) {
  return n === 0 || n >= 100 ? whole.format(Math.round(n)) : whole.format(Number(n.toPrecision(2)));
}

export function milliseconds(ms) {
  if (ms === null || ms === undefined)
    return '–';
  if (ms >= 1000)
    return `${Number((ms / 1000).toPrecision(3))} s`;
  return `${Number(ms.toPrecision(ms >= 100 ? 3 : 2))} ms`;
}

/* "100 %" only if it is all of them, and "0 %" only if it is none. */
export function percent(part, all) {
  if (all === 0)
    return '–';
  const share = (part / all) * 100;

  if (share > 0 && share < 0.1)
    return '< 0.1 %';
  const shown = share >= 99 && share < 100 ? Math.floor(share * 10) / 10 : Math.round(share * 10) / 10;

  return `${shown} %`;
}

/* human_takeover -> Human takeover */
export function words(name) {
  const text = String(name).replaceAll('_', ' ');

  return text.charAt(0).toUpperCase() + text.slice(1);
}

export const plural = (n, one, many = `${one}s`) => `${number(n)} ${n === 1 ? one : many}`;
export const shortId = (id) => `${id.slice(0, 8)}…${id.slice(-4)}`;
