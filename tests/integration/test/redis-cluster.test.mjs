// Three nodes on a real Redis Cluster of three masters with a replica each: masters that die, slots and
// replicas that move, connections that are cut (DESIGN rules 30, 31 and 35).
import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import { attach, endClients, fresh, watcher } from '../lib/client.mjs';
import { Changers, Nodes, allAgree, shownOffline } from '../lib/nodes.mjs';
import { lookForKeysWithoutTtl } from '../lib/redis.mjs';
import { RedisCluster, slotOf } from '../lib/redis-cluster.mjs';
import { readPresence } from '../lib/rest.mjs';
import { delay, until } from '../lib/server.mjs';

describe('three nodes on a Redis Cluster', () => {
  let cluster;
  let nodes;
  let servers;
  let look;
  before(async () => {
    cluster = await RedisCluster.start();
    nodes = new Nodes({ 'store.url': cluster.url });
    servers = await nodes.startMany(3);
    look = lookForKeysWithoutTtl(cluster.servers);
  });
  afterEach(async () => {
    endClients();
    for (const one of cluster.servers) if (!one.running) await one.start();
    await cluster.whole();
  });
  after(async () => {
    const { found, looks } = await look();
    await nodes.dispose();
    await cluster.dispose();
    assert.ok(looks > 10, `${looks} looks`);
    assert.deepEqual(found, [], 'keys without a TTL');
  });

  /** People on the first two nodes, and a watcher of them all on each. */
  const crowd = async (count) => {
    const people = await Promise.all(Array.from({ length: count }, (_, i) => attach(servers[i % 2], fresh())));
    const users = people.map((one) => one.user);
    const watchers = await Promise.all(servers.map((server) => watcher(server, users)));
    return { people, users, watchers };
  };
  /** Records that the nodes have found older in the store than what they held. */
  const recordsLost = async () => (await Promise.all(servers.map(async (server) => {
    const page = await (await fetch(`${server.httpUrl}/metrics`)).text();
    return Number(/^presenced_records_lost_total (\d+)/m.exec(page)[1]);
  }))).reduce((sum, one) => sum + one, 0);
  /** The slots in which anything is. */
  const usedSlots = async () => [...new Set((await Promise.all((await cluster.masters()).map((one) => one.command('KEYS', 'pd{*'))))
    .flat().map((key) => slotOf(Buffer.from(key, 'latin1'))))];

  test('FO-069 nasty ids stay apart, on every master', async () => {
    const base = fresh('nasty');
    const users = [base, `${base}}`, `{${base}`, `{${base}}`, `${base}:`, `${base}:u`, ` ${base}`, `${base} `, `${base}{}`, `{}${base}`,
                   `${base}*`, `${base}\\n`, `${base}\u00e9`, `${base}e\u0301`, `${base}\u{1F469}\u200D\u{1F469}`, `${base}\u0645\u0631`, `${base}"'`,
                   `${base}%7B`, `${base}\\t`, `pd{p00}u${base}`, base.toUpperCase(), `${base}${'x'.repeat(128 - base.length)}`];
    assert.equal(new Set(users).size, users.length);
    const w = await watcher(servers[2], users);
    const people = [];
    for (const [i, user] of users.entries()) {
      people.push(await attach(servers[i % 2], user));
      await w.sees(user, 'online');
      assert.deepEqual(users.slice(i + 1).filter((other) => w.state.get(other).status !== 'offline'), [], `${user} is taken for others`);
    }
    await Promise.all(people.map((one, i) => one.ask({ type: 'status', scope: 'session', status: i % 2 ? 'dnd' : 'away' })));
    const wanted = new Map(users.map((user, i) => [user, i % 2 ? 'dnd' : 'away']));
    await allAgree(servers, [w], wanted);
    for (const user of users) assert.equal((await readPresence(servers[2], user)).status, wanted.get(user), user);
  });

  test('FO-088 a master is killed and its replica promoted: nobody is shown offline, all agree within 10 s', async () => {
    const { people, users, watchers } = await crowd(90);
    const changers = new Changers(people);
    changers.begin();
    await delay(1000);
    const [victim] = await cluster.masters();
    const [heir] = await cluster.replicasOf(victim);
    await victim.stop();
    await until(async () => (await cluster.masters()).includes(heir), 'the promotion', 15_000);
    const promoted = Date.now();
    const newcomers = await Promise.all(Array.from({ length: 30 }, (_, i) => until(
      () => attach(servers[i % 3], fresh('new')).catch(() => undefined), 'a newcomer', 10_000)));
    const said = await changers.end();
    for (const one of newcomers) said.set(one.user, 'online');
    await Promise.all(watchers.map((w) => w.watch(newcomers.map((one) => one.user))));
    await allAgree(servers, watchers, said, Math.max(1000, 10_000 - (Date.now() - promoted)));
    assert.deepEqual(shownOffline(watchers, users), []);
    assert.deepEqual(people.filter((one) => one.ended).map((one) => one.ended), []);
    assert.equal(changers.refused, 0, 'status changes that were refused');
  });

  test('FO-088 the replica that is promoted lacks the last writes: who came stays, who went is gone, nobody else is shown offline', async () => {
    const { people, users, watchers } = await crowd(90);
    const [victim] = await cluster.masters();
    const [heir] = await cluster.replicasOf(victim);
    heir.signal('SIGSTOP');
    await victim.command('CLIENT', 'KILL', 'TYPE', 'replica');  // From now on it hears nothing more.
    const [changed, gone] = [people.slice(0, 70), people.slice(70)];
    await Promise.all(changed.map((one, i) => one.ask({ type: 'status', scope: 'session', status: i % 2 ? 'busy' : 'dnd' })));
    await Promise.all(gone.map((one) => one.bye()));
    const newcomers = await Promise.all(Array.from({ length: 40 }, (_, i) => attach(servers[i % 3], fresh('new'))));
    await Promise.all(watchers.map((w) => w.watch(newcomers.map((one) => one.user))));
    const wanted = new Map([...changed.map((one, i) => [one.user, i % 2 ? 'busy' : 'dnd']), ...gone.map((one) => [one.user, 'offline']),
                            ...newcomers.map((one) => [one.user, 'online'])]);
    await allAgree(servers, watchers, wanted);
    const found = await recordsLost();
    await victim.stop();
    heir.signal('SIGCONT');
    await until(async () => (await cluster.masters()).includes(heir), 'the promotion', 15_000);
    await delay(1000);
    await allAgree(servers, watchers, wanted);
    await delay(3000);
    await allAgree(servers, watchers, wanted, 1000);
    assert.ok(await recordsLost() > found, 'nothing was lost');
    const stayed = users.filter((user) => wanted.get(user) !== 'offline');
    assert.deepEqual(shownOffline(watchers, [...stayed, ...newcomers.map((one) => one.user)]), []);
    for (const w of watchers) assert.deepEqual(w.breaches, []);
    assert.deepEqual([...changed, ...newcomers].filter((one) => one.ended), []);
  });

  test('one master after the other loses all that it has: nobody is shown offline, all agree within 10 s', async () => {
    const { people, users, watchers } = await crowd(60);
    for (const master of await cluster.masters()) {
      const changers = new Changers(people);
      changers.begin();
      await delay(1000);
      await master.command('FLUSHALL');
      await delay(500);
      await allAgree(servers, watchers, await changers.end());
      assert.deepEqual(shownOffline(watchers, users), []);
      assert.equal(changers.refused, 0, 'status changes that were refused');
      await delay(2000);  // For the next loss to be another one.
    }
  });

  test('FO-085 slots move there and back while users connect and change', async () => {
    const { people, users, watchers } = await crowd(60);
    const changers = new Changers(people);
    changers.begin();
    const slots = (await usedSlots()).slice(0, 12);
    assert.equal(slots.length, 12);
    const newcomers = [];
    for (const slot of slots) {
      const home = await cluster.masterOf(slot);
      const [to] = (await cluster.masters()).filter((one) => one !== home);
      await cluster.moveSlot(slot, to);
      newcomers.push(...await Promise.all([0, 1, 2].map((i) => attach(servers[i], fresh('new')))));
      if (newcomers.length % 2) await cluster.moveSlot(slot, home);
    }
    const said = await changers.end();
    for (const one of newcomers) said.set(one.user, 'online');
    await Promise.all(watchers.map((w) => w.watch(newcomers.map((one) => one.user))));
    await allAgree(servers, watchers, said);
    assert.deepEqual(shownOffline(watchers, users), []);
    assert.equal(changers.refused, 0, 'status changes that were refused');
  });

  test('FO-088 a replica is reassigned and then promoted by hand while users change', async () => {
    const { people, users, watchers } = await crowd(60);
    const changers = new Changers(people);
    changers.begin();
    const [first, second] = await cluster.masters();
    const [moved] = await cluster.replicasOf(first);
    const [stays] = await cluster.replicasOf(second);
    await moved.command('CLUSTER', 'REPLICATE', second.id);
    await until(async () => (await cluster.replicasOf(second)).length === 2, 'the reassignment', 10_000);
    await cluster.whole();
    await moved.command('CLUSTER', 'FAILOVER');
    await until(async () => (await moved.command('ROLE'))[0] === 'master', 'the promotion', 10_000);
    await stays.command('CLUSTER', 'REPLICATE', first.id);  // So that each master has one again.
    await cluster.whole();
    await delay(1000);
    await allAgree(servers, watchers, await changers.end());
    assert.deepEqual(shownOffline(watchers, users), []);
    assert.equal(changers.refused, 0, 'status changes that were refused');
  });

  test('FO-086 connections that listen are cut again and again: changes arrive within 5 s', async () => {
    const { people, users, watchers } = await crowd(30);
    for (let round = 0; round < 3; round++) {
      for (const master of await cluster.masters()) await master.command('CLIENT', 'KILL', 'TYPE', 'pubsub');
      const status = ['busy', 'away', 'dnd'][round];
      await Promise.all(people.map((one) => one.ask({ type: 'status', scope: 'session', status })));
      await allAgree(servers, watchers, new Map(users.map((user) => [user, status])), 5000);
    }
    assert.deepEqual(shownOffline(watchers, users), []);
  });
});
