// SIGTERM: DESIGN rule 33, RULINGS 34.
import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { Client, attach, endClients, fresh, watcher } from '../lib/client.mjs';
import { call } from '../lib/rest.mjs';
import { readPresence } from '../lib/rest.mjs';
import { RawClient } from '../lib/raw.mjs';
import { delay, startServer, until } from '../lib/server.mjs';

let server;
afterEach(async () => { endClients(); await server?.dispose(); });

test('FO-082 SIGTERM: not ready, reconnect with spread delays, served until then, 1012, exit 0 in time', async () => {
  server = await startServer({ set: { 'drain.timeout': '6s' } });
  const clients = await Promise.all(Array.from({ length: 60 }, () => attach(server, fresh())));
  const paused = clients[0];
  await paused.ask({ type: 'delivery', mode: 'paused' });
  const stuck = new RawClient(server);
  await stuck.hello(fresh());
  const at = Date.now();
  server.signal('SIGTERM');
  const notices = await Promise.all(clients.map((client) => client.next('reconnect', { from: 0 })));
  const told = Date.now() - at;
  assert.ok(told < 2000, `${told} ms`);
  const delays = notices.map((notice) => notice.afterMs);
  assert.ok(Math.max(...delays) - Math.min(...delays) > 300, `delays from ${Math.min(...delays)} to ${Math.max(...delays)} are not spread`);
  assert.ok(Math.max(...delays) <= 6000);
  const late = clients[delays.indexOf(Math.max(...delays))];
  await late.ask({ type: 'heartbeat' }, 'heartbeatAck');
  await until(async () => {
    const answer = await call(server, 'GET', '/readyz', { anonymous: true }).catch(() => ({ status: 503, json: { status: 'draining' } }));
    return answer.status === 503;
  }, 'readiness to go off', 1500);
  const fresher = new Client(server);
  const refused = await fresher.opened.then(() => fresher.hello().then(() => 'welcome', () => 'closed'), (error) => error.status ?? 'no connection');
  assert.notEqual(refused, 'welcome');
  for (const [i, client] of clients.entries()) {
    const end = await client.closedWith(1012, 'restarting', 8000);
    assert.ok(end.at - at >= delays[i] - 50, `closed ${end.at - at} ms after the signal, promised ${delays[i]}`);
  }
  const result = await Promise.race([server.exited, delay(8000)]);
  assert.deepEqual(result, { code: 0, signal: null });
  assert.ok(Date.now() - at <= 7500, `${Date.now() - at} ms`);
  stuck.destroy();
});

test('FO-082 while it drains, those who knock anew are told so and not left without an answer', async () => {
  server = await startServer({ set: { 'drain.timeout': '6s' } });
  const clients = await Promise.all(Array.from({ length: 200 }, () => attach(server, fresh())));
  server.signal('SIGTERM');
  await clients[0].next('reconnect', { from: 0 });
  const knock = (target) => fetch(server.httpUrl + target, { headers: { connection: 'close' }, signal: AbortSignal.timeout(2000) });
  const ready = await knock('/readyz');
  assert.equal(ready.status, 503);
  assert.equal((await ready.json()).status, 'draining');
  assert.equal((await knock('/healthz')).status, 200);
  const raw = new RawClient(server);
  const upgrade = await raw.upgrade();
  assert.match(upgrade, /^HTTP\/1\.1 503 /);
  assert.match(upgrade, /\r\nRetry-After: [1-9]\d*\r\n/i);
  raw.destroy();
  assert.deepEqual(await server.exited, { code: 0, signal: null });
  await assert.rejects(knock('/readyz'));
});

test('FO-082 over a restart, those who return are announced to nobody, and those who do not are offline after the grace', async () => {
  server = await startServer({ set: { 'heartbeat.grace': '4s', 'drain.timeout': '2s' } });
  const stayers = await Promise.all(Array.from({ length: 10 }, () => attach(server, fresh('stayer'))));
  const leavers = await Promise.all(Array.from({ length: 5 }, () => attach(server, fresh('leaver'))));
  const ended = await server.terminate();
  const down = Date.now();
  assert.equal(ended.code, 0);
  server = await startServer({ dataDir: server.dataDir, set: { 'heartbeat.grace': '4s' } });
  const w = await watcher(server, [...stayers, ...leavers].map((client) => client.user));
  await Promise.all(stayers.map((client) => attach(server, client.user, { hello: { resume: client.welcome.resume } })));
  for (const { user } of leavers) {
    const one = await w.sees(user, 'offline', 8000);
    assert.ok(Math.abs(one.lastSeen.at - down) < 5000);
  }
  await delay(500);
  for (const { user } of stayers) {
    assert.ok(w.told(user).every((one) => one.status === 'online'), w.told(user).map((one) => one.status).join());
    assert.equal((await readPresence(server, user)).status, 'online');
  }
});

test('FO-082 pending last seen are written before the end', async () => {
  server = await startServer();
  const clients = await Promise.all(Array.from({ length: 30 }, () => attach(server, fresh())));
  const at = Date.now();
  clients.forEach((client) => client.send({ type: 'bye' }));
  await Promise.all(clients.map((client) => client.closed));
  assert.equal((await server.terminate()).code, 0);
  server = await startServer({ dataDir: server.dataDir });
  for (const { user } of clients) {
    const { lastSeen } = await readPresence(server, user);
    assert.ok(lastSeen.at >= at - 5 && lastSeen.at <= at + 3000, user);
  }
});

test('FO-082 a second SIGTERM changes nothing, and SIGINT ends the drain at once', async () => {
  for (const second of ['SIGTERM', 'SIGINT']) {
    server = await startServer({ set: { 'drain.timeout': '4s' } });
    const clients = await Promise.all(Array.from({ length: 10 }, () => attach(server, fresh())));
    server.signal('SIGTERM');
    await clients[0].next('reconnect', { from: 0 });
    await delay(300);
    server.signal(second);
    if (second === 'SIGTERM') {
      for (const client of clients) await client.closedWith(1012, 'restarting', 6000);
    }
    assert.deepEqual(await Promise.race([server.exited, delay(6000)]), { code: second === 'SIGTERM' ? 0 : 1, signal: null });
    await server.dispose();
  }
});

test('SIGTERM with nobody there ends at once', async () => {
  server = await startServer({ set: { 'drain.timeout': '20s' } });
  const at = Date.now();
  assert.equal((await server.terminate(9000)).code, 0);
  assert.ok(Date.now() - at < 3000);
});

test('SIGINT does as SIGTERM', async () => {
  server = await startServer();
  server.signal('SIGINT');
  assert.deepEqual(await Promise.race([server.exited, delay(5000)]), { code: 0, signal: null });
});
