// Two nodes on one real Redis: totals, rooms, sessions that move, streams and polls, webhooks. Whatever node is asked,
// the answer is that of both.
import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import { attach, endClients, fresh } from '../lib/client.mjs';
import { Receiver, newSecret } from '../lib/receiver.mjs';
import { startRedis } from '../lib/redis.mjs';
import { assertError, assertSchema, call, done, userPath } from '../lib/rest.mjs';
import { endStreams, openStream } from '../lib/stream.mjs';
import { delay, startServer, until } from '../lib/server.mjs';

let redis;
let hook;
let nodes;

before(async () => {
  redis = await startRedis();
  hook = await new Receiver(newSecret()).listen();
  const set = { 'store.url': redis.url, threads: '2', 'webhooks.url': hook.url, 'webhooks.secret': hook.secret,
                'webhooks.allow_private': 'true' };
  nodes = await Promise.all([startServer({ set }), startServer({ set })]);
});
afterEach(() => { endStreams(); endClients(); });
after(async () => {
  await Promise.all(nodes.map((node) => node.dispose()));
  await hook.close();
  await redis.dispose();
});

const roomEvents = (room) => hook.taken().filter((event) => event.room === room)
  .map((event) => `${event.type}${event.userId === undefined ? '' : ` ${event.userId}`}`);

describe('a device by HTTP that a back end threw out', () => {
  test('is refused by whatever node it beats at, until it signs out there', async () => {
    const [a, b] = nodes;
    const user = fresh();
    const beat = (node) => call(node, 'POST', '/v1/heartbeat', { as: user, body: { deviceId: 'phone' } });
    for (const [holder, kicker] of [[a, b], [b, a], [a, a]]) {
      assert.equal((await beat(holder)).status, 200);
      assert.equal((await call(kicker, 'DELETE', userPath(user, '/sessions/http%3Aphone'))).status, 204);
      for (const node of [a, b, a]) assertError(await beat(node), 403, 'forbidden');
      assert.equal((await done(b, 'GET', userPath(user, '/presence'))).status, 'offline');
      assert.equal((await call(kicker, 'DELETE', '/v1/heartbeat?deviceId=phone', { as: user })).status, 204);
    }
    assert.equal((await beat(b)).status, 200);
    assert.equal((await call(a, 'DELETE', '/v1/heartbeat?deviceId=phone', { as: user })).status, 204);
  });
});

describe('totals', () => {
  test('people on both nodes, each once, whichever is asked', async () => {
    const [a, b] = nodes;
    const before = (await done(a, 'GET', '/v1/stats')).users.byStatus;
    const both = fresh();
    await attach(a, both, { hello: { device: { type: 'mobile' } } });
    await attach(b, both, { hello: { device: { type: 'web' } } });
    const busy = fresh();
    await attach(b, busy);
    await done(a, 'PUT', userPath(busy, '/status'), { body: { status: 'busy' } });
    const hidden = await attach(a, fresh());
    await hidden.ask({ type: 'status', status: 'invisible' });
    for (const node of nodes) {
      const now = await done(node, 'GET', '/v1/stats');
      assertSchema('Stats', now);
      assert.equal(now.exact, true);
      assert.equal(now.nodes, 2);
      assert.equal(now.users.byStatus.online, before.online + 1);
      assert.equal(now.users.byStatus.busy, before.busy + 1);
      assert.equal(now.users.byStatus.invisible, before.invisible + 1);
      assert.equal(now.sessions.live, 4);
      assert.equal(now.connections.webSocket, 4);
    }
  });

  test('rooms, and the members of one, page by page', async () => {
    const [a, b] = nodes;
    const prefix = fresh('doc');
    const people = await Promise.all(Array.from({ length: 7 }, (_, i) => attach(nodes[i % 2], `${prefix}-${i}`)));
    for (const [i, one] of people.entries()) {
      await one.ask({ type: 'join', room: `${prefix}/all`, meta: { i } }, 'room');
      if (i < 2) await one.ask({ type: 'join', room: `${prefix}/${i}` }, 'room');
    }
    const second = await attach(b, people[0].user);
    await second.ask({ type: 'join', room: `${prefix}/all`, updates: false }, 'room');
    await delay(300);
    for (const node of nodes) {
      const rooms = await done(node, 'GET', `/v1/rooms?prefix=${encodeURIComponent(prefix)}`);
      assert.deepEqual(rooms.rooms.map((one) => [one.room, one.count, one.exact]),
                       [[`${prefix}/0`, 1, true], [`${prefix}/1`, 1, true], [`${prefix}/all`, 7, true]]);
      const listed = [];
      for (let cursor = ''; cursor !== undefined;) {
        const page = await done(node, 'GET', `/v1/rooms/${encodeURIComponent(`${prefix}/all`)}?limit=3${cursor && `&cursor=${encodeURIComponent(cursor)}`}`);
        assert.equal(page.count, 7);
        listed.push(...page.members.map((one) => one.userId));
        cursor = page.next;
      }
      assert.deepEqual(listed, people.map((one) => one.user));
      const seen = await done(node, 'GET', `/v1/rooms/${encodeURIComponent(`${prefix}/all`)}`, { as: fresh() });
      assert.equal(seen.count, 7);
      assert.equal(seen.exact, true);
    }
    await people[1].ask({ type: 'leave', room: `${prefix}/1` });
    assert.deepEqual((await done(a, 'GET', `/v1/rooms?prefix=${encodeURIComponent(`${prefix}/1`)}`)).rooms, []);
  });
});

describe('a session that moves', () => {
  test('it is still in its rooms at the other node, nobody is told, and it hears after a new join', async () => {
    const [a, b] = nodes;
    const [room, user] = [fresh('room'), fresh()];
    const viewer = await attach(a, fresh());
    await viewer.ask({ type: 'join', room }, 'room');
    const one = await attach(a, user);
    await one.ask({ type: 'join', room, meta: { seat: 4 } }, 'room');
    await viewer.when(() => viewer.rooms.get(room).count === 2, 'two');
    const told = viewer.received.length;
    await one.reset();
    const back = await attach(b, user, { hello: { resume: one.welcome.resume } });
    assert.equal(back.welcome.resumed, true);
    await delay(2500);
    assert.deepEqual(viewer.received.slice(told).filter((r) => r.message.type === 'roomUpdate'), []);
    for (const node of nodes) {
      const facts = await done(node, 'GET', `/v1/rooms/${encodeURIComponent(room)}`);
      assert.deepEqual(facts.members.find((member) => member.userId === user)?.meta, { seat: 4 });
    }
    assert.ok(!back.received.some((r) => r.message.type === 'roomUpdate'));
    assert.equal((await back.ask({ type: 'join', room, meta: { seat: 4 } }, 'room')).count, 2);
    await back.bye();
    await viewer.when(() => viewer.rooms.get(room).count === 1, 'the end of the session');
  });
});

describe('an erasure', () => {
  test('FO-005 it ends streams and polls on the other node, too', async () => {
    const [a, b] = nodes;
    const user = fresh();
    const stream = await openStream(b, `/v1/stream?users=${fresh()}`, { as: user });
    const watched = fresh();
    const { cursor } = (await call(b, 'GET', `/v1/poll?users=${watched}`, { as: user })).json;
    const from = Date.now();
    const poll = call(b, 'GET', `/v1/poll?users=${watched}&waitMs=10000&cursor=${encodeURIComponent(cursor)}`, { as: user });
    await delay(200);
    await done(a, 'DELETE', userPath(user, ''));
    await stream.end(2000);
    assert.equal(stream.comments.at(-1).text, 'erased');
    await poll;
    assert.ok(Date.now() - from < 3000, 'the poll waited on');
  });
});

describe('webhooks of rooms', () => {
  test('who comes and goes is told once, by one node; the first occupies and the last vacates', async () => {
    const [a, b] = nodes;
    const room = fresh('hooked');
    const [ann, bob] = [fresh('ann'), fresh('bob')];
    const phone = await attach(a, ann);
    await phone.ask({ type: 'join', room }, 'room');
    await until(() => roomEvents(room).length === 2, 'the first');
    await delay(300);
    const laptop = await attach(b, ann);
    await laptop.ask({ type: 'join', room }, 'room');
    const other = await attach(b, bob);
    await other.ask({ type: 'join', room }, 'room');
    await until(() => roomEvents(room).length === 3, 'bob');
    await delay(300);
    await phone.ask({ type: 'leave', room });
    await delay(1000);
    assert.deepEqual(roomEvents(room), ['room.occupied', `room.joined ${ann}`, `room.joined ${bob}`]);
    await laptop.bye();
    await until(() => roomEvents(room).length === 4, 'ann to leave');
    await other.ask({ type: 'status', status: 'invisible' });
    await until(() => roomEvents(room).length === 6, 'the room to be empty');
    await other.ask({ type: 'leave', room });
    await delay(500);
    assert.deepEqual(roomEvents(room).slice(3), [`room.left ${ann}`, `room.left ${bob}`, 'room.vacated']);
    hook.check();
    for (const event of hook.taken()) assertSchema('WebhookEvent', event);
    const versions = hook.taken().filter((event) => event.room === room).map((event) => event.version);
    assert.equal(new Set(versions).size, versions.length);
  });
});
