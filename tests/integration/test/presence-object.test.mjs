// The presence object: protocol.md "Presence". Shapes are checked by the client on every message.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { attach, endClients, fresh, watcher } from '../lib/client.mjs';
import { assertError, call, done, readPresence, userPath } from '../lib/rest.mjs';
import { delay, startServer } from '../lib/server.mjs';
import { withServer } from '../lib/suite.mjs';

const held = withServer();

describe('status, version, since', () => {
  test('one who never existed is offline with version 0 and nothing else', async () => {
    const w = await attach(held.server, fresh());
    const name = fresh('never');
    const snapshot = await w.watch([name]);
    assert.equal(JSON.stringify(snapshot.users), `[{"userId":"${name}","status":"offline","version":0}]`);
    assert.equal((await call(held.server, 'GET', userPath(name, '/presence'), { as: w.user })).text.trim(),
                 `{"userId":"${name}","status":"offline","version":0}`);
  });

  test('the version grows with each change, stays below 2^53, and starts at the hour of now', async () => {
    const a = await attach(held.server, fresh());
    const w = await watcher(held.server, [a.user]);
    let last = w.state.get(a.user).version;
    const hours = Math.floor((Date.now() - Date.UTC(2020, 0, 1)) / 3_600_000);
    assert.ok(last >= (hours - 1) * 2 ** 33 && last <= Number.MAX_SAFE_INTEGER, `${last}`);
    for (const status of ['busy', 'dnd', 'auto']) {
      await a.ask({ type: 'status', status });
      const one = await w.sees(a.user, status === 'auto' ? 'online' : status);
      assert.ok(one.version > last);
      last = one.version;
    }
  });

  test('repeats and idle reports that change nothing do not move the version', async () => {
    const a = await attach(held.server, fresh());
    const w = await watcher(held.server, [a.user]);
    const { version } = w.state.get(a.user);
    const from = w.received.length;
    for (let i = 0; i < 3; ++i) {
      await a.ask({ type: 'status', status: 'auto' });
      await a.ask({ type: 'status', status: 'online' });
      await a.ask({ type: 'activity', state: 'active' });
      await a.ask({ type: 'heartbeat', idleMs: 5 }, 'heartbeatAck');
      await a.ask({ type: 'status', customStatus: null });
    }
    await delay(1200);
    assert.deepEqual(w.told(a.user, from), []);
    assert.equal((await w.watch([a.user])).users[0].version, version);
  });

  test('since is told with away, busy and dnd, cut down to the minute', async () => {
    const a = await attach(held.server, fresh());
    const w = await watcher(held.server, [a.user]);
    for (const status of ['away', 'busy', 'dnd']) {
      const before = Date.now();
      await a.ask({ type: 'status', status });
      const one = await w.sees(a.user, status);
      assert.ok(one.since >= before - 60_000 - 2000 && one.since <= Date.now(), JSON.stringify(one));
    }
    await a.ask({ type: 'status', status: 'auto' });
    assert.equal((await w.sees(a.user, 'online')).since, undefined);
  });

  test('since only to one who may know last seen', async () => {
    const a = await attach(held.server, fresh());
    const w = await watcher(held.server, [a.user]);
    await a.ask({ type: 'privacy', lastSeen: { mode: 'nobody' } }, 'privacy');
    await a.ask({ type: 'status', status: 'busy' });
    assert.equal((await w.sees(a.user, 'busy')).since, undefined);
    await a.bye();
    assert.equal((await w.sees(a.user, 'offline')).lastSeen, undefined);
  });
});

describe('devices', () => {
  test('kinds now present, sorted, each once; observers and unnamed do not add', async () => {
    const user = fresh();
    const w = await watcher(held.server, [user]);
    const clients = [];
    for (const type of ['web', 'desktop', 'mobile', 'tablet', 'bot', 'other', 'web']) {
      clients.push(await attach(held.server, user, { hello: { device: { type, name: 'N' } } }));
    }
    const all = ['bot', 'desktop', 'mobile', 'other', 'tablet', 'web'];
    await w.sees(user, (one) => one.devices?.length === all.length);
    assert.deepEqual(w.state.get(user).devices, all);
    await clients[6].bye();
    await delay(1200);
    assert.deepEqual(w.state.get(user).devices, all, 'another web session lives');
    await clients[0].bye();
    await w.sees(user, (one) => !one.devices.includes('web'));
    await attach(held.server, user, { hello: { observe: true, device: { type: 'web' } } });
    await delay(1200);
    assert.ok(!w.state.get(user).devices.includes('web'), 'an observer is not there');
  });

  test('absent where presence.show_devices is off', async () => {
    const server = await startServer({ set: { 'presence.show_devices': 'false' } });
    try {
      const a = await attach(server, fresh());
      const w = await watcher(server, [a.user]);
      assert.equal(w.state.get(a.user).status, 'online');
      assert.equal(w.state.get(a.user).devices, undefined);
    } finally { endClients(); await server.dispose(); }
  });
});

describe('custom status', () => {
  const family = '👨‍👩‍👧‍👦';
  for (const [what, custom] of [['100 letters', { text: 'x'.repeat(100) }], ['FO-072 100 emoji', { text: '😀'.repeat(100) }],
    ['FO-072 50 flags', { text: '🇩🇪'.repeat(50) }], ['FO-072 14 families of 7 code points', { text: family.repeat(14) }],
    ['FO-072 50 letters with combining marks', { text: 'e\u0301'.repeat(50) }], ['FO-072 100 Arabic letters', { text: 'ش'.repeat(100) }],
    ['FO-067 99 letters and a pair', { text: 'a'.repeat(99) + '😀' }], ['16 code points of emoji', { emoji: '😀'.repeat(16) }],
    ['a shortcode', { emoji: ':palm_tree:' }], ['markup and quotes', { text: '<b>"\\\u2028&amp;</b>' }], ['a newline and a tab', { text: 'a\n\tb' }]]) {
    test(`fits: ${what}; and comes back byte for byte`, async () => {
      const a = await attach(held.server, fresh());
      const w = await watcher(held.server, [a.user]);
      await a.ask({ type: 'status', customStatus: custom });
      assert.deepEqual((await w.sees(a.user, (one) => one.customStatus)).customStatus, custom);
      const stored = await done(held.server, 'GET', userPath(a.user, '/status'));
      assert.deepEqual(stored.customStatus, custom);
    });
  }

  for (const [what, custom] of [['FO-072 101 letters', { text: 'x'.repeat(101) }], ['FO-072 101 emoji', { text: '😀'.repeat(101) }],
    ['FO-072 51 flags', { text: '🇩🇪'.repeat(51) }], ['FO-072 100 families', { text: family.repeat(100) }],
    ['FO-072 5,000 combining marks', { text: 'e' + '\u0301'.repeat(5000) }], ['17 code points of emoji', { emoji: 'ab'.repeat(8) + 'c' }],
    ['65 bytes of emoji', { emoji: '😀'.repeat(16) + 'x' }], ['emoji that is a number', { emoji: 5 }]]) {
    test(`refused, never cut: ${what}; alike by socket and by REST`, async () => {
      const a = await attach(held.server, fresh());
      const answer = await a.request({ type: 'status', customStatus: custom });
      assert.equal(answer.type, 'error');
      assert.ok(['badRequest', 'tooLarge', 'limitExceeded'].includes(answer.code), answer.code);
      if (what.startsWith('FO-072 101') || what.startsWith('FO-072 51')) assert.match(answer.message, /100/);
      const rest = await call(held.server, 'PUT', userPath(a.user, '/status'), { body: { customStatus: custom } });
      assert.equal(rest.json.error.code, answer.code);
      assert.equal((await readPresence(held.server, a.user)).customStatus, undefined);
    });
  }

  test('FO-100 FO-101 expiry far ahead stays, past and odd ones are refused', async () => {
    const a = await attach(held.server, fresh());
    const now = Date.now();
    for (const expiresAt of [now + 2 ** 31 - 1000, now + 2 ** 31 + 1000, now + 31 * 86_400_000, now + 3650 * 86_400_000, 253_402_300_799_000, Number.MAX_SAFE_INTEGER]) {
      await a.ask({ type: 'status', status: 'busy', expiresAt, customStatus: { text: 'long', expiresAt } });
      await delay(30);
      const one = (await a.ask({ type: 'get', users: [a.user] }, 'snapshot')).users[0];
      assert.equal(one.status, 'busy');
      assert.equal(one.customStatus.expiresAt, expiresAt);
      assert.equal(one.declared.expiresAt, expiresAt);
    }
    await a.ask({ type: 'status', status: 'dnd', customStatus: { text: 'kept' } });
    for (const expiresAt of [now - 1, 0, -1, 1e300, '9999999999999', null, true, [], 9007199254740992]) {
      await a.refused({ type: 'status', status: 'away', expiresAt });
      await a.refused({ type: 'status', customStatus: { text: 'y', expiresAt } });
      const rest = await call(held.server, 'PUT', userPath(a.user, '/status'), { body: { customStatus: { text: 'y', expiresAt } } });
      assertError(rest, 400, 'badRequest');
    }
    for (const text of ['NaN', 'Infinity', '1e999', '-1e999', '01', '9'.repeat(400)]) {
      const error = a.next('error');
      a.sendRaw(`{"type":"status","status":"away","expiresAt":${text}}`);
      assert.equal((await error).code, 'badRequest');
    }
    const one = (await a.ask({ type: 'get', users: [a.user] }, 'snapshot')).users[0];
    assert.equal(one.status, 'dnd');
    assert.equal(one.customStatus.text, 'kept');
  });

  test('absent while offline, back with the user', async () => {
    const user = fresh();
    const a = await attach(held.server, user);
    const w = await watcher(held.server, [user]);
    await a.ask({ type: 'status', customStatus: { text: 'Here' } });
    await w.sees(user, (one) => one.customStatus);
    await a.bye();
    await w.sees(user, 'offline');
    await attach(held.server, user);
    assert.equal((await w.sees(user, 'online')).customStatus.text, 'Here');
  });
});

describe('last seen', () => {
  test('exact within a minute: the time of the goodbye, constant on each surface', async () => {
    const a = await attach(held.server, fresh());
    const w = await watcher(held.server, [a.user]);
    await delay(1200);
    const before = Date.now();
    await a.bye();
    const one = await w.sees(a.user, 'offline');
    assert.equal(one.lastSeen.granularity, 'exact');
    assert.ok(one.lastSeen.at >= before - 5 && one.lastSeen.at <= Date.now(), `${one.lastSeen.at - before}`);
    for (let i = 0; i < 3; ++i) {
      assert.deepEqual((await readPresence(held.server, a.user)).lastSeen, one.lastSeen);
      assert.deepEqual((await readPresence(held.server, a.user, w.user)).lastSeen, one.lastSeen);
      assert.deepEqual((await w.watch([a.user])).users[0].lastSeen, one.lastSeen);
      await delay(100);
    }
  });

  test('FO-020 one who never connected has none, also after settings were stored', async () => {
    const name = fresh('never');
    await done(held.server, 'PUT', userPath(name, '/status'), { body: { status: 'busy', customStatus: { text: 'x' } } });
    const one = await readPresence(held.server, name);
    assert.equal(one.status, 'offline');
    assert.equal(one.lastSeen, undefined);
    const w = await watcher(held.server, [name]);
    assert.equal(w.state.get(name).lastSeen, undefined);
  });

  test('FO-020 one who was only ever idle has the end of the session', async () => {
    const a = await attach(held.server, fresh(), { hello: { activity: 'idle' } });
    await delay(300);
    const before = Date.now();
    await a.bye();
    const one = await readPresence(held.server, a.user);
    assert.ok(one.lastSeen.at >= before - 5);
  });

  for (const TZ of ['Asia/Kolkata', 'America/St_Johns', 'Pacific/Kiritimati']) {
    test(`FO-021 the time zone of the server does not matter: ${TZ}`, async () => {
      let server = await startServer({ env: { TZ } });
      try {
        const a = await attach(server, fresh());
        const before = Date.now();
        await a.bye();
        const { at } = (await readPresence(server, a.user)).lastSeen;
        assert.ok(at >= before - 5 && at <= Date.now());
        await server.terminate();
        server = await startServer({ dataDir: server.dataDir, env: { TZ: 'UTC' } });
        assert.equal((await readPresence(server, a.user)).lastSeen.at, at);
      } finally { endClients(); await server.dispose(); }
    });
  }
});
