// The disk is full where a node writes: nothing falls over, who asks is told, and all is written when there is room.
import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import path from 'node:path';
import { afterEach, describe, test } from 'node:test';
import { attach, endClients, fresh, watcher } from '../lib/client.mjs';
import { Postgres, hasPostgres } from '../lib/postgres.mjs';
import { startRedis } from '../lib/redis.mjs';
import { assertError, call, done, readPresence, userPath } from '../lib/rest.mjs';
import { delay, startServer, until } from '../lib/server.mjs';
import { SmallDisk, mayMount } from '../lib/small-disk.mjs';

const closing = [];
afterEach(async () => {
  endClients();
  for (const close of closing.splice(0).reverse()) await close();
});

async function onSmallDisk(set = {}) {
  const disk = SmallDisk.make();
  closing.push(() => disk.dispose());
  const server = await startServer({ dataDir: disk.folder, set });
  closing.push(() => server.kill());
  return { disk, server };
}

const readiness = async (server) => (await call(server, 'GET', '/readyz', { anonymous: true }));
const figure = async (server, name) => Number(new RegExp(`^${name}(?:\\{\\})? (\\S+)$`, 'm').exec((await call(server, 'GET', '/metrics')).text)[1]);
const attachMany = (server, count, name) => Promise.all(Array.from({ length: count }, () => attach(server, fresh(name), { beat: true })));

describe('the disk is full', { skip: !mayMount && 'no right to mount' }, () => {
  test('FO-092 SQLite: changes are refused, presence goes on, and what waits is written when there is room', { timeout: 60_000 }, async () => {
    const { disk, server } = await onSmallDisk();
    const people = await attachMany(server, 60, 'there');
    const users = people.map((one) => one.user);
    const w = await watcher(server, users);
    await delay(1200);
    assert.deepEqual((await readiness(server)).json, { status: 'ready', store: 'ok', database: 'ok' });
    disk.fill();
    const before = server.residentBytes();
    const leaving = people.splice(0, 40);
    const left = new Map();
    for (const one of leaving) {
      assertError(await call(server, 'PUT', userPath(one.user, '/privacy'), { body: { online: { mode: 'nobody' } } }), 503, 'unavailable');
      left.set(one.user, Date.now());
      await one.bye();
      await delay(100);
    }
    for (const one of leaving) {
      const shown = await w.sees(one.user, 'offline', 2000);
      assert.ok(Math.abs(shown.lastSeen.at - left.get(one.user)) < 500, `${one.user}: ${shown.lastSeen.at - left.get(one.user)} ms off`);
    }
    const newcomer = await attach(server, fresh('newcomer'));
    assert.equal((await readPresence(server, newcomer.user)).status, 'online');
    await people[0].ask({ type: 'activity', state: 'idle' });
    await w.sees(people[0].user, 'away', 2000);
    assert.equal((await call(server, 'GET', '/healthz', { anonymous: true })).status, 200);
    const full = await readiness(server);
    assert.deepEqual([full.status, full.json], [200, { status: 'degraded', store: 'ok', database: 'degraded' }]);
    for (const name of ['presenced_sqlite_failures_total', 'presenced_last_seen_failures_total', 'presenced_spool_failures_total', 'presenced_journal_failures_total']) {
      assert.ok(await figure(server, name) > 0, name);
    }
    assert.equal(Number(/^presenced_last_seen_rows_total\{outcome="lost"\} (\d+)$/m.exec((await call(server, 'GET', '/metrics')).text)[1]), 0);
    assert.ok(server.residentBytes() - before < 16e6, `grew by ${server.residentBytes() - before} bytes`);
    assert.match(server.stderr, /warning database_unavailable .*full/);
    disk.makeRoom();
    await until(() => /database_back/.test(server.stderr), 'the database to work again', 5000);
    await done(server, 'PUT', userPath(newcomer.user, '/contacts'), { body: { users: ['x'] } });
    await until(async () => (await readiness(server)).json.status === 'ready', 'readiness', 15_000);
    await delay(2200);  // The writers' second, and the journal's.
    await server.kill();
    const again = await startServer({ dataDir: disk.folder });
    closing.push(() => again.kill());
    for (const one of leaving) {
      const { status, lastSeen } = await readPresence(again, one.user);
      assert.equal(status, 'offline');
      assert.ok(Math.abs(lastSeen.at - left.get(one.user)) < 500, `${one.user}: ${lastSeen.at - left.get(one.user)} ms off`);
      assert.equal((await done(again, 'GET', userPath(one.user, '/privacy'))).online.mode, 'everyone', 'a refused change was done');
    }
    assert.deepEqual((await done(again, 'GET', userPath(newcomer.user, '/contacts'))).users, ['x']);
  });

  test('PostgreSQL is away and the spool has no room: ends wait in memory, then in the spool, then are all written', { timeout: 90_000, skip: !hasPostgres && 'no PostgreSQL here' }, async () => {
    const redis = await startRedis();
    closing.push(() => redis.dispose());
    const postgres = await Postgres.create();
    closing.push(() => postgres.dispose());
    await postgres.start();
    const { disk, server } = await onSmallDisk({ 'store.url': redis.url, 'database.url': postgres.url });
    const people = await attachMany(server, 200, 'ends');
    const w = await watcher(server, people.map((one) => one.user));
    await postgres.stop();
    disk.fill();
    const before = server.residentBytes();
    const left = new Map();
    for (const one of people) { left.set(one.user, Date.now()); one.send({ type: 'bye' }); await delay(10); }
    for (const one of people) await w.sees(one.user, 'offline', 5000);
    await until(async () => await figure(server, 'presenced_spool_failures_total') >= 2, 'the spool to fail twice', 8000);
    assert.equal(await figure(server, 'presenced_spool_entries'), 0);
    assert.match(server.stderr, /last_seen_not_spooled .*No space left/);
    const full = await readiness(server);
    assert.deepEqual([full.status, full.json], [200, { status: 'degraded', store: 'ok', database: 'down' }]);
    assert.ok(server.residentBytes() - before < 16e6, `grew by ${server.residentBytes() - before} bytes`);
    disk.makeRoom();
    await until(async () => await figure(server, 'presenced_spool_entries') === people.length, 'all ends in the spool', 8000);
    assert.ok(statSync(path.join(disk.folder, 'last_seen.spool')).size > people.length * 40);
    await server.kill();  // What is in the spool outlives it.
    await postgres.start();
    const again = await startServer({ dataDir: disk.folder, set: { 'store.url': redis.url, 'database.url': postgres.url } });
    closing.push(() => again.kill());
    const rows = () => new Map(postgres.query('SELECT user_id, last_seen_ms FROM presenced.profiles WHERE last_seen_ms IS NOT NULL').map((line) => line.split('|')));
    await until(() => rows().size >= people.length, 'all rows', 20_000);
    const stored = rows();
    for (const [user, at] of left) assert.ok(Math.abs(Number(stored.get(user)) - at) < 1000, `${user}: ${Number(stored.get(user)) - at} ms off`);
  });
});
