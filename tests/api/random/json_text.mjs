// JSON with exact spellings: numbers keep the text in which they were written.

export class Spelled {
  constructor(text) {
    this.text = text;
  }
}
export const spelled = (text) => new Spelled(text);

// Writes JSON; given dice, with random white space where JSON allows it.
export function write(value, dice) {
  const gap = () => (dice?.once(8) ? dice.pick([' ', '\n', '\t', '\r\n  ']) : '');
  const around = (text) => gap() + text + gap();
  const part = (one) => {
    if (one instanceof Spelled) return around(one.text);
    if (Array.isArray(one)) return around(`[${one.map(part).join(',')}]`);
    if (one === null || typeof one !== 'object') return around(JSON.stringify(one));
    const members = Object.entries(one).filter(([, of]) => of !== undefined);
    return around(`{${members.map(([name, of]) => `${around(JSON.stringify(name))}:${part(of)}`).join(',')}}`);
  };
  return part(value);
}

// A canonical text: equal for two numbers of equal value, however many digits they have.
function numberName(text) {
  const [, minus, whole, fraction = '', exponent = '0'] = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text);
  const digits = (whole + fraction).replace(/^0+/, '');
  const significant = digits.replace(/0+$/, '');
  if (significant === '') return 'number 0';
  const power = Number(exponent) - fraction.length + digits.length - significant.length;
  return `number ${minus}${significant}e${power}`;
}

// A canonical text: equal for two values of an attribute that a typed comparison considers equal.
export function valueName(value) {
  if (value instanceof Spelled) return numberName(value.text);
  return typeof value === 'number' ? numberName(String(value)) : `${typeof value} ${value}`;
}

export const isNumber = (value) => value instanceof Spelled || typeof value === 'number';
const INT64 = 2n ** 63n;
export const isInteger = (value) =>
  value instanceof Spelled
    ? /^-?\d+$/.test(value.text) && BigInt(value.text) < INT64 && BigInt(value.text) >= -INT64
    : Number.isInteger(value);
export const numberOf = (value) => (value instanceof Spelled ? Number(value.text) : value);
