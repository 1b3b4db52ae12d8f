// watch, unwatch, get and delivery, field by field.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { attach, fresh, watcher } from '../lib/client.mjs';
import { delay } from '../lib/server.mjs';
import { withServer } from '../lib/suite.mjs';

const held = withServer();

describe('watch, unwatch, get', () => {
  test('get gives a snapshot and watches nothing', async () => {
    const a = await attach(held.server, fresh());
    const w = await attach(held.server, fresh());
    const snapshot = await w.ask({ type: 'get', users: [a.user] }, 'snapshot');
    assert.equal(snapshot.users[0].status, 'online');
    assert.ok(Math.abs(snapshot.asOf - Date.now()) < 2000);
    await a.ask({ type: 'status', status: 'busy' });
    await w.hearsNothing(a.user, 600);
  });

  test('a snapshot is in the order asked, duplicates once', async () => {
    const w = await attach(held.server, fresh());
    const users = ['z', 'a', 'm', 'z', 'b', 'a'];
    for (const type of ['watch', 'get']) {
      const snapshot = await w.ask({ type, users }, 'snapshot');
      assert.deepEqual(snapshot.users.map((one) => one.userId), ['z', 'a', 'm', 'b']);
    }
  });

  for (const users of [undefined, null, 'bob', {}, [], [5], [null], [''], ['   '], ['a', 'x'.repeat(129)], [['a']], [{}]]) {
    for (const type of ['watch', 'get']) {
      test(`${type} refuses users ${JSON.stringify(users)?.slice(0, 40)}`, async () => {
        const w = await attach(held.server, fresh());
        await w.refused({ type, users });
      });
    }
  }

  for (const bad of [{ mode: 'replace' }, { mode: null }, { known: [] }, { known: { a: '5' } }, { known: { a: -1 } }, { known: { a: 1.5 } }, { known: 'a' }]) {
    test(`watch refuses ${JSON.stringify(bad)}`, async () => {
      const w = await attach(held.server, fresh());
      await w.refused({ type: 'watch', users: ['a'], ...bad });
    });
  }

  test('known leaves out who has not changed, and says how many', async () => {
    const [a, b] = [await attach(held.server, fresh()), await attach(held.server, fresh())];
    const w = await attach(held.server, fresh());
    const first = await w.watch([a.user, b.user]);
    const known = Object.fromEntries(first.users.map((one) => [one.userId, one.version]));
    await b.ask({ type: 'status', status: 'busy' });
    await w.sees(b.user, 'busy');
    const again = await w.watch([a.user, b.user], { known });
    assert.deepEqual(again.users.map((one) => one.userId), [b.user]);
    assert.equal(again.unchanged, 1);
  });

  test('an offline presence with lastSeen is never left out by known', async () => {
    const a = await attach(held.server, fresh());
    const w = await watcher(held.server, [a.user]);
    await a.bye();
    const gone = await w.sees(a.user, 'offline');
    const again = await w.watch([a.user], { known: { [a.user]: gone.version } });
    assert.equal(again.users.length, 1);
    assert.ok(again.users[0].lastSeen);
  });

  test('mode set replaces all, and may be empty', async () => {
    const [a, b] = [await attach(held.server, fresh()), await attach(held.server, fresh())];
    const w = await watcher(held.server, [a.user, b.user]);
    await w.watch([b.user], { mode: 'set' });
    await a.ask({ type: 'status', status: 'busy' });
    await b.ask({ type: 'status', status: 'busy' });
    await w.sees(b.user, 'busy');
    assert.deepEqual(w.told(a.user), []);
    const none = await w.watch([], { mode: 'set' });
    assert.deepEqual(none.users, []);
    await b.ask({ type: 'status', status: 'dnd' });
    await w.hearsNothing(b.user, 500);
  });

  test('unwatch stops the updates; naming nobody is fine; all ends all', async () => {
    const [a, b] = [await attach(held.server, fresh()), await attach(held.server, fresh())];
    const w = await watcher(held.server, [a.user, b.user]);
    await w.ask({ type: 'unwatch', users: [a.user, 'never-watched'] });
    await w.ask({ type: 'unwatch', users: [] });
    await a.ask({ type: 'status', status: 'busy' });
    await b.ask({ type: 'status', status: 'busy' });
    await w.sees(b.user, 'busy');
    assert.deepEqual(w.told(a.user), []);
    await w.ask({ type: 'unwatch', all: true });
    await b.ask({ type: 'status', status: 'dnd' });
    await w.hearsNothing(b.user, 500);
    for (const bad of [{ all: 'yes' }, { users: 'a' }, { users: [5] }]) await w.refused({ type: 'unwatch', ...bad });
  });
});

describe('delivery', () => {
  test('paused holds updates back, answers come; live brings one update of what changed', async () => {
    const [a, b, c] = [await attach(held.server, fresh()), await attach(held.server, fresh()), await attach(held.server, fresh())];
    const w = await watcher(held.server, [a.user, b.user, c.user]);
    await w.ask({ type: 'delivery', mode: 'paused' });
    const from = w.received.length;
    await a.ask({ type: 'status', status: 'busy' });
    await delay(1100);
    await a.ask({ type: 'status', status: 'dnd' });
    await b.ask({ type: 'activity', state: 'idle' });
    await a.ask({ type: 'signal', to: { userId: w.user }, kind: 'typing', active: true });
    await delay(1200);
    assert.equal(w.received.length, from, JSON.stringify(w.received.slice(from)));
    await w.ask({ type: 'heartbeat' }, 'heartbeatAck');
    await w.ask({ type: 'delivery', mode: 'live' });
    await w.sees(a.user, 'dnd');
    await w.sees(b.user, 'away');
    await delay(300);
    const updates = w.received.slice(from).filter((r) => r.message.type === 'update');
    assert.equal(updates.length, 1);
    assert.deepEqual(updates[0].message.users.map((one) => one.userId).sort(), [a.user, b.user].sort());
    assert.equal(w.received.filter((r) => r.message.type === 'signal').length, 0);
  });

  test('live again with nothing changed brings nothing', async () => {
    const a = await attach(held.server, fresh());
    const w = await watcher(held.server, [a.user]);
    await w.ask({ type: 'delivery', mode: 'paused' });
    await w.ask({ type: 'delivery', mode: 'live' });
    await w.hearsNothing(a.user, 400);
  });

  test('refuses other modes; does not touch what others see', async () => {
    const a = await attach(held.server, fresh());
    const w = await watcher(held.server, [a.user]);
    for (const mode of ['off', null, 1, undefined]) await a.refused({ type: 'delivery', mode });
    await a.ask({ type: 'delivery', mode: 'paused' });
    await w.hearsNothing(a.user, 400);
  });
});
