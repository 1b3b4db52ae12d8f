// Lines that carry only so many bytes a second, to a client and to the store: late, but never wrong.
import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { attach, endClients, fresh, watcher } from '../lib/client.mjs';
import { Nodes, allAgree, shownOffline } from '../lib/nodes.mjs';
import { startRedis } from '../lib/redis.mjs';
import { delay, startServer, until } from '../lib/server.mjs';
import { SlowLink } from '../lib/slow-link.mjs';

const closing = [];
afterEach(async () => {
  endClients();
  for (const close of closing.splice(0).reverse()) await close();
});
const through = async (port, bytesPerSecond) => {
  const link = await SlowLink.start(port, bytesPerSecond);
  closing.push(() => link.dispose());
  return link;
};

test('a client behind 32 kB a second stays online, holds the newest state in the end, and slows nobody down', { timeout: 90_000 }, async () => {
  const server = await startServer({ set: { 'limits.lookups_per_second': '100000', 'limits.lookups_burst': '100000' } });
  closing.push(() => server.dispose());
  const people = await Promise.all(Array.from({ length: 80 }, () => attach(server, fresh('p'.repeat(100)))));
  const users = people.map((one) => one.user);
  for (const one of people) one.send({ type: 'status', customStatus: { text: '\u{1F600}'.repeat(100) } });
  await Promise.all(people.map((one) => one.ask({ type: 'heartbeat' }, 'heartbeatAck')));
  const link = await through(server.port, 32_000);
  const behind = await attach({ wsUrl: link.wsUrl, secret: server.secret }, fresh('behind'));
  const healthy = await watcher(server, [...users, behind.user]);
  const askedAt = Date.now();
  behind.send({ type: 'watch', id: 77, users });
  let worst = 0;
  for (let round = 0; round < 12; ++round) {
    const status = round === 11 ? 'dnd' : ['busy', 'away'][round % 2];
    for (const one of people) one.send({ type: 'status', scope: 'session', status });
    const changed = Date.now();
    await until(() => users.every((user) => healthy.state.get(user).status === status), `all ${status} at the healthy one`, 4000);
    worst = Math.max(worst, Date.now() - changed);
    await delay(200);
  }
  assert.ok(worst < 3000, `a healthy watcher waited ${worst} ms`);
  await until(() => users.every((user) => behind.state.get(user)?.status === 'dnd'), 'the newest state behind the line', 45_000);
  const took = Date.now() - askedAt;
  assert.ok(link.carried > 60_000 && took > 1500, `${link.carried} bytes in ${took} ms: the line was no limit`);
  for (const user of users) assert.equal(behind.state.get(user).version, healthy.state.get(user).version);
  assert.deepEqual(behind.breaches, [], 'no version goes back');
  assert.deepEqual(healthy.told(behind.user), [], 'its beats come through');
});

test('a store behind 24 kB a second: beats are answered, nobody is shown offline, and all agree when the line is wide again', { timeout: 90_000 }, async () => {
  const redis = await startRedis();
  const link = await through(redis.port, 10_000_000);
  const nodes = new Nodes({});
  closing.push(async () => { await nodes.dispose(); await redis.dispose(); });
  const near = await nodes.start({ set: { 'store.url': redis.url } });
  const far = await nodes.start({ set: { 'store.url': link.redisUrl } });
  const people = await Promise.all(Array.from({ length: 60 }, (_, i) => attach(i % 2 ? near : far, fresh())));
  const users = people.map((one) => one.user);
  const watchers = await Promise.all([watcher(near, users), watcher(far, users)]);
  link.bytesPerSecond = 24_000;
  const narrowAt = Date.now();
  const before = link.carried;
  let worst = 0;
  for (let turn = 0; Date.now() - narrowAt < 15_000; ++turn) {
    for (const one of people) one.send({ type: 'status', scope: 'session', status: ['busy', 'away'][turn % 2] });
    const asked = Date.now();
    await Promise.all(people.map((one) => one.ask({ type: 'heartbeat' }, 'heartbeatAck')));
    worst = Math.max(worst, Date.now() - asked);
    await delay(250);
  }
  assert.ok(worst < 1500, `beats took ${worst} ms`);
  const rate = (link.carried - before) / (Date.now() - narrowAt) * 1000;
  assert.ok(rate > 12_000, `${rate} bytes a second: the line was no limit`);
  assert.deepEqual(shownOffline(watchers, users), []);
  assert.deepEqual(people.filter((one) => one.ended), []);
  link.bytesPerSecond = 10_000_000;
  for (const one of people) one.send({ type: 'status', scope: 'session', status: 'dnd' });
  await allAgree([near, far], watchers, new Map(users.map((user) => [user, 'dnd'])), 20_000);
  assert.deepEqual(shownOffline(watchers, users), []);
});
