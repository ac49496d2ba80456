// The suites of the dashboard's tests run side by side in one process: a browser costs more to start
// than most tests, and they wait for much of their time. The tests of one follow one another. A file
// that is run by itself has its own suite alone; all.mjs imports them all.
import assert from 'node:assert/strict';
import { AsyncLocalStorage } from 'node:async_hooks';
import * as node from 'node:test';

const SIDE_BY_SIDE = 4;
const suites = [];

// Begins one: the hooks and tests below it in the file are its own. Only a common parent lets suites
// run side by side, and it has to know them all: they are declared when every file has been read.
export function suite(name) {
  if (suites.push({ name, parts: [] }) === 1) setImmediate(declare);
}

function declare() {
  const all = suites.splice(0);
  node.describe('the dashboard', { concurrency: SIDE_BY_SIDE }, () => {
    for (const { name, parts } of all)
      node.describe(name, { concurrency: 1 }, () => parts.forEach((part) => part()));
  });
}

const add = (part) => suites.at(-1).parts.push(part);
export const before = (prepare) => add(() => node.before(prepare));
export const after = (clean) => add(() => node.after(clean));
export const test = (name, play) => add(() => node.test(name, (t) => inScene(() => play(t))));

// What belongs to the test that runs: what its pages did that no page may do, and what ends with it.
const scenes = new AsyncLocalStorage();
export const scene = () => scenes.getStore();

async function inScene(play) {
  const mine = { trouble: [], endings: [] };
  const end = (passed) => Promise.all(mine.endings.map((ending) => ending(passed)));
  try {
    await scenes.run(mine, play);
  } catch (error) {
    await end(false);
    if (mine.trouble.length > 0) error.message += `\nBesides: ${mine.trouble.join('\n')}`;
    throw error;
  }
  await end(true);
  assert.deepEqual(mine.trouble, [], 'what no page may do');
}
