// Each row of "From the client", each field of it, and what is common to all requests.
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

  for (const message of [{ type: 'join', room: 'r' }, { type: 'leave', room: 'r' },
    { type: 'signal', to: { room: 'r' }, kind: 'typing', active: true }]) {
    test(`rooms wait for a later issue: ${message.type} is a bad request`, async () => {
      const client = await attach(held.server, fresh());
      await client.refused(message);
      await client.ask({ type: 'heartbeat' }, 'heartbeatAck');
    });
  }
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

describe('signal to a user', () => {
  const typing = (to, more = {}) => ({ type: 'signal', to: { userId: to }, kind: 'typing', active: true, ...more });

  test('reaches every connection of the receiver, with data and an end', async () => {
    const a = await attach(held.server, fresh());
    const user = fresh();
    const devices = [await attach(held.server, user), await attach(held.server, user)];
    const heard = devices.map((device) => device.next('signal'));
    await a.ask(typing(user, { data: { chat: 'c-17', n: [1, null] } }));
    for (const signal of await Promise.all(heard)) {
      assert.deepEqual(signal, { type: 'signal', from: a.user, kind: 'typing', active: true, data: { chat: 'c-17', n: [1, null] }, expiresInMs: 6000 });
    }
    const end = devices[0].next((m) => m.type === 'signal' && m.active === false);
    a.send(typing(user, { active: false }));
    assert.ok(!('data' in (await end)));
  });

  test('is answered alike whether the receiver is there or not', async () => {
    const a = await attach(held.server, fresh());
    const answer = await a.ask(typing(fresh('nobody')));
    assert.deepEqual(Object.keys(answer).sort(), ['id', 'type']);
  });

  for (const bad of [{ to: undefined }, { to: 'bo' }, { to: {} }, { to: { userId: 5 } }, { to: { userId: 'a', room: 'r' } },
    { kind: undefined }, { kind: '' }, { kind: 5 }, { kind: 'k'.repeat(65) }, { active: 'yes' }, { active: null }, { active: undefined },
    { data: 'x'.repeat(1100) }, { to: { userId: '' } }]) {
    test(`signal refuses ${JSON.stringify(bad).slice(0, 60)}`, async () => {
      const a = await attach(held.server, fresh());
      const b = await attach(held.server, fresh());
      await a.refused({ ...typing(b.user), ...bad }, 'data' in bad ? undefined : 'badRequest').catch(async (error) => {
        if (!('data' in bad)) throw error;
        await a.refused({ ...typing(b.user), ...bad }, 'tooLarge');
      });
      await delay(100);
      assert.equal(b.received.filter((r) => r.message.type === 'signal').length, 0);
    });
  }

  test('is rate-limited, and the connection stays', async () => {
    const a = await attach(held.server, fresh());
    const b = await attach(held.server, fresh());
    const answers = await Promise.all(Array.from({ length: 60 }, () => a.request(typing(b.user))));
    const refused = answers.filter((answer) => answer.type === 'error');
    assert.ok(refused.length > 0, 'sixty signals at once were all taken');
    for (const answer of refused) { assert.equal(answer.code, 'rateLimited'); assert.ok(answer.retryAfterMs > 0); }
    await a.ask({ type: 'heartbeat' }, 'heartbeatAck');
  });

  test('a sender who is invisible, or only observes, reaches nobody', async () => {
    const b = await attach(held.server, fresh());
    const hidden = await attach(held.server, fresh());
    await hidden.ask({ type: 'status', status: 'invisible' });
    const observer = await attach(held.server, fresh(), { hello: { observe: true } });
    await hidden.ask(typing(b.user));
    await observer.ask(typing(b.user));
    await delay(300);
    assert.equal(b.received.filter((r) => r.message.type === 'signal').length, 0);
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

describe('privacy and block messages', () => {
  test('privacy without rules reads; the defaults of --dev are everyone', async () => {
    const a = await attach(held.server, fresh());
    const rules = await a.ask({ type: 'privacy' }, 'privacy');
    assert.deepEqual([rules.online, rules.lastSeen], [{ mode: 'everyone' }, { mode: 'everyone' }]);
  });

  test('privacy sets what is named, leaves the rest, and answers with the rules in force', async () => {
    const a = await attach(held.server, fresh());
    let rules = await a.ask({ type: 'privacy', online: { mode: 'only', users: ['b', 'c'] } }, 'privacy');
    assert.deepEqual({ ...rules.online, users: [...rules.online.users].sort() }, { mode: 'only', users: ['b', 'c'] });
    assert.deepEqual(rules.lastSeen, { mode: 'everyone' });
    rules = await a.ask({ type: 'privacy', lastSeen: { mode: 'nobody' } }, 'privacy');
    assert.equal(rules.online.mode, 'only');
    assert.deepEqual(rules.lastSeen, { mode: 'nobody' });
    rules = await a.ask({ type: 'privacy', online: { mode: 'contactsExcept', users: [] } }, 'privacy');
    assert.equal(rules.online.mode, 'contactsExcept');
  });

  for (const rule of [null, 'everyone', [], {}, { mode: 'friends' }, { mode: 5 }, { mode: 'only' }, { mode: 'contactsExcept' },
    { mode: 'only', users: 'b' }, { mode: 'only', users: [5] }, { mode: 'only', users: [''] }]) {
    test(`privacy refuses ${JSON.stringify(rule)} whole`, async () => {
      const a = await attach(held.server, fresh());
      await a.refused({ type: 'privacy', lastSeen: { mode: 'nobody' }, online: rule });
      assert.deepEqual((await a.ask({ type: 'privacy' }, 'privacy')).lastSeen, { mode: 'everyone' });
    });
  }

  test('block and unblock take lists, also empty ones, and refuse others', async () => {
    const a = await attach(held.server, fresh());
    for (const type of ['block', 'unblock']) {
      await a.ask({ type, users: ['m', 'n'] });
      await a.ask({ type, users: [] });
      for (const users of [undefined, 'm', [5], [''], null]) await a.refused({ type, users });
    }
  });
});

describe('bye and auth', () => {
  test('bye signs this device out now; the others stay', async () => {
    const user = fresh();
    const one = await attach(held.server, user);
    const two = await attach(held.server, user);
    const w = await watcher(held.server, [user]);
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
