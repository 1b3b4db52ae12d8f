// What happens between the end of a connection and the end of its session.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Client, attach, fresh, watcher } from '../lib/client.mjs';
import { done, listSessions, readPresence, userPath } from '../lib/rest.mjs';
import { RawClient, closeFrame, frame, text } from '../lib/raw.mjs';
import { delay, grace, interval, ttl } from '../lib/server.mjs';
import { withServer } from '../lib/suite.mjs';
import { tokenFor } from '../lib/tokens.mjs';

const held = withServer();
const statuses = (w, user) => w.told(user).map((one) => one.status);

describe('grace', () => {
  for (const [how, end] of Object.entries({
    'Close 1000': (client) => client.close(1000), 'Close 1001': (client) => client.close(1001),
    'Close 4999': (client) => client.close(4999), 'a reset': (client) => client.reset(),
    'FIN alone': async (client) => { client.stopBeating(); client.socket._socket.destroy(); },
  })) {
    test(`${how}: watchers hear after the grace, last seen is the close`, async () => {
      const client = await attach(held.server, fresh());
      const w = await watcher(held.server, [client.user]);
      await delay(1300);
      const at = Date.now();
      await end(client);
      await delay(150);
      const [session] = await listSessions(held.server, client.user);
      assert.equal(session.state, 'grace');
      assert.ok(session.graceUntil >= at + grace - 20 && session.graceUntil <= at + grace + 300);
      assert.equal((await readPresence(held.server, client.user)).status, 'online');
      const one = await w.sees(client.user, 'offline');
      const after = w.told(client.user)[0].receivedAt - at;
      assert.ok(after >= grace - 20 && after <= grace + 700, `${after} ms`);
      // A Close frame is a sign of life, a reset is not: then the last beat counts (RULINGS 33).
      const since = how.startsWith('Close') ? 20 : interval;
      assert.ok(one.lastSeen.at >= at - since && one.lastSeen.at < at + 200, `${one.lastSeen.at - at} ms`);
    });
  }

  for (const [what, bytes, code] of [['1002', frame(3, 'x'), 1002], ['1007', frame(1, Buffer.from([0xff])), 1007],
    ['1009', frame(1, '', { length: 200_000 }), 1009]]) {
    test(`a connection closed with ${what} leaves its session in grace`, async () => {
      const user = fresh();
      const raw = new RawClient(held.server);
      const welcome = await raw.hello(user, { device: { type: 'desktop' } });
      const w = await watcher(held.server, [user]);
      await raw.write(bytes);
      await raw.closedWith(code);
      const back = await attach(held.server, user, { hello: { resume: welcome.resume } });
      assert.equal(back.welcome.resumed, true);
      await w.hearsNothing(user, grace + 500);
      raw.destroy();
    });
  }

  test('FO-016 a close and a return within the grace are told to nobody and leave no last seen', async () => {
    const client = await attach(held.server, fresh());
    const w = await watcher(held.server, [client.user]);
    await client.close();
    await delay(grace / 2);
    const back = await attach(held.server, client.user, { hello: { resume: client.welcome.resume } });
    assert.equal(back.welcome.resumed, true);
    assert.equal(back.welcome.sessionId, client.welcome.sessionId);
    await w.hearsNothing(client.user, grace + 500);
    assert.equal((await listSessions(held.server, client.user)).length, 1);
  });

  test('another live session of the user within the grace does as well', async () => {
    const client = await attach(held.server, fresh());
    const w = await watcher(held.server, [client.user]);
    await client.reset();
    await delay(300);
    await attach(held.server, client.user);
    await w.hearsNothing(client.user, grace + 700);
    assert.equal((await listSessions(held.server, client.user)).length, 1, 'the one in grace has ended');
  });

  test('FO-023 FO-024 a cut longer than the grace: offline, then online with a higher version, by itself', async () => {
    const client = await attach(held.server, fresh());
    await client.ask({ type: 'status', status: 'online' });
    const w = await watcher(held.server, [client.user]);
    await client.reset();
    const gone = await w.sees(client.user, 'offline');
    await delay(500);
    const at = Date.now();
    const back = await attach(held.server, client.user, { hello: { resume: client.welcome.resume } });
    const one = await w.sees(client.user, 'online');
    assert.ok(w.told(client.user).at(-1).receivedAt - at < 1000);
    assert.ok(one.version > gone.version);
    await back.ask({ type: 'status', status: 'online' });
    await w.hearsNothing(client.user, 1200);
    assert.equal((await back.ask({ type: 'get', users: [client.user] }, 'snapshot')).users[0].status, 'online');
  });

  test('FO-023 a cut of about the grace ends online, with no event or a clean pair', async () => {
    const clients = await Promise.all(Array.from({ length: 12 }, () => attach(held.server, fresh())));
    const w = await watcher(held.server, clients.map((client) => client.user));
    await Promise.all(clients.map(async (client, i) => {
      await client.reset();
      await delay(grace - 30 + i * 5);
      await attach(held.server, client.user, { hello: { resume: client.welcome.resume } });
    }));
    await delay(1700);
    for (const { user } of clients) {
      const told = statuses(w, user);
      assert.ok(told.length === 0 || told.join() === 'offline,online', told.join());
      assert.equal(w.state.get(user).status, 'online');
    }
  });

  test('a session in grace is closed for good by silence of its devices: no second offline', async () => {
    const client = await attach(held.server, fresh());
    const w = await watcher(held.server, [client.user]);
    await client.reset();
    await delay(ttl + grace);
    assert.deepEqual(statuses(w, client.user), ['offline']);
  });
});

describe('resume', () => {
  test('FO-081 on a half-open connection: same session, the old connection is closed with 4409, nobody hears', async () => {
    const old = await attach(held.server, fresh());
    const w = await watcher(held.server, [old.user]);
    old.goSilent();
    await delay(500);
    const back = await attach(held.server, old.user, { hello: { resume: old.welcome.resume, device: { type: 'mobile' } } });
    assert.equal(back.welcome.resumed, true);
    assert.equal(back.welcome.sessionId, old.welcome.sessionId);
    assert.equal((await listSessions(held.server, old.user)).length, 1);
    old.socket.resume();
    await old.closedWith(4409, 'replaced');
    await delay(ttl + 700);
    assert.ok(statuses(w, old.user).every((status) => status === 'online'), 'the end of the old one touches nothing');
    await back.close();
    await w.sees(old.user, 'offline');
  });

  test('keeps what the session said, gives a secret that works again', async () => {
    const a = await attach(held.server, fresh(), { hello: { activity: 'idle', device: { type: 'tablet', name: 'T' } } });
    await a.ask({ type: 'status', status: 'busy', scope: 'session' });
    await a.reset();
    const b = new Client(held.server);
    await b.hello({ token: tokenFor(a.user), resume: a.welcome.resume });
    assert.equal(b.welcome.resumed, true);
    const [session] = await listSessions(held.server, a.user);
    assert.deepEqual(session.device, { type: 'tablet', name: 'T' });
    assert.equal(session.status, 'busy');
    await b.reset();
    const c = await attach(held.server, a.user, { hello: { resume: b.welcome.resume } });
    assert.equal(c.welcome.resumed, true);
    assert.equal(c.welcome.sessionId, a.welcome.sessionId);
  });

  test('watches end with the connection', async () => {
    const a = await attach(held.server, fresh());
    const w = await watcher(held.server, [a.user]);
    await w.reset();
    const again = await attach(held.server, w.user, { hello: { resume: w.welcome.resume, observe: true } });
    assert.equal(again.welcome.resumed, true);
    await a.ask({ type: 'status', status: 'busy' });
    await again.hearsNothing(a.user, 500);
  });

  test('unknown, over, or another user’s: a new session', async () => {
    const a = await attach(held.server, fresh());
    const stranger = await attach(held.server, fresh(), { hello: { resume: a.welcome.resume } });
    assert.equal(stranger.welcome.resumed, false);
    assert.notEqual(stranger.welcome.sessionId, a.welcome.sessionId);
    await a.ask({ type: 'heartbeat' }, 'heartbeatAck');
    for (const resume of ['nonsense', '', `${a.welcome.resume}x`, a.welcome.sessionId, 'x'.repeat(5000)]) {
      const one = await attach(held.server, a.user, { hello: { resume } });
      assert.equal(one.welcome.resumed, false, resume.slice(0, 20));
      await one.bye();
    }
    await a.bye();
    const over = await attach(held.server, a.user, { hello: { resume: a.welcome.resume } });
    assert.equal(over.welcome.resumed, false);
  });

  test('ten resumes of one session at once: one connection survives', async () => {
    const a = await attach(held.server, fresh());
    const w = await watcher(held.server, [a.user]);
    const all = await Promise.all(Array.from({ length: 10 }, () => attach(held.server, a.user, { hello: { resume: a.welcome.resume } })));
    await delay(500);
    const sessions = await listSessions(held.server, a.user);
    const alive = all.filter((client) => !client.ended);
    assert.equal(sessions.filter((session) => session.state === 'live').length, alive.length);
    for (const client of all.filter((one) => one.ended)) assert.equal(client.ended.code, 4409);
    await w.hearsNothing(a.user, 500);
  });
});

describe('many comings and goings', () => {
  test('FO-009 fifty connects and closes in a second, ending open: at most one event', async () => {
    const user = fresh();
    const w = await watcher(held.server, [user]);
    const start = Date.now();
    for (let i = 0; i < 50; ++i) {
      const client = await attach(held.server, user, { beat: false });
      client.socket.close(1000);
      await delay(Math.max(0, start + (i + 1) * 15 - Date.now()));
    }
    await attach(held.server, user);
    await delay(grace + 700);
    assert.deepEqual(statuses(w, user), ['online']);
    assert.equal((await listSessions(held.server, user)).length, 1);
  });

  test('FO-009 the same ending closed: one online, one offline after the grace', async () => {
    const user = fresh();
    const w = await watcher(held.server, [user]);
    for (let i = 0; i < 50; ++i) {
      const client = await attach(held.server, user, { beat: false });
      client.socket.close(1000);
    }
    await w.sees(user, 'offline', 8000);
    await delay(500);
    assert.deepEqual(statuses(w, user), ['online', 'offline']);
    assert.deepEqual(await listSessions(held.server, user), []);
  });

  test('FO-009 fifty connects and goodbyes in a second: alternating, at most one event a second, right at the end', async () => {
    for (const stays of [true, false]) {
      const user = fresh();
      const w = await watcher(held.server, [user]);
      const start = Date.now();
      for (let i = 0; i < 50; ++i) {
        const client = await attach(held.server, user, { beat: false });
        client.send({ type: 'bye' });
        await client.closed;
      }
      if (stays) await attach(held.server, user);
      const took = Date.now() - start;
      await delay(1500);
      const told = statuses(w, user);
      assert.ok(told.every((status, i) => status !== told[i - 1]), told.join());
      assert.ok(told.length <= 2 + Math.ceil(took / 1000) + 1, `${told.length} events in ${took} ms`);
      assert.equal(w.state.get(user).status, stays ? 'online' : 'offline');
      const versions = w.told(user).map((one) => one.version);
      assert.ok(versions.every((version, i) => i === 0 || version > versions[i - 1]), versions.join());
    }
  });

  test('FO-043 doubled endings end once', async () => {
    const users = Array.from({ length: 20 }, () => fresh());
    const w = await watcher(held.server, users);
    await Promise.all(users.map(async (user, i) => {
      const raw = new RawClient(held.server);
      const { sessionId } = await raw.hello(user);
      const kick = () => done(held.server, 'DELETE', userPath(user, `/sessions/${sessionId}`)).catch(() => {});
      await raw.write(i % 3 === 0 ? Buffer.concat([closeFrame(1000), text({ type: 'bye' })]) : text({ type: 'bye' }));
      if (i % 2) await kick();
      raw.socket.resetAndDestroy();
    }));
    await delay(grace + 1200);
    for (const user of users) {
      assert.deepEqual(await listSessions(held.server, user), []);
      const told = statuses(w, user);
      assert.ok(told.join() === 'online,offline' || told.length === 0, told.join());
    }
  });

  test('FO-008 forty status changes in ten seconds come merged, the last one within two seconds', async () => {
    const a = await attach(held.server, fresh());
    const w = await watcher(held.server, [a.user]);
    const start = Date.now();
    for (let i = 0; i < 40; ++i) {
      await a.ask({ type: 'status', status: i % 2 ? 'away' : 'online' });
      await delay(Math.max(0, start + (i + 1) * 125 - Date.now()));
    }
    await w.sees(a.user, 'away', 2000);
    await delay(1200);
    const told = w.told(a.user);
    assert.equal(w.state.get(a.user).status, 'away');
    assert.ok(told.length <= Math.ceil((Date.now() - start) / 1000) + 1, `${told.length} events`);
    assert.ok(told.every((one, i) => one.status !== told[i - 1]?.status), 'told what was told already');
    assert.ok(told.every((one, i) => i === 0 || one.receivedAt - told[i - 1].receivedAt > 800), 'events closer than a second');
  });
});
