// Clients that the usual generators make of proto/openapi.yaml compile under strict TypeScript and work.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { copyFileSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { createClient } from '@hey-api/openapi-ts';
import { root } from './description.mjs';

const run = promisify(execFile);
const tree = fileURLToPath(root);
const modules = join(tree, 'tests/node_modules');
const folder = mkdtempSync(join(tmpdir(), 'generators-'));
const programs = ['openapi-fetch', 'hey-api'];

// Stricter than most: what compiles so compiles for everybody.
const tsconfig = {
  compilerOptions: {
    strict: true, noUncheckedIndexedAccess: true, noImplicitOverride: true, outDir: 'out',
    module: 'nodenext', target: 'es2022', lib: ['es2022', 'dom', 'dom.iterable'], types: ['node'],
    skipLibCheck: true,
  },
  files: programs.map((name) => `${name}.ts`),
};

const tool = (name, ...args) => run(join(modules, '.bin', name), args, { cwd: folder });

const heyApi = (input) =>
  createClient({
    input,
    output: { path: join(folder, 'client'), importFileExtension: '.js' },
    plugins: ['@hey-api/client-fetch', '@hey-api/typescript', '@hey-api/sdk'],
    logs: { level: 'silent' },
  });

before(async () => {
  symlinkSync(modules, join(folder, 'node_modules'));
  writeFileSync(join(folder, 'package.json'), '{"type": "module"}');
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(tsconfig));
  for (const name of programs)
    copyFileSync(join(tree, `tests/api/generators/${name}.ts`), join(folder, `${name}.ts`));
  const description = join(tree, 'proto/openapi.yaml');
  await Promise.all([
    tool('openapi-typescript', description, '--output', 'schema.ts'),
    heyApi(description),
  ]);
  await tool('tsc').catch(({ stdout }) => assert.fail(stdout));
});
after(() => rmSync(folder, { recursive: true }));

for (const name of programs) {
  test(`a client of ${name} creates, reads, searches, updates and reads the audit log`, async () => {
    const env = { ...process.env, CUSTOMER: `generated-${randomUUID()}` };
    const { stdout } = await run(process.execPath, [join(folder, 'out', `${name}.js`)], { env });
    assert.deepEqual(JSON.parse(stdout), {
      read: true,
      attributes: { seats: 6 },
      found: [true],
      audit: ['allowed'],
      code: 'not_found',
    });
  });
}
