// SIGHUP: what can change while clients stay connected.
import assert from 'node:assert/strict';
import { writeFileSync, mkdtempSync, rmSync } from 'node:fs';
import { spawn } from 'node:child_process';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { binary, until } from '../lib/server.mjs';

const config = (key, watch) => `
listen = "127.0.0.1:0"
database.url = "memory:"
[auth]
secret = "a secret that is long enough for HS256"
api_keys = ["${key}"]
allowed_origins = ["https://app.example.com"]
[limits]
query_users = ${watch}
`;

async function call(url, key, users) {
  const answer = await fetch(`${url}/v1/presence/query`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify({ users }),
  });
  return answer.status;
}

test('SIGHUP takes new API keys and limits, and a broken file changes nothing', async () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'presenced-reload-'));
  const file = path.join(folder, 'presenced.toml');
  writeFileSync(file, config('first-key', 10));
  const child = spawn(binary, ['serve', '--config', file], { stdio: ['ignore', 'pipe', 'pipe'] });
  let out = '';
  let errors = '';
  child.stdout.on('data', (data) => { out += data; });
  child.stderr.on('data', (data) => { errors += data; });
  try {
    await until(() => out.includes('ready '), 'the ready line', 10_000);
    const url = /ready (\S+)/.exec(out)[1];
    assert.equal(await call(url, 'first-key', ['a', 'b']), 200);
    assert.equal(await call(url, 'second-key', ['a']), 401);

    writeFileSync(file, config('second-key', 1));
    child.kill('SIGHUP');
    await until(async () => await call(url, 'second-key', ['a']) === 200, 'the new key', 5_000);
    assert.equal(await call(url, 'first-key', ['a']), 401);
    await until(async () => await call(url, 'second-key', ['a', 'b']) === 429, 'the new limit', 5_000);

    writeFileSync(file, config('third-key', 1).replace('query_users', 'qery_users'));
    child.kill('SIGHUP');
    await until(() => errors.includes('reload_refused'), 'the refusal in the log', 5_000);
    assert.match(errors, /limits\.qery_users is no known key; did you mean limits\.query_users\?/);
    assert.equal(await call(url, 'second-key', ['a']), 200);
    assert.equal(await call(url, 'third-key', ['a']), 401);
  } finally {
    child.kill('SIGTERM');
    await new Promise((resolve) => { child.on('exit', resolve); });
    rmSync(folder, { recursive: true });
  }
});
