// The embedded database under other hands: FO-092.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { attach, endClients, fresh, watcher } from '../lib/client.mjs';
import { call, done, readPresence, userPath } from '../lib/rest.mjs';
import { delay, startServer } from '../lib/server.mjs';

const python = spawnSync('python3', ['-c', 'import sqlite3']).status === 0;
const databases = (folder) => readdirSync(folder, { recursive: true }).map((name) => path.join(folder, name))
  .filter((name) => { try { return readFileSync(name).subarray(0, 15).toString() === 'SQLite format 3'; } catch { return false; } });

test('FO-092 a long read transaction of another process locks nobody out', { skip: !python && 'no python3 with sqlite3' }, async () => {
  const server = await startServer();
  try {
    await done(server, 'PUT', userPath(fresh(), '/contacts'), { body: { users: ['x'] } });
    const files = databases(server.dataDir);
    assert.ok(files.length > 0, 'no database in the data folder');
    const script = 'import sqlite3,sys,time\n' +
      'cs=[sqlite3.connect(f) for f in sys.argv[1:]]\n' +
      'for c in cs:\n  c.execute("BEGIN"); c.execute("SELECT count(*) FROM sqlite_master").fetchall()\n' +
      'print("held",flush=True); time.sleep(5)\n';
    const reader = spawn('python3', ['-c', script, ...files], { stdio: ['ignore', 'pipe', 'inherit'] });
    await new Promise((resolve) => { reader.stdout.once('data', resolve); });
    const clients = await Promise.all(Array.from({ length: 100 }, () => attach(server, fresh('ending'), { beat: false })));
    const w = await watcher(server, clients.map((client) => client.user));
    const at = Date.now();
    const answers = [];
    await Promise.all([
      ...clients.map(async (client, i) => { await delay(i * 15); client.send({ type: 'bye' }); }),
      ...Array.from({ length: 40 }, async (_, i) => {
        await delay(i * 40);
        const user = fresh('changer');
        answers.push(await call(server, 'PUT', userPath(user, '/privacy'), { body: { online: { mode: 'nobody' } } }));
        answers.push(await call(server, 'GET', userPath(user, '/sessions')));
      }),
    ]);
    for (const answer of answers) assert.equal(answer.status, 200, answer.text);
    for (const { user } of clients) await w.sees(user, 'offline', 5000);
    await delay(2500);
    reader.kill();
    await server.kill();
    const again = await startServer({ dataDir: server.dataDir });
    try {
      for (const { user } of clients) {
        const { lastSeen } = await readPresence(again, user);
        assert.ok(lastSeen?.at >= at - 5 && lastSeen.at <= at + 4000, user);
      }
    } finally { await again.kill(); }
  } finally { endClients(); await server.dispose(); }
});

test('FO-092 a database that another process keeps locked: answers within time, nothing half done, then all is well', { skip: !python && 'no python3 with sqlite3' }, async () => {
  const server = await startServer();
  try {
    const user = fresh();
    await done(server, 'PUT', userPath(user, '/contacts'), { body: { users: ['x'] } });
    const there = await attach(server, fresh());
    const w = await watcher(server, [there.user]);
    const script = 'import sqlite3,sys,time\n' +
      'cs=[sqlite3.connect(f,timeout=20,isolation_level=None) for f in sys.argv[1:]]\n' +
      'for c in cs:\n  c.execute("BEGIN EXCLUSIVE")\n' +
      'print("held",flush=True); time.sleep(6)\n';
    const holder = spawn('python3', ['-c', script, ...databases(server.dataDir)], { stdio: ['ignore', 'pipe', 'inherit'] });
    await new Promise((resolve) => { holder.stdout.once('data', resolve); });
    const start = Date.now();
    const [change, came] = await Promise.all([
      call(server, 'PUT', userPath(user, '/privacy'), { body: { online: { mode: 'nobody' } } }),
      attach(server, fresh()).then(() => 'welcome', (error) => error.answer?.code ?? error.message),
    ]);
    assert.ok(change.status === 200 || (change.status === 503 && change.json.error.code === 'unavailable'), change.text);
    assert.ok(came === 'welcome' || came === 'unavailable', came);
    assert.ok(Date.now() - start < 9000);
    await there.ask({ type: 'activity', state: 'idle' });
    await w.sees(there.user, 'away', 1500);
    assert.equal((await call(server, 'GET', '/healthz', { anonymous: true })).status, 200);
    await new Promise((resolve) => { holder.once('exit', resolve); });
    const rules = await done(server, 'GET', userPath(user, '/privacy'));
    assert.equal(rules.online.mode, change.status === 200 ? 'nobody' : 'everyone');
    await done(server, 'PUT', userPath(user, '/privacy'), { body: { online: { mode: 'contacts' } } });
    await attach(server, fresh());
  } finally { endClients(); await server.dispose(); }
});
