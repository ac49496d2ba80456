// The two common OpenAPI linters, each with its default rules. A linter takes a file of the tree and
// returns its findings as texts. The linters load slowly, so they are imported only when used.
import { readFileSync } from 'node:fs';
import { root } from './description.mjs';

async function redocly(path) {
  const { createConfig, lint } = await import('@redocly/openapi-core');
  const config = await createConfig({ extends: ['recommended'] });
  const found = await lint({ ref: new URL(path, root).pathname, config });
  return found.map(({ ruleId, message, location: [at] }) => `${ruleId}: ${at?.pointer}: ${message}`);
}

async function spectral(path) {
  const { default: core } = await import('@stoplight/spectral-core');
  const { default: parsers } = await import('@stoplight/spectral-parsers');
  const { oas } = (await import('@stoplight/spectral-rulesets')).default;
  const linter = new core.Spectral();
  linter.setRuleset({ extends: [oas] });
  const text = readFileSync(new URL(path, root), 'utf8');
  const found = await linter.run(new core.Document(text, parsers.Yaml, path));
  return found.map(({ code, message, path: at }) => `${code}: ${at.join('.')}: ${message}`);
}

export const linters = { redocly, spectral };
