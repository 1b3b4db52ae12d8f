// Watching: snapshot and updates fit together; limits; slow and greedy clients are elsewhere.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { attach, endClients, fresh, watcher } from '../lib/client.mjs';
import { delay, grace, startServer } from '../lib/server.mjs';
import { withServer } from '../lib/suite.mjs';

const held = withServer({ set: { 'limits.lookups_per_second': '1000000', 'limits.lookups_burst': '1000000' } });

test('FO-025 every watch is answered by a full snapshot, and events come once', async () => {
  const a = await attach(held.server, fresh());
  const b = fresh('absent');
  let w = await attach(held.server, fresh());
  for (let i = 0; i < 3; ++i) {
    const snapshot = await w.watch([a.user, b]);
    assert.deepEqual(snapshot.users.map((one) => one.status), ['online', 'offline']);
    await delay(50);
    await w.ask({ type: 'unwatch', users: [a.user, b] });
    await delay(50);
  }
  await w.reset();
  w = await attach(held.server, w.user);
  for (let i = 0; i < 3; ++i) assert.equal((await w.watch([a.user, b])).users.length, 2);
  await a.ask({ type: 'status', status: 'busy' });
  await w.sees(a.user, 'busy');
  await delay(500);
  assert.equal(w.told(a.user).length, 1);
});

test('FO-026 what was unwatched stays unwatched', async () => {
  const [a, b] = [await attach(held.server, fresh()), await attach(held.server, fresh())];
  const w = await watcher(held.server, [a.user, b.user]);
  await w.ask({ type: 'unwatch', users: [a.user] });
  await w.reset();
  const again = await attach(held.server, w.user, { hello: { resume: w.welcome.resume } });
  await again.watch([b.user], { mode: 'set' });
  await a.ask({ type: 'status', status: 'busy' });
  await b.ask({ type: 'status', status: 'busy' });
  await again.sees(b.user, 'busy');
  assert.deepEqual(again.told(a.user), []);
});

test('FO-028 a change around the watch is never lost', async () => {
  const rounds = 150;
  const users = await Promise.all(Array.from({ length: rounds }, () => attach(held.server, fresh(), { beat: false })));
  const w = await attach(held.server, fresh());
  await Promise.all(users.map(async (a, i) => {
    await delay(i * 12);
    const leave = delay(i % 12).then(() => a.send({ type: 'bye' }));
    await delay((i * 5) % 11);
    await w.watch([a.user]);
    await leave;
  }));
  await delay(1300);
  for (const a of users) assert.equal(w.state.get(a.user).status, 'offline', a.user);
});

test('FO-029 an update is never older than the snapshot before it', async () => {
  const people = await Promise.all(Array.from({ length: 20 }, () => attach(held.server, fresh())));
  const w = await attach(held.server, fresh());
  for (let round = 0; round < 20; ++round) {
    people.forEach((a, i) => a.send({ type: 'status', status: ['busy', 'dnd', 'away', 'online'][(round + i) % 4] }));
    await w.watch(people.map((a) => a.user));
  }
  await delay(1300);
  const fresher = await w.ask({ type: 'get', users: people.map((a) => a.user) }, 'snapshot');
  // The client notes every version that goes back; here the end must be the same as a fresh look.
  for (const one of fresher.users) assert.equal(one.status, ['busy', 'dnd', 'away', 'online'][(19 + people.findIndex((a) => a.user === one.userId)) % 4]);
});

test('a return with known versions ends knowing what a fresh snapshot tells', async () => {
  const people = await Promise.all(Array.from({ length: 30 }, () => attach(held.server, fresh())));
  const ids = people.map((a) => a.user);
  const w = await watcher(held.server, ids);
  const known = Object.fromEntries([...w.state].map(([user, one]) => [user, one.version]));
  await w.reset();
  for (const a of people.slice(0, 7)) await a.ask({ type: 'status', status: 'busy' });
  for (const a of people.slice(7, 12)) await a.bye();
  await people[12].ask({ type: 'privacy', online: { mode: 'nobody' } }, 'privacy');
  const again = await attach(held.server, w.user, { hello: { resume: w.welcome.resume, observe: true } });
  for (const [user, one] of w.state) again.state.set(user, one);
  const snapshot = await again.watch(ids, { mode: 'set', known });
  assert.equal(snapshot.users.length + snapshot.unchanged, 30);
  assert.ok(snapshot.unchanged >= 17);
  const all = await again.ask({ type: 'get', users: ids }, 'snapshot');
  for (const one of all.users) assert.deepEqual(again.state.get(one.userId), one);
});

describe('FO-042 watch request bigger than allowed', () => {
  const names = (n, from = 0) => Array.from({ length: n }, (_, i) => `stranger-${from + i}`);

  test('FO-042 500 work; 501 and 5,000 are refused whole, naming the limit; the connection stays', async () => {
    const w = await attach(held.server, fresh());
    const a = await attach(held.server, fresh());
    assert.equal((await w.watch([a.user, ...names(499)])).users.length, 500);
    for (const list of [names(501), names(5000)]) {
      const error = await w.refused({ type: 'watch', users: list, mode: 'set' }, 'limitExceeded');
      assert.equal(error.limit, 500);
      assert.match(error.message, /500/);
    }
    await w.refused({ type: 'watch', users: ['one-more'] }, 'limitExceeded');
    await w.watch(names(499));
    await a.ask({ type: 'status', status: 'busy' });
    await w.sees(a.user, 'busy');
    await w.refused({ type: 'get', users: names(501) }, 'limitExceeded');
  });

  test('FO-042 duplicates count once', async () => {
    const w = await attach(held.server, fresh());
    assert.equal((await w.watch([...names(400), ...names(100)])).users.length, 400);
    assert.equal((await w.watch(names(100, 400))).users.length, 100, 'the list holds each user once');
    await w.ask({ type: 'unwatch', users: names(1) });
    await w.watch(['in-its-place']);
  });

  test('FO-042 a list of 500 ids of 128 bytes fits into a message, and its answer into messages', async () => {
    const w = await attach(held.server, fresh());
    const users = Array.from({ length: 500 }, (_, i) => String(i).padStart(128, 'x'));
    const known = Object.fromEntries(users.slice(0, 250).map((user) => [user, 0]));
    const snapshot = await w.watch(users, { known });
    assert.equal(snapshot.users.length + (snapshot.unchanged ?? 0), 500);
  });

  test('a long answer comes in parts that no frame limit breaks', async () => {
    const people = await Promise.all(Array.from({ length: 160 }, () => attach(held.server, fresh('p'.repeat(90)))));
    for (const a of people) a.send({ type: 'status', customStatus: { text: '\u{1F600}'.repeat(100), emoji: '😀'.repeat(16) } });
    await people.at(-1).ask({ type: 'heartbeat' }, 'heartbeatAck');
    const w = await attach(held.server, fresh());
    const whole = await w.watch(people.map((a) => a.user));
    assert.deepEqual(whole.users.map((one) => one.userId), people.map((a) => a.user));
    const parts = w.received.map((r) => r.message).filter((m) => m.type === 'snapshot');
    assert.deepEqual(parts.map((part) => part.more), Array.from(parts, (_, i) => (i < parts.length - 1 ? true : undefined)));
    w.received.forEach((r) => assert.ok(Buffer.byteLength(r.bytes) <= 131072));
  });
});

test('FO-007 clients that vanish while they are being accepted leave nothing', async () => {
  const { RawClient, text } = await import('../lib/raw.mjs');
  const { listSessions } = await import('../lib/rest.mjs');
  const { tokenFor } = await import('../lib/tokens.mjs');
  const users = Array.from({ length: 30 }, () => fresh('vanishing'));
  const w = await watcher(held.server, users);
  const before = held.server.openFiles();
  for (let batch = 0; batch < 30; ++batch) {
    await Promise.all(users.map(async (user, i) => {
      const raw = new RawClient(held.server);
      await raw.connected;
      raw.socket.write('GET /v1/connect HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n');
      raw.socket.write(text({ type: 'hello', token: tokenFor(user) }));
      await delay(Math.random() * 30);
      if (i % 3) raw.socket.resetAndDestroy(); else { raw.socket.end(); setTimeout(() => raw.destroy(), 500); }
    }));
  }
  await delay(grace + 1500);
  for (const user of users) {
    assert.deepEqual(await listSessions(held.server, user), []);
    const told = w.told(user).map((one) => one.status);
    assert.ok(told.every((status, i) => status !== told[i - 1]), told.join());
    assert.equal(w.state.get(user).status, 'offline');
  }
  assert.ok(held.server.openFiles() <= before + 3, `${held.server.openFiles()} files, ${before} before`);
});

test('FO-033 FO-034 users that came and went leave no memory, whatever their way out', async () => {
  const server = await startServer();
  try {
    const round = async () => {
      for (let batch = 0; batch < 20; ++batch) {
        await Promise.all(Array.from({ length: 50 }, async (_, i) => {
          const client = await attach(server, fresh('passing'), { beat: false });
          await client.watch([fresh('x'), fresh('x'), fresh('x'), fresh('x'), fresh('x')]);
          if (i % 4 === 0) await client.bye();
          else if (i % 4 === 1) await client.close();
          else if (i % 4 === 2) await client.reset();
          else { client.sendRaw('x'.repeat(140_000)); await client.closed; }
        }));
      }
      await delay(grace + 800);
      return server.residentBytes();
    };
    await round();
    const files = server.openFiles();
    const early = await round();
    await round();
    const late = await round();
    assert.ok(late <= early * 1.1 + 4e6, `${early} -> ${late} bytes`);
    assert.ok(server.openFiles() <= files + 3);
  } finally { endClients(); await server.dispose(); }
});

test('FO-033 a ttl of watch and unwatch of strangers leaves nothing behind', async () => {
  const w = await attach(held.server, fresh());
  const round = async () => {
    for (let i = 0; i < 100; ++i) {
      const users = Array.from({ length: 100 }, () => fresh('stranger'));
      await w.watch(users, { mode: 'set' });
    }
    await w.ask({ type: 'unwatch', all: true });
    w.state.clear();
    w.received.length = 0;
    return held.server.residentBytes();
  };
  await round();
  const early = await round();
  await round();
  const late = await round();
  assert.ok(late <= early * 1.1 + 4e6, `${early} -> ${late} bytes`);
});
