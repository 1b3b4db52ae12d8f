// store.write_every_heartbeat: the plain keys that other systems read, on a real Redis.
import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import { attach, endClients, fresh } from '../lib/client.mjs';
import { startRedis } from '../lib/redis.mjs';
import { delay, grace, run, startServer, ttl, until } from '../lib/server.mjs';

let redis;
let node;
let other;

const options = () => ({ set: { 'store.url': redis.url, 'store.write_every_heartbeat': 'true', 'database.url': 'memory:' } });
before(async () => {
  redis = await startRedis();
  [node, other] = await Promise.all([startServer(options()), startServer(options())]);
});
afterEach(() => endClients());
after(async () => {
  const left = await redis.withoutTtl();
  await Promise.all([node.dispose(), other.dispose()]);
  await redis.dispose();
  assert.deepEqual(left, [], 'keys without a TTL');
});

const key = (user) => `presence:${user}`;
const holder = (user) => redis.command('GET', key(user));
const score = (user) => redis.command('ZSCORE', 'presence:beats', user);
const isShown = (user) => until(() => holder(user), `the key of ${user}`, 2000);
const isGone = async (user, timeoutMs) => {
  await until(async () => await redis.command('EXISTS', key(user)) === 0 && await score(user) === null,
              `the end of the key of ${user}`, timeoutMs);
};

describe('plain keys for other systems', () => {
  test('a key names the node and lives for the ttl, the set has the time of the beat in seconds', async () => {
    const one = await attach(node, fresh());
    assert.match(await isShown(one.user), /^[0-9a-f]{16}$/);
    const left = await redis.command('PTTL', key(one.user));
    assert.ok(left <= ttl && left > ttl - 1500, `${left} ms left`);
    assert.ok(Math.abs(Number(await score(one.user)) * 1000 - Date.now()) < 1500);
  });

  test('who beats stays, also past the ttl', async () => {
    const one = await attach(node, fresh());
    await isShown(one.user);
    const before = Number(await score(one.user));
    const until_ = Date.now() + ttl + 3000;
    while (Date.now() < until_) {
      await delay(200);
      assert.ok(await holder(one.user), 'the key is there');
    }
    assert.ok(Number(await score(one.user)) > before);
  });

  test('bye takes both away at once, but not while another node has a device of the user', async () => {
    const user = fresh();
    const phone = await attach(node, user);
    const laptop = await attach(other, user);
    await isShown(user);
    await phone.bye();
    await delay(700);
    assert.ok(await holder(user));
    await laptop.bye();
    await isGone(user, 700);
  });

  test('who falls silent, and who loses the connection and does not return, goes', async () => {
    const silent = await attach(node, fresh('silent'));
    const lost = await attach(node, fresh('lost'));
    await isShown(silent.user);
    await isShown(lost.user);
    silent.goSilent();
    lost.socket.terminate();
    await isGone(lost.user, grace + 1500);
    await isGone(silent.user, ttl + 1500);
  });

  test('who is invisible has no key', async () => {
    const one = await attach(node, fresh());
    await isShown(one.user);
    await one.ask({ type: 'status', status: 'invisible' });
    await isGone(one.user, 700);
    await delay(2500);
    await isGone(one.user, 100);
    await one.ask({ type: 'status', status: 'auto' });
    await isShown(one.user);
  });

  test('what a killed node wrote goes by itself', async () => {
    const third = await startServer(options());
    const one = await attach(third, fresh());
    await isShown(one.user);
    await third.kill();
    await until(async () => await redis.command('EXISTS', key(one.user)) === 0, 'the end of the key', ttl + 1000);
    await attach(node, fresh());  // Whoever beats next trims the set.
    await until(async () => await score(one.user) === null, 'the end of the entry', ttl + 2000);
    await third.dispose();
  });

  test('it is off by default, and refused where no other system could read', async () => {
    const plain = await startServer({ set: { 'store.url': redis.url, 'database.url': 'memory:' } });
    const one = await attach(plain, fresh());
    await delay(1500);
    assert.equal(await holder(one.user), null);
    await plain.dispose();
    const refused = await run(['serve', '--dev', '--set', 'listen=127.0.0.1:0', '--set', 'database.url=memory:',
                               '--set', 'store.write_every_heartbeat=true']);
    assert.notEqual(refused.code, 0);
    assert.match(refused.stderr, /store\.write_every_heartbeat.*store\.url is memory:/);
  });
});
