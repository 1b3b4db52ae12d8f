// GET /v1/stats: exact on one node, whatever thread people live on.
import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { attach, fresh } from '../lib/client.mjs';
import { assertError, call, done } from '../lib/rest.mjs';
import { endStreams, openStream } from '../lib/stream.mjs';
import { grace, startServer, until } from '../lib/server.mjs';
import { withServer } from '../lib/suite.mjs';

const held = withServer({ set: { threads: '2' } });
afterEach(endStreams);
const stats = (server = held.server) => done(server, 'GET', '/v1/stats');

test('people by status and device, sessions and connections', async () => {
  const nothing = await stats();
  assert.deepEqual(nothing.users, { online: 0, byStatus: { online: 0, away: 0, busy: 0, dnd: 0, invisible: 0, unknown: 0 },
                                    byDevice: { bot: 0, desktop: 0, mobile: 0, other: 0, tablet: 0, web: 0 } });
  const before = Date.now();
  const statuses = ['online', 'away', 'busy', 'dnd', 'invisible'];
  const clients = [];
  for (let i = 0; i < 20; ++i) {
    const client = await attach(held.server, fresh(), { hello: { device: { type: i % 2 ? 'web' : 'mobile' } } });
    await client.ask({ type: 'status', status: statuses[i % 5] });
    clients.push(client);
  }
  clients.push(await attach(held.server, clients[0].user, { hello: { device: { type: 'desktop' } } }));
  await attach(held.server, fresh(), { hello: { observe: true } });
  await done(held.server, 'POST', '/v1/heartbeat', { as: fresh(), body: { deviceId: 'a', device: { type: 'tablet' } } });
  await openStream(held.server, '/v1/stream?users=a', { as: fresh() });
  const now = await stats();
  assert.ok(now.asOf >= before);
  assert.equal(now.exact, true);
  assert.equal(now.nodes, 1);
  assert.deepEqual(now.users, { online: 21, byStatus: { online: 5, away: 4, busy: 4, dnd: 4, invisible: 4, unknown: 0 },
                                byDevice: { bot: 0, desktop: 1, mobile: 10, other: 0, tablet: 1, web: 10 } });
  assert.deepEqual(now.sessions, { live: 23, grace: 0, observing: 1, byHttp: 1 });
  assert.deepEqual(now.connections, { webSocket: 22, stream: 1, poll: 0 });
  await clients[1].reset();
  await until(async () => (await stats()).sessions.grace === 1, 'a session in grace', grace);
  assert.equal((await stats()).users.online, 21);
  await until(async () => (await stats()).users.online === 20, 'the end of the grace', 4 * grace);
  assert.equal((await stats()).sessions.grace, 0);
});

test('after a crash people are unknown until they return', async () => {
  const server = await startServer({ set: { 'heartbeat.grace': '3s' } });
  let again;
  try {
    await attach(server, fresh());
    await until(async () => (await stats(server)).users.online === 1, 'one');
    await new Promise((resolve) => { setTimeout(resolve, 600); });
    await server.kill();
    again = await startServer({ set: { 'heartbeat.grace': '3s' }, dataDir: server.dataDir });
    assert.deepEqual((await stats(again)).users.byStatus.unknown, 1);
  } finally { await again?.dispose(); await server.dispose(); }
});

test('for back ends only', async () => {
  assertError(await call(held.server, 'GET', '/v1/stats', { as: 'a' }), 403, 'forbidden');
  assertError(await call(held.server, 'GET', '/v1/stats', { anonymous: true }), 401, 'unauthorized');
});
