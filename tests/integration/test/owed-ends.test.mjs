// Last seens outlive their node and an outage of the database together (RULINGS 30).
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { attach, endClients, fresh, watcher } from '../lib/client.mjs';
import { Postgres, hasPostgres } from '../lib/postgres.mjs';
import { startRedis } from '../lib/redis.mjs';
import { delay, startServer, until } from '../lib/server.mjs';

describe('a node dies while the database is away', { skip: !hasPostgres && 'no PostgreSQL here' }, () => {
  // Nobody falls silent before it is told to go, however busy the machine is.
  const patient = { 'heartbeat.interval': '15s', 'heartbeat.ttl': '60s' };
  let redis;
  let postgres;
  const nodes = [];
  const startNode = async () => {
    const node = await startServer({ set: { 'store.url': redis.url, 'database.url': postgres.url, ...patient } });
    nodes.push(node);
    return node;
  };
  before(async () => {
    [redis, postgres] = await Promise.all([startRedis(), Postgres.create()]);
    await postgres.start();
  });
  after(async () => {
    endClients();
    const left = redis ? await redis.withoutTtl() : [];
    await Promise.all(nodes.map((node) => node.dispose()));
    await redis?.dispose();
    await postgres?.dispose();
    assert.deepEqual(left, [], 'keys without a TTL');
  });

  const stored = () => new Map(postgres.query('SELECT last_seen_ms, user_id FROM presenced.profiles WHERE last_seen_ms IS NOT NULL')
    .map((line) => [line.slice(line.indexOf('|') + 1), Number(line.slice(0, line.indexOf('|')))]));
  const owed = async () => {
    let sum = 0;
    for (const key of await redis.command('KEYS', 'pd{*}e*')) sum += await redis.command('HLEN', Buffer.from(key, 'latin1').toString());
    return sum;
  };

  test('FO-091 no last seen of 500 is lost, and none goes backwards', async () => {
    const [a, b] = [await startNode(), await startNode()];
    const users = Array.from({ length: 500 }, () => fresh('leaver'));
    const clients = [];
    for (let i = 0; i < users.length; i += 50) {
      clients.push(...await Promise.all(users.slice(i, i + 50).map((user) => attach(a, user, { beat: true }))));
    }
    // Some were here before, and the database knows when.
    for (const client of clients.slice(0, 50)) client.send({ type: 'bye' });
    await until(() => stored().size >= 50, 'the first last seens', 10_000);
    const earlier = stored();
    for (let i = 0; i < 50; i++) clients[i] = await attach(a, users[i], { beat: true });
    const w = await watcher(b, [users[0], users.at(-1)]);
    await postgres.stop();
    const ended = new Map();
    for (const client of clients) {
      ended.set(client.user, Date.now());
      client.send({ type: 'bye' });
      await delay(4);
    }
    await w.sees(users.at(-1), 'offline', 20_000);
    await until(async () => await owed() >= 500, 'all of them among what is owed', 30_000);
    await a.kill();
    await delay(12_000);  // The other settles the death while the database is still away.
    await postgres.start();
    const rows = await until(() => { const now = stored(); return now.size >= 500 && [...earlier.keys()].every((user) => now.get(user) > earlier.get(user)) && now; },
                             'all last seens', 20_000);
    for (const user of users) {
      assert.ok(Math.abs(rows.get(user) - ended.get(user)) < 2000, `${user}: ${rows.get(user) - ended.get(user)} ms off`);
      assert.ok(rows.get(user) > (earlier.get(user) ?? 0));
    }
    await until(async () => await owed() === 0, 'nothing owed any more', 40_000);
  });
});
