// Reproducible randomness: everything drawn follows from one number, the seed. It is SEED from the environment,
// or else different in each run; a failing test reports it.
import { randomInt } from 'node:crypto';

export const seed = Number(process.env.SEED ?? randomInt(2 ** 31));

// TEST_LONG=1 runs everything; otherwise tests run a short form.
export const isLong = process.env.TEST_LONG === '1';

export const again = (file) => `${isLong ? 'TEST_LONG=1 ' : ''}SEED=${seed} make test-long ONLY=${file}`;

// Independent dice for each purpose, told apart by `names`: an additional draw from one changes no other.
export function dice(...names) {
  // 128 bits of state, mixed from the texts; then Marsaglia's xorshift.
  const state = new Uint32Array([0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344]);
  for (const [i, c] of [...`${seed} ${names.join(' ')}`].entries())
    state[i & 3] = Math.imul(state[i & 3] ^ c.codePointAt(0) ^ state[(i + 1) & 3] >>> 13, 0x9e3779b1) + i;
  const next = () => {
    const t = state[0] ^ state[0] << 11;
    state.copyWithin(0, 1);
    state[3] = state[2] ^ state[2] >>> 19 ^ t ^ t >>> 8;
    return state[3];
  };
  for (let i = 0; i < 16; i++) next();

  const below = (n) => next() % n;
  const self = {
    below,
    between: (low, high) => low + below(high - low + 1),
    // One time in n.
    once: (n) => below(n) === 0,
    pick: (list) => list[below(list.length)],
    list: (n, draw) => Array.from({ length: n }, (_, i) => draw(i)),
    // The same items in random order.
    shuffled(items) {
      const all = [...items];
      for (let i = all.length - 1; i > 0; i--) {
        const k = below(i + 1);
        [all[i], all[k]] = [all[k], all[i]];
      }
      return all;
    },
    // One VALUE of [WEIGHT, VALUE]..., drawn by weight.
    weighed(...choices) {
      let at = below(choices.reduce((sum, [weight]) => sum + weight, 0));
      return choices.find(([weight]) => (at -= weight) < 0)[1];
    },
  };
  return self;
}
