// Compiles TypeScript under strict rules, within this process, so that files shared by programs are read once.
import { dirname, join } from 'node:path';
import ts from 'typescript';

const strict = {
  strict: true,
  noUncheckedIndexedAccess: true,
  noImplicitOverride: true,
  module: ts.ModuleKind.NodeNext,
  target: ts.ScriptTarget.ES2022,
  skipLibCheck: true,
};
const sources = new Map();

// The compiler's errors for a file, as lines; none if it is correct. Output goes to `out` beside the file, unless
// `options` name another folder.
export function compile(file, options = {}) {
  const all = { ...strict, outDir: join(dirname(file), 'out'), ...options };
  const host = ts.createCompilerHost(all);
  const read = host.getSourceFile.bind(host);
  host.getCurrentDirectory = () => dirname(file);
  host.getSourceFile = (name, ...how) => {
    if (!name.includes('/node_modules/')) return read(name, ...how);
    if (!sources.has(name)) sources.set(name, read(name, ...how));
    return sources.get(name);
  };
  const program = ts.createProgram([file], all, host);
  const found = [...ts.getPreEmitDiagnostics(program), ...program.emit().diagnostics];
  return found.map(({ file: at, messageText }) =>
    `${at?.fileName.slice(dirname(file).length + 1)}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`);
}
