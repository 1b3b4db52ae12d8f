// FO-034: a session, its watches and its rooms are gone whatever way it went; nothing stays behind that nobody counts.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Client, attach, endClients, fresh } from '../lib/client.mjs';
import { frame } from '../lib/raw.mjs';
import { call } from '../lib/rest.mjs';
import { delay, grace, startServer, until } from '../lib/server.mjs';
import { long } from '../lib/suite.mjs';
import { nowSeconds, tokenFor } from '../lib/tokens.mjs';

const each = long ? 1000 : 40;
const gauges = ['presenced_users', 'presenced_sessions', 'presenced_connections', 'presenced_sockets', 'presenced_watches', 'presenced_watched_users', 'presenced_rooms', 'presenced_room_replicas'];
const leeway = 30_000;
const ttl = 6500;  // So long that a busy machine ends nobody by itself.

let server;
const table = [];
before(async () => { server = await startServer({ set: { 'heartbeat.interval': '2s', 'heartbeat.ttl': `${ttl}ms`, 'limits.errors_per_second': '1', 'limits.errors_burst': '10', 'log.level': 'warning' } }); });
after(async () => {
  console.log(['way out'.padEnd(34) + gauges.map((name) => name.slice(10).padStart(15)).join(''), ...table].join('\n'));
  await server?.dispose();
});

/** The sum of each gauge over its labels. */
async function look() {
  const page = await (await fetch(`${server.httpUrl}/metrics`)).text();
  return Object.fromEntries(gauges.map((name) => [name, [...page.matchAll(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\d+)$`, 'gm'))].reduce((sum, [, n]) => sum + Number(n), 0)]));
}

const closed = (clients, code) => Promise.all(clients.map(async (one) => assert.equal((await one.closed).code, code)));
const ways = {
  bye: async (clients) => { clients.forEach((one) => one.send({ type: 'bye' })); await closed(clients, 1000); },
  'a clean Close': async (clients) => { await Promise.all(clients.map((one) => one.close())); },
  'a reset': async (clients) => { await Promise.all(clients.map((one) => one.reset())); },
  'an end of TCP without a Close': async (clients) => { clients.forEach((one) => { one.stopBeating(); one.socket._socket.end(); }); await Promise.all(clients.map((one) => one.closed)); },
  silence: async (clients) => { clients.forEach((one) => one.goSilent()); await delay(ttl + 800); },
  'a broken frame': async (clients) => { clients.forEach((one) => one.socket._socket.write(frame(3, ''))); await closed(clients, 1002); },
  'text that is not UTF-8': async (clients) => { clients.forEach((one) => one.socket._socket.write(frame(1, Buffer.from([0xff])))); await closed(clients, 1007); },
  'a message too large': async (clients) => { clients.forEach((one) => one.sendRaw('x'.repeat(140_000))); await closed(clients, 1009); },
  'too many mistakes': async (clients) => { clients.forEach((one) => { for (let i = 0; i < 300; ++i) one.sendRaw('{}'); }); await closed(clients, 4429); },
  'the end of a back end’s patience (kick)': async (clients) => {
    await Promise.all(clients.map((one) => call(server, 'DELETE', `/v1/users/${one.user}/sessions/${one.welcome.sessionId}`)));
    await closed(clients, 4403);
  },
  revocation: async (clients) => {
    await Promise.all(clients.map((one) => call(server, 'POST', `/v1/users/${one.user}/revoke`, { body: { before: Date.now() + 2000 } })));
    await closed(clients, 4401);
  },
  erasure: async (clients) => { await Promise.all(clients.map((one) => call(server, 'DELETE', `/v1/users/${one.user}`))); await closed(clients, 4403); },
  'a resume elsewhere, then bye': async (clients) => {
    const heirs = await Promise.all(clients.map((one) => attach(server, one.user, { hello: { resume: one.welcome.resume } })));
    await closed(clients, 4409);
    heirs.forEach((one) => one.send({ type: 'bye' }));
    await closed(heirs, 1000);
  },
  'a token of another user': async (clients) => { clients.forEach((one) => one.send({ type: 'auth', token: tokenFor(fresh()) })); await closed(clients, 4401); },
};

describe('FO-034 nothing is left of a session that went', () => {
  /** Comes in, watches, joins; then goes the way given, and all gauges have to be as before. */
  async function goes(name, way, options = {}) {
    const before = await look();
    const clients = await Promise.all(Array.from({ length: each }, async (_, i) => {
      const one = await attach(server, fresh('out'), options);
      await one.watch([fresh('strange'), fresh('strange'), one.user]);
      await one.join(`way-${name}-${i % 5}`);
      return one;
    }));
    const during = await look();
    assert.ok(during.presenced_sessions >= before.presenced_sessions + each && during.presenced_watches >= before.presenced_watches + 3 * each, JSON.stringify(during));
    assert.ok(during.presenced_rooms > before.presenced_rooms && during.presenced_sockets >= before.presenced_sockets + each - 2);
    await way(clients);
    let now;
    try {
      await until(async () => { now = await look(); return gauges.every((one) => now[one] <= before[one]); }, name, grace + 6000);
    } finally { table.push(name.padEnd(34) + gauges.map((one) => String(now[one] - before[one]).padStart(15)).join('')); endClients(); }
  }

  test('the first look counts what the look itself needs', async () => {
    await (await attach(server, fresh())).bye();
    await delay(grace);
  });

  for (const [name, way] of Object.entries(ways)) test(`FO-034 ${name}`, { timeout: 60_000 }, () => goes(name, way));

  test('FO-034 the end of the token', { timeout: 90_000, skip: !long && 'takes the leeway of half a minute' }, async () => {
    const claims = { exp: nowSeconds() + 3 };
    await goes('the end of the token', (clients) => Promise.all(clients.map(async (one) => assert.equal((await one.closed).code, 4401))), { claims, timeoutMs: leeway + 10_000 });
  });

  test('FO-034 before hello: silence, and a refused hello', async () => {
    const before = await look();
    const clients = await Promise.all(Array.from({ length: each }, async () => { const one = new Client(server); await one.opened; return one; }));
    clients.forEach((one, i) => (i % 2 ? one.send({ type: 'hello', token: 'nonsense' }) : one.socket._socket.resetAndDestroy()));
    await Promise.all(clients.map((one) => one.closed));
    await until(async () => { const now = await look(); return gauges.every((one) => now[one] <= before[one]); }, 'nothing to be left');
  });
});
