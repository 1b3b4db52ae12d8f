// Signals to a room: who hears them, who may send them.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { attach, fresh } from '../lib/client.mjs';
import { call } from '../lib/rest.mjs';
import { delay } from '../lib/server.mjs';
import { withServer } from '../lib/suite.mjs';

const held = withServer();
const person = (options) => attach(held.server, fresh(), options);
const typing = (room, more = {}) => ({ type: 'signal', to: { room }, kind: 'typing', active: true, ...more });
/** What anybody may read of signals. */
const countedSignals = async () => (await call(held.server, 'GET', '/metrics', { anonymous: true })).text.split('\n').filter((line) => /^presenced_\w*signal/.test(line));
const signalsOf = (client) => client.received.map((r) => r.message).filter((m) => m.type === 'signal');

describe('signal to a room', () => {
  test('reaches all who hear it, at once after the join, and not its own connection', async () => {
    const name = fresh('room');
    const [a, b, o, quiet] = [await person(), await person(), await person(), await person()];
    const a2 = await attach(held.server, a.user);
    await b.join(name);
    await o.join(name, { observe: true });
    await quiet.join(name, { updates: false });
    await a2.join(name);
    await a.join(name);
    const heard = [b, o, a2].map((one) => one.next('signal'));
    await a.ask(typing(name, { data: { at: 3 } }));
    for (const signal of await Promise.all(heard)) {
      assert.deepEqual(signal, { type: 'signal', from: a.user, room: name, kind: 'typing', active: true, data: { at: 3 }, expiresInMs: 6000 });
    }
    await a.ask(typing(name, { active: false }));
    await b.when(() => signalsOf(b).length === 2, 'the end');
    assert.equal(signalsOf(b)[1].active, false);
    await delay(200);
    assert.deepEqual([signalsOf(a), signalsOf(quiet)], [[], []]);
  });

  test('is only for members', async () => {
    const name = fresh('room');
    const [a, b, o] = [await person(), await person(), await person()];
    await b.join(name);
    await o.join(name, { observe: true });
    await a.refused(typing(name), 'forbidden');
    await o.refused(typing(name), 'forbidden');
    await a.join(name, { updates: false });
    await a.ask(typing(name));
    await b.when(() => signalsOf(b).length === 1, 'the signal');
    await a.ask({ type: 'leave', room: name });
    await a.refused(typing(name), 'forbidden');
    await delay(200);
    assert.equal(signalsOf(b).length, 1);
  });

  for (const bad of [{ to: { room: '' } }, { to: { room: 5 } }, { kind: '' }, { kind: 'k'.repeat(33) }, { active: 1 }]) {
    test(`refuses ${JSON.stringify(bad).slice(0, 60)}`, async () => {
      const [a, name] = [await person(), fresh('room')];
      await a.join(name);
      await a.refused({ ...typing(name), ...bad });
    });
  }

  test('is rate-limited, and nothing is kept: who joins later hears nothing', async () => {
    const name = fresh('room');
    const [a, b] = [await person(), await person()];
    await a.join(name);
    await b.join(name);
    const answers = await Promise.all(Array.from({ length: 60 }, () => a.request(typing(name))));
    const refused = answers.filter((answer) => answer.type === 'error');
    assert.ok(refused.length > 0);
    for (const answer of refused) { assert.equal(answer.code, 'rateLimited'); assert.ok(answer.retryAfterMs > 0); }
    await b.when(() => signalsOf(b).length === 60 - refused.length, 'those that were taken');
    const late = await person();
    await late.join(name);
    await delay(300);
    assert.deepEqual(signalsOf(late), []);
  });

  test('of one who is invisible only the own other devices in the room hear it', async () => {
    const name = fresh('room');
    const [a, b] = [await person(), await person()];
    const [a2, outside] = [await attach(held.server, a.user), await attach(held.server, a.user)];
    for (const one of [a, a2, b]) await one.join(name);
    await a.ask({ type: 'status', status: 'invisible' });
    const before = await countedSignals();
    const heard = a2.next('signal');
    await a.ask(typing(name));
    assert.deepEqual(await heard, { type: 'signal', from: a.user, room: name, kind: 'typing', active: true, expiresInMs: 6000 });
    const direct = [a2.next('signal'), outside.next('signal')];
    await a.ask({ type: 'signal', to: { userId: a.user }, kind: 'cursor', active: true });
    for (const one of await Promise.all(direct)) assert.equal(one.kind, 'cursor');
    await delay(300);
    assert.deepEqual([signalsOf(a).length, signalsOf(b).length, signalsOf(outside).length], [0, 0, 1]);
    assert.deepEqual(await countedSignals(), before);
  });

  test('a signal to oneself reaches the other devices', async () => {
    const a = await person();
    const other = await attach(held.server, a.user);
    const heard = other.next('signal');
    await a.ask({ type: 'signal', to: { userId: a.user }, kind: 'cursor', active: true });
    assert.equal((await heard).from, a.user);
    await delay(200);
    assert.deepEqual(signalsOf(a), []);
  });
});
