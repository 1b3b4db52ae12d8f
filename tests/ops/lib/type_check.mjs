// Asks the TypeScript compiler whether a value is of a type that others publish: with the names and kinds of its fields.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { root } from './files.mjs';

const here = path.join(root, 'tests/ops');
/** All fields may be missing, and a word stands for the enumerator that has it: so files are written. */
const asWritten = `type AsWritten<X> = X extends string ? \`\${X}\` : X extends number | boolean ? X
  : X extends Array<infer E> ? Array<AsWritten<E>> : X extends object ? { [K in keyof X]?: AsWritten<X[K]> } : X;\n`;

/**
 * What the compiler says against `values`: [{ type, value, exact }]; empty: nothing.
 * @param imports  lines that bring the types
 * @param exact    what is not optional in the type has to be there
 */
export function complaints(imports, values) {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'presenced-types-'));
  try {
    symlinkSync(path.join(here, 'node_modules'), path.join(folder, 'node_modules'));
    const lines = values.map(({ type, value, exact }, index) => `export const v${index}: ${exact ? type : `AsWritten<${type}>`} = ${JSON.stringify(value)};`);
    writeFileSync(path.join(folder, 'values.ts'), `${imports.join('\n')}\n${asWritten}${lines.join('\n')}\n`);
    const checked = spawnSync(path.join(here, 'node_modules/.bin/tsc'),
      ['--noEmit', '--strict', '--skipLibCheck', '--module', 'esnext', '--moduleResolution', 'bundler', 'values.ts'], { cwd: folder, encoding: 'utf8' });
    if (checked.error) throw checked.error;
    return checked.status === 0 ? '' : checked.stdout + checked.stderr;
  } finally { rmSync(folder, { recursive: true, force: true }); }
}
