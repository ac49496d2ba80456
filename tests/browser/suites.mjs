// The suites of the dashboard's tests run concurrently in one process: starting a browser takes longer
// than most tests, and tests mostly wait. The tests of one suite run in sequence. A file that is run by
// itself has only its own suites; all.mjs imports them all.
import assert from 'node:assert/strict';
import { AsyncLocalStorage } from 'node:async_hooks';
import * as node from 'node:test';

const SIDE_BY_SIDE = 4;
const suites = [];

// Begins a suite with the hooks and tests that follow in the file. Suites run concurrently only under a
// common parent, which needs all of them, so they are declared after every file has been read.
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

// The state of the running test: forbidden actions of its pages, and cleanup for its end.
const scenes = new AsyncLocalStorage();
export const scene = () => scenes.getStore();

async function inScene(play) {
  const mine = { trouble: [], endings: [] };
  const end = (passed) => Promise.all(mine.endings.map((ending) => ending(passed)));
  try {
    await scenes.run(mine, play);
  } catch (error) {
    await end(false);
    if (mine.trouble.length > 0) error.message += `\nErrors of the page: ${mine.trouble.join('\n')}`;
    throw error;
  }
  await end(true);
  assert.deepEqual(mine.trouble, [], 'the page had errors');
}
