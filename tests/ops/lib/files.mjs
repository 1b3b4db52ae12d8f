// Files of the project, read as what they are.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parse, parseAllDocuments } from 'yaml';
import { root } from '../../integration/lib/server.mjs';

export { root };
export const text = (name) => readFileSync(path.join(root, name), 'utf8');
export const json = (name) => JSON.parse(text(name));
export const yaml = (name, options) => parse(text(name), options);

/** All documents of a file; one that is not well formed throws. */
export const yamls = (name) => parseAllDocuments(text(name)).map((document) => {
  if (document.errors.length > 0) throw document.errors[0];
  return document.toJS();
});

export const has = (program, flag = '--version') => spawnSync(program, [flag]).error === undefined;

/** Runs a program in the project's folder; throws with all it said if it fails. */
export function succeed(program, parameters, options = {}) {
  const done = spawnSync(program, parameters, { cwd: root, encoding: 'utf8', ...options });
  if (done.status !== 0) {
    throw new Error(`${program} ${parameters.join(' ')}: ${done.error ?? done.status}\n${done.stdout}${done.stderr}`);
  }
  return done.stdout;
}
