// Limits: each is told, none closes a connection that stays within ten times of it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client, attach, endClients, fresh, watcher } from '../lib/client.mjs';
import { RawClient } from '../lib/raw.mjs';
import { readPresence } from '../lib/rest.mjs';
import { delay, startServer, until } from '../lib/server.mjs';
import { tokenFor } from '../lib/tokens.mjs';

async function withLimits(set, body) {
  const server = await startServer({ set });
  try { await body(server); } finally { endClients(); await server.dispose(); }
}

test('messages: rateLimited with a time, and the connection stays within ten times of the limit', async () => {
  await withLimits({ 'limits.messages_per_second': '20', 'limits.messages_burst': '40' }, async (server) => {
    const a = await attach(server, fresh());
    const w = await watcher(server, [a.user]);
    for (let i = 0; i < 120; ++i) a.send({ type: 'get', users: ['x'], id: 1000 + i });
    await a.when(() => a.received.length >= 121, '120 answers');
    const refused = a.received.map((r) => r.message).filter((m) => m.type === 'error');
    assert.ok(refused.length >= 40 && refused.length <= 90, `${refused.length}`);
    for (const error of refused) { assert.equal(error.code, 'rateLimited'); assert.ok(error.retryAfterMs > 0 && error.retryAfterMs < 60_000); }
    await delay(refused.at(-1).retryAfterMs + 300);
    await a.ask({ type: 'get', users: ['x'] }, 'snapshot');
    await w.hearsNothing(a.user, 100);
  });
});

test('FO-035 4429 too_many_messages: a flood beyond ten times the limit', async () => {
  await withLimits({ 'limits.messages_per_second': '10', 'limits.messages_burst': '20' }, async (server) => {
    const calm = await attach(server, fresh());
    const flood = await attach(server, fresh());
    const w = await watcher(server, [calm.user]);
    for (let i = 0; i < 3000 && !flood.ended; ++i) {
      flood.send({ type: i % 2 ? 'watch' : 'unwatch', users: [`stranger-${i}`] });
      if (i % 100 === 0) await delay(5);
    }
    await flood.closedWith(4429, 'too_many_messages', 8000);
    const start = Date.now();
    await calm.ask({ type: 'status', status: 'busy' });
    await w.sees(calm.user, 'busy', 1500);
    assert.ok(Date.now() - start < 1500);
  });
});

test('status changes over the limit: ack with appliedInMs, the newest is applied', async () => {
  await withLimits({ 'limits.status_per_second': '1', 'limits.status_burst': '3' }, async (server) => {
    const a = await attach(server, fresh());
    const w = await watcher(server, [a.user]);
    const answers = [];
    for (const status of ['busy', 'away', 'dnd', 'busy', 'away', 'dnd']) answers.push(await a.ask({ type: 'status', status }));
    const later = answers.filter((answer) => answer.appliedInMs !== undefined);
    assert.equal(later.length, 3, JSON.stringify(answers));
    for (const answer of later) assert.ok(answer.appliedInMs > 0 && answer.appliedInMs <= 5000);
    await a.ask({ type: 'status', status: 'busy' });
    await delay(Math.max(...later.map((answer) => answer.appliedInMs)) + 2500);
    assert.equal(w.state.get(a.user).status, 'busy');
    assert.equal((await readPresence(server, a.user)).status, 'busy');
  });
});

test('FO-097 sockets that say no hello are gone in time, and do not keep others out', async () => {
  await withLimits({ 'limits.hello_timeout': '2s' }, async (server) => {
    const before = server.openFiles();
    const silent = await Promise.all(Array.from({ length: 300 }, async () => { const raw = new RawClient(server); await raw.upgrade(); return raw; }));
    const slow = Array.from({ length: 50 }, () => new RawClient(server));
    const head = 'GET /v1/connect HTTP/1.1\r\nHost: x\r\n';
    const drip = (async () => { for (let i = 0; i < 20; ++i) { slow.forEach((raw) => raw.socket.write(head[i] ?? 'x')); await delay(150); } })();
    for (let i = 0; i < 10; ++i) {
      const a = await attach(server, fresh());
      await a.bye();
      await delay(100);
    }
    for (const raw of silent.slice(0, 20)) await raw.closedWith(4408, { word: 'hello_timeout' });
    await Promise.race([Promise.all(silent.map((raw) => raw.gone)), delay(6000)]);
    assert.equal(silent.filter((raw) => !raw.ended).length, 0, 'sockets still open long after the time for hello');
    await drip;
    slow.forEach((raw) => raw.destroy());
    await until(() => server.openFiles() <= before + 3, 'the descriptors to come back', 4000);
  });
});

test('FO-097 a thousand silent sockets of ten addresses: each address has its share, an honest client comes in every time', { timeout: 60_000 }, async () => {
  const most = 40;
  await withLimits({ 'limits.hello_timeout': '4s', 'limits.address_pending': String(most), 'limits.address_accepts_burst': '2000', 'limits.address_accepts_per_second': '2000', 'proxies.trusted': '127.0.0.1' }, async (server) => {
    const before = server.openFiles();
    const raws = [];
    const outcomes = [];
    for (let i = 0; i < 1000; ++i) {
      const raw = new RawClient(server);
      raws.push(raw);
      outcomes.push(raw.upgrade({ headers: { 'X-Forwarded-For': `192.0.2.${i % 10}` } }).then((head) => Number(/^HTTP\/1\.1 (\d+)/.exec(head)?.[1])));
      if (i % 100 === 99) {
        const honest = await attach(server, fresh(), { headers: { 'x-forwarded-for': `198.51.100.${i % 97}` } });
        await honest.bye();
      }
    }
    const statuses = await Promise.all(outcomes);
    assert.equal(statuses.filter((status) => status === 101).length, 10 * most, 'of each address so many, and no more');
    assert.ok(statuses.every((status) => status === 101 || status === 429), [...new Set(statuses)].join());
    await until(() => raws.every((raw) => raw.ended), 'the silent ones to be gone', 12_000);
    raws.forEach((raw) => raw.destroy());
    await until(() => server.openFiles() <= before + 3, 'the descriptors to come back', 4000);
  });
});

test('FO-097 a refused client that never answers the Close is cut within 3 s', async () => {
  await withLimits({}, async (server) => {
    const { text } = await import('../lib/raw.mjs');
    const raws = await Promise.all(Array.from({ length: 30 }, async () => {
      const raw = new RawClient(server);
      await raw.upgrade();
      await raw.write(text({ type: 'hello', token: 'nonsense' }));
      await raw.closedWith(4401);
      return raw;
    }));
    await Promise.race([Promise.all(raws.map((raw) => raw.gone)), delay(3500)]);
    assert.equal(raws.filter((raw) => !raw.ended).length, 0);
  });
});

test('connections of one user: over the limit 4429, others are let in', async () => {
  await withLimits({ 'limits.sessions_per_user': '3' }, async (server) => {
    const user = fresh();
    const codes = [];
    for (let i = 0; i < 8; ++i) {
      const client = new Client(server);
      await client.opened;
      client.send({ type: 'hello', token: tokenFor(user), id: 1 });
      const first = await client.when(() => client.received[0]?.message, 'an answer');
      codes.push(first.type === 'welcome' ? 'welcome' : first.code);
      if (first.type === 'welcome') client.startBeating(); else assert.equal((await client.closed).code, 4429);
    }
    assert.deepEqual(codes.slice(0, 3), ['welcome', 'welcome', 'welcome']);
    assert.ok(codes.slice(3).every((code) => code === 'limitExceeded' || code === 'rateLimited'), codes.join());
    await attach(server, fresh());
  });
});

test('1013 or 503: connections of the node over the limit are refused, those before are served', async () => {
  await withLimits({ 'limits.connections': '6' }, async (server) => {
    const first = [];
    for (let i = 0; i < 4; ++i) first.push(await attach(server, fresh()));
    const outcomes = await Promise.all(Array.from({ length: 6 }, async () => {
      const client = new Client(server);
      try {
        await client.opened;
        await client.hello({ token: tokenFor(fresh()) });
        return 'welcome';
      } catch (error) {
        if (client.ended?.code !== undefined && client.ended.code !== 1006) return client.ended.code;
        return error.status ?? 'no connection';
      }
    }));
    const refused = outcomes.filter((outcome) => outcome !== 'welcome');
    assert.ok(refused.length >= 4, outcomes.join());
    for (const outcome of refused) assert.ok([1013, 503, 'no connection'].includes(outcome), outcomes.join());
    for (const client of first) await client.ask({ type: 'heartbeat' }, 'heartbeatAck');
    await first[0].bye();
    await until(() => attach(server, fresh()).catch(() => false), 'a place to be free again', 3000);
  });
});

test('FO-099 forwarded addresses are not believed', async () => {
  await withLimits({}, async (server) => {
    for (const headers of [{ 'x-forwarded-for': '1.2.3.4' }, { 'x-forwarded-for': 'x'.repeat(2000) }, { forwarded: 'for="[::1]";proto=https' }, { 'x-real-ip': '\u00ff' }]) {
      const a = await attach(server, fresh(), { headers });
      await a.bye();
    }
  });
});
