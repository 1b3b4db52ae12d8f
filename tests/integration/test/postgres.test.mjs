// PostgreSQL as the durable store: its outages, and those of the node during one.
import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import { attach, endClients, fresh, watcher } from '../lib/client.mjs';
import { Postgres, hasPostgres } from '../lib/postgres.mjs';
import { assertError, call, done, readPresence, userPath } from '../lib/rest.mjs';
import { delay, grace, run, startServer, until } from '../lib/server.mjs';

describe('PostgreSQL', { skip: !hasPostgres && 'no PostgreSQL here' }, () => {
  let postgres;
  const servers = [];
  const start = async (options = {}) => {
    const server = await startServer({ ...options, set: { 'database.url': postgres.url, ...options.set } });
    servers.push(server);
    return server;
  };
  before(async () => { postgres = await Postgres.create(); await postgres.start(); });
  afterEach(async () => {
    endClients();
    for (const server of servers.splice(0)) await server.dispose();
    if (!postgres.child) await postgres.start();
  });
  after(async () => { await postgres.dispose(); });

  /// user -> last seen, of all that have one.
  const lastSeens = () => new Map(postgres.query('SELECT last_seen_ms, user_id FROM presenced.profiles WHERE last_seen_ms IS NOT NULL')
    .map((line) => [line.slice(line.indexOf('|') + 1), Number(line.slice(0, line.indexOf('|')))]));
  const answersAgain = (server) => until(
    async () => (await call(server, 'GET', userPath('anybody', '/privacy'))).status === 200, 'the database', 10_000);

  test('what is declared, allowed and last seen outlives the node', async () => {
    let server = await start();
    const a = await attach(server, fresh());
    await a.ask({ type: 'status', status: 'busy', customStatus: { text: 'Ünïcödé "quoted"\\ \u{1F600}' } });
    await done(server, 'PUT', userPath(a.user, '/privacy'), { body: { online: { mode: 'only', users: ['x y', '👪'] } } });
    await done(server, 'PUT', userPath(a.user, '/blocks'), { body: { users: ['enemy'] } });
    const said = Date.now();
    a.send({ type: 'bye' });
    await until(() => postgres.query(`SELECT last_seen_ms FROM presenced.profiles WHERE user_id = '${a.user}'`)[0] > 0, 'the row');
    await server.terminate();
    server = await start({ dataDir: server.dataDir });
    const status = await done(server, 'GET', userPath(a.user, '/status'));
    assert.equal(status.status, 'busy');
    assert.equal(status.customStatus.text, 'Ünïcödé "quoted"\\ \u{1F600}');
    assert.deepEqual((await done(server, 'GET', userPath(a.user, '/privacy'))).online, { mode: 'only', users: ['x y', '👪'] });
    assert.deepEqual((await done(server, 'GET', userPath(a.user, '/blocks'))).users, ['enemy']);
    const { at } = (await readPresence(server, a.user)).lastSeen;
    assert.ok(Math.abs(at - said) < 1000, `${at - said} ms off`);
  });

  test('FO-021 the zones of server and database change nothing', async () => {
    const stored = async (zone) => {
      const server = await start({ env: { TZ: zone } });
      const a = await attach(server, fresh());
      await delay(50);
      const said = Date.now();
      a.send({ type: 'bye' });
      const row = await until(() => postgres.query(`SELECT last_seen_ms FROM presenced.profiles WHERE user_id = '${a.user}' AND last_seen_ms IS NOT NULL`)[0], 'the row');
      assert.ok(Math.abs(Number(row) - said) < 1500, `${zone}: ${row - said} ms off`);
      assert.equal((await readPresence(server, a.user)).lastSeen.at, Number(row));
    };
    for (const zone of ['UTC', 'Asia/Kolkata', 'America/St_Johns']) await stored(zone);
  });

  test('FO-091 it stops while sessions end: watchers hear at once, changes are refused, no last seen is lost', async () => {
    const server = await start();
    const leavers = await Promise.all(Array.from({ length: 100 }, () => attach(server, fresh('leaver'), { beat: false })));
    const stays = await attach(server, fresh('stays'));
    const w = await watcher(server, [...leavers.map((one) => one.user), stays.user]);
    await postgres.stop();
    const ended = new Map();
    for (const one of leavers) {
      ended.set(one.user, Date.now());
      one.send({ type: 'bye' });
      await delay(10);
    }
    for (const { user } of leavers) await w.sees(user, 'offline', 3000);
    await stays.ask({ type: 'activity', state: 'idle' });
    await w.sees(stays.user, 'away', 1500);
    assertError(await call(server, 'PUT', userPath(fresh(), '/privacy'), { body: { online: { mode: 'nobody' } } }), 503, 'unavailable');
    assert.equal((await stays.request({ type: 'status', status: 'dnd' })).code, 'unavailable');
    await delay(1500);
    await postgres.start();
    const back = Date.now();
    await answersAgain(server);
    assert.ok(Date.now() - back < 5000, 'the pool did not heal within 5 s');
    await until(() => { const all = lastSeens(); return leavers.every(({ user }) => all.has(user)); }, 'all rows', 8000);
    const stored = lastSeens();
    for (const [user, at] of ended) assert.ok(Math.abs(stored.get(user) - at) < 1000, `${user}: ${stored.get(user) - at} ms off`);
  });

  test('FO-091 the node is killed meanwhile and comes back before the database: no last seen lost, none backwards', async () => {
    let server = await start();
    const early = await Promise.all(Array.from({ length: 60 }, () => attach(server, fresh('early'), { beat: false })));
    const late = await Promise.all(Array.from({ length: 20 }, () => attach(server, fresh('late'))));
    const twice = await attach(server, fresh('twice'));
    await postgres.stop();
    const ended = new Map();
    for (const one of early) { ended.set(one.user, Date.now()); one.send({ type: 'bye' }); await delay(10); }
    await delay(1800);  // The writer's second, and the journal's quarter.
    const crash = Date.now();
    await server.kill();
    // Somebody who is in the spool with an old time and in the database with a newer one.
    const { dataDir } = server;
    server = await start({ dataDir });
    await delay(1500);
    assert.equal(await attach(server, twice.user).then(() => 'welcome', (error) => error.answer?.code), 'unavailable');
    await postgres.start();
    const newest = Date.now() + 3_600_000;
    postgres.query(`INSERT INTO presenced.profiles (user_id, last_seen_ms) VALUES ('${early[0].user}', ${newest}) ON CONFLICT (user_id) DO UPDATE SET last_seen_ms = ${newest}`);
    await answersAgain(server);
    const names = [...early, ...late].map((one) => one.user);
    await until(() => { const stored = lastSeens(); return names.every((name) => stored.has(name)); }, 'all rows', grace + 15_000);
    const stored = lastSeens();
    assert.equal(stored.get(early[0].user), newest);
    for (const { user } of early.slice(1)) {
      assert.ok(Math.abs(stored.get(user) - ended.get(user)) < 1000, `${user}: ${stored.get(user) - ended.get(user)} ms off`);
    }
    for (const { user } of late) {
      const at = stored.get(user);
      assert.ok(at <= crash + 100 && at > crash - 5000, `${user}: ${at - crash} ms off`);
    }
  });

  test('FO-083 the database comes up after the node, and two nodes start at once on an empty one', async () => {
    postgres.query('DROP SCHEMA IF EXISTS presenced CASCADE');
    await postgres.stop();
    const [one, two] = await Promise.all([start(), start()]);
    assert.equal((await call(one, 'GET', '/healthz', { anonymous: true })).status, 200);
    await postgres.start();
    await Promise.all([answersAgain(one), answersAgain(two)]);
    const user = fresh();
    await done(one, 'PUT', userPath(user, '/privacy'), { body: { online: { mode: 'nobody' } } });
    assert.equal((await done(two, 'GET', userPath(user, '/privacy'))).online.mode, 'nobody');
    await attach(one, fresh());
  });

  test('FO-068 the zero character is refused as with SQLite, and nothing is cut at it', async () => {
    const server = await start();
    const a = await attach(server, fresh());
    await a.refused({ type: 'status', customStatus: { text: 'a\u0000b' } });
    await a.refused({ type: 'watch', users: ['a\u0000b'] });
    await a.ask({ type: 'status', status: 'away' });
    assert.equal((await done(server, 'GET', userPath(a.user, '/status'))).customStatus, undefined);
  });

  test('a URL that is wrong is refused by name and without its password', async () => {
    const refused = await run(['check', '--dev', '--set', 'database.url=postgresql://u:secret@h:5432/d?nonsense=1']);
    assert.notEqual(refused.code, 0);
    assert.match(refused.stderr, /database\.url .*nonsense/);
    assert.doesNotMatch(refused.stderr, /secret/);
  });
});
