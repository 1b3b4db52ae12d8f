// Field cases that need several nodes: three of them on one real Redis and one real PostgreSQL.
import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import { attach, Client, endClients, fresh, watcher } from '../lib/client.mjs';
import { hasPostgres, Postgres } from '../lib/postgres.mjs';
import { startRedis } from '../lib/redis.mjs';
import { call, done, listSessions, readPresence, userPath } from '../lib/rest.mjs';
import { delay, grace, startServer, ttl, until } from '../lib/server.mjs';
import { tokenFor } from '../lib/tokens.mjs';

/** Times on a machine that does other things, too. */
const slack = 700;

describe('several nodes', { skip: !hasPostgres && 'no PostgreSQL here' }, () => {
  let redis;
  let postgres;
  const nodes = [];

  const startNode = (set = {}) => startServer({ set: { 'store.url': redis.url, 'database.url': postgres.url, ...set } });
  const statuses = (w, user, from) => w.told(user, from).map((one) => one.status);
  const versionsRise = (w, user) => {
    const versions = w.told(user).map((one) => one.version);
    assert.ok(versions.every((version, i) => i === 0 || version > versions[i - 1]), versions.join());
  };
  const blank = (userId) => ({ userId, status: 'offline', version: 0 });
  /** What every node tells that viewer by REST. */
  const everywhere = (user, viewer) => Promise.all(nodes.map((node) => readPresence(node, user, viewer)));

  before(async () => {
    [redis, postgres] = await Promise.all([startRedis(), Postgres.create()]);
    await postgres.start();
    for (let i = 0; i < 3; ++i) nodes.push(await startNode());
  });
  afterEach(() => endClients());
  after(async () => {
    for (const node of nodes) {
      assert.equal(node.exit, undefined, node.stderr?.slice(-2000));
      await node.dispose();
    }
    await redis.dispose();
    await postgres.dispose();
  });

  test('FO-005 an erased account is gone on every node, and its tokens open nothing', async () => {
    const user = fresh();
    const old = tokenFor(user, { iat: Math.floor(Date.now() / 1000) - 60 });
    const one = await attach(nodes[0], user, { token: old });
    const two = await attach(nodes[1], user, { token: old });
    const w = await watcher(nodes[2], [user]);
    assert.equal(w.state.get(user).status, 'online');
    await done(nodes[2], 'POST', userPath(user, '/revoke'), { body: { before: Date.now() } });
    await done(nodes[2], 'DELETE', userPath(user, ''));
    for (const end of await Promise.all([one.closed, two.closed])) assert.ok([4401, 4403].includes(end.code), JSON.stringify(end));
    await w.sees(user, 'offline', 2000);
    await delay(grace + slack);
    // Once more where its last seen is gone as well.
    assert.ok(['offline', 'offline,offline'].includes(statuses(w, user).join()), statuses(w, user).join());
    for (const seen of await everywhere(user)) assert.equal(seen.status, 'offline');
    for (const node of nodes) await assert.rejects(attach(node, user, { token: old }), /unauthorized/);
  });

  for (const stays of [true, false]) {
    test(`FO-009 fifty connects and closes over two nodes, ending ${stays ? 'open' : 'closed'}`, async () => {
      const user = fresh();
      const w = await watcher(nodes[2], [user]);
      for (let i = 0; i < 50; ++i) (await attach(nodes[i % 2], user, { beat: false })).socket.close(1000);
      if (stays) await attach(nodes[0], user);
      await w.sees(user, stays ? 'online' : 'offline', 8000);
      await delay(grace + slack);
      assert.deepEqual(statuses(w, user), stays ? ['online'] : ['online', 'offline']);
      versionsRise(w, user);
    });
  }

  test('FO-015 what a person sees of itself is what others see, in every tab', async () => {
    const user = fresh();
    const w = await watcher(nodes[2], [user]);
    const same = async (tab) => {
      const own = (await tab.ask({ type: 'get', users: [user] }, 'snapshot')).users[0];
      await w.sees(user, own.status);
      assert.equal(own.status, 'online');
      for (const seen of await everywhere(user, w.user)) assert.equal(seen.status, 'online');
    };
    let tab;
    for (let reload = 0; reload < 5; ++reload) {
      tab = await attach(nodes[0], user);
      await same(tab);
      await tab.close(1001);
    }
    await attach(nodes[0], user);
    await same(await attach(nodes[1], user));
    assert.deepEqual(statuses(w, user), ['online']);
  });

  test('FO-019 three nodes agree on last seen through a silent death', async () => {
    const user = fresh();
    const one = await attach(nodes[0], user);
    await delay(1500);
    one.goSilent();
    const read = [];
    for (const end = Date.now() + ttl + 3000; Date.now() < end;) {
      read.push(await everywhere(user));
      await delay(150);
    }
    const offline = read.map((row) => row.every((seen) => seen.status === 'offline')).indexOf(true);
    assert.ok(offline > 0, 'offline on all nodes');
    for (const row of read.slice(0, Math.max(0, offline - 5))) assert.deepEqual(row.map((seen) => seen.status), ['online', 'online', 'online']);
    const values = new Set(read.slice(offline).flat().map((seen) => seen.lastSeen.at));
    assert.equal(values.size, 1, [...values].join());
  });

  test('FO-023 a long cut is offline and then online, a short one nothing, each ending on another node', async () => {
    const user = fresh();
    const w = await watcher(nodes[2], [user]);
    let client = await attach(nodes[0], user);
    await w.sees(user, 'online');
    let from = w.received.length;
    await client.reset();
    await delay(grace * 0.5);
    client = await attach(nodes[1], user, { hello: { resume: client.welcome.resume } });
    assert.equal(client.welcome.resumed, true);
    await delay(grace + slack);
    assert.deepEqual(statuses(w, user, from), []);
    client.goSilent();
    await w.sees(user, 'offline', ttl + 2000);
    await delay(1000);
    await attach(nodes[0], user, { hello: { resume: client.welcome.resume } });
    await w.sees(user, 'online', 1000 + slack);
    assert.deepEqual(statuses(w, user, from), ['offline', 'online']);
    from = w.received.length;
    versionsRise(w, user);
  });

  test('FO-051 a block and its end are told on the node of each of the two', async () => {
    const a = await attach(nodes[0], fresh());
    const w = await attach(nodes[1], fresh());
    await w.watch([a.user]);
    await a.watch([w.user]);
    await a.ask({ type: 'block', users: [w.user] });
    await w.sees(a.user, (one) => one.version === 0, 1000 + slack);
    await a.sees(w.user, (one) => one.version === 0, 1000 + slack);
    const from = w.received.length;
    await a.ask({ type: 'signal', to: { userId: w.user }, kind: 'typing', active: true });
    await a.ask({ type: 'status', status: 'busy' });
    await delay(1500);
    assert.deepEqual(w.received.slice(from).map((r) => r.message), []);
    for (const seen of await everywhere(a.user, w.user)) assert.deepEqual(seen, blank(a.user));
    await a.ask({ type: 'unblock', users: [w.user] });
    await w.sees(a.user, 'busy', 1000 + slack);
    await a.sees(w.user, 'online', 1000 + slack);
  });

  test('FO-053 hiding is in force on every node within a second, and so is showing to contacts', async () => {
    const a = await attach(nodes[0], fresh());
    const watchers = [];
    for (const node of nodes) {
      const w = await attach(node, fresh());
      await w.watch([a.user]);
      watchers.push(w);
    }
    await done(nodes[1], 'PUT', userPath(a.user, '/privacy'), { body: { online: { mode: 'nobody' }, lastSeen: { mode: 'nobody' } } });
    const from = watchers.map((w) => w.received.length);
    await a.ask({ type: 'status', status: 'away' });
    await Promise.all(watchers.map((w) => w.sees(a.user, (one) => one.version === 0, 1000 + slack)));
    await delay(1500);
    for (const [i, w] of watchers.entries()) {
      assert.deepEqual(w.told(a.user, from[i]).filter((one) => one.version !== 0), [], `node ${i}`);
      for (const seen of await everywhere(a.user, w.user)) assert.deepEqual(seen, blank(a.user));
    }
    await done(nodes[2], 'PUT', userPath(a.user, '/contacts'), { body: { users: [watchers[0].user] } });
    await done(nodes[2], 'PUT', userPath(a.user, '/privacy'), { body: { online: { mode: 'contacts' } } });
    await watchers[0].sees(a.user, 'away', 1000 + slack);
    for (const w of watchers.slice(1)) assert.equal(w.state.get(a.user).version, 0);
  });

  test('FO-054 two deployments on one Redis share nothing but the server', async () => {
    const other = await startServer({ set: { 'store.url': `${redis.url}?prefix=other`, 'database.url': 'memory:' } });
    try {
      const [ten, eleven, room] = [fresh('10'), fresh('11'), fresh('lobby')];
      const x = await attach(nodes[0], eleven);
      assert.deepEqual(x.received.map((r) => r.message.type), ['welcome']);
      await x.watch([ten]);
      await x.join(room);
      const from = x.received.length;
      const y = await attach(other, ten);
      await y.join(room);
      await y.ask({ type: 'status', status: 'busy' });
      await y.ask({ type: 'signal', to: { room }, kind: 'typing', active: true });
      await done(other, 'PUT', userPath(ten, '/privacy'), { body: { online: { mode: 'nobody' } } });
      await done(other, 'PUT', userPath(eleven, '/status'), { body: { status: 'dnd' } });
      await delay(1500);
      assert.deepEqual(x.received.slice(from).map((r) => r.message), []);
      assert.equal((await readPresence(nodes[1], ten)).status, 'offline');
      assert.equal((await readPresence(nodes[1], eleven)).status, 'online');
      assert.equal((await call(nodes[0], 'GET', `/v1/rooms/${room}`)).json.count, 1);
      assert.deepEqual(await listSessions(nodes[0], ten), []);
      await done(other, 'DELETE', userPath(eleven, ''));
      assert.equal(x.ended, undefined);
    } finally {
      await other.dispose();
    }
  });

  test('FO-057 a revocation by any node ends all sessions, and nothing is told to them afterwards', async () => {
    const [user, subject] = [fresh(), fresh()];
    const a = await attach(nodes[0], subject);
    const tokens = [-120, -60].map((ago) => tokenFor(user, { iat: Math.floor(Date.now() / 1000) + ago }));
    const w = await attach(nodes[0], user, { token: tokens[0] });
    const late = await attach(nodes[1], user, { token: tokens[1] });
    for (const each of [w, late]) await each.watch([subject]);
    const changes = setInterval(() => a.send({ type: 'status', status: Math.random() < 0.5 ? 'busy' : 'away' }), 100);
    try {
      await done(nodes[2], 'POST', userPath(user, '/revoke'), { body: { before: Date.now() - 90_000 } });
      await w.closedWith(4401);
      assert.equal(late.ended, undefined, 'a token of later is untouched');
      await done(nodes[2], 'POST', userPath(user, '/revoke'), { body: { before: Date.now() } });
      await late.closedWith(4401);
    } finally {
      clearInterval(changes);
    }
    for (const node of nodes) await assert.rejects(attach(node, user, { token: tokens[1] }), /unauthorized/);
  });

  test('FO-069 FO-070 FO-071 ids that look alike, hold separators or wildcards stay apart', async () => {
    const tail = fresh('');
    const ids = ['a:b', 'a', 'a:', '{a}', '{a}b', '{', '}', '*', 'u*', 'u?', '[a-z]', '\\*', 'u1', 'u2', 'a b', 'a%2Fb', 'a/b', 'a?b', 'a#b', '_', 'beats',
      'user', 'us\u0435r', 'j\u00fcrgen', 'ju\u0308rgen', 'K', '\u212a', 'k', '\uff21', 'A', "it's", '"', '\u{1F468}\u200d\u{1F469}'].map((id) => id + tail);
    const w = await watcher(nodes[2], ids);
    const online = ids.filter((_, i) => i % 2 === 0);
    const clients = new Map();
    for (const [i, id] of online.entries()) clients.set(id, await attach(nodes[i % 2], id));
    const check = async (expected) => {
      await until(() => ids.every((id) => w.state.get(id).status === expected(id)), 'each by itself').catch(() => {});
      assert.deepEqual(ids.map((id) => [id, w.state.get(id).status]), ids.map((id) => [id, expected(id)]));
      for (const id of ids) assert.equal((await readPresence(nodes[0], id)).status, expected(id), id);
    };
    await check((id) => (clients.has(id) ? 'online' : 'offline'));
    for (const id of online.filter((_, i) => i % 2)) {
      await clients.get(id).bye();
      clients.delete(id);
    }
    await check((id) => (clients.has(id) ? 'online' : 'offline'));
    const first = online[0];
    await done(nodes[1], 'PUT', userPath(first, '/privacy'), { body: { online: { mode: 'nobody' } } });
    for (const id of ids) {
      const stored = await done(nodes[2], 'GET', userPath(id, '/privacy'));
      assert.equal(stored.online?.mode === 'nobody', id === first, id);
    }
  });

  test('FO-071 FO-072 a custom status of nasty text comes back from PostgreSQL as it was', async () => {
    const user = fresh();
    const a = await attach(nodes[0], user);
    const text = "\u{1F468}\u200d\u{1F469}\u200d\u{1F467} ju\u0308rgen '; DROP TABLE x; -- \\ \" \u00df";
    await a.ask({ type: 'status', status: 'busy', customStatus: { text, emoji: '\u{1F1E9}\u{1F1EA}' } });
    await a.bye();
    const back = await attach(nodes[1], user);
    const own = (await back.ask({ type: 'get', users: [user] }, 'snapshot')).users[0];
    assert.deepEqual(own.customStatus, { text, emoji: '\u{1F1E9}\u{1F1EA}' });
  });

  test('FO-081 from Wi-Fi to mobile: the old socket runs out and touches nothing', async () => {
    const user = fresh();
    const old = await attach(nodes[0], user);
    const w = await watcher(nodes[2], [user]);
    old.goSilent();
    await delay(700);
    const now = await attach(nodes[1], user, { hello: { resume: old.welcome.resume } });
    assert.equal((await listSessions(nodes[2], user)).length, 1);
    await w.hearsNothing(user, ttl * 1.5);
    await now.close(1000);
    await w.sees(user, 'offline', grace + 1000 + slack);
    assert.deepEqual(statuses(w, user), ['offline']);
  });

  test('FO-084 nothing depends on notices of expiry, nor on how many other keys there are', async () => {
    for (let i = 0; i < 20; ++i) {
      await redis.command('EVAL', "for i=1,10000 do redis.call('SET', KEYS[1] .. i, '', 'EX', 3600) end", 1, `foreign:${i}:`);
    }
    const users = Array.from({ length: 100 }, () => fresh('kx'));
    const clients = [];
    for (let i = 0; i < users.length; i += 25) {
      clients.push(...await Promise.all(users.slice(i, i + 25).map((user, k) => attach(nodes[k % 2], user))));
    }
    const w = await watcher(nodes[2], users);
    for (const client of clients) client.goSilent();
    const silentAt = Date.now();
    await until(() => users.every((user) => w.state.get(user).status === 'offline'), 'all to be offline', ttl + 3000);
    for (const user of users) {
      const [told, ...more] = w.told(user);
      assert.deepEqual(more, []);
      assert.ok(told.receivedAt - silentAt > ttl - 1000 && told.receivedAt - silentAt < ttl + 500 + slack, `${told.receivedAt - silentAt} ms`);
    }
  });

  test('FO-102 a custom status that lapsed while nobody was there is seen by no reader', async () => {
    const user = fresh();
    const a = await attach(nodes[0], user);
    const expiresAt = Date.now() + 2500;
    await a.ask({ type: 'status', status: 'dnd', customStatus: { text: 'in a meeting', expiresAt }, expiresAt });
    await a.bye();
    await delay(Math.max(0, expiresAt - Date.now() + 100));
    for (const seen of await everywhere(user)) assert.equal(seen.customStatus, undefined);
    const back = await attach(nodes[1], user);
    const own = (await back.ask({ type: 'get', users: [user] }, 'snapshot')).users[0];
    assert.equal(own.status, 'online');
    assert.equal(own.customStatus, undefined);
  });

  test('FO-103 what is declared for a week outlives the loss of all that Redis holds', async () => {
    const user = fresh();
    const expiresAt = Date.now() + 7 * 86_400_000;
    const a = await attach(nodes[0], user);
    await a.ask({ type: 'status', status: 'dnd', customStatus: { text: 'on leave', emoji: '\u{1F334}', expiresAt }, expiresAt });
    await a.bye();
    await redis.command('FLUSHALL');
    // Unknown until all nodes have stated theirs, never online.
    const before = await until(async () => {
      const one = await readPresence(nodes[1], user);
      return one.status !== 'unknown' && one;
    }, 'all to be known', 15_000);
    assert.equal(before.status, 'offline');
    await attach(nodes[2], user);
    const seen = await until(async () => {
      const one = await readPresence(nodes[1], user);
      return one.status === 'dnd' && one;
    }, 'what was declared');
    assert.deepEqual(seen.customStatus, { text: 'on leave', emoji: '\u{1F334}', expiresAt });
  });

  test('FO-033 keys come down to what they were when all are gone', async () => {
    const kinds = async () => (await redis.command('KEYS', 'pd*')).length;
    const round = async () => {
      const clients = await Promise.all(Array.from({ length: 60 }, (_, i) => attach(nodes[i % 3], fresh('cycle'))));
      for (const client of clients) {
        await client.watch([fresh('never'), fresh('never')]);
        await client.join(fresh('room'));
      }
      await Promise.all(clients.map((client) => client.bye()));
    };
    await round();
    const channels = () => redis.command('PUBSUB', 'SHARDCHANNELS').then((list) => list.length);
    await until(async () => (await channels()) <= 64 * 2 + 40, 'subscriptions to end', 15_000);
    const before = await channels();
    await round();
    await until(async () => (await channels()) <= before, 'the channels of the second round to go, too', 15_000);
    assert.ok(await kinds() > 0);
    assert.deepEqual(await redis.withoutTtl(), []);
  });

  test('FO-079 a client that answers nothing is cut off on every node by the same rule', async () => {
    for (const node of nodes) {
      const client = new Client(node, { beat: false, autoPong: false });
      const user = fresh();
      await client.hello({ token: tokenFor(user) });
      const w = await watcher(nodes[(nodes.indexOf(node) + 1) % 3], [user]);
      const from = Date.now();
      await w.sees(user, 'offline', ttl + 500 + slack);
      assert.ok(Date.now() - from > ttl - 1000);
      await client.closedWith(4408);
    }
  });

  test('what ends a user while Redis is away is refused, or made up for afterwards', async () => {
    const [revoked, erased] = [fresh(), fresh()];
    const token = tokenFor(revoked, { iat: Math.floor(Date.now() / 1000) - 60 });
    const one = await attach(nodes[0], revoked, { token });
    const two = await attach(nodes[0], erased);
    const [session] = await listSessions(nodes[0], erased);
    await redis.stop();
    try {
      await until(async () => (await call(nodes[1], 'GET', userPath(erased, '/sessions'))).status === 503, 'node 1 to notice');
      await done(nodes[1], 'POST', userPath(revoked, '/revoke'), { body: { before: Date.now() } });
      assert.equal((await call(nodes[1], 'DELETE', userPath(erased, ''))).status, 503);
      assert.equal((await call(nodes[1], 'DELETE', userPath(erased, `/sessions/${session.sessionId}`))).status, 503);
      assert.equal(two.ended, undefined);
    } finally {
      await redis.start();
    }
    await one.closedWith(4401, undefined, 10_000);
    await until(async () => (await call(nodes[1], 'DELETE', userPath(erased, ''))).status === 204, 'the erasure', 10_000);
    await two.closedWith(4403);
    // Until all nodes have stated theirs to a store that lost its data, who is not there is unknown.
    for (const node of nodes) await until(async () => (await readPresence(node, fresh())).status === 'offline', 'all to be known', 15_000);
  });
});
