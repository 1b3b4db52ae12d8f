// Crashes, pauses and restarts of one node with the embedded stores.
import assert from 'node:assert/strict';
import { afterEach, describe, test } from 'node:test';
import { attach, endClients, fresh, watcher } from '../lib/client.mjs';
import { call, done, listSessions, readPresence, userPath } from '../lib/rest.mjs';
import { delay, grace, startServer, ttl } from '../lib/server.mjs';
import { tokenFor } from '../lib/tokens.mjs';

const servers = [];
const start = async (options) => { const server = await startServer(options); servers.push(server); return server; };
afterEach(async () => {
  endClients();
  for (const server of servers.splice(0)) await server.dispose();
});

describe('kill -9 and restart', () => {
  test('rule 19: who does not return gets a last seen within 5 s of the crash; who returns is never shown offline', async () => {
    let server = await start();
    const leavers = await Promise.all(Array.from({ length: 10 }, () => attach(server, fresh('leaver'))));
    const returners = await Promise.all(Array.from({ length: 10 }, () => attach(server, fresh('returner'))));
    await delay(6000);
    const crash = Date.now();
    await server.kill();
    await delay(500);
    server = await start({ dataDir: server.dataDir });
    const ready = Date.now();
    const all = [...leavers, ...returners].map((client) => client.user);
    const w = await watcher(server, all);
    const first = Object.fromEntries(w.received.find((r) => r.message.type === 'snapshot').message.users.map((one) => [one.userId, one.status]));
    for (const user of all) assert.notEqual(first[user], 'offline', `${user} was shown offline right after the restart`);
    await Promise.all(returners.map(async (client, i) => {
      await delay(i * 60);
      const back = await attach(server, client.user, { hello: { resume: client.welcome.resume } });
      assert.equal(back.welcome.resumed, true);
      assert.equal(back.welcome.sessionId, client.welcome.sessionId);
    }));
    for (const { user } of leavers) {
      const one = await w.sees(user, 'offline', grace + 3000);
      assert.ok(Math.abs(one.lastSeen.at - crash) < 5000, `last seen ${one.lastSeen.at - crash} ms from the crash`);
      assert.deepEqual((await readPresence(server, user)).lastSeen, one.lastSeen);
    }
    assert.ok(Date.now() - ready < grace + 3000);
    await delay(600);
    for (const { user } of returners) {
      assert.equal(w.state.get(user).status, 'online');
      assert.ok(w.told(user).every((one) => one.status !== 'offline'), `${user}: ${w.told(user).map((one) => one.status)}`);
    }
  });

  test('a third life: last seen of the first crash stays', async () => {
    let server = await start();
    const a = await attach(server, fresh());
    await delay(2500);
    await server.kill();
    server = await start({ dataDir: server.dataDir });
    await delay(grace + 800);
    const { at } = (await readPresence(server, a.user)).lastSeen;
    await server.kill();
    server = await start({ dataDir: server.dataDir });
    await delay(grace + 800);
    assert.equal((await readPresence(server, a.user)).lastSeen.at, at);
  });

  test('FO-002 nobody silent for long is online after a restart', async () => {
    let server = await start();
    const a = await attach(server, fresh());
    await delay(2500);
    const crash = Date.now();
    await server.kill();
    await delay(ttl + 2000);
    server = await start({ dataDir: server.dataDir });
    for (let i = 0; i < 20; ++i) {
      assert.notEqual((await readPresence(server, a.user)).status, 'online');
      await delay(50);
    }
    const w = await watcher(server, [a.user]);
    const one = await w.sees(a.user, 'offline', grace + 2000);
    assert.ok(one.lastSeen.at <= crash && one.lastSeen.at > crash - 5000);
  });

  test('versions never go back across a crash', async () => {
    let server = await start();
    const user = fresh();
    const a = await attach(server, user);
    for (const status of ['busy', 'dnd', 'away', 'busy']) await a.ask({ type: 'status', status });
    const w = await watcher(server, [user]);
    const { version } = w.state.get(user);
    await server.kill();
    server = await start({ dataDir: server.dataDir });
    const back = await attach(server, user, { hello: { resume: a.welcome.resume } });
    const again = await watcher(server, [user]);
    assert.ok(again.state.get(user).version >= version, `${version} -> ${again.state.get(user).version}`);
    await back.ask({ type: 'status', status: 'dnd' });
    assert.ok((await again.sees(user, 'dnd')).version > version);
  });

  test('FO-103 what was declared survives: status, text, rules, contacts, blocks, revocation', async () => {
    let server = await start();
    const user = fresh();
    const a = await attach(server, user);
    const expiresAt = Date.now() + 7 * 86_400_000;
    await a.ask({ type: 'status', status: 'dnd', expiresAt, customStatus: { text: 'Bis bald', emoji: '🌴', expiresAt } });
    await a.ask({ type: 'privacy', online: { mode: 'contacts' } }, 'privacy');
    await a.ask({ type: 'block', users: ['m'] });
    await done(server, 'PUT', userPath(user, '/contacts'), { body: { users: ['c1', 'c2'] } });
    const revoked = fresh();
    const { before } = await done(server, 'POST', userPath(revoked, '/revoke'), { body: { before: Date.now() + 60_000 } });
    await server.kill();
    server = await start({ dataDir: server.dataDir });
    assert.deepEqual(await done(server, 'GET', userPath(user, '/status')), { status: 'dnd', expiresAt, customStatus: { text: 'Bis bald', emoji: '🌴', expiresAt } });
    assert.equal((await done(server, 'GET', userPath(user, '/privacy'))).online.mode, 'contacts');
    assert.deepEqual(await done(server, 'GET', userPath(user, '/contacts')), { users: ['c1', 'c2'] });
    assert.deepEqual(await done(server, 'GET', userPath(user, '/blocks')), { users: ['m'] });
    assert.equal((await call(server, 'GET', '/v1/users/a/presence', { token: tokenFor(revoked) })).status, 401);
    assert.ok(before > Date.now());
    const w = await watcher(server, [user]);
    assert.equal(w.state.get(user).version, 0, 'the rule holds from the first read');
    const back = await attach(server, user);
    const [mine] = (await back.ask({ type: 'get', users: [user] }, 'snapshot')).users;
    assert.equal(mine.status, 'dnd');
    assert.equal(mine.customStatus.text, 'Bis bald');
  });

  test('FO-102 a status that ran out while the server was down is over', async () => {
    let server = await start();
    const user = fresh();
    const a = await attach(server, user);
    await a.ask({ type: 'status', status: 'busy', expiresInMs: 1500, customStatus: { text: 'short', expiresInMs: 1500 } });
    await server.kill();
    await delay(1600);
    server = await start({ dataDir: server.dataDir });
    const w = await watcher(server, [user]);
    assert.ok(!w.received.some((r) => /busy|short/.test(r.bytes)));
    assert.deepEqual(await done(server, 'GET', userPath(user, '/status')), { status: 'auto' });
    await attach(server, user, { hello: { resume: a.welcome.resume } });
    const one = await w.sees(user, 'online');
    assert.equal(one.customStatus, undefined);
    await delay(500);
    assert.ok(!w.received.some((r) => /busy|short/.test(r.bytes)));
  });

  test('an orderly restart: the same, and sessions can be resumed', async () => {
    let server = await start();
    const a = await attach(server, fresh());
    await a.ask({ type: 'status', status: 'busy', scope: 'session' });
    const result = await server.terminate();
    assert.equal(result.code, 0);
    server = await start({ dataDir: server.dataDir });
    const w = await watcher(server, [a.user]);
    const back = await attach(server, a.user, { hello: { resume: a.welcome.resume } });
    assert.equal(back.welcome.resumed, true);
    assert.equal((await readPresence(server, a.user)).status, 'busy');
    await delay(grace + 700);
    assert.ok(w.told(a.user).every((one) => one.status !== 'offline'));
    assert.equal((await listSessions(server, a.user)).length, 1);
  });

  test('a second server on the same data does not start', async () => {
    const server = await start();
    await assert.rejects(startServer({ dataDir: server.dataDir, timeoutMs: 6000 }));
    await attach(server, fresh());
  });
});

describe('FO-022 the server itself was stopped', () => {
  test('rule 5: SIGSTOP for 2 x ttl expires nobody who kept beating, and others later by the stall', async () => {
    const server = await start();
    const clients = await Promise.all(Array.from({ length: 30 }, () => attach(server, fresh())));
    const dying = await Promise.all(Array.from({ length: 5 }, () => attach(server, fresh('dying'))));
    const w = await watcher(server, [...clients, ...dying].map((client) => client.user));
    await delay(1500);
    for (const client of dying) client.goSilent();
    const silentAt = Date.now();
    await delay(200);
    server.signal('SIGSTOP');
    const stoppedAt = Date.now();
    await delay(2 * ttl);
    server.signal('SIGCONT');
    const stall = Date.now() - stoppedAt;
    for (const client of dying) await w.sees(client.user, 'offline', ttl + 3000);
    for (const client of dying) {
      const after = w.told(client.user)[0].receivedAt - silentAt;
      assert.ok(after >= ttl + stall - 1200, `${after} ms after the silence, the stall was ${stall}`);
      assert.ok(after <= ttl + stall + 1000, `${after} ms after the silence, the stall was ${stall}`);
    }
    await delay(ttl);
    for (const client of clients) {
      assert.deepEqual(w.told(client.user), [], client.user);
      assert.ok(!client.ended);
    }
    await clients[0].ask({ type: 'status', status: 'busy' });
    await w.sees(clients[0].user, 'busy');
  });

  test('clients that fell silent during the stop and speak at its end are kept', async () => {
    const server = await start();
    const a = await attach(server, fresh(), { beat: false });
    const w = await watcher(server, [a.user]);
    await a.ask({ type: 'heartbeat' }, 'heartbeatAck');
    server.signal('SIGSTOP');
    await delay(2 * ttl);
    server.signal('SIGCONT');
    await delay(300);
    await a.ask({ type: 'heartbeat' }, 'heartbeatAck');
    a.startBeating();
    await w.hearsNothing(a.user, ttl + 500);
  });
});
