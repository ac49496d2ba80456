// Runs a program to its end; when it fails, the test does, with what the program said.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

// A test runner below ours must not take itself for a part of it.
const { NODE_TEST_CONTEXT, ...inherited } = process.env;

export function run(program, args, { cwd, env } = {}) {
  const options = { cwd, env: { ...inherited, ...env }, maxBuffer: 16 << 20 };
  return promisify(execFile)(program, args, options).catch(({ message, stdout, stderr }) =>
    assert.fail(`${message}\n${stdout}${stderr}`));
}
