// SECURITY.md: what it says is tested is.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { text } from '../lib/files.mjs';
import { namedTests } from '../lib/named_tests.mjs';

test('each test that SECURITY.md names is there, and each threat has one', () => {
  const page = text('SECURITY.md');
  const { count, missing } = namedTests(page);
  assert.deepEqual(missing, []);
  assert.ok(count > 90, `only ${count} are named`);
  const [, table] = page.split('## Threats, and what is done');
  const rows = table.split('\n## ')[0].split('\n').filter((line) => line.startsWith('| ') && !line.startsWith('| threat'));
  assert.ok(rows.length >= 28, `${rows.length} threats`);
  for (const row of rows) assert.ok(namedTests(row).count > 0, row);
});

test('a test that is not there is missed', () => {
  assert.deepEqual(namedTests('`integration/tokens` "no such test", `unit/net` "ServerTls.NoSuchTest", `fuzz/nothing`').missing,
                   ['integration/tokens: no such test', 'unit/net: ServerTls.NoSuchTest', 'fuzz/nothing']);
});
