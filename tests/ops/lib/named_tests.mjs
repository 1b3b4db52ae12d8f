// Finds the tests that a document names: `kind/name` "title", "title".
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { root } from './files.mjs';

/** Where tests of each kind lie: the folder, and how their files end. Of C++ a name is a whole folder. */
const kinds = {
  integration: ['tests/integration/test/', '.test.mjs'], conformance: ['tests/conformance/test/', '.test.mjs'], ops: ['tests/ops/test/', '.test.mjs'],
  browser: ['tests/browser/', '.test.mjs'], fuzz: ['fuzz/', '_fuzz.cc'], client: ['sdk/client/test/', '.test.ts'], react: ['sdk/react/test/', '.test.tsx', '.test.ts'],
  server: ['sdk/server/test/', '.test.mjs', '.test.ts'], python: ['sdk/python/tests/', '.py'], web: ['web/', ''],
  unit: ['tests/unit/'], property: ['tests/property/'], contract: ['tests/contract/'], simulation: ['tests/simulation/'],
};

/** The source of the tests `kind/name`, or undefined. */
export function sourceOf(kind, name) {
  const [folder, ...ends] = kinds[kind] ?? [];
  if (!folder) return undefined;
  if (ends.length === 0) {
    const at = path.join(root, folder, name);
    return existsSync(at) ? readdirSync(at).filter((file) => /\.(cc|h)$/.test(file)).map((file) => readFileSync(path.join(at, file), 'utf8')).join('\n') : undefined;
  }
  const file = ends.map((end) => path.join(root, folder, name + end)).find(existsSync);
  return file && readFileSync(file, 'utf8');
}

/** Whether `source` has such a test: of C++ by suite and name, else by (a part of) its title. */
export function hasTest(source, kind, title) {
  if (!['unit', 'property', 'contract', 'simulation'].includes(kind)) return source.includes(title);
  const [suite, name] = title.split('.');
  return new RegExp(`(TEST|TEST_F|TEST_P|TYPED_TEST|RC_GTEST\\w*)\\(\\s*${suite},\\s*${name}\\b`).test(source);
}

/** All that `text` names, and what of it is not there. */
export function namedTests(text) {
  const missing = [];
  let count = 0;
  for (const [, kind, name, titles] of text.matchAll(/`(\w+)\/([\w/-]+)`((?:,? "[^"]+")*)/g)) {
    if (!(kind in kinds)) continue;
    const source = sourceOf(kind, name);
    const wanted = [...titles.matchAll(/"([^"]+)"/g)].map(([, title]) => title);
    count += Math.max(wanted.length, 1);
    if (source === undefined) missing.push(`${kind}/${name}`);
    else missing.push(...wanted.filter((title) => !hasTest(source, kind, title)).map((title) => `${kind}/${name}: ${title}`));
  }
  return { count, missing };
}
