// Two nodes on one real Redis: what happens on one is seen on the other.
import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import { attach, endClients, fresh, watcher } from '../lib/client.mjs';
import { startRedis } from '../lib/redis.mjs';
import { readPresence } from '../lib/rest.mjs';
import { delay, grace, run, startServer, ttl, until } from '../lib/server.mjs';

let redis;
let a;
let b;

before(async () => {
  redis = await startRedis();
  const set = { 'store.url': redis.url, threads: '2', 'truth.canaries': 'false' };
  [a, b] = await Promise.all([startServer({ set }), startServer({ set })]);
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

  test('rule 22: a change crosses once to a node and is encoded once a thread there, however many watch; the first asks for it, after the last it goes', async () => {
    const user = fresh('seen');
    const one = await attach(a, user);
    const channels = async () => (await redis.command('PUBSUB', 'SHARDCHANNELS', `*c${user}`));
    const listeners = async () => (await redis.command('PUBSUB', 'SHARDNUMSUB', ...await channels())).filter((each) => typeof each === 'number');
    const count = async (name) => {
      const page = await (await fetch(`${b.httpUrl}/metrics`)).text();
      return Number(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\d+)`, 'm').exec(page)[1]);
    };
    assert.deepEqual(await channels(), [], 'a node listens to its own users');
    const watchers = [];
    for (let i = 0; i < 40; i += 10) watchers.push(...await Promise.all(Array.from({ length: 10 }, () => watcher(b, [user]))));
    assert.deepEqual(await listeners(), [1]);
    const encoded = await count('presenced_presences_encoded_total');
    await one.ask({ type: 'status', status: 'busy' });
    for (const w of watchers) await w.sees(user, 'busy');
    const grown = await count('presenced_presences_encoded_total') - encoded;
    assert.ok(grown >= 1 && grown <= 2, `encoded ${grown} times for 40 on two threads`);
    for (const w of watchers.slice(1)) await w.bye();
    await delay(6000);
    assert.deepEqual(await listeners(), [1], 'one still watches');
    await watchers[0].bye();
    await delay(2000);
    assert.deepEqual(await listeners(), [1], 'it lingers, as people come back to a screen');
    await until(async () => (await channels()).length === 0, 'the end of the subscription', 8000);
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
