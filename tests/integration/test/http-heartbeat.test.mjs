// POST and DELETE /v1/heartbeat: sessions without a WebSocket.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { attach, fresh, watcher } from '../lib/client.mjs';
import { assertError, call, done, listSessions, readPresence, userPath } from '../lib/rest.mjs';
import { delay, grace, interval, startServer, ttl } from '../lib/server.mjs';
import { withServer } from '../lib/suite.mjs';

const held = withServer({ set: { threads: '2' } });
const beat = (user, body = {}, server = held.server) =>
  call(server, 'POST', '/v1/heartbeat', { as: user, body: { deviceId: 'phone', ...body } });
const signOut = (user, deviceId = 'phone') =>
  call(held.server, 'DELETE', `/v1/heartbeat?deviceId=${encodeURIComponent(deviceId)}`, { as: user });
const endSession = (user, device = 'phone') =>
  call(held.server, 'DELETE', userPath(user, `/sessions/${encodeURIComponent(`http:${device}`)}`));

describe('a session by HTTP', () => {
  test('FO-003 lives by its heartbeats, whichever connection they come by, and ends by silence', async () => {
    const user = fresh();
    const w = await watcher(held.server, [user]);
    const { json } = await beat(user, { device: { type: 'tablet' } });
    assert.equal(json.intervalMs, interval);
    assert.equal(json.ttlMs, ttl);
    assert.deepEqual((await w.sees(user, 'online')).devices, ['tablet']);
    for (let i = 0; i < 5; ++i) { await delay(interval); assert.equal((await beat(user)).status, 200); }
    const last = Date.now();
    assert.equal(w.told(user).length, 1);
    assert.equal((await listSessions(held.server, user)).length, 1);
    await w.sees(user, 'offline', ttl + 2000);
    const after = Date.now() - last;
    assert.ok(after >= ttl - 100 && after <= ttl + 900, `${after} ms after the last heartbeat`);
    const { lastSeen } = await readPresence(held.server, user);
    assert.ok(Math.abs(lastSeen.at - last) < 300, `${lastSeen.at - last}`);
  });

  test('a sign-out ends it at once, and is good twice', async () => {
    const user = fresh();
    const w = await watcher(held.server, [user]);
    await beat(user);
    await w.sees(user, 'online');
    assert.equal((await signOut(user)).status, 204);
    await w.sees(user, 'offline', 1500);
    assert.equal((await signOut(user)).status, 204);
    assertError(await call(held.server, 'DELETE', '/v1/heartbeat', { as: user }), 400, 'badRequest');
  });

  test('activity counts as over WebSocket', async () => {
    const user = fresh();
    const w = await watcher(held.server, [user]);
    await beat(user, { activity: 'idle' });
    await w.sees(user, 'away');
    await beat(user, { activity: 'active' });
    await w.sees(user, 'online');
    await beat(user);
    assert.equal((await readPresence(held.server, user)).status, 'online');
  });

  test('merges with a WebSocket, and each lives its own life', async () => {
    const user = fresh();
    const w = await watcher(held.server, [user]);
    const laptop = await attach(held.server, user);
    await beat(user, { device: { type: 'mobile' } });
    await w.sees(user, (one) => one.devices?.length === 2);
    await laptop.bye();
    await w.sees(user, (one) => one.devices?.length === 1 && one.devices[0] === 'mobile');
    await signOut(user);
    await w.sees(user, 'offline');
  });

  test('a back end sees it, and may end it: the next heartbeats are 403 until the device signs out', async () => {
    const user = fresh();
    await beat(user, { device: { type: 'mobile', name: 'Ada’s phone' } });
    const [session] = await listSessions(held.server, user);
    assert.equal(session.sessionId, 'http:phone');
    assert.equal(session.road, 'http');
    assert.deepEqual(session.device, { type: 'mobile', name: 'Ada’s phone' });
    assert.equal((await endSession(user)).status, 204);
    assert.equal((await readPresence(held.server, user)).status, 'offline');
    assertError(await beat(user), 403, 'forbidden');
    assertError(await beat(user), 403, 'forbidden');
    await signOut(user);
    assert.equal((await beat(user)).status, 200);
  });

  test('FO-057 a revocation ends it, and its token is 401', async () => {
    const user = fresh();
    const w = await watcher(held.server, [user]);
    await beat(user);
    await w.sees(user, 'online');
    await done(held.server, 'POST', userPath(user, '/revoke'), { body: { before: Date.now() + 1000 } });
    await w.sees(user, 'offline', 2000);
    assertError(await beat(user), 401, 'unauthorized');
  });

  test('twenty sessions and no more, of both kinds together', async () => {
    const user = fresh();
    await attach(held.server, user);
    for (let i = 1; i < 20; ++i) assert.equal((await beat(user, { deviceId: `d${i}` })).status, 200);
    const answer = await beat(user, { deviceId: 'one-more' });
    assertError(answer, 429, 'limitExceeded');
    assert.equal(answer.json.error.limit, 20);
    assert.equal((await beat(user, { deviceId: 'd1' })).status, 200);
    assert.equal((await listSessions(held.server, user)).length, 20);
  });

  for (const body of [{ deviceId: undefined }, { deviceId: 5 }, { deviceId: '' }, { deviceId: ' ' }, { deviceId: 'x'.repeat(129) }, { deviceId: 'a\u0000' },
                      { device: 'mobile' }, { device: { type: 'toaster' } }, { activity: 'busy' }, { activity: true }]) {
    test(`refuses ${JSON.stringify(body).slice(0, 60)} and changes nothing`, async () => {
      const user = fresh();
      assertError(await beat(user, body), 400, 'badRequest');
      assert.equal((await readPresence(held.server, user)).status, 'offline');
    });
  }

  test('is for users', async () => {
    assertError(await call(held.server, 'POST', '/v1/heartbeat', { body: { deviceId: 'a' } }), 403, 'forbidden');
    assertError(await call(held.server, 'POST', '/v1/heartbeat', { body: { deviceId: 'a' }, anonymous: true }), 401, 'unauthorized');
  });

  test('over the rate it is refused with a time to come back at', async () => {
    const server = await startServer({ set: { 'limits.rest_per_second': '1', 'limits.rest_burst': '3' } });
    try {
      const user = fresh();
      for (let i = 0; i < 3; ++i) assert.equal((await beat(user, {}, server)).status, 200);
      const answer = await beat(user, {}, server);
      assertError(answer, 429, 'rateLimited');
      assert.ok(answer.json.error.retryAfterMs > 0 && answer.headers['retry-after']);
    } finally { await server.dispose(); }
  });
});

describe('kill -9 and restart', () => {
  const life = { 'heartbeat.interval': '1s', 'heartbeat.ttl': '5s', 'heartbeat.grace': `${grace}ms` };

  test('FO-002 who beats again is never shown offline; who does not ends with the time of the last heartbeat', { timeout: 30_000 }, async () => {
    const server = await startServer({ set: life });
    let again;
    try {
      const [back, gone] = [fresh(), fresh()];
      await beat(back, {}, server);
      await beat(gone, {}, server);
      const last = Date.now();
      await delay(1000);
      await server.kill();
      again = await startServer({ set: life, dataDir: server.dataDir });
      assert.equal((await readPresence(again, back)).status, 'unknown');
      const w = await watcher(again, [back, gone]);
      await beat(back, {}, again);
      await w.sees(back, 'online');
      for (let i = 0; i < 6; ++i) { await delay(1000); await beat(back, {}, again); }
      await w.sees(gone, 'offline', 3000);
      assert.ok(!w.told(back).some((one) => one.status === 'offline'));
      const { lastSeen } = await readPresence(again, gone);
      assert.ok(lastSeen.at <= last + 50 && lastSeen.at >= last - 5000, `${lastSeen.at - last}`);
    } finally { await again?.dispose(); await server.dispose(); }
  });
});
