// Two nodes on a real Redis that goes away, comes back with and without its data, or falls silent
// (DESIGN rules 30, 31, 34 and 35).
import assert from 'node:assert/strict';
import { afterEach, describe, test } from 'node:test';
import { attach, endClients, fresh, watcher } from '../lib/client.mjs';
import { Crowd, endCrowds } from '../lib/crowd.mjs';
import { Nodes, allAgree, shownOffline, statuses } from '../lib/nodes.mjs';
import { lookForKeysWithoutTtl, startRedis } from '../lib/redis.mjs';
import { RedisProxy } from '../lib/redis-proxy.mjs';
import { done, readPresence } from '../lib/rest.mjs';
import { delay, until } from '../lib/server.mjs';
import { endStreams, openStream } from '../lib/stream.mjs';
import { long } from '../lib/suite.mjs';

const closing = [];
const many = (count, name) => Array.from({ length: count }, () => fresh(name));
const asMap = (users, status) => new Map(users.map((user) => [user, status]));

/** A Redis and two nodes on it, each by the URL that `urlOf` gives. */
async function two(urlOf = async (redis) => redis.url) {
  const redis = await startRedis();
  const nodes = new Nodes({});
  closing.push(async () => { await nodes.dispose(); await redis.dispose(); });
  const [a, b] = await Promise.all([0, 1].map(async (i) => nodes.start({ set: { 'store.url': await urlOf(redis, i) } })));
  return { redis, nodes, a, b };
}

afterEach(async () => {
  endClients();
  endStreams();
  await endCrowds();
  for (const close of closing.splice(0)) await close();
});

describe('the store is stopped', () => {
  test('`unknown` carries the version that was known on every road', async () => {
    const { redis, a, b } = await two();
    const ann = await attach(a, fresh('ann'));
    const [w, viewer] = [await watcher(b, [ann.user]), fresh('viewer')];
    await ann.ask({ type: 'status', status: 'busy' });
    await w.sees(ann.user, 'busy');
    const { version } = w.state.get(ann.user);
    await redis.stop({ keepData: true });
    await w.sees(ann.user, 'unknown', 15_000);
    const users = `users=${encodeURIComponent(ann.user)}`;
    const stream = await openStream(b, `/v1/stream?${users}`, { as: viewer });
    const later = await attach(b, fresh('later'));
    const told = {
      told: w.state.get(ann.user),
      get: await readPresence(b, ann.user, viewer),
      backEnd: { ...await readPresence(b, ann.user), version },
      query: (await done(b, 'POST', '/v1/presence/query', { as: viewer, body: { users: [ann.user] } })).users[0],
      poll: (await done(b, 'GET', `/v1/poll?${users}`, { as: viewer })).users[0],
      stream: stream.events[0].data.users[0],
      watch: (await later.watch([ann.user])).users[0],
    };
    for (const [road, one] of Object.entries(told)) assert.deepEqual(one, { userId: ann.user, status: 'unknown', version }, road);
    await redis.start();
    await later.sees(ann.user, 'busy', 15_000);
    assert.ok(later.state.get(ann.user).version >= version);
    assert.deepEqual([...w.breaches, ...later.breaches], []);
  });

  for (const keepData of [true, false]) {
    test(`for 20 s during a connect storm, ${keepData ? 'with' : 'without'} its data afterwards`, { skip: keepData && !long && 'only with --all' }, async () => {
      const { redis, a, b } = await two();
      const look = lookForKeysWithoutTtl([redis]);
      const crowd = new Crowd();
      const [onA, onB] = [many(150, 'a'), many(150, 'b')];
      await Promise.all([crowd.attach(a, onA), crowd.attach(b, onB)]);
      const beats = await attach(a, fresh('beats'));
      const residents = [...onA, ...onB];
      const watchers = await Promise.all([watcher(a, residents), watcher(b, residents)]);
      await delay(1000);
      const memory = a.residentBytes();

      const storm = [many(500, 'storm-a'), many(500, 'storm-b')];
      const storming = Promise.all([a, b].map((node, i) => crowd.attach(node, storm[i], { perSecond: 30, atOnce: 200 })));
      await delay(1000);
      await redis.stop({ keepData });
      const stoppedAt = Date.now();
      while (Date.now() - stoppedAt < 20_000) {
        assert.equal((await beats.request({ type: 'heartbeat' }, 1000)).type, 'heartbeatAck');
        await delay(500);
      }
      for (const [w, own, others] of [[watchers[0], onA, onB], [watchers[1], onB, onA]]) {
        assert.deepEqual(own.filter((user) => statuses(w, user).length > 0), [], 'people of the node itself');
        assert.deepEqual(others.filter((user) => w.state.get(user).status !== 'unknown'), [], 'people of the other node');
        const first = Math.min(...others.map((user) => w.told(user)[0].receivedAt));
        assert.ok(first - stoppedAt >= 9_500, `unknown after ${first - stoppedAt} ms`);
      }
      assert.ok(a.residentBytes() - memory < 64e6, `grew by ${a.residentBytes() - memory} bytes`);
      await redis.start();
      const startedAt = Date.now();

      const answers = new Map((await storming).flatMap((each) => [...each]));
      const slow = [...answers.values()].filter((each) => each.error && each.tookMs > 4000);
      assert.deepEqual(slow, [], 'refusals after more than 2 s and what a busy machine adds');
      const refused = [...answers].filter(([, each]) => each.error);
      assert.deepEqual(refused.filter(([, each]) => each.error !== 'unavailable' || !(each.retryAfterMs > 0)), []);
      await allAgree([a, b], watchers, asMap(residents, 'online'), Math.max(1000, 10_000 - (Date.now() - startedAt)));
      const served = [...answers].filter(([, each]) => !each.error).map(([user]) => user);
      assert.ok(served.length > 500, `${served.length} of 1000 were served`);
      for (const node of [a, b]) {
        for (let i = 0; i < served.length; i += 500) {
          const w = await watcher(node, served.slice(i, i + 500));
          const lost = () => served.slice(i, i + 500).filter((user) => w.state.get(user).status !== 'online');
          await until(() => lost().length === 0, 'those who came meanwhile', 5000).catch((error) => { throw new Error(`${error.message}: ${lost().slice(0, 9)}`); });
        }
      }
      assert.deepEqual(shownOffline(watchers, residents), []);
      assert.deepEqual([...crowd.ended], [], 'connections that ended');
      assert.deepEqual((await look()).found, [], 'keys without a TTL');
    });

    test(`and started again at once, ${keepData ? 'with' : 'without'} its data`, async () => {
      const { redis, a, b } = await two();
      const people = await Promise.all(many(80).map((user, i) => attach(i % 2 ? a : b, user)));
      const users = people.map((one) => one.user);
      const watchers = await Promise.all([watcher(a, users), watcher(b, users)]);
      await redis.stop({ keepData });
      await redis.start();
      await Promise.all(people.slice(0, 40).map((one) => one.ask({ type: 'status', scope: 'session', status: 'busy' })));
      const wanted = new Map(users.map((user, i) => [user, i < 40 ? 'busy' : 'online']));
      await allAgree([a, b], watchers, wanted);
      assert.deepEqual(shownOffline(watchers, users), []);
      await delay(5000);
      await allAgree([a, b], watchers, wanted, 1000);
      assert.deepEqual(shownOffline(watchers, users), []);
    });
  }

  test('hung (SIGSTOP): the same', async () => {
    const { redis, a, b } = await two();
    const people = await Promise.all(many(60).map((user, i) => attach(i % 2 ? a : b, user)));
    const users = people.map((one) => one.user);
    const [onB, onA] = [0, 1].map((k) => users.filter((_, i) => i % 2 === k));
    const watchers = await Promise.all([watcher(a, users), watcher(b, users)]);
    redis.signal('SIGSTOP');
    await delay(long ? 20_000 : 14_000);
    assert.deepEqual(onA.map((user) => watchers[0].state.get(user).status), onA.map(() => 'online'));
    assert.deepEqual(onB.map((user) => watchers[0].state.get(user).status), onB.map(() => 'unknown'));
    redis.signal('SIGCONT');
    await allAgree([a, b], watchers, asMap(users, 'online'));
    assert.deepEqual(shownOffline(watchers, users), []);
    assert.deepEqual(people.filter((one) => one.ended), []);
  });
});

describe('what a node listens to is lost without a word', () => {
  for (const how of ['swallow', 'deafen']) {
    test(how === 'swallow' ? 'the connection stays open and brings nothing' : 'the connection answers but brings no messages', async () => {
      let proxy;
      const { a, b } = await two(async (redis, i) => {
        if (i === 0) return redis.url;
        proxy = await RedisProxy.start(redis);
        closing.push(() => proxy.dispose());
        return proxy.url;
      });
      const people = await Promise.all(many(40).map((user) => attach(a, user)));
      const users = people.map((one) => one.user);
      const w = await watcher(b, users);
      await delay(3000);
      assert.ok(proxy[how]() > 0, 'a connection that listens');
      const lostAt = Date.now();
      await Promise.all(people.map((one) => one.ask({ type: 'status', scope: 'session', status: 'busy' })));
      await until(() => users.every((user) => w.state.get(user).status === 'busy'), 'the watcher', 12_000);
      const took = Date.now() - lostAt;
      assert.ok(took <= 6000, `found and healed after ${took} ms`);
      assert.deepEqual(shownOffline([w], users), []);
      await people[0].ask({ type: 'status', scope: 'session', status: 'away' });
      await w.sees(users[0], 'away', 2000);
    });
  }
});
