// Readers that do not read: DESIGN rule 21. State is kept, not events, so their queues stay short.
import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { attach, endClients, fresh, watcher } from '../lib/client.mjs';
import { listSessions, readPresence } from '../lib/rest.mjs';
import { delay, startServer, until } from '../lib/server.mjs';

const eager = {
  'limits.lookups_per_second': '1000000', 'limits.lookups_burst': '10000000',
  'limits.messages_per_second': '100000', 'limits.messages_burst': '100000',
};
const calm = { 'heartbeat.interval': '20s', 'heartbeat.ttl': '60s', ...eager };
const wordy = { text: '\u{1F600}'.repeat(100) };
let server;
afterEach(async () => { endClients(); await server?.dispose(); });

async function crowd(size) {
  const people = await Promise.all(Array.from({ length: size }, () => attach(server, fresh('p'.repeat(100)), { beat: false })));
  for (const a of people) a.send({ type: 'status', customStatus: wordy });
  await Promise.all(people.map((a) => a.ask({ type: 'heartbeat' }, 'heartbeatAck')));
  return people;
}

/** Stops reading and asks for far more than the socket buffers hold. */
async function clog(client, users) {
  client.socket.pause();
  const answers = Math.ceil(24e6 / (users.length * 600));  // loopback sockets hold about 10 MB
  for (let i = 0; i < answers; ++i) client.send({ type: 'get', users });
  await delay(300);
}

test('FO-063 4408 slow_reader: one that does not read is cut after the limit, memory stays bounded, others notice nothing', { timeout: 60_000 }, async () => {
  server = await startServer({ set: { ...calm, 'limits.slow_reader': '3s' } });
  const people = await crowd(120);
  const users = people.map((a) => a.user);
  const healthy = await watcher(server, users);
  const before = server.residentBytes();
  const stalled = await Promise.all(Array.from({ length: 10 }, () => attach(server, fresh('stalled'), { beat: false })));
  for (const one of stalled) await one.watch(users);
  const start = Date.now();
  await Promise.all(stalled.map((one) => clog(one, users)));
  let peak = 0;
  let worst = 0;
  for (let i = 0; i < 12; ++i) {
    const asked = Date.now();
    const a = people[i];
    await a.ask({ type: 'status', status: 'busy' });
    await healthy.sees(a.user, 'busy', 2000);
    worst = Math.max(worst, Date.now() - asked);
    peak = Math.max(peak, server.residentBytes());
    await delay(150);
  }
  assert.ok(worst < 1500, `a healthy watcher waited ${worst} ms`);
  for (const one of stalled) {
    await until(async () => !(await listSessions(server, one.user)).some((session) => session.state === 'live'), 'the stalled reader to be cut', 8000);
  }
  const took = Date.now() - start;
  assert.ok(took >= 2500, `cut after ${took} ms`);
  assert.ok(peak - before < 10 * 2.5e6 + 16e6, `grew by ${peak - before} bytes for ten stalled readers`);
  stalled[0].socket.resume();
  await stalled[0].closedWith(4408, 'slow_reader', 5000).catch(async (error) => {
    // With a full socket the Close may not have fitted any more; then TCP just ends.
    assert.equal(stalled[0].ended?.code, 1006, error.message);
  });
});

test('a slow reader that reads on gets the newest state of each user, once', { timeout: 60_000 }, async () => {
  // The queue of answers has room here: what is looked at is the news that comes while it is full.
  server = await startServer({ set: { ...calm, 'limits.slow_reader': '30s', 'limits.send_queue_bytes': '67108864' } });
  const people = await crowd(60);
  const users = people.map((a) => a.user);
  const w = await watcher(server, users);
  await clog(w, users);
  const from = w.received.length;
  for (const status of ['busy', 'away', 'dnd']) {
    for (const a of people) a.send({ type: 'status', status });
    await Promise.all(people.map((a) => a.ask({ type: 'heartbeat' }, 'heartbeatAck')));
    await delay(1100);
  }
  w.socket.resume();
  for (const user of users) await w.sees(user, 'dnd', 15_000);
  await delay(500);
  // What was already in the buffers is from before; of the queued rounds only the last may show.
  for (const user of users) assert.ok(w.told(user, from).length <= 2, `${w.told(user, from).length} updates for one user`);
  const all = await w.ask({ type: 'get', users }, 'snapshot');
  for (const one of all.users) assert.equal(w.state.get(one.userId).version, one.version);
});

test('FO-064 one that sends beats and reads slowly stays online, and its pings are answered', { timeout: 60_000 }, async () => {
  server = await startServer({ set: { 'limits.slow_reader': '30s' } });
  const a = await attach(server, fresh());
  const w = await watcher(server, [a.user]);
  let pongs = 0;
  a.socket.on('pong', () => { ++pongs; });
  for (let i = 0; i < 10; ++i) {
    a.socket.pause();
    a.socket.ping(String(i));
    await delay(400);
    a.socket.resume();
    await delay(100);
  }
  assert.deepEqual(w.told(a.user), []);
  assert.equal(pongs, 10);
});

test('a reader paused by its user, not by its socket, costs nothing: delivery paused for long', async () => {
  server = await startServer({ set: { 'limits.slow_reader': '1s' } });
  const a = await attach(server, fresh());
  const w = await watcher(server, [a.user]);
  await w.ask({ type: 'delivery', mode: 'paused' });
  await a.ask({ type: 'status', status: 'busy' });
  await delay(3000);
  assert.ok(!w.ended, 'nothing was owed, so it is no slow reader');
  await w.ask({ type: 'delivery', mode: 'live' });
  await w.sees(a.user, 'busy');
  assert.equal((await readPresence(server, w.user)).status, 'offline');
});
