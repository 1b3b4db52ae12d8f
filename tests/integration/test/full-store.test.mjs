// Redis at its `maxmemory`, which refuses writes: DESIGN rule 30. Nobody is shown offline, all that needs room is kept by
// the nodes until there is some, and everybody is told.
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { attach, endClients, fresh, watcher } from '../lib/client.mjs';
import { Nodes, allAgree, shownOffline, statuses } from '../lib/nodes.mjs';
import { startRedis } from '../lib/redis.mjs';
import { call } from '../lib/rest.mjs';
import { delay, grace, ttl, until } from '../lib/server.mjs';

let redis;
let nodes;
let a;
let b;
beforeEach(async () => {
  redis = await startRedis(['--maxmemory-policy', 'noeviction']);
  nodes = new Nodes({ 'store.url': redis.url });
  [a, b] = await nodes.startMany(2);
});
afterEach(async () => {
  endClients();
  await nodes.dispose();
  await redis.dispose();
});

const readiness = async (node) => (await call(node, 'GET', '/readyz', { anonymous: true }));
const health = async (node) => /^presenced_store_health\{state="(\w+)"\} 1$/m.exec((await call(node, 'GET', '/metrics')).text)[1];

/** No more room, and both nodes know. */
async function fill() {
  await redis.command('CONFIG', 'SET', 'maxmemory', '1');
  for (const node of [a, b]) await until(async () => await health(node) === 'degraded', 'the node to find out', 8000);
}
const makeRoom = () => redis.command('CONFIG', 'SET', 'maxmemory', '0');

describe('Redis is at its maxmemory', () => {
  test('is told to clients, to those who route them and to those who run it, and over when there is room', async () => {
    const one = await attach(a, fresh());
    assert.deepEqual((await readiness(a)).json, { status: 'ready', store: 'ok', database: 'ok' });
    await fill();
    const told = await one.when(() => one.received.map((r) => r.message).find((m) => m.type === 'health'), 'health');
    assert.equal(told.store, 'degraded');
    await until(async () => (await readiness(a)).json.status === 'degraded', 'readiness', 3000);
    const full = await readiness(a);
    assert.deepEqual([full.status, full.json], [200, { status: 'degraded', store: 'degraded', database: 'ok' }]);
    assert.match(a.stderr, /warning redis_full 127\.0\.0\.1:\d+ refuses writes: .*OOM/);
    await makeRoom();
    await one.next((m) => m.type === 'health' && m.store === 'ok', { from: 0, what: 'health: ok' });
    assert.match(a.stderr, /warning redis_has_room/);
    await until(async () => (await readiness(a)).json.status === 'ready', 'readiness', 3000);
    assert.equal((a.stderr.match(/redis_full/g) ?? []).length, 1, 'said again and again');
  });

  test('nobody is shown offline, beats go on, who comes is let in and unknown elsewhere; then all agree', { timeout: 60_000 }, async () => {
    const people = await Promise.all(Array.from({ length: 60 }, (_, i) => attach(i % 2 ? a : b, fresh('there'))));
    const users = people.map((one) => one.user);
    const comers = Array.from({ length: 10 }, () => fresh('comes'));
    const watchers = await Promise.all([watcher(a, [...users, ...comers]), watcher(b, [...users, ...comers])]);
    await fill();
    const filledAt = Date.now();
    const came = await Promise.all(comers.map((user) => attach(a, user)));
    for (let i = 0; i < 20; ++i) await people[i].ask({ type: 'status', scope: 'session', status: 'busy' });
    let worst = 0;
    while (Date.now() - filledAt < 2 * ttl + 1000) {
      const asked = Date.now();
      for (const one of [people[0], people[1], came[0]]) await one.ask({ type: 'heartbeat' }, 'heartbeatAck');
      worst = Math.max(worst, Date.now() - asked);
      await delay(300);
    }
    assert.ok(worst < 1000, `beats took ${worst} ms`);
    const nearby = await watcher(a, [...users, ...comers]);
    assert.deepEqual(comers.map((user) => nearby.state.get(user).status), comers.map(() => 'online'), 'to who comes to look on their own node');
    const late = await watcher(b, [...users, ...comers]);
    assert.deepEqual(comers.map((user) => late.state.get(user).status), comers.map(() => 'unknown'), 'who came meanwhile, on the other node');
    assert.deepEqual(users.map((user) => late.state.get(user).status === 'offline'), users.map(() => false));
    assert.deepEqual(users.slice(0, 20).filter((_, i) => i % 2).map((user) => nearby.state.get(user).status), Array(10).fill('busy'), 'what they said since');
    assert.deepEqual(comers.map((user) => watchers[0].state.get(user).status), comers.map(() => 'online'), 'on their own node');
    assert.deepEqual(shownOffline([...watchers, nearby, late], [...users, ...comers]), []);
    assert.deepEqual([...people, ...came].filter((one) => one.ended), []);
    await makeRoom();
    const wanted = new Map([...users.map((user, i) => [user, i < 20 ? 'busy' : 'online']), ...comers.map((user) => [user, 'online'])]);
    await allAgree([a, b], [...watchers, late], wanted);
    assert.deepEqual(shownOffline([...watchers, late], [...users, ...comers]), []);
  });

  test('ends pass, to the watchers of the other node too; who goes on elsewhere is not gone', { timeout: 60_000 }, async () => {
    const [leaves, dies, moves] = await Promise.all(['leaves', 'dies', 'moves'].map((name) => attach(a, fresh(name))));
    const users = [leaves.user, dies.user, moves.user];
    const watchers = await Promise.all([watcher(a, users), watcher(b, users)]);
    await fill();
    await leaves.bye();
    for (const w of watchers) await w.sees(leaves.user, 'offline', 2500);
    dies.goSilent();
    const silentAt = Date.now();
    const { resume } = moves.welcome;
    await moves.reset();
    const moved = await attach(b, moves.user, { hello: { resume } });
    assert.equal(moved.welcome.resumed, true);
    for (const w of watchers) {
      const { lastSeen } = await w.sees(dies.user, 'offline', ttl + 3000);
      assert.ok(Math.abs(lastSeen.at - silentAt) < 1500, `last seen ${lastSeen.at - silentAt} ms off`);
    }
    await delay(grace + ttl);
    assert.deepEqual(watchers.map((w) => statuses(w, moves.user)), [[], []]);
    await makeRoom();
    await allAgree([a, b], watchers, new Map([[leaves.user, 'offline'], [dies.user, 'offline'], [moves.user, 'online']]));
    assert.deepEqual(watchers.map((w) => statuses(w, moves.user)), [[], []]);
  });
});
