// Clients that common generators make from proto/openapi.yaml compile under strict TypeScript and work.
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
import openapiTypeScript, { astToString } from 'openapi-typescript';
import { root } from './description.mjs';
import { compile } from './typescript.mjs';

const run = promisify(execFile);
const tree = fileURLToPath(root);
const folder = mkdtempSync(join(tmpdir(), 'generators-'));
const description = new URL('proto/openapi.yaml', root);

before(async () => {
  symlinkSync(join(tree, 'tests/node_modules'), join(folder, 'node_modules'));
  writeFileSync(join(folder, 'package.json'), '{"type": "module"}');
  writeFileSync(join(folder, 'schema.ts'), astToString(await openapiTypeScript(description)));
  await createClient({
    input: fileURLToPath(description),
    output: { path: join(folder, 'client'), importFileExtension: '.js' },
    plugins: ['@hey-api/client-fetch', '@hey-api/typescript', '@hey-api/sdk'],
    logs: { level: 'silent' },
  });
});
after(() => rmSync(folder, { recursive: true }));

for (const name of ['openapi-fetch', 'hey-api']) {
  test(`a client of ${name} creates, reads, searches, updates and reads the audit log`, async () => {
    const program = join(folder, `${name}.ts`);
    copyFileSync(join(tree, `tests/api/generators/${name}.ts`), program);
    assert.deepEqual(compile(program, { lib: ['lib.es2022.d.ts', 'lib.dom.d.ts', 'lib.dom.iterable.d.ts'] }), []);
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
