// Several devices of one user: merge, limits, observers.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Client, attach, endClients, fresh, watcher } from '../lib/client.mjs';
import { listSessions, readPresence } from '../lib/rest.mjs';
import { delay, grace, startServer, ttl } from '../lib/server.mjs';
import { withServer } from '../lib/suite.mjs';
import { tokenFor } from '../lib/tokens.mjs';

const held = withServer();

describe('limit of sessions', () => {
  test('20 devices of one user are fine, the 21st is refused while all are fresh, and nothing changes', async () => {
    const user = fresh();
    const devices = [];
    for (let i = 0; i < 20; ++i) devices.push(await attach(held.server, user));
    assert.equal((await listSessions(held.server, user)).length, 20);
    const w = await watcher(held.server, [user]);
    const late = new Client(held.server);
    await late.opened;
    late.send({ type: 'hello', id: 1, token: tokenFor(user) });
    await late.closedWith(4429, 'too_many_sessions');
    const error = late.received.at(-1).message;
    assert.equal(error.code, 'limitExceeded');
    assert.equal(error.limit, 20);
    assert.equal((await listSessions(held.server, user)).length, 20);
    for (const device of devices) await device.ask({ type: 'heartbeat' }, 'heartbeatAck');
    await w.hearsNothing(user, 200);
    await devices[0].bye();
    await attach(held.server, user);
  });

  test('at the limit a new one takes the place of the oldest in grace', async () => {
    const user = fresh();
    const devices = [];
    for (let i = 0; i < 20; ++i) devices.push(await attach(held.server, user));
    const gone = devices[7].welcome.sessionId;
    await devices[7].reset();
    await delay(100);
    await attach(held.server, user);
    const sessions = await listSessions(held.server, user);
    assert.equal(sessions.length, 20);
    assert.ok(!sessions.some((session) => session.sessionId === gone));
  });

  test('else of the one longest without a heartbeat, if overdue, closed 4409', async () => {
    const user = fresh();
    const devices = [];
    for (let i = 0; i < 20; ++i) devices.push(await attach(held.server, user));
    const quiet = devices[3];
    quiet.stopBeating();
    await delay(1900);
    await attach(held.server, user);
    await quiet.closedWith(4409, 'replaced');
    assert.equal((await listSessions(held.server, user)).length, 20);
  });
});

describe('one user, many devices', () => {
  test('FO-011 closing one of several tabs, in all six orders, by close, reset and goodbye', async () => {
    const orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    await Promise.all(orders.map(async (order) => {
      const user = fresh();
      const w = await watcher(held.server, [user]);
      const tabs = [];
      for (let i = 0; i < 3; ++i) tabs.push(await attach(held.server, user));
      await w.sees(user, 'online');
      await tabs[order[0]].close();
      await tabs[order[1]].reset();
      await delay(grace + 700);
      assert.equal((await readPresence(held.server, user)).status, 'online');
      assert.deepEqual(w.told(user).map((one) => one.status), ['online']);
      await tabs[order[2]].close();
      await w.sees(user, 'offline');
      assert.equal((await readPresence(held.server, user)).status, 'offline');
      assert.deepEqual(w.told(user).map((one) => one.status), ['online', 'offline']);
    }));
  });

  test('FO-011 a silent tab ends quietly while another lives', async () => {
    const user = fresh();
    const w = await watcher(held.server, [user]);
    const silent = await attach(held.server, user);
    await attach(held.server, user);
    await w.sees(user, 'online');
    silent.goSilent();
    await delay(ttl + 700);
    assert.equal((await listSessions(held.server, user)).length, 1);
    assert.deepEqual(w.told(user).map((one) => one.status), ['online']);
  });

  test('FO-012 the last close races with an open: whoever exists at rest decides', async () => {
    const users = Array.from({ length: 40 }, () => fresh());
    const w = await watcher(held.server, users);
    await Promise.all(users.map(async (user, i) => {
      const first = await attach(held.server, user);
      const second = new Client(held.server);
      await second.opened;
      const order = [() => (i % 2 ? first.reset() : first.close()), () => second.hello({ token: tokenFor(user), device: { type: 'desktop' } })];
      if (i % 4 < 2) order.reverse();
      await Promise.all(order.map(async (step, k) => { await delay(k * (i % 6)); await step(); }));
    }));
    await delay(grace + 700);
    for (const user of users) {
      assert.equal(w.state.get(user).status, 'online');
      assert.deepEqual(w.told(user).map((one) => one.status), ['online']);
    }
  });

  test('FO-013 a short visit on a second device does not hide that the person is away', async () => {
    const user = fresh();
    const w = await watcher(held.server, [user]);
    await attach(held.server, user, { hello: { activity: 'idle' } });
    await w.sees(user, 'away');
    await delay(1100);
    const visit = await attach(held.server, user, { hello: { activity: 'active' } });
    await w.sees(user, 'online');
    await delay(1100);
    const closedAt = Date.now();
    await visit.close();
    await w.sees(user, 'away');
    assert.ok(Date.now() - closedAt <= grace + 700);
    assert.deepEqual(w.told(user).map((one) => one.status), ['away', 'online', 'away']);
  });

  test('FO-014 two devices that report idle and active by turns give one event', async () => {
    const user = fresh();
    const w = await watcher(held.server, [user]);
    const idle = await attach(held.server, user, { hello: { activity: 'active' } });
    const active = await attach(held.server, user, { hello: { activity: 'active' } });
    await idle.watch([user]);
    await active.watch([user]);
    await w.sees(user, 'online');
    const marks = [idle.received.length, active.received.length];
    for (let i = 0; i < 20; ++i) {
      idle.send({ type: 'activity', state: 'idle' });
      active.send({ type: 'activity', state: 'active' });
      await delay(100);
    }
    assert.deepEqual(w.told(user).map((one) => one.status), ['online']);
    assert.deepEqual(idle.received.slice(marks[0]), []);
    assert.deepEqual(active.received.slice(marks[1]), []);
  });

  test('FO-015 one’s own view agrees with everyone else’s from the first snapshot on', async () => {
    const user = fresh();
    const w = await watcher(held.server, [user]);
    for (let i = 0; i < 5; ++i) {
      const tab = await attach(held.server, user);
      const [mine] = (await tab.watch([user])).users;
      assert.equal(mine.status, 'online');
      assert.equal((await readPresence(held.server, user, w.user)).status, 'online');
      await tab.close();
      await delay(100);
    }
    await attach(held.server, user);
    const second = await attach(held.server, user);
    assert.equal((await second.watch([user])).users[0].status, 'online');
    await second.ask({ type: 'status', status: 'invisible' });
    await second.sees(user, 'invisible');
    await w.sees(user, 'offline');
  });

  test('a status for all devices covers all, and outlives them', async () => {
    const user = fresh();
    const w = await watcher(held.server, [user]);
    const one = await attach(held.server, user);
    await attach(held.server, user, { hello: { activity: 'idle' } });
    await one.ask({ type: 'status', status: 'dnd' });
    await w.sees(user, 'dnd');
    await one.bye();
    await delay(300);
    assert.equal(w.state.get(user).status, 'dnd');
  });

  test('session-scope online beats idle', async () => {
    const user = fresh();
    const w = await watcher(held.server, [user]);
    const a = await attach(held.server, user, { hello: { activity: 'idle' } });
    await w.sees(user, 'away');
    await a.ask({ type: 'status', status: 'online', scope: 'session' });
    await w.sees(user, 'online');
  });

  test('a session custom status shows where the user has none', async () => {
    const user = fresh();
    const w = await watcher(held.server, [user]);
    const a = await attach(held.server, user);
    await a.ask({ type: 'status', scope: 'session', customStatus: { text: 'On the train' } });
    await w.sees(user, (one) => one.customStatus?.text === 'On the train');
    await a.ask({ type: 'status', customStatus: { text: 'Own' } });
    await w.sees(user, (one) => one.customStatus?.text === 'Own');
    await a.ask({ type: 'status', customStatus: null });
    await w.sees(user, (one) => one.customStatus?.text === 'On the train');
  });
});

describe('observers', () => {
  test('FO-078 a background fetch does not count as being there', async () => {
    const user = fresh();
    const w = await watcher(held.server, [user]);
    for (let i = 0; i < 3; ++i) {
      const fetch = await attach(held.server, user, { hello: { observe: true, device: { type: 'mobile' } } });
      await fetch.watch([w.user]);
      await delay(200);
      await fetch.close();
      await readPresence(held.server, w.user, user);
    }
    await delay(grace + 500);
    assert.deepEqual(w.told(user), []);
    const one = await readPresence(held.server, user);
    assert.equal(one.status, 'offline');
    assert.equal(one.lastSeen, undefined);
  });

  test('FO-077 an observer that reports active is there, and one that resumes hidden is not', async () => {
    const user = fresh();
    const w = await watcher(held.server, [user]);
    const phone = await attach(held.server, user, { hello: { observe: true, device: { type: 'mobile' } } });
    await phone.ask({ type: 'heartbeat' }, 'heartbeatAck');
    await w.hearsNothing(user, 400);
    await phone.ask({ type: 'activity', state: 'active' });
    await w.sees(user, 'online');
    assert.deepEqual(w.state.get(user).devices, ['mobile']);
  });
});

describe('merge policies', () => {
  // Per policy, best first; each pair of session statuses must give the earlier one.
  const orders = { most_available: ['online', 'busy', 'away', 'dnd'], least_interruptible: ['dnd', 'busy', 'online', 'away'] };
  for (const [policy, order] of Object.entries(orders)) {
    test(`${policy}: ${order.join(' > ')}`, async () => {
      const server = await startServer({ set: { 'merge.policy': policy } });
      try {
        await Promise.all(order.flatMap((better, i) => order.slice(i + 1).map(async (worse) => {
          const user = fresh();
          for (const status of [worse, better]) {
            const session = await attach(server, user);
            await session.ask({ type: 'status', status, scope: 'session' });
          }
          assert.equal((await readPresence(server, user)).status, better, `${better} over ${worse}`);
        })));
      } finally { endClients(); await server.dispose(); }
    });
  }

  test('most_recent: the session active last', async () => {
    const server = await startServer({ set: { 'merge.policy': 'most_recent' } });
    try {
      const user = fresh();
      const one = await attach(server, user, { hello: { activity: 'active' } });
      await one.ask({ type: 'status', status: 'dnd', scope: 'session' });
      const two = await attach(server, user, { hello: { activity: 'active' } });
      await two.ask({ type: 'status', status: 'busy', scope: 'session' });
      assert.equal((await readPresence(server, user)).status, 'busy');
      await one.ask({ type: 'activity', state: 'active' });
      assert.equal((await readPresence(server, user)).status, 'dnd');
      await two.ask({ type: 'heartbeat', idleMs: 0 }, 'heartbeatAck');
      assert.equal((await readPresence(server, user)).status, 'busy');
    } finally { endClients(); await server.dispose(); }
  });

  test('FO-105 who wins: hand-set over session over idle, each end shows what lies beneath', async () => {
    const user = fresh();
    const w = await watcher(held.server, [user]);
    const a = await attach(held.server, user, { hello: { activity: 'active' } });
    const expect = async (status) => { await w.sees(user, status, 3000); await delay(150); assert.equal((await readPresence(held.server, user)).status, status); };
    await a.ask({ type: 'activity', state: 'idle' });
    await expect('away');
    await a.ask({ type: 'status', status: 'busy', scope: 'session' });
    await expect('busy');
    await a.ask({ type: 'status', status: 'dnd' });
    await expect('dnd');
    await a.ask({ type: 'activity', state: 'active' });
    await a.ask({ type: 'activity', state: 'idle' });
    await expect('dnd');
    await a.ask({ type: 'status', status: 'invisible' });
    await w.sees(user, 'offline');
    await a.ask({ type: 'status', status: 'auto' });
    await expect('busy');
    await a.ask({ type: 'status', status: 'auto', scope: 'session' });
    await expect('away');
    await a.ask({ type: 'activity', state: 'active' });
    await expect('online');
    await a.ask({ type: 'status', status: 'dnd', expiresInMs: 1500 });
    await expect('dnd');
    await expect('online');
  });
});

describe('activity', () => {
  test('FO-018 FO-074 being connected is not activity: away after idle_after, and beats do not help', async () => {
    const server = await startServer({ set: { 'presence.idle_after': '2s' } });
    try {
      const a = await attach(server, fresh(), { hello: { activity: 'active' } });
      const silentType = await attach(server, fresh());
      const w = await watcher(server, [a.user, silentType.user]);
      const start = Date.now();
      const noise = setInterval(() => {
        a.send({ type: 'heartbeat' });
        a.send({ type: 'get', users: [w.user] });
        a.send({ type: 'auth', token: tokenFor(a.user) });
        a.socket.ping();
      }, 250);
      await w.sees(a.user, 'away');
      assert.ok(Date.now() - start >= 1700, `${Date.now() - start} ms`);
      await delay(1500);
      clearInterval(noise);
      assert.equal(w.state.get(a.user).status, 'away');
      assert.equal(w.state.get(silentType.user).status, 'online', 'never reported activity');
      await a.ask({ type: 'activity', state: 'active' });
      await w.sees(a.user, 'online');
      assert.deepEqual(w.told(a.user).map((one) => one.status), ['away', 'online']);
    } finally { endClients(); await server.dispose(); }
  });
});
