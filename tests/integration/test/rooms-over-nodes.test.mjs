// One room over three nodes, on a single Redis and on a cluster: the same list, the same count and the same
// signals everywhere (DESIGN rules 28 and 29).
import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import { attach, endClients, fresh } from '../lib/client.mjs';
import { Nodes } from '../lib/nodes.mjs';
import { startRedis } from '../lib/redis.mjs';
import { RedisCluster } from '../lib/redis-cluster.mjs';
import { done } from '../lib/rest.mjs';
import { delay, grace, until } from '../lib/server.mjs';

const lease = 8000;
const signalsOf = (client, from) => client.received.map((r) => r.message).filter((m) => m.type === 'signal' && m.from === from);

for (const [kind, startStore] of [['a single Redis', () => startRedis()], ['a Redis Cluster', () => RedisCluster.start()]]) {
  describe(`a room over three nodes on ${kind}`, () => {
    let store;
    let nodes;
    let servers;
    before(async () => {
      store = await startStore();
      nodes = new Nodes({ 'store.url': store.url });
      servers = await nodes.startMany(3);
    });
    afterEach(() => endClients());
    after(async () => {
      const left = await store.withoutTtl();
      await nodes.dispose();
      await store.dispose();
      assert.deepEqual(left, [], 'keys without a TTL');
    });

    /** All of `clients` and their nodes by REST list `people` in `room`, with the right count. */
    const allList = async (room, clients, people, among = servers) => {
      const names = people.map((one) => one.user).sort();
      await until(() => clients.every((one) => JSON.stringify(one.inRoom(room)) === JSON.stringify(names) && one.rooms.get(room).count === names.length), 'one list', 6000)
        .catch((error) => { throw new Error(`${error.message}: ${JSON.stringify(clients.map((one) => [one.rooms.get(room)?.count, ...one.inRoom(room)]))}, not ${names}`); });
      // Of nodes in which nobody is: the last test.
      for (const [i, server] of among.entries()) {
        if (!clients.some((one) => one.server === server)) continue;
        let read;
        await until(async () => {
          read = await done(server, 'GET', `/v1/rooms/${encodeURIComponent(room)}`);
          return read.count === names.length && JSON.stringify((read.members ?? []).map((one) => one.userId).sort()) === JSON.stringify(names);
        }, 'the same list by REST', 6000).catch((error) => { throw new Error(`${error.message} from node ${i}: ${JSON.stringify(read)}, not ${names}`); });
      }
    };

    test('FO-044 who joins, changes, and goes on one node is so on all', async () => {
      const room = fresh('{room}: ä');
      const people = await Promise.all(Array.from({ length: 30 }, (_, i) => attach(servers[i % 3], fresh(`m${i % 3}`))));
      for (const one of people) await one.join(room, { meta: { of: one.user } });
      await allList(room, people, people);
      assert.deepEqual(people[0].rooms.get(room).members.get(people[1].user).meta, { of: people[1].user });
      await people[4].ask({ type: 'status', scope: 'session', status: 'dnd' });
      for (const one of people) await one.when(() => one.rooms.get(room).members.get(people[4].user)?.status === 'dnd', 'dnd');

      // A second device elsewhere is no second member, and holds the place when the first goes.
      const twin = await attach(servers[(people.indexOf(people[5]) + 1) % 3], people[5].user);
      await twin.join(room);
      await people[5].bye();
      await delay(1500);
      await allList(room, people.filter((one) => !one.ended), people);
      await twin.bye();
      const left = people.filter((one) => !one.ended);
      await allList(room, left, left);

      await left[0].ask({ type: 'leave', room });
      await left[1].reset();
      const stay = left.slice(2);
      await delay(grace);
      await allList(room, stay, stay);
    });

    test('typing on one node is heard on all, and by nobody outside', async () => {
      const room = fresh('room');
      const people = await Promise.all([0, 1, 2, 0, 1, 2].map((i) => attach(servers[i], fresh())));
      const stranger = await attach(servers[1], fresh());
      for (const one of people) await one.join(room);
      await allList(room, people, people);
      for (const [i, from] of people.entries()) {
        await from.ask({ type: 'signal', to: { room }, kind: 'typing', active: true, data: { i } });
        for (const one of people) {
          if (one === from) continue;
          const heard = await one.when(() => signalsOf(one, from.user)[0], `typing of ${i}`, 2000);
          assert.deepEqual(heard, { type: 'signal', from: from.user, room, kind: 'typing', active: true, data: { i }, expiresInMs: 6000 });
        }
      }
      await delay(300);
      assert.deepEqual(people.map((one) => one.received.filter((r) => r.message.type === 'signal').length), people.map(() => people.length - 1));
      assert.equal(stranger.received.filter((r) => r.message.type === 'signal').length, 0);
    });

    test('typing of one who is invisible is heard by the own devices in the room, on any node', async () => {
      const room = fresh('room');
      const [a, b] = [await attach(servers[0], fresh()), await attach(servers[1], fresh())];
      const [a2, outside] = [await attach(servers[1], a.user), await attach(servers[1], a.user)];
      for (const one of [a, a2, b]) await one.join(room);
      await a.ask({ type: 'status', status: 'invisible' });
      await allList(room, [b], [b], []);
      await a.ask({ type: 'signal', to: { room }, kind: 'typing', active: true });
      await a2.when(() => signalsOf(a2, a.user)[0], 'the typing', 2000);
      await delay(300);
      assert.deepEqual([a, b, outside].map((one) => signalsOf(one, a.user).length), [0, 0, 0]);
    });

    test('FO-044 a node that stops takes only its own people out of the room, one that is killed after its lease', async () => {
      const [d, e] = await nodes.startMany(2);
      const room = fresh('room');
      const [one, two] = await Promise.all([attach(servers[0], fresh()), attach(servers[1], fresh())]);
      const [third, fourth] = await Promise.all([attach(d, fresh()), attach(e, fresh())]);
      for (const each of [one, two, third, fourth]) await each.join(room);
      await allList(room, [one, two, third, fourth], [one, two, third, fourth], [...servers, d, e]);
      await d.terminate();
      d.killedByTest = true;
      await delay(lease);  // Longer than the grace of this profile: the others wait for both.
      await allList(room, [one, two, fourth], [one, two, fourth]);
      await nodes.kill(e);
      await delay(lease + 1000);
      await allList(room, [one, two], [one, two]);
    });

    test('by REST a node in which nobody of the room is says the same', async () => {
      const room = fresh('room');
      const one = await attach(servers[0], fresh());
      await one.join(room);
      // On a machine that is busy a node may answer the others too late to be in it: not exact, then.
      const read = await until(async () => {
        const answer = await done(servers[2], 'GET', `/v1/rooms/${encodeURIComponent(room)}`);
        return answer.exact && answer;
      }, 'an exact answer');
      assert.deepEqual([read.count, read.members.map((each) => each.userId)], [1, [one.user]]);
      const rooms = await done(servers[2], 'GET', `/v1/rooms?prefix=${encodeURIComponent(room)}`);
      assert.deepEqual(rooms.rooms.map((each) => each.room), [room]);
    });
  });
}
