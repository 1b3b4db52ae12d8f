// DESIGN rule 2: who falls silent is offline for every watcher between ttl and ttl + 0.5 s after the
// last sign of life, never before.
import assert from 'node:assert/strict';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { test } from 'node:test';
import { attach, fresh, watcher } from '../lib/client.mjs';
import { listSessions, readPresence } from '../lib/rest.mjs';
import { RawClient, frame } from '../lib/raw.mjs';
import { delay, ttl, until } from '../lib/server.mjs';
import { withServer } from '../lib/suite.mjs';

const held = withServer();
const sent = (client, message) => new Promise((resolve) => { client.socket.send(JSON.stringify(message), resolve); });

test('FO-079 the window of rule 2 holds over 200 silent deaths, for two watchers', async (t) => {
  const users = Array.from({ length: 200 }, () => fresh('mortal'));
  const clients = [];
  for (let i = 0; i < users.length; i += 20) {
    clients.push(...await Promise.all(users.slice(i, i + 20).map((user) => attach(held.server, user))));
  }
  const watchers = [await watcher(held.server, users), await watcher(held.server, users)];
  await delay(1500);  // no transition just before
  const lag = monitorEventLoopDelay({ resolution: 5 });
  lag.enable();
  const deaths = new Map();
  await Promise.all(clients.map(async (client, i) => {
    await delay((i * 3000) / clients.length);
    client.stopBeating();
    const before = Date.now();
    await sent(client, { type: 'heartbeat' });
    client.goSilent();
    deaths.set(client.user, { before, after: Date.now() });
  }));
  await delay(ttl + 1200);
  lag.disable();
  const slack = lag.max / 1e6;
  let worst = 0;
  for (const w of watchers) {
    for (const user of users) {
      const told = w.told(user);
      assert.deepEqual(told.map((one) => one.status), ['offline'], user);
      const { before, after } = deaths.get(user);
      const early = before + ttl - told[0].receivedAt;
      const late = told[0].receivedAt - after - ttl;
      worst = Math.max(worst, late);
      assert.ok(early <= 1, `${user}: ${early} ms too early`);
      assert.ok(late <= 500 + slack, `${user}: ${late} ms late (own lag ${slack} ms)`);
      const { at, granularity } = told[0].lastSeen;
      assert.equal(granularity, 'exact');
      assert.ok(at >= before - 2 && at <= after + 100, `${user}: last seen ${at - before} ms after the last heartbeat`);
    }
  }
  t.diagnostic(`worst lateness ${worst} ms, own lag at most ${slack.toFixed(1)} ms`);
  for (const client of clients.slice(0, 20)) client.socket.resume();
  for (const client of clients.slice(0, 20)) await client.closedWith(4408, 'heartbeat_timeout');
  for (const user of users.slice(0, 20)) assert.deepEqual(await listSessions(held.server, user), []);
  clients.forEach((client) => client.socket.terminate());
});

test('any complete frame keeps alive: Ping, Pong, a request, a fragment; TCP alone does not', async () => {
  const ways = {
    ping: () => frame(9, ''), pong: () => frame(10, ''), request: () => frame(1, '{"type":"heartbeat"}'),
    fragment: (n) => frame(n === 0 ? 1 : 0, ' ', { fin: false }),
    halfFrame: (n) => (n === 0 ? frame(1, 'x'.repeat(50)).subarray(0, 20) : Buffer.from(' ')),
  };
  const raws = {};
  const users = {};
  for (const way of Object.keys(ways)) {
    users[way] = fresh(way);
    raws[way] = new RawClient(held.server);
    await raws[way].hello(users[way]);
  }
  const w = await watcher(held.server, Object.values(users));
  const lastWhole = Date.now();
  for (let n = 0; n < 7; ++n) {
    for (const way of Object.keys(ways)) await raws[way].write(ways[way](n));
    await delay(700);
  }
  for (const way of ['ping', 'pong', 'request', 'fragment']) assert.equal(w.state.get(users[way]).status, 'online', way);
  assert.equal(w.state.get(users.halfFrame).status, 'offline', 'a frame that never gets whole is no life');
  assert.ok(w.told(users.halfFrame)[0].receivedAt - lastWhole <= ttl + 700);
  Object.values(raws).forEach((raw) => raw.destroy());
});

test('at 60 % of the ttl the server sends one Ping, and the answer keeps the session', async () => {
  const client = await attach(held.server, fresh(), { beat: false });
  const w = await watcher(held.server, [client.user]);
  let pings = 0;
  const start = Date.now();
  let first;
  client.socket.on('ping', () => { ++pings; first ??= Date.now() - start; });
  await delay(2.5 * ttl);
  assert.equal(w.state.get(client.user).status, 'online');
  assert.ok(first >= ttl * 0.6 - 150 && first <= ttl * 0.6 + 500, `${first} ms`);
  assert.ok(pings >= 3 && pings <= 5, `${pings} pings in 2.5 ttl`);
});

test('FO-010 beats that come late or get lost flip nobody', async () => {
  const clients = await Promise.all(Array.from({ length: 60 }, () => attach(held.server, fresh(), { beat: false })));
  const w = await watcher(held.server, clients.map((client) => client.user));
  const end = Date.now() + 12_000;
  await Promise.all(clients.map(async (client, i) => {
    client.socket.on('ping', () => {});
    for (let n = 0; Date.now() < end; ++n) {
      await delay(1000 + Math.random() * 300);
      if ((n + i) % 5 !== 0) client.socket.pong();  // a fifth is lost
    }
  }));
  for (const client of clients) assert.deepEqual(w.told(client.user), []);
});

test('FO-016 FO-019 a silent death has the last beat as last seen, and it stays', async () => {
  const client = await attach(held.server, fresh());
  const w = await watcher(held.server, [client.user]);
  await delay(1300);
  client.stopBeating();
  const at = Date.now();
  await sent(client, { type: 'heartbeat' });
  client.goSilent();
  const seen = new Set();
  await until(async () => {
    const one = await readPresence(held.server, client.user, w.user);
    if (one.status === 'online') { assert.equal(one.lastSeen, undefined); return false; }
    seen.add(one.lastSeen.at);
    return true;
  }, 'offline', ttl + 1500);
  for (let i = 0; i < 20; ++i) { seen.add((await readPresence(held.server, client.user)).lastSeen.at); await delay(50); }
  assert.equal(seen.size, 1);
  assert.ok(Math.abs([...seen][0] - at) < 150);
});

test('FO-006 FO-027 a client that slept through its ttl on a healthy link is closed, and comes back online', async () => {
  const client = await attach(held.server, fresh(), { hello: { activity: 'active' } });
  const w = await watcher(held.server, [client.user]);
  await client.ask({ type: 'status', scope: 'session', customStatus: { text: 'automatic' } });
  await client.ask({ type: 'activity', state: 'idle' });
  await w.sees(client.user, 'away');
  client.goSilent();
  await w.sees(client.user, 'offline', ttl + 1500);
  client.socket.resume();
  await client.closedWith(4408, 'heartbeat_timeout');
  const back = await attach(held.server, client.user, { hello: { resume: client.welcome.resume, activity: 'active' } });
  assert.equal(back.welcome.resumed, false, 'silence ends a session without a grace');
  const one = await w.sees(client.user, 'online');
  assert.equal(one.customStatus, undefined, 'the text of the dead session is gone');
  assert.deepEqual(w.told(client.user).map((told) => told.status).slice(-3), ['away', 'offline', 'online']);
});
