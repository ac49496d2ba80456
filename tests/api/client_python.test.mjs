// The client in clients/python: its tests, some of which use the stack, and its installation.
import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { run } from './run.mjs';

const tree = fileURLToPath(new URL('../../', import.meta.url));
const client = join(tree, 'clients/python');
const tests = join(client, 'tests');
const folder = mkdtempSync(join(tmpdir(), 'client-python-'));
after(() => rmSync(folder, { recursive: true }));
// Debian's Python, which has what the client and its tests use.
const python = '/usr/bin/python3';

describe('python', { concurrency: 2 }, () => {
  for (const file of readdirSync(tests).filter((name) => /^test_.*\.py$/.test(name)))
    test(file, async () => {
      const { stderr } = await run(python, ['-W', 'error', '-m', 'unittest', file.slice(0, -3)], {
        cwd: tests,
        env: { PYTHONPATH: join(client, 'src'), PYTHONDONTWRITEBYTECODE: '1' },
      });
      assert.match(stderr, /^Ran [1-9][0-9]* tests? .*\n\nOK$/m);
      assert.doesNotMatch(stderr, /ResourceWarning|Exception ignored/);
    });

  test('pip installs it without a network', async () => {
    const source = join(folder, 'source'), target = join(folder, 'site');
    cpSync(client, source, { recursive: true });
    await run(python, ['-m', 'pip', 'install', '--quiet', '--no-index', '--no-deps', '--no-build-isolation',
      '--no-cache-dir', '--disable-pip-version-check', '--root-user-action', 'ignore', '--target', target, source]);
    const program =
      'import conversations_client as c; print(c.__file__, c.__version__, c.Client("http://localhost", "k"))';
    const { stdout } = await run(python, ['-c', program], { cwd: folder, env: { PYTHONPATH: target } });
    const version = readFileSync(join(tree, 'VERSION'), 'utf8').trim();
    assert.equal(stdout.trim(),
      `${target}/conversations_client/__init__.py ${version} Client('http://localhost')`);
    assert.ok(readdirSync(join(target, 'conversations_client')).includes('py.typed'));
  });
});
