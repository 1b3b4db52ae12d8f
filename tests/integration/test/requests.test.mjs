// What is common to all requests; heartbeat, activity, status and bye, field by field.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { attach, fresh, watcher } from '../lib/client.mjs';
import { readPresence, listSessions } from '../lib/rest.mjs';
import { delay } from '../lib/server.mjs';
import { withServer } from '../lib/suite.mjs';

const held = withServer();
const own = async (client) => (await client.ask({ type: 'get', users: [client.user] }, 'snapshot')).users[0];

describe('requests in general', () => {
  test('an answer carries the id of its request, from 0 to 2^53-1', async () => {
    const client = await attach(held.server, fresh());
    for (const id of [0, 1, 4294967296, Number.MAX_SAFE_INTEGER]) {
      const ack = client.next((m) => m.type === 'heartbeatAck' && m.id === id);
      client.send({ type: 'heartbeat', id });
      await ack;
    }
  });

  for (const id of [-1, 1.5, '1', null, true, [], {}, Number.MAX_SAFE_INTEGER + 1]) {
    test(`an id that is ${JSON.stringify(id)} is a bad request, answered without id`, async () => {
      const client = await attach(held.server, fresh());
      const error = client.next('error');
      client.send({ type: 'heartbeat', id });
      assert.equal((await error).code, 'badRequest');
      assert.ok(!('id' in (await error)));
      await client.ask({ type: 'heartbeat' }, 'heartbeatAck');
    });
  }

  test('unknown types get badRequest and the connection stays', async () => {
    const client = await attach(held.server, fresh());
    for (const type of ['watchAll', '', 'HEARTBEAT', 'welcome', '__proto__', 'update']) await client.refused({ type });
    await client.ask({ type: 'heartbeat' }, 'heartbeatAck');
  });

  test('unknown fields are ignored', async () => {
    const client = await attach(held.server, fresh());
    await client.ask({ type: 'heartbeat', colour: 'blue', nested: { a: [1] } }, 'heartbeatAck');
    await client.ask({ type: 'watch', users: ['a'], colour: 5 }, 'snapshot');
  });

  test('requests are answered in the order of arrival', async () => {
    const client = await attach(held.server, fresh());
    const user = fresh();
    const from = client.received.length;
    const ids = [];
    for (let i = 0; i < 40; ++i) {
      const id = 1000 + i;
      ids.push(id);
      client.send([{ type: 'get', users: [user], id }, { type: 'status', status: i % 8 ? 'busy' : 'away', id },
                   { type: 'heartbeat', id }, { type: 'watch', users: [user], id }][i % 4]);
    }
    await client.when(() => client.received.slice(from).filter((r) => r.message.id !== undefined).length === 40, '40 answers');
    assert.deepEqual(client.received.slice(from).map((r) => r.message.id).filter((id) => id !== undefined), ids);
  });
});

describe('heartbeat and activity', () => {
  test('heartbeat is answered with the server time', async () => {
    const client = await attach(held.server, fresh());
    const ack = await client.ask({ type: 'heartbeat' }, 'heartbeatAck');
    assert.ok(Math.abs(ack.serverTime - Date.now()) < 2000);
  });

  for (const idleMs of [-1, 1.5, '5', null, {}]) {
    test(`heartbeat refuses idleMs ${JSON.stringify(idleMs)}`, async () => {
      const client = await attach(held.server, fresh());
      await client.refused({ type: 'heartbeat', idleMs });
    });
  }

  test('heartbeat with idleMs over presence.idle_after makes away, idleMs 0 online again', async () => {
    const client = await attach(held.server, fresh(), { hello: { activity: 'active' } });
    const w = await watcher(held.server, [client.user]);
    await client.ask({ type: 'heartbeat', idleMs: 700_000 }, 'heartbeatAck');
    assert.equal((await own(client)).status, 'online', 'activity never moves back');
    await client.ask({ type: 'activity', state: 'idle' });
    await w.sees(client.user, 'away');
    await client.ask({ type: 'heartbeat', idleMs: 0 }, 'heartbeatAck');
    await w.sees(client.user, 'online');
  });

  test('activity: idle makes away, active online; answered only with an id', async () => {
    const client = await attach(held.server, fresh());
    const w = await watcher(held.server, [client.user]);
    const before = client.received.length;
    client.send({ type: 'activity', state: 'idle' });
    await w.sees(client.user, 'away');
    assert.equal(client.received.length, before);
    await client.ask({ type: 'activity', state: 'active' });
    await w.sees(client.user, 'online');
  });

  for (const state of ['away', 'ACTIVE', 1, null, true]) {
    test(`activity refuses ${JSON.stringify(state)}`, async () => {
      const client = await attach(held.server, fresh());
      await client.refused({ type: 'activity', state });
    });
  }

  test('activity without a state is refused', async () => {
    await (await attach(held.server, fresh())).refused({ type: 'activity' });
  });

  test('hello with activity idle is away from the start', async () => {
    const client = await attach(held.server, fresh(), { hello: { activity: 'idle' } });
    assert.equal((await own(client)).status, 'away');
  });
});

describe('status', () => {
  for (const status of ['online', 'away', 'busy', 'dnd']) {
    test(`status ${status} is seen by others, auto ends it`, async () => {
      const client = await attach(held.server, fresh());
      const w = await watcher(held.server, [client.user]);
      await client.ask({ type: 'status', status: status === 'online' ? 'busy' : status });
      await client.ask({ type: 'status', status });
      await w.sees(client.user, status);
      assert.deepEqual((await own(client)).declared, { status, scope: 'user' });
      await client.ask({ type: 'status', status: 'auto' });
      await w.sees(client.user, 'online');
    });
  }

  for (const bad of [{}, { status: 'offline' }, { status: 'unknown' }, { status: 'Online' }, { status: 5 }, { status: null },
    { expiresInMs: 5000 }, { expiresAt: Date.now() + 5000 }, { status: 'busy', expiresInMs: 5000, expiresAt: Date.now() + 60000 },
    { status: 'busy', expiresInMs: 0 }, { status: 'busy', expiresInMs: -1 }, { status: 'busy', expiresInMs: 1.5 },
    { status: 'busy', expiresInMs: '5' }, { status: 'busy', expiresAt: 1000 }, { status: 'busy', expiresAt: Date.now() - 1 },
    { status: 'busy', scope: 'device' }, { status: 'busy', scope: null }, { status: 'invisible', scope: 'session' },
    { customStatus: 'text' }, { customStatus: [] }, { customStatus: {} }, { customStatus: { text: 5 } },
    { customStatus: { text: 'x', expiresInMs: 1, expiresAt: Date.now() + 9999 } }, { customStatus: { text: 'x', expiresAt: 5 } },
    { status: 'busy', customStatus: { text: 7 } }, { scope: 'user' }]) {
    test(`status refuses ${JSON.stringify(bad)} and changes nothing`, async () => {
      const client = await attach(held.server, fresh());
      await client.refused({ type: 'status', ...bad });
      const one = await own(client);
      assert.equal(one.status, 'online');
      assert.equal(one.customStatus, undefined);
    });
  }

  test('customStatus is shown, replaced whole, and taken away by null', async () => {
    const client = await attach(held.server, fresh());
    const w = await watcher(held.server, [client.user]);
    await client.ask({ type: 'status', customStatus: { text: 'Lunch', emoji: '🍜' } });
    const shown = await w.sees(client.user, (one) => one.customStatus?.text === 'Lunch');
    assert.deepEqual(shown.customStatus, { text: 'Lunch', emoji: '🍜' });
    await client.ask({ type: 'status', customStatus: { text: 'Back' } });
    assert.deepEqual((await w.sees(client.user, (one) => one.customStatus?.text === 'Back')).customStatus, { text: 'Back' });
    await client.ask({ type: 'status', customStatus: null });
    await w.sees(client.user, (one) => one.customStatus === undefined);
  });

  test('status and customStatus leave each other alone', async () => {
    const client = await attach(held.server, fresh());
    await client.ask({ type: 'status', status: 'busy', customStatus: { text: 'Deep work' } });
    await client.ask({ type: 'status', status: 'dnd' });
    assert.equal((await own(client)).customStatus.text, 'Deep work');
    await client.ask({ type: 'status', customStatus: null });
    assert.equal((await own(client)).status, 'dnd');
  });

  test('a session status is of that session alone', async () => {
    const user = fresh();
    const one = await attach(held.server, user);
    await one.ask({ type: 'status', status: 'busy', scope: 'session' });
    assert.equal((await own(one)).status, 'busy');
    assert.deepEqual((await own(one)).declared, { status: 'busy', scope: 'session' });
    const other = await attach(held.server, user);
    assert.equal((await own(other)).status, 'online', 'most available wins');
    await one.ask({ type: 'status', status: 'auto', scope: 'session' });
    await other.bye();
    assert.equal((await own(one)).status, 'online');
  });

  test('expiry of status and custom status is told within a second', async () => {
    const client = await attach(held.server, fresh());
    const w = await watcher(held.server, [client.user]);
    const at = Date.now() + 2500;
    await client.ask({ type: 'status', status: 'dnd', expiresAt: at, customStatus: { text: 'Focus', expiresInMs: 4000 } });
    await w.sees(client.user, (one) => one.status === 'dnd' && one.customStatus?.text === 'Focus');
    await w.sees(client.user, 'online');
    assert.ok(Date.now() >= at - 30 && Date.now() <= at + 1100, `${Date.now() - at} ms after`);
    assert.equal(w.state.get(client.user).customStatus.text, 'Focus');
    await w.sees(client.user, (one) => one.customStatus === undefined);
    assert.ok(Date.now() <= at + 1500 + 1100);
  });
});

describe('bye', () => {
  test('bye signs this device out now; the others stay', async () => {
    const user = fresh();
    const one = await attach(held.server, user);
    const two = await attach(held.server, user);
    const w = await watcher(held.server, [user]);
    await delay(1100);  // quiet, so that the next transition goes out at once (rule 13)
    await one.bye();
    assert.equal((await listSessions(held.server, user)).length, 1);
    await w.hearsNothing(user, 300);
    const start = Date.now();
    await two.bye();
    await w.sees(user, 'offline');
    assert.ok(Date.now() - start < 700, 'no grace after bye');
    assert.deepEqual(await listSessions(held.server, user), []);
    assert.equal((await readPresence(held.server, user)).status, 'offline');
  });
});
