// The documentation: its commands are run, its links lead somewhere, and what it names exists.
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { binary } from '../../integration/lib/server.mjs';
import { Reader, blocksOf, fits, unmarkedIn } from '../lib/documents.mjs';
import { root, succeed, text } from '../lib/files.mjs';

const pages = readdirSync(path.join(root, 'docs')).filter((name) => name.endsWith('.md')).map((name) => `docs/${name}`);
const others = ['README.md', 'ARCHITECTURE.md', 'CHANGELOG.md', 'examples/README.md', 'sdk/client/README.md', 'sdk/react/README.md',
                'sdk/server/README.md', 'sdk/python/README.md', 'tests/ops/README.md', 'tests/integration/README.md', 'tests/browser/README.md'];
/** Read one after the other by newcomer.test.mjs. */
const walked = new Set(['README.md', 'docs/first-five-minutes.md', 'docs/scaling.md']);

for (const name of [...pages, ...others].filter((one) => blocksOf(text(one)).length > 0 && !walked.has(one))) {
  test(`${name}: its commands do what it says`, async () => {
    const reader = await Reader.open(name);
    try { await reader.walk(name); } finally { await reader.close(); }
  });
}

test('each block of commands is run, or says why it is not', () => {
  for (const name of [...pages, ...others, 'SECURITY.md']) assert.deepEqual(unmarkedIn(text(name)), [], name);
  assert.equal(unmarkedIn('Then:\n\n```sh\nrm x\n```\n').length, 1);
  assert.equal(unmarkedIn('<!-- run -->\n```sh\nrm x\n```\n\n```\n./dev run\n```\n').length, 1);
  assert.equal(unmarkedIn('<!-- elsewhere: it needs a moon -->\n```sh\nrm x\n```\n').length, 0);
});

test('each configuration on a page is sound', () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'presenced-toml-'));
  try {
    writeFileSync(path.join(folder, 'secret'), 'x');
    let found = 0;
    for (const name of [...pages, ...others]) {
      for (const [, body] of text(name).matchAll(/```toml\n([^]*?)```/g)) {
        found += 1;
        writeFileSync(path.join(folder, 'presenced.toml'), body.replace(/file:[^"]+/g, `file:${folder}/secret`));
        const more = /^\[auth\]/m.test(body) ? [] : ['--set', 'auth.secret=x'];
        succeed(binary, ['check', '--config', path.join(folder, 'presenced.toml'), ...more]);
      }
    }
    assert.ok(found >= 2, `only ${found}`);
  } finally { rmSync(folder, { recursive: true, force: true }); }
});

test('a page says what is not printed, and it is seen', () => {
  assert.ok(fits('{"a":1,"b":2}{"c":3}', '{"a":…}\n{"c":3}\n'));
  assert.ok(!fits('{"a":1}', '{"a":2}'));
  assert.ok(!fits('{"a":1}\n{"b":2}', '{"a":1}'));
  assert.ok(!fits('', '{"a":1}'));
});

/** Names of a page's headings as links find them. */
const anchorsOf = (page) => new Set([...page.replace(/```[^]*?```/g, '').matchAll(/^#+ (.*)$/gm)]
  .map(([, heading]) => heading.toLowerCase().replace(/[^\p{L}\p{N} _-]/gu, '').replaceAll(' ', '-')));

test('every link leads to a file, and to a heading in it', () => {
  for (const name of [...pages, ...others]) {
    for (const [, target] of text(name).replace(/```[^]*?```/g, '').matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^https?:/.test(target)) continue;
      const [file, anchor] = target.split('#');
      const found = file === '' ? name : path.relative(root, path.resolve(root, path.dirname(name), file));
      assert.ok(existsSync(path.join(root, found)), `${name}: ${target}`);
      if (anchor && found.endsWith('.md')) assert.ok(anchorsOf(text(found)).has(anchor), `${name}: ${target}`);
    }
  }
});

test('the index names every page', () => {
  const index = text('docs/README.md');
  for (const page of pages.filter((one) => one !== 'docs/README.md')) assert.ok(index.includes(`(${path.basename(page)}`), page);
});

test('keys of the configuration and metrics that pages name exist', () => {
  const keys = new Set(succeed(binary, ['config']).trim().split('\n').map((line) => line.split(' = ')[0]));
  const sections = new Set([...keys].filter((key) => key.includes('.')).map((key) => key.split('.')[0]));
  const metrics = new Set([...text('docs/metrics.md').matchAll(/^\| `(\w+)`/gm)].map(([, name]) => name));
  const words = new Set(['presence.changed', 'presence.v1']);  // No keys.
  const files = /\.(md|mjs|ts|h|cc|db|spool|yaml|toml|sh|json|py|html|conf|yml|example|com)$/;
  let seen = 0;
  for (const name of [...pages, 'README.md']) {
    const page = text(name);
    for (const [, section, rest] of page.matchAll(/`(\w+)\.([a-z_]+)(?: =[^`]*)?`/g)) {
      if (!sections.has(section) || words.has(`${section}.${rest}`) || files.test(`.${rest}`)) continue;
      seen += 1;
      assert.ok(keys.has(`${section}.${rest}`), `${name}: ${section}.${rest} is no key`);
    }
    for (const [, metric] of page.matchAll(/`(presenced_[a-z_]+)(?:\{[^`]*)?`/g)) assert.ok(metrics.has(metric), `${name}: ${metric} is no metric`);
  }
  assert.ok(seen > 50, `only ${seen} keys were found`);
});

test('the sequence diagrams use only who takes part in them', () => {
  const diagrams = [...text('docs/concepts.md').matchAll(/```mermaid\n([^]*?)```/g)].map(([, body]) => body);
  assert.equal(diagrams.length, 4);
  for (const body of diagrams) {
    const lines = body.trim().split('\n').map((line) => line.trim());
    assert.equal(lines.shift(), 'sequenceDiagram');
    const parts = new Set();
    for (const line of lines) {
      const [, part] = /^participant (\w+) as .+$/.exec(line) ?? [];
      if (part) { parts.add(part); continue; }
      const [, from, to] = /^(\w+)--?>>(\w+): .+$/.exec(line) ?? /^Note over (\w+)(): .+$/.exec(line) ?? [];
      assert.ok(from && parts.has(from) && (to === '' || parts.has(to)), line);
    }
  }
});
