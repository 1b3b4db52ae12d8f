// After an outage of the store all watches are looked at again: how long that takes (DESIGN rule 30).
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { attach, endClients, fresh, watcher } from '../lib/client.mjs';
import { startRedis } from '../lib/redis.mjs';
import { call } from '../lib/rest.mjs';
import { delay, startServer, until } from '../lib/server.mjs';

const slow = { 'heartbeat.interval': '30s', 'heartbeat.ttl': '100s', 'heartbeat.grace': '10s' };
const unknownAfter = 10_000;

describe('5,000 watches by 200 connections', () => {
  let redis;
  let a;
  let b;
  const start = () => startServer({ set: { 'store.url': redis.url, 'database.url': 'memory:', ...slow } });
  before(async () => { redis = await startRedis(); [a, b] = await Promise.all([start(), start()]); });
  after(async () => {
    endClients();
    await Promise.all([a?.dispose(), b?.dispose()]);
    await redis?.dispose();
  });

  test('are right again soon after an outage', async (t) => {
    const users = Array.from({ length: 1000 }, () => fresh('seen'));
    for (let i = 0; i < users.length; i += 50) {
      await Promise.all(users.slice(i, i + 50).map((user) => call(a, 'POST', '/v1/heartbeat', { as: user, body: { deviceId: 'phone' } })));
    }
    const watchers = [];
    for (let i = 0; i < 200; i++) {
      watchers.push(await watcher(b, Array.from({ length: 25 }, (_, k) => users[(i * 5 + k * 40) % users.length])));
    }
    const all = (status) => watchers.every((w) => [...w.state.values()].every((one) => one.status === status));
    await until(() => all('online'), 'everybody online', 10_000);
    await redis.stop();
    await until(() => all('unknown'), 'everybody unknown', unknownAfter + 10_000);
    await redis.start();
    const back = Date.now();
    const cpu = b.cpuSeconds();
    let first;
    await until(() => {
      first ??= watchers.some((w) => [...w.state.values()].some((one) => one.status === 'online')) ? Date.now() : undefined;
      return all('online');
    }, 'everybody online again', 20_000);
    const over = Date.now();
    t.diagnostic(`first told ${first - back} ms after the return of the store, last ${over - back} ms, ${over - first} ms between, ` +
                 `${Math.round((b.cpuSeconds() - cpu) * 1000)} ms of CPU`);
    assert.ok(over - back < 10_000, `${over - back} ms`);
    for (const w of watchers) assert.deepEqual(w.breaches, []);
    await delay(100);
    assert.deepEqual(await redis.withoutTtl(), []);
  });

  test('somebody else hears as before', async () => {
    const one = await attach(a, fresh());
    const w = await watcher(b, [one.user]);
    // The other node may find the store a renewal and a reconnect later, and states it then.
    await until(() => w.state.get(one.user).status === 'online', 'online', 3_000);
  });
});
