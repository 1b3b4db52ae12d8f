// Rooms: who is in, who sees whom there, and what each row of the contract says.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { attach, fresh } from '../lib/client.mjs';
import { delay, grace } from '../lib/server.mjs';
import { withServer } from '../lib/suite.mjs';
import { tokenFor } from '../lib/tokens.mjs';
import { assertError, call, listSessions, userPath } from '../lib/rest.mjs';

const held = withServer();
const person = (options) => attach(held.server, fresh(), options);
const names = (members) => members.map((one) => one.userId);
const room = () => fresh('room');

describe('join', () => {
  test('answers with all members, the own one included, and tells the others', async () => {
    const [a, b] = [await person(), await person()];
    const name = room();
    const first = await a.join(name, { meta: { color: 'teal' } });
    assert.deepEqual({ ...first, id: 0 }, { type: 'room', id: 0, room: name, count: 1, exact: true,
      members: [{ userId: a.user, status: 'online', meta: { color: 'teal' } }] });
    const news = a.next('roomUpdate');
    const second = await b.join(name);
    assert.deepEqual(names(second.members), [a.user, b.user].sort());
    assert.deepEqual(await news, { type: 'roomUpdate', room: name, count: 2, exact: true, joined: [{ userId: b.user, status: 'online' }] });
  });

  test('a status of a member, and its end, come to the others', async () => {
    const [a, b] = [await person(), await person()];
    const name = room();
    await a.join(name);
    await b.join(name);
    await b.ask({ type: 'status', status: 'busy' });
    await a.when(() => a.rooms.get(name).members.get(b.user)?.status === 'busy', 'busy');
    await b.bye();
    await a.when(() => a.rooms.get(name).count === 1, 'the end');
    assert.deepEqual(a.inRoom(name), [a.user]);
  });

  test('meta is that of the latest join, and a device more is no member more', async () => {
    const [a, user, name] = [await person(), fresh(), room()];
    await a.join(name);
    const b1 = await attach(held.server, user);
    const b2 = await attach(held.server, user);
    await b1.join(name, { meta: { n: 1 } });
    const answer = await b2.join(name, { meta: { n: 2 } });
    assert.equal(answer.count, 2);
    await a.when(() => a.rooms.get(name).members.get(user)?.meta?.n === 2, 'meta of the second device');
    assert.equal(a.rooms.get(name).count, 2);
    await b2.ask({ type: 'leave', room: name });
    await a.when(() => a.rooms.get(name).members.get(user)?.meta?.n === 1, 'meta of the first device again');
    await b1.ask({ type: 'leave', room: name });
    await a.when(() => a.rooms.get(name).count === 1, 'the user to have left');
  });

  test('observe sees the room and is not in it; without updates one is in it and hears nothing', async () => {
    const [a, o, q, name] = [await person(), await person(), await person(), room()];
    await a.join(name);
    const seen = await o.join(name, { observe: true });
    assert.deepEqual(names(seen.members), [a.user]);
    const answer = await q.join(name, { updates: false });
    assert.deepEqual(names(answer.members), [a.user, q.user].sort());
    await o.when(() => o.rooms.get(name).count === 2, 'the quiet member');
    const b = await person();
    await b.join(name);
    await o.when(() => o.rooms.get(name).count === 3, 'one more');
    assert.equal(q.received.filter((r) => r.message.type === 'roomUpdate').length, 0);
    await a.when(() => a.rooms.get(name).count === 3, 'the same for who is in it');
    assert.deepEqual(a.inRoom(name), [a.user, b.user, q.user].sort());
  });

  for (const bad of [{ room: undefined }, { room: 5 }, { room: '' }, { room: 'x'.repeat(129) }, { room: 'a\nb' }, { meta: 'text' }, { meta: [] },
    { meta: null }, { observe: 'yes' }, { updates: 1 }]) {
    test(`refuses ${JSON.stringify(bad).slice(0, 50)} whole`, async () => {
      const [a, name] = [await person(), room()];
      await a.refused({ type: 'join', room: name, ...bad });
      const answer = await call(held.server, 'GET', `/v1/rooms/${name}`);
      assert.deepEqual(answer.json, { room: name, count: 0, publicCount: 0, exact: true, members: [] });
    });
  }

  test('meta beyond 1 KiB is tooLarge', async () => {
    const [a, name] = [await person(), room()];
    await a.refused({ type: 'join', room: name, meta: { x: 'y'.repeat(1100) } }, 'tooLarge');
    await a.join(name, { meta: { x: 'y'.repeat(1000) } });
  });

  test('FO-055 the rooms of the token are those that may be joined, read and signalled', async () => {
    const a = await attach(held.server, fresh(), { claims: { presence: { rooms: ['doc-*', 'lobby'] } } });
    await a.join('doc-' + fresh());
    await a.join('lobby');
    await a.refused({ type: 'join', room: 'other' }, 'forbidden');
    await a.refused({ type: 'join', room: 'other', observe: true }, 'forbidden');
    await a.refused({ type: 'signal', to: { room: 'other' }, kind: 'typing', active: true }, 'forbidden');
    await a.ask({ type: 'leave', room: 'other' });
    await a.bye();
  });

  test('narrower rights of a fresh token end rooms at once', async () => {
    const [a, b, name] = [await person(), await person(), room()];
    await a.join(name);
    await b.join(name);
    await a.when(() => a.rooms.get(name).count === 2, 'two');
    await b.ask({ type: 'auth', token: tokenFor(b.user, { presence: { rooms: ['none-*'] } }) });
    await a.when(() => a.rooms.get(name).count === 1, 'b to be out');
    await b.refused({ type: 'join', room: name }, 'forbidden');
  });
});

describe('leaving', () => {
  test('FO-043 leave is an ack, also twice and for a room never joined', async () => {
    const [a, b, name] = [await person(), await person(), room()];
    await a.join(name);
    await b.join(name);
    await a.when(() => a.rooms.get(name).count === 2, 'b to be there');
    await b.ask({ type: 'leave', room: name });
    await b.ask({ type: 'leave', room: name });
    await b.ask({ type: 'leave', room: room() });
    await a.when(() => a.rooms.get(name).count === 1, 'b to be gone');
    const from = a.received.length;
    await b.bye();
    await delay(1500);
    assert.deepEqual(a.received.slice(from).filter((r) => r.message.type === 'roomUpdate'), []);
  });

  test('a lost connection stays in the room until its session ends; a resumed one hears after a new join', async () => {
    const [a, b, name] = [await person(), await person(), room()];
    await a.join(name);
    await b.join(name);
    await a.when(() => a.rooms.get(name).count === 2, 'two');
    await b.reset();
    const back = await attach(held.server, b.user, { hello: { resume: b.welcome.resume } });
    assert.equal(back.welcome.resumed, true);
    const c = await person();
    await c.join(name);
    await a.when(() => a.rooms.get(name).count === 3, 'three');
    await delay(300);
    assert.equal(back.received.filter((r) => r.message.type.startsWith('room')).length, 0);
    const from = a.received.length;
    await back.join(name);
    await delay(1300);
    assert.equal(a.received.slice(from).length, 0, 'the new join was announced');
    await back.reset();
    await a.when(() => a.rooms.get(name).count === 2, 'the end of the grace', grace + 4000);
    assert.deepEqual(a.inRoom(name), [a.user, c.user].sort());
  });

  test('FO-031 FO-005 one who is kicked leaves once, and nothing about it follows', async () => {
    const [a, b, name] = [await person(), await person(), room()];
    await a.join(name);
    await b.join(name);
    await a.watch([b.user]);
    await a.when(() => a.rooms.get(name).count === 2, 'two');
    await delay(1100);
    const from = a.received.length;
    const [session] = await listSessions(held.server, b.user);
    await call(held.server, 'DELETE', userPath(b.user, `/sessions/${session.sessionId}`));
    await a.when(() => a.rooms.get(name).count === 1, 'b to be out');
    await delay(1500);
    const told = a.received.slice(from).map((r) => r.message);
    assert.equal(told.filter((m) => m.type === 'roomUpdate').length, 1, JSON.stringify(told));
    assert.equal(told.filter((m) => m.type === 'update').length, 1, JSON.stringify(told));
  });
});

describe('who sees whom', () => {
  test('FO-045 FO-046 FO-048 FO-049 all surfaces agree, and the invisible are in none', async () => {
    const name = room();
    const [a, b, w, i] = [await person(), await person(), await person(), await person()];
    const a2 = await attach(held.server, a.user);
    await i.ask({ type: 'status', status: 'invisible' });
    for (const one of [a, a2, b, w]) await one.join(name);
    const own = await i.join(name);
    assert.equal(own.members.find((one) => one.userId === i.user).status, 'invisible');
    await w.when(() => w.rooms.get(name).count === 3, 'three');
    await delay(1200);
    const from = w.received.length;
    await i.join(name, { meta: { busy: true } });
    await i.ask({ type: 'leave', room: name });
    await i.join(name);
    await i.ask({ type: 'signal', to: { room: name }, kind: 'typing', active: true });
    await delay(1200);
    assert.deepEqual(w.received.slice(from).map((r) => r.message), []);
    const fresh3 = [a.user, b.user, w.user].sort();
    assert.deepEqual(w.inRoom(name), fresh3);
    assert.deepEqual(names((await w.join(name)).members), fresh3);
    const seen = (await call(held.server, 'GET', `/v1/rooms/${name}`, { as: w.user })).json;
    assert.deepEqual([seen.count, names(seen.members)], [3, fresh3]);
    const asViewer = (await call(held.server, 'GET', `/v1/rooms/${name}?viewer=${w.user}`)).json;
    assert.deepEqual(asViewer, seen);
    const all = (await call(held.server, 'GET', `/v1/rooms/${name}`)).json;
    assert.deepEqual([all.count, all.publicCount, all.members.length], [4, 3, 4]);
    assert.equal(all.members.find((one) => one.userId === i.user).status, 'invisible');
  });

  test('FO-051 FO-056 a block takes both out of the other\'s list and the unblock brings them back', async () => {
    const [a, b, name] = [await person(), await person(), room()];
    await a.join(name);
    await b.join(name);
    await a.when(() => a.rooms.get(name).count === 2, 'two');
    await a.ask({ type: 'block', users: [b.user] });
    await a.when(() => a.rooms.get(name).count === 1, 'b to be out of sight', 2000);
    await b.when(() => b.rooms.get(name).count === 1, 'a to be out of sight', 2000);
    await delay(1100);
    const from = a.received.length;
    await b.ask({ type: 'signal', to: { room: name }, kind: 'typing', active: true });
    await b.ask({ type: 'status', status: 'busy' });
    await b.join(name, { meta: { n: 1 } });
    await delay(1200);
    assert.deepEqual(a.received.slice(from).map((r) => r.message), []);
    await a.ask({ type: 'unblock', users: [b.user] });
    await a.when(() => a.rooms.get(name).members.get(b.user)?.status === 'busy', 'b in sight again', 2000);
    await b.when(() => b.rooms.get(name).count === 2, 'a in sight again', 2000);
  });

  test('FO-032 a watched member\'s status comes once, by the watch', async () => {
    const [a, b] = [await person(), await person()];
    const rooms = Array.from({ length: 30 }, room);
    for (const name of rooms) { await a.join(name); await b.join(name); }
    await a.watch([b.user]);
    await delay(1500);
    const from = a.received.length;
    await b.ask({ type: 'status', status: 'busy' });
    await a.sees(b.user, 'busy');
    await delay(1500);
    assert.equal(a.received.slice(from).length, 1, JSON.stringify(a.received.slice(from).map((r) => r.message)));
  });
});

describe('storms, pauses and sizes', () => {
  test('FO-040 two hundred join and leave: frames grow with windows, not with members', async () => {
    const name = room();
    const w = await person();
    await w.join(name);
    const crowd = [];
    for (let i = 0; i < 200; i += 20) crowd.push(...await Promise.all(Array.from({ length: 20 }, () => person({ beat: true }))));
    let from = w.received.length;
    await Promise.all(crowd.map((one) => one.join(name)));
    await w.when(() => w.rooms.get(name).count === 201, 'all to be there', 4000);
    await delay(500);
    const joins = w.received.slice(from).filter((r) => r.message.type === 'roomUpdate').length;
    assert.ok(joins <= 5, `${joins} frames for the joins`);
    for (const one of crowd) await one.when(() => one.rooms.get(name).count === 201, 'the same everywhere', 4000);
    from = w.received.length;
    await Promise.all(crowd.map((one) => one.bye()));
    await w.when(() => w.rooms.get(name).count === 1, 'all to be gone', 6000);
    const leaves = w.received.slice(from).filter((r) => r.message.type === 'roomUpdate').length;
    assert.ok(leaves <= 6, `${leaves} frames for the leaves`);
  });

  test('delivery paused holds rooms back, and live brings each once, whole', async () => {
    const [a, b, name, quiet] = [await person(), await person(), room(), room()];
    await a.join(name);
    await a.join(quiet);
    await a.ask({ type: 'delivery', mode: 'paused' });
    const from = a.received.length;
    await b.join(name);
    await b.ask({ type: 'signal', to: { room: name }, kind: 'typing', active: true });
    await delay(1300);
    assert.deepEqual(a.received.slice(from), []);
    await a.ask({ type: 'delivery', mode: 'live' });
    await a.when(() => a.received.slice(from).filter((r) => r.message.type === 'room').length === 2, 'a room each');
    assert.deepEqual(a.inRoom(name), [a.user, b.user].sort());
    await delay(300);
    assert.equal(a.received.slice(from).filter((r) => r.message.type !== 'ack').length, 2);
  });

  test('a room of large metas comes in parts within messageBytes', async () => {
    const name = room();
    const crowd = await Promise.all(Array.from({ length: 150 }, () => person()));
    await Promise.all(crowd.map((one) => one.join(name, { meta: { x: 'y'.repeat(1000) } })));
    const w = await person();
    const seen = await w.join(name);
    assert.equal(seen.members.length, 151);
    assert.ok(w.received.filter((r) => r.message.type === 'room').length > 1);
  });

  test('rooms per connection are limited', async () => {
    const a = await person();
    const names = Array.from({ length: 200 }, room);
    for (const name of names) await a.join(name, { updates: false });
    const error = await a.refused({ type: 'join', room: room() }, 'limitExceeded').catch((problem) => {
      if (!/rateLimited/.test(problem.message)) throw problem;
      return { limit: 200 };
    });
    assert.equal(error.limit, 200);
    await a.ask({ type: 'leave', room: names[0] });
  });

  test('FO-069 names of rooms are taken to the letter', async () => {
    const odd = ['a:b', 'a', 'a:', '*', 'room', '_', 'a/b', '..', '%2F', 'a b', 'ünï', 'a?b#c', "q'\""].map((name) => `${name} ${process.pid}`);
    const a = await person();
    for (const name of odd) {
      const answer = await a.join(name);
      assert.deepEqual([answer.room, answer.count], [name, 1]);
    }
    for (const name of odd) {
      await a.ask({ type: 'leave', room: name });
      const left = await call(held.server, 'GET', `/v1/rooms/${encodeURIComponent(name)}`);
      assert.equal(left.json.count, 0, name);
    }
  });
});

describe('REST', () => {
  test('a room page by page, and rooms by prefix', async () => {
    const name = room();
    const crowd = await Promise.all(Array.from({ length: 7 }, () => person()));
    await Promise.all(crowd.map((one) => one.join(name)));
    const w = await person();
    for (const as of [undefined, w.user]) {
      const found = [];
      let cursor = '';
      do {
        const page = (await call(held.server, 'GET', `/v1/rooms/${name}?limit=3${cursor}`, { as })).json;
        assert.equal(page.count, 7);
        assert.ok(page.members.length <= 3);
        found.push(...names(page.members));
        cursor = page.next ? `&cursor=${encodeURIComponent(page.next)}` : '';
      } while (cursor);
      assert.deepEqual(found, crowd.map((one) => one.user).sort());
    }
    const prefix = fresh('prefix');
    for (const end of ['c', 'a', 'b']) await w.join(`${prefix}-${end}`);
    const list = (await call(held.server, 'GET', `/v1/rooms?prefix=${prefix}&limit=2`)).json;
    assert.deepEqual(list.rooms.map((one) => [one.room, one.count, one.exact]), [[`${prefix}-a`, 1, true], [`${prefix}-b`, 1, true]]);
    assert.ok(!list.next.includes(prefix), 'a cursor is opaque');
    for (const unknown of ['zzz', list.rooms[0].room]) {
      const all = (await call(held.server, 'GET', `/v1/rooms?prefix=${prefix}&cursor=${encodeURIComponent(unknown)}`)).json;
      assert.equal(all.rooms[0].room, list.rooms[0].room, 'an unknown cursor gives everything');
    }
    const rest = (await call(held.server, 'GET', `/v1/rooms?prefix=${prefix}&cursor=${encodeURIComponent(list.next)}`)).json;
    assert.deepEqual([rest.rooms.map((one) => one.room), rest.next], [[`${prefix}-c`], undefined]);
  });

  test('refuses what it must', async () => {
    const w = await person();
    assertError(await call(held.server, 'GET', '/v1/rooms', { as: w.user }), 403, 'forbidden');
    assertError(await call(held.server, 'GET', '/v1/rooms/r?limit=0'), 400, 'badRequest');
    assertError(await call(held.server, 'GET', '/v1/rooms/r?limit=1001'), 400, 'badRequest');
    assertError(await call(held.server, 'GET', '/v1/rooms/%0A'), 400, 'badRequest');
    assertError(await call(held.server, 'GET', '/v1/rooms/r?viewer=other', { as: w.user }), 403, 'forbidden');
    const token = tokenFor(w.user, { presence: { rooms: ['doc-*'] } });
    assertError(await call(held.server, 'GET', '/v1/rooms/other', { token }), 403, 'forbidden');
  });
});
