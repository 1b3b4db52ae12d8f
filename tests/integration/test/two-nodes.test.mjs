// Two nodes on one real Redis: what happens on one is seen on the other.
import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import { attach, endClients, fresh, watcher } from '../lib/client.mjs';
import { startRedis } from '../lib/redis.mjs';
import { readPresence } from '../lib/rest.mjs';
import { grace, run, startServer, ttl, until } from '../lib/server.mjs';

let redis;
let a;
let b;

before(async () => {
  redis = await startRedis();
  [a, b] = await Promise.all([startServer({ set: { 'store.url': redis.url } }),
                              startServer({ set: { 'store.url': redis.url } })]);
});
afterEach(() => endClients());
after(async () => {
  const left = await redis.withoutTtl();
  await Promise.all([a.dispose(), b.dispose()]);
  await redis.dispose();
  assert.deepEqual(left, [], 'keys without a TTL');
});

describe('two nodes on one Redis', () => {
  test('who comes, changes and goes on one node is seen on the other', async () => {
    const user = fresh('{ada}:ü');
    const w = await watcher(b, [user]);
    assert.equal(w.state.get(user).status, 'offline');
    const one = await attach(a, user);
    await w.sees(user, 'online');
    await one.ask({ type: 'status', status: 'dnd' });
    await w.sees(user, 'dnd');
    const before = w.state.get(user).version;
    one.socket.terminate();
    await w.sees(user, 'offline', grace + 3000);
    assert.ok(w.state.get(user).version > before);
    assert.equal((await readPresence(b, user)).status, 'offline');
  });

  test('a silent death on one node is seen on the other within the ttl and half a second', async () => {
    const user = fresh();
    const one = await attach(a, user);
    const w = await watcher(b, [user]);
    one.goSilent();
    const from = Date.now();
    await w.sees(user, 'offline', ttl + 2000);
    assert.ok(Date.now() - from >= ttl - 1500);
  });

  test('a watcher that comes later reads what stands there', async () => {
    const user = fresh();
    const one = await attach(a, user);
    await one.ask({ type: 'status', status: 'busy', customStatus: { text: 'écrit', emoji: '🙂' } });
    const w = await watcher(b, [user]);
    assert.equal(w.state.get(user).status, 'busy');
    assert.deepEqual(w.state.get(user).customStatus, { text: 'écrit', emoji: '🙂' });
  });

  test('three hundred users on one node, all watched on the other, end equal', async () => {
    const users = Array.from({ length: 300 }, () => fresh('many'));
    const w = await watcher(b, users);
    const clients = [];
    for (let i = 0; i < users.length; i += 25) {
      clients.push(...await Promise.all(users.slice(i, i + 25).map((user) => attach(a, user))));
    }
    await Promise.all(clients.map((client, i) => client.ask({ type: 'status', status: i % 2 ? 'away' : 'busy' })));
    await until(() => users.every((user, i) => w.state.get(user).status === (i % 2 ? 'away' : 'busy')), 'all states');
    assert.deepEqual(w.breaches, []);
  });

  test('a node of another deployment is refused with the numbers', async () => {
    const refused = await run(['serve', '--dev', '--set', 'listen=127.0.0.1:0', '--set', 'database.url=memory:',
                               '--set', `store.url=${redis.url}?partitions=16`]);
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /store\.url.*64.*16/);
  });

  test('a store that hears only passwords is refused clearly', async () => {
    const locked = await startRedis(['--requirepass', 'right']);
    try {
      const refused = await run(['serve', '--dev', '--set', 'listen=127.0.0.1:0', '--set', 'database.url=memory:',
                                 '--set', `store.url=redis://:wrong@127.0.0.1:${locked.port}`]);
      assert.equal(refused.code, 1);
      assert.match(refused.stderr, /store\.url.*WRONGPASS/);
      assert.doesNotMatch(refused.stderr, /:wrong@/);
      const served = await startServer({ set: { 'store.url': `redis://:right@127.0.0.1:${locked.port}` } });
      await served.dispose();
    } finally {
      await locked.dispose();
    }
  });

  test('FO-090 a store that is not there at the start is found when it comes', async () => {
    const late = await startRedis();
    await late.stop();
    const node = await startServer({ set: { 'store.url': late.url } });
    try {
      await late.start();
      await until(() => attach(node, fresh()).then(() => true, () => false), 'an attach', 10_000);
    } finally {
      await node.dispose();
      await late.dispose();
    }
  });
});
