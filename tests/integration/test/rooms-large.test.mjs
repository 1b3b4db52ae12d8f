// Large rooms: counts in the place of lists, and a storm of a thousand.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { attach, fresh } from '../lib/client.mjs';
import { delay } from '../lib/server.mjs';
import { withServer } from '../lib/suite.mjs';
import { call } from '../lib/rest.mjs';

describe('a small limit of listed members', () => {
  const held = withServer({ set: { 'limits.room_members': 10 } });
  const person = () => attach(held.server, fresh());

  test('lists give way to counts beyond it and return at nine tenths', async () => {
    const name = fresh('room');
    const crowd = await Promise.all(Array.from({ length: 11 }, person));
    for (const one of crowd.slice(0, 10)) await one.join(name);
    const w = crowd[0];
    await w.when(() => w.inRoom(name).length === 10, 'a list of ten');
    const [eleventh, hidden] = [crowd[10], await person()];
    await hidden.ask({ type: 'status', status: 'invisible' });
    await hidden.join(name);
    await delay(500);
    assert.equal(w.inRoom(name).length, 10, 'one who is not to be seen has switched the list');
    const answer = await eleventh.join(name);
    assert.equal(answer.count, 11);
    await w.when(() => w.rooms.get(name).members === undefined, 'counts');
    assert.deepEqual((await hidden.join(name)).count, 11);
    await w.when(() => w.rooms.get(name).count === 11, 'eleven');
    const page = (await call(held.server, 'GET', `/v1/rooms/${name}?limit=5`, { as: w.user })).json;
    assert.deepEqual([page.count, page.exact, page.members.length], [11, true, 5]);
    await eleventh.bye();
    await w.when(() => w.rooms.get(name).count === 10, 'ten');
    assert.equal(w.rooms.get(name).members, undefined);
    await crowd[9].bye();
    await w.when(() => w.inRoom(name).length === 9, 'a list of nine');
    assert.equal(w.rooms.get(name).count, 9);
  });

  test('counts come at most once a second, and signals arrive', async () => {
    const name = fresh('room');
    const crowd = await Promise.all(Array.from({ length: 40 }, person));
    for (const one of crowd.slice(0, 15)) await one.join(name);
    const w = crowd[0];
    await w.when(() => w.rooms.get(name).count === 15 && !w.rooms.get(name).members, 'counts');
    await delay(1100);
    const from = w.received.length;
    for (const one of crowd.slice(15)) { await one.join(name); await delay(100); }
    await w.when(() => w.rooms.get(name).count === 40, 'forty');
    const at = w.received.slice(from).filter((r) => r.message.type === 'roomUpdate').map((r) => r.at);
    assert.ok(at.length <= 6, `${at.length} counts`);
    for (let i = 1; i < at.length; ++i) assert.ok(at[i] - at[i - 1] >= 900, `${at[i] - at[i - 1]} ms`);
    const heard = w.next('signal');
    await crowd[39].ask({ type: 'signal', to: { room: name }, kind: 'typing', active: true });
    assert.equal((await heard).from, crowd[39].user);
  });
});

describe('a storm', () => {
  const held = withServer();

  test('of a thousand: the count is right within two seconds, deliveries grow with those who hear', async () => {
    const name = fresh('room');
    const w = await attach(held.server, fresh());
    await w.join(name);
    const crowd = [];
    while (crowd.length < 1000) {
      crowd.push(...await Promise.all(Array.from({ length: 50 }, () => attach(held.server, fresh()))));
    }
    await Promise.all(crowd.map((one) => one.join(name)));
    await w.when(() => w.rooms.get(name).count === 1001, 'the count after the joins', 2000);
    for (const one of crowd) await one.when(() => one.rooms.get(name).count === 1001, 'the count everywhere', 2000);
    const messages = crowd.map((one) => one.received.filter((r) => r.message.type.startsWith('room')).length);
    const total = messages.reduce((sum, one) => sum + one, 0);
    console.log(`# storm of 1000 joins: ${total} messages about the room, ${(total / 1000).toFixed(1)} each, most ${Math.max(...messages)}`);
    assert.ok(total <= 1000 * 15, `${total} messages`);
    await Promise.all(crowd.map((one) => one.bye()));
    await w.when(() => w.rooms.get(name).count === 1, 'the count after the leaves', 4000);
    assert.deepEqual(w.inRoom(name), [w.user]);
  });
});
