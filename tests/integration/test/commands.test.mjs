// The commands and the configuration, as an operator meets them: DESIGN section 6.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, afterEach, before, describe, test } from 'node:test';
import { attach, endClients, fresh } from '../lib/client.mjs';
import { call } from '../lib/rest.mjs';
import { run, startServer } from '../lib/server.mjs';

let folder;
before(() => { folder = mkdtempSync(path.join(os.tmpdir(), 'presenced-commands-')); });
after(() => rmSync(folder, { recursive: true, force: true }));
afterEach(endClients);
const serve = (...sets) => run(['serve', '--dev', '--set', 'listen=127.0.0.1:0', '--set', `data_dir=${folder}`, ...sets.flatMap((set) => ['--set', set])], { timeoutMs: 4000 });

describe('refused at start, naming key, value and bound', () => {
  for (const [sets, ...names] of [
    [['heartbeat.interval=30s', 'heartbeat.ttl=80s'], 'heartbeat.ttl', '80', '90'], [['heartbeat.intervall=30s'], 'heartbeat.intervall'],
    [['heartbeat.interval=soon'], 'heartbeat.interval', 'soon'], [['heartbeat.grace=-1s'], 'heartbeat.grace'], [['merge.policy=loudest'], 'merge.policy', 'loudest'],
    [['listen=nowhere'], 'listen', 'nowhere'], [['privacy.default_online=friends'], 'privacy.default_online', 'friends'], [['degraded.show=lies'], 'degraded.show'],
    [['limits.watch=0'], 'limits.watch'], [['limits.watch=-5'], 'limits.watch'], [['log.level=loud'], 'log.level'], [['presence.show_devices=maybe'], 'presence.show_devices'],
    [['threads=0'], 'threads'], [['store.url=mysql://x'], 'store.url'], [['database.url=oracle:x'], 'database.url'], [['nonsense'], 'nonsense'],
  ]) {
    test(sets.join(' '), async () => {
      const { code, stderr, stdout } = await serve(...sets);
      assert.ok(code !== 0 && code !== null, `it started: ${stdout}`);
      for (const name of names) assert.ok(stderr.includes(name), `"${name}" is not in: ${stderr}`);
      assert.doesNotMatch(stdout, /^ready/m);
    });
  }

  test('without --dev and without keys nobody could come in', async () => {
    const { code, stderr } = await run(['serve', '--set', 'listen=127.0.0.1:0', '--set', `data_dir=${folder}`], { timeoutMs: 4000 });
    assert.ok(code !== 0 && code !== null);
    assert.match(stderr, /auth\./);
  });

  test('FO-098 any origin together with credentials is refused outside --dev', async () => {
    const { code, stderr } = await run(['serve', '--set', 'listen=127.0.0.1:0', '--set', `data_dir=${folder}`, '--set', 'auth.secret=s'.padEnd(60, 'x'), '--set', 'auth.api_keys=k'.padEnd(50, 'y'),
      '--set', 'auth.allowed_origins=*', '--set', 'auth.cookie=session'], { timeoutMs: 4000 });
    assert.ok(code !== 0 && code !== null, 'it started');
    assert.match(stderr, /auth\.(allowed_origins|cookie)/);
  });

  test('--dev listens on loopback only', async () => {
    const { code, stderr } = await serve('listen=0.0.0.0:0');
    assert.ok(code !== 0 && code !== null, 'it listens to the world with a known secret');
    assert.match(stderr, /listen/);
  });
});

describe('configuration', () => {
  const file = (text) => { const name = path.join(folder, `c${Math.random()}.toml`); writeFileSync(name, text); return name; };

  test('file, then environment, then --set: the last wins', async () => {
    const name = file('[heartbeat]\ninterval = "2s"\nttl = "7s"\ngrace = "3s"\n');
    const server = await startServer({ set: { 'heartbeat.interval': null, 'heartbeat.ttl': '9s', 'heartbeat.grace': null }, env: { PRESENCED_HEARTBEAT_TTL: '8s', PRESENCED_HEARTBEAT_GRACE: '4s' }, config: name });
    try {
      const a = await attach(server, fresh());
      assert.deepEqual([a.welcome.heartbeat.ttlMs, a.welcome.graceMs], [9000, 4000]);
      assert.equal(a.welcome.heartbeat.intervalMs, 2000);
    } finally { endClients(); await server.dispose(); }
  });

  test('check says what is wrong with a file, and that a good one is good', async () => {
    assert.equal((await run(['check', '--config', file('[heartbeat]\ninterval = "30s"\nttl = "100s"\n[auth]\nsecret = "0123456789abcdef0123456789abcdef"\napi_keys = ["0123456789abcdef0123456789abcdef"]\n')])).code, 0);
    for (const [text, name] of [['[heartbeat]\ninterval = "30s"\nttl = "60s"\n', /heartbeat\.ttl/], ['colour = "blue"\n', /colour/], ['[heartbeat\n', /./], ['[heartbeat]\ninterval = 30\n', /heartbeat\.interval/]]) {
      const bad = await run(['check', '--config', file(text)]);
      assert.ok(bad.code !== 0, text);
      assert.match(bad.stderr + bad.stdout, name);
    }
    assert.ok((await run(['check', '--config', path.join(folder, 'not-there.toml')])).code !== 0);
  });

  test('check refuses what serve refuses short of binding, and both name the key', async () => {
    const nowhere = path.join(folder, 'nowhere.pem');
    for (const [set, says] of [
      ['listen=127.0.0.1', 'listen: "127.0.0.1"'], ['listen=127.0.0.1:99999', 'listen: "127.0.0.1:99999"'],
      [`auth.jwks=${nowhere}`, `auth.jwks: ${nowhere}`], [`auth.public_keys=${nowhere}`, `auth.public_keys: ${nowhere}`],
      ['auth.api_keys=sha256:xx', 'auth.api_keys'], ['limits.rest_burst=0.5', 'limits.rest_burst: 0.5'],
    ]) {
      for (const command of ['check', 'serve']) {
        const refused = await run([command, '--dev', '--set', `data_dir=${folder}`, '--set', set]);
        assert.equal(refused.code, 2, `${command} ${set}`);
        assert.ok(refused.stderr.includes(says), `${command} ${set}: ${refused.stderr}`);
      }
    }
  });

  test('exit codes: 0, 1 where it cannot run, 2 for a wrong use', async () => {
    for (const wrong of [[], ['dance'], ['serve', '--sing'], ['token'], ['token', '--user', 'x', '--ttl', 'soon'],
                         ['check', '--config', path.join(folder, 'not-there.toml')]]) {
      assert.equal((await run(wrong)).code, 2, wrong.join(' '));
    }
    for (const right of [['--help'], ['serve', '--help'], ['version']]) assert.equal((await run(right)).code, 0, right.join(' '));
    const server = await startServer();
    try {
      const second = await run(['serve', '--dev', '--set', `listen=${server.address}`, '--set', `data_dir=${path.join(folder, 'second')}`]);
      assert.equal(second.code, 1);
    } finally { await server.dispose(); }
  });

  test('config lists every key with its default, one line each', async () => {
    const { code, stdout } = await run(['config']);
    assert.equal(code, 0);
    for (const key of ['listen', 'threads', 'data_dir', 'heartbeat.interval', 'heartbeat.ttl', 'heartbeat.grace', 'presence.idle_after', 'presence.show_devices', 'merge.policy', 'privacy.reciprocity',
      'privacy.default_online', 'privacy.default_last_seen', 'store.url', 'database.url', 'auth.secret', 'auth.jwks', 'auth.api_keys', 'auth.allowed_origins', 'limits.watch', 'drain.timeout', 'log.level', 'log.format']) {
      assert.match(stdout, new RegExp(`^\\s*${key.replace('.', '\\.')}\\b`, 'm'), key);
    }
  });

  test('secrets may come from a file', async () => {
    const secret = path.join(folder, 'secret');
    writeFileSync(secret, 'secret-from-a-file-0123456789abcdef\n');
    const server = await startServer({ set: { 'auth.secret': `file:${secret}` } });
    try {
      const { tokenFor } = await import('../lib/tokens.mjs');
      await attach(server, 'x', { token: tokenFor('x', {}, { secret: 'secret-from-a-file-0123456789abcdef' }) });
    } finally { endClients(); await server.dispose(); }
  });
});

test('token makes tokens that are let in', async () => {
  const server = await startServer();
  try {
    const { code, stdout } = await run(['token', '--user', 'Zoë', '--ttl', '1h', '--secret', 'dev']);
    assert.equal(code, 0);
    const a = await attach(server, 'Zoë', { token: stdout.trim() });
    assert.equal(a.welcome.userId, 'Zoë');
    assert.ok(Math.abs(a.welcome.expiresAt - Date.now() - 3_600_000) < 5000);
    assert.equal((await call(server, 'GET', '/v1/users/x/presence', { token: stdout.trim() })).status, 200);
    assert.ok((await run(['token'])).code !== 0);
  } finally { endClients(); await server.dispose(); }
});

test('version says name and number', async () => {
  const { code, stdout } = await run(['version']);
  assert.equal(code, 0);
  assert.match(stdout, /^presenced \d+\.\d+\.\d+/);
});

test('unknown commands and options are refused with help', async () => {
  for (const parameters of [['fly'], ['serve', '--fast'], []]) {
    const { code, stderr, stdout } = await run(parameters);
    assert.ok(code !== 0, parameters.join());
    assert.ok((stderr + stdout).length > 0);
  }
});

test('logs go to standard error, standard output has the ready line alone', async () => {
  const server = await startServer();
  try {
    const a = await attach(server, 'log\\"user');
    await a.bye();
    assert.match(server.stdout, /^ready http:\/\/127\.0\.0\.1:\d+\n$/);
  } finally { endClients(); await server.dispose(); }
});

test('log.format json: one JSON object a line', async () => {
  const server = await startServer({ set: { 'log.format': 'json', 'log.level': 'debug' } });
  try {
    const a = await attach(server, 'line"break\\', { hello: { device: { type: 'web', name: '"}{' } } });
    await a.bye();
    for (const line of server.stderr.split('\n').filter((text) => text !== '').slice(0, -1)) assert.equal(typeof JSON.parse(line), 'object', line);
  } finally { endClients(); await server.dispose(); }
});
