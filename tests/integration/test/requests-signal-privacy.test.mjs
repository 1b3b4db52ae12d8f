// Signals to a user, privacy and block, field by field.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { attach, fresh } from '../lib/client.mjs';
import { delay } from '../lib/server.mjs';
import { withServer } from '../lib/suite.mjs';

const held = withServer();

describe('signal to a user', () => {
  const typing = (to, more = {}) => ({ type: 'signal', to: { userId: to }, kind: 'typing', active: true, ...more });

  test('reaches every connection of the receiver, with data and an end', async () => {
    const a = await attach(held.server, fresh());
    const user = fresh();
    const devices = [await attach(held.server, user), await attach(held.server, user)];
    const heard = devices.map((device) => device.next('signal'));
    await a.ask(typing(user, { data: { chat: 'c-17', n: [1, null] } }));
    for (const signal of await Promise.all(heard)) {
      assert.deepEqual(signal, { type: 'signal', from: a.user, kind: 'typing', active: true, data: { chat: 'c-17', n: [1, null] }, expiresInMs: 6000 });
    }
    const end = devices[0].next((m) => m.type === 'signal' && m.active === false);
    a.send(typing(user, { active: false }));
    assert.ok(!('data' in (await end)));
  });

  test('is answered alike whether the receiver is there or not', async () => {
    const a = await attach(held.server, fresh());
    const answer = await a.ask(typing(fresh('nobody')));
    assert.deepEqual(Object.keys(answer).sort(), ['id', 'type']);
  });

  for (const bad of [{ to: undefined }, { to: 'bo' }, { to: {} }, { to: { userId: 5 } }, { to: { userId: 'a', room: 'r' } },
    { kind: undefined }, { kind: '' }, { kind: 5 }, { kind: 'k'.repeat(65) }, { active: 'yes' }, { active: null }, { active: undefined },
    { data: 'x'.repeat(1100) }, { to: { userId: '' } }]) {
    test(`signal refuses ${JSON.stringify(bad).slice(0, 60)}`, async () => {
      const a = await attach(held.server, fresh());
      const b = await attach(held.server, fresh());
      await a.refused({ ...typing(b.user), ...bad }, 'data' in bad ? undefined : 'badRequest').catch(async (error) => {
        if (!('data' in bad)) throw error;
        await a.refused({ ...typing(b.user), ...bad }, 'tooLarge');
      });
      await delay(100);
      assert.equal(b.received.filter((r) => r.message.type === 'signal').length, 0);
    });
  }

  test('is rate-limited, and the connection stays', async () => {
    const a = await attach(held.server, fresh());
    const b = await attach(held.server, fresh());
    const answers = await Promise.all(Array.from({ length: 60 }, () => a.request(typing(b.user))));
    const refused = answers.filter((answer) => answer.type === 'error');
    assert.ok(refused.length > 0, 'sixty signals at once were all taken');
    for (const answer of refused) { assert.equal(answer.code, 'rateLimited'); assert.ok(answer.retryAfterMs > 0); }
    await a.ask({ type: 'heartbeat' }, 'heartbeatAck');
  });

  test('a sender who is invisible, or only observes, reaches nobody', async () => {
    const b = await attach(held.server, fresh());
    const hidden = await attach(held.server, fresh());
    await hidden.ask({ type: 'status', status: 'invisible' });
    const observer = await attach(held.server, fresh(), { hello: { observe: true } });
    await hidden.ask(typing(b.user));
    await observer.ask(typing(b.user));
    await delay(300);
    assert.equal(b.received.filter((r) => r.message.type === 'signal').length, 0);
  });
});

describe('privacy and block messages', () => {
  test('privacy without rules reads; the defaults of --dev are everyone', async () => {
    const a = await attach(held.server, fresh());
    const rules = await a.ask({ type: 'privacy' }, 'privacy');
    assert.deepEqual([rules.online, rules.lastSeen], [{ mode: 'everyone' }, { mode: 'everyone' }]);
  });

  test('privacy sets what is named, leaves the rest, and answers with the rules in force', async () => {
    const a = await attach(held.server, fresh());
    let rules = await a.ask({ type: 'privacy', online: { mode: 'only', users: ['b', 'c'] } }, 'privacy');
    assert.deepEqual({ ...rules.online, users: [...rules.online.users].sort() }, { mode: 'only', users: ['b', 'c'] });
    assert.deepEqual(rules.lastSeen, { mode: 'everyone' });
    rules = await a.ask({ type: 'privacy', lastSeen: { mode: 'nobody' } }, 'privacy');
    assert.equal(rules.online.mode, 'only');
    assert.deepEqual(rules.lastSeen, { mode: 'nobody' });
    rules = await a.ask({ type: 'privacy', online: { mode: 'contactsExcept', users: [] } }, 'privacy');
    assert.equal(rules.online.mode, 'contactsExcept');
  });

  for (const rule of [null, 'everyone', [], {}, { mode: 'friends' }, { mode: 5 }, { mode: 'only' }, { mode: 'contactsExcept' },
    { mode: 'only', users: 'b' }, { mode: 'only', users: [5] }, { mode: 'only', users: [''] }]) {
    test(`privacy refuses ${JSON.stringify(rule)} whole`, async () => {
      const a = await attach(held.server, fresh());
      await a.refused({ type: 'privacy', lastSeen: { mode: 'nobody' }, online: rule });
      assert.deepEqual((await a.ask({ type: 'privacy' }, 'privacy')).lastSeen, { mode: 'everyone' });
    });
  }

  test('block and unblock take lists, also empty ones, and refuse others', async () => {
    const a = await attach(held.server, fresh());
    for (const type of ['block', 'unblock']) {
      await a.ask({ type, users: ['m', 'n'] });
      await a.ask({ type, users: [] });
      for (const users of [undefined, 'm', [5], [''], null]) await a.refused({ type, users });
    }
  });
});
