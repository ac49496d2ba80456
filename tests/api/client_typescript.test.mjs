// The client in clients/typescript: its tests, some of which use the stack; its package; and that its types
// match proto/openapi.yaml.
import assert from 'node:assert/strict';
import {
  cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import openapiTypeScript, { astToString } from 'openapi-typescript';
import ts from 'typescript';
import { published, root } from './description.mjs';
import { run } from './run.mjs';
import { compile } from './typescript.mjs';

const tree = fileURLToPath(root);
const client = join(tree, 'clients/typescript');
const programs = join(tree, 'tests/api/generators');
const folder = mkdtempSync(join(tmpdir(), 'client-typescript-'));
after(() => rmSync(folder, { recursive: true }));

describe('typescript', { concurrency: 2 }, () => {
  const tests = join(client, 'tests');
  for (const file of readdirSync(tests).filter((name) => name.endsWith('.test.mjs')))
    test(file, async () => {
      const { stdout } = await run(process.execPath, ['--test', '--test-reporter=tap', file], { cwd: tests });
      assert.match(stdout, /^# pass [1-9]/m);
      assert.match(stdout, /^# skipped 0$/m);
    });

  test('npm packs what a strict program can use', async () => {
    const { stdout } = await run('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', folder],
      { cwd: client });
    const [{ filename, files, version: packed }] = JSON.parse(stdout);
    const names = files.map(({ path }) => path);
    for (const name of ['README.md', 'dist/index.js', 'dist/index.d.ts', 'dist/index.mjs', 'dist/index.d.mts'])
      assert.ok(names.includes(name), name);
    for (const name of names) assert.match(name, /^(dist\/|README\.md$|package\.json$)/);

    const user = join(folder, 'user'), installed = join(user, 'node_modules/conversations-client');
    mkdirSync(installed, { recursive: true });
    await run('tar', ['-xzf', join(folder, filename), '-C', installed, '--strip-components=1']);
    symlinkSync(join(tree, 'tests/node_modules/@types'), join(user, 'node_modules/@types'));
    writeFileSync(join(user, 'package.json'), '{"type": "module"}');
    cpSync(join(programs, 'user.ts'), join(user, 'user.ts'));
    assert.deepEqual(compile(join(user, 'user.ts'), { types: ['node'], exactOptionalPropertyTypes: true }), []);
    const { stdout: said } = await run(process.execPath, [join(user, 'out/user.js')]);
    const version = readFileSync(join(tree, 'VERSION'), 'utf8').trim();
    assert.equal(packed, version);
    assert.equal(said, `full not_found ${version}\n`);
  });

  test('require() and import give the same', async () => {
    const user = installed('both');
    writeFileSync(join(user, 'both.cjs'), `
      const required = require('conversations-client');
      import('conversations-client').then((imported) => {
        const names = ({ default: _, 'module.exports': __, __esModule: ___, ...named }) => Object.keys(named).sort().join();
        if (names(imported) !== names(required)) throw new Error(names(imported));
        for (const name of Object.keys(required))
          if (imported[name] !== required[name]) throw new Error(name);
        console.log(new required.Client('http://localhost', 'k') instanceof imported.Client, required.VERSION);
      });`);
    const { stdout: said } = await run(process.execPath, [join(user, 'both.cjs')]);
    assert.equal(said, `true ${readFileSync(join(tree, 'VERSION'), 'utf8').trim()}\n`);
  });

  const { ModuleKind: modules, ModuleResolutionKind: resolutions } = ts;
  for (const [name, type, options] of [
    ['commonjs', 'commonjs', { module: modules.CommonJS, moduleResolution: resolutions.Node10 }],
    ['node16', 'commonjs', { module: modules.Node16 }],
    ['node16', 'module', { module: modules.Node16 }],
    ['nodenext', 'commonjs', { module: modules.NodeNext }],
    ['nodenext', 'module', { module: modules.NodeNext }],
    ['bundler', 'module', { module: modules.ESNext, moduleResolution: resolutions.Bundler }],
    ['bundler', 'commonjs', { module: modules.Preserve, moduleResolution: resolutions.Bundler }],
  ])
    test(`the types serve module ${name} in a package of type ${type}`, () => {
      const user = installed(`${name}-${type}`);
      writeFileSync(join(user, 'package.json'), JSON.stringify({ type }));
      const program = join(user, 'program.ts');
      writeFileSync(program, `
        import { ApiError, type Answer, Client, type Conversation } from 'conversations-client';
        const client = new Client('http://localhost', 'k');
        export const made: Promise<Answer<Conversation>> = client.getConversation('c');
        export const code = (error: ApiError): string | undefined => error.code;
        // @ts-expect-error: the types are there, and not any
        client.getConversation(1);`);
      const rest = { types: ['node'], skipLibCheck: false, typeRoots: [join(tree, 'tests/node_modules/@types')] };
      assert.deepEqual(compile(program, { ...rest, noEmit: true, ...options }), []);
    });
});

// A folder of a program that has the package as its dependency.
function installed(name) {
  const user = join(folder, name);
  mkdirSync(join(user, 'node_modules'), { recursive: true });
  symlinkSync(client, join(user, 'node_modules/conversations-client'));
  symlinkSync(join(tree, 'tests/node_modules/@types'), join(user, 'node_modules/@types'));
  return user;
}

// The compiler's errors when the client's types are compared with those generated from a description.
async function differences(description) {
  const where = mkdtempSync(join(folder, 'drift-'));
  symlinkSync(client, join(where, 'client'));
  writeFileSync(join(where, 'package.json'), '{"type": "module"}');
  writeFileSync(join(where, 'schema.ts'), astToString(await openapiTypeScript(description)));
  cpSync(join(programs, 'drift.ts'), join(where, 'drift.ts'));
  return compile(join(where, 'drift.ts'), { types: [], lib: ['lib.es2022.d.ts'], noEmit: true }).join('\n');
}

test('every schema, parameter and operation is as described', async () => {
  assert.equal(await differences(published), '');
});

test('the comparison finds differences', async () => {
  const changed = (change) => {
    const copy = structuredClone(published);
    change(copy.components.schemas, copy.paths);
    return differences(copy);
  };
  assert.match(await changed(({ Conversation }) => { Conversation.properties.tags = { type: 'string' }; }),
    /'Conversation'/);
  assert.match(await changed(({ ErrorCode }) => ErrorCode.enum.push('gone_stale')), /'(AuditLog|ErrorCode)'/);
  assert.match(await changed(({ TimeFilter }) => TimeFilter.required.pop()), /'(FilterGroup|TimeFilter)'/);
  assert.match(await changed((_, paths) => {
    paths['/pong'] = { get: { ...paths['/ping'].get, operationId: 'pong' } };
  }), /'pong'/);
});
