// Runs a program to its end; if it fails, the test fails with the program's output.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

// A nested test runner must not consider itself part of ours.
const { NODE_TEST_CONTEXT, ...inherited } = process.env;

export function run(program, args, { cwd, env } = {}) {
  const options = { cwd, env: { ...inherited, ...env }, maxBuffer: 16 << 20 };
  return promisify(execFile)(program, args, options).catch(({ message, stdout, stderr }) =>
    assert.fail(`${message}\n${stdout}${stderr}`));
}
