// Who sees whom: protocol.md "Privacy rules", DESIGN rules 18 and 24 to 27.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { attach, endClients, fresh, watcher } from '../lib/client.mjs';
import { assertError, call, done, readPresence, userPath } from '../lib/rest.mjs';
import { delay, grace, startServer } from '../lib/server.mjs';
import { withServer } from '../lib/suite.mjs';

const held = withServer();
const blank = (user) => ({ userId: user, status: 'offline', version: 0 });
const settled = 2000;  // a change of rules is in force for all within 2 s

const setRules = (user, rules, server = held.server) => done(server, 'PUT', userPath(user, '/privacy'), { body: rules });
const setContacts = (user, users, server = held.server) => done(server, 'PUT', userPath(user, '/contacts'), { body: { users } });

/** What `viewer` (a client) is told about `user`, on each surface; they must agree. */
async function surfaces(viewer, user, server = held.server) {
  const looks = [
    (await viewer.ask({ type: 'get', users: [user] }, 'snapshot')).users[0],
    await readPresence(server, user, viewer.user),
    (await call(server, 'GET', userPath(user, `/presence?viewer=${encodeURIComponent(viewer.user)}`))).json,
    (await done(server, 'POST', '/v1/presence/query', { as: viewer.user, body: { users: [user] } })).users[0],
  ];
  for (const look of looks) assert.deepEqual(look, looks[0]);
  return looks[0];
}

describe('rules', () => {
  const cases = [
    [{ mode: 'everyone' }, true, true, true], [{ mode: 'nobody' }, false, false, false], [{ mode: 'contacts' }, true, false, true],
    [{ mode: 'contactsExcept', users: ['EX'] }, true, false, false], [{ mode: 'only', users: ['EX'] }, false, false, true],
  ];
  for (const [rule, contact, stranger, excepted] of cases) {
    for (const attribute of ['online', 'lastSeen']) {
      test(`${attribute}: ${rule.mode} admits contact ${contact}, stranger ${stranger}, the one named ${excepted}`, async () => {
        const viewers = { contact: await attach(held.server, fresh()), stranger: await attach(held.server, fresh()), excepted: await attach(held.server, fresh()) };
        const a = await attach(held.server, fresh());
        await setContacts(a.user, [viewers.contact.user, viewers.excepted.user]);
        await setRules(a.user, { [attribute]: rule.users ? { ...rule, users: [viewers.excepted.user] } : rule });
        // Reciprocity asks the same of the viewers, and theirs are everyone.
        if (attribute === 'lastSeen') await a.bye();
        for (const [who, admitted] of Object.entries({ contact, stranger, excepted })) {
          const one = await surfaces(viewers[who], a.user);
          if (attribute === 'online') {
            if (admitted) assert.equal(one.status, 'online', who); else assert.deepEqual(one, blank(a.user), who);
          } else {
            assert.notEqual(one.version, 0);
            assert.equal(one.lastSeen !== undefined, admitted, who);
          }
        }
      });
    }
  }

  test('one’s own sessions see everything, whatever the rule', async () => {
    const user = fresh();
    await setRules(user, { online: { mode: 'nobody' }, lastSeen: { mode: 'nobody' } });
    const a = await attach(held.server, user);
    assert.equal((await surfaces(a, user)).status, 'online');
  });

  test('last seen only to one who may also see online', async () => {
    const a = await attach(held.server, fresh());
    const w = await attach(held.server, fresh());
    await setRules(a.user, { online: { mode: 'nobody' }, lastSeen: { mode: 'everyone' } });
    await a.bye();
    assert.deepEqual(await surfaces(w, a.user), blank(a.user));
  });

  test('without --dev the default of last seen is contacts', async () => {
    const server = await startServer({ dev: false, set: { 'auth.secret': 'not-dev', 'auth.api_keys': 'not-dev' } });
    try {
      const a = await attach(server, fresh());
      assert.deepEqual((({ online, lastSeen }) => ({ online, lastSeen }))(await a.ask({ type: 'privacy' }, 'privacy')),
                       { online: { mode: 'everyone' }, lastSeen: { mode: 'contacts' } });
      const w = await attach(server, fresh());
      const friend = await attach(server, fresh());
      await setContacts(a.user, [friend.user], server);
      await setContacts(friend.user, [a.user], server);
      await a.bye();
      assert.equal((await surfaces(w, a.user, server)).lastSeen, undefined);
      assert.equal((await surfaces(friend, a.user, server)).lastSeen.granularity, 'exact');
    } finally { endClients(); await server.dispose(); }
  });
});

describe('reciprocity', () => {
  test('FO-056 hide yours, lose theirs: on each surface and session, by push; shared again, back again', async () => {
    const a = await attach(held.server, fresh());
    const gone = await attach(held.server, fresh());
    await gone.bye();
    const w = await attach(held.server, fresh());
    await w.watch([a.user, gone.user]);
    assert.ok(w.state.get(gone.user).lastSeen);
    await w.ask({ type: 'privacy', lastSeen: { mode: 'nobody' } }, 'privacy');
    await w.sees(gone.user, (one) => one.lastSeen === undefined && one.version !== 0, settled);
    assert.equal((await surfaces(w, gone.user)).lastSeen, undefined);
    assert.equal(w.state.get(a.user).status, 'online');
    await w.ask({ type: 'privacy', online: { mode: 'nobody' } }, 'privacy');
    await w.sees(a.user, (one) => one.version === 0, settled);
    assert.deepEqual(w.state.get(a.user), blank(a.user));
    assert.deepEqual(await surfaces(w, a.user), blank(a.user));
    await w.ask({ type: 'privacy', online: { mode: 'everyone' }, lastSeen: { mode: 'everyone' } }, 'privacy');
    await w.sees(a.user, 'online', settled);
    await w.sees(gone.user, (one) => one.lastSeen !== undefined, settled);
  });

  test('off: hiding costs nothing', async () => {
    const server = await startServer({ set: { 'privacy.reciprocity': 'false' } });
    try {
      const a = await attach(server, fresh());
      const w = await attach(server, fresh());
      await setRules(w.user, { online: { mode: 'nobody' } }, server);
      assert.equal((await surfaces(w, a.user, server)).status, 'online');
      assert.deepEqual(await surfaces(a, w.user, server), blank(w.user));
    } finally { endClients(); await server.dispose(); }
  });
});

describe('blocks', () => {
  test('FO-051 block while watching, in both directions; unblock brings the truth by itself', async () => {
    const a = await attach(held.server, fresh());
    const w = await attach(held.server, fresh());
    await w.watch([a.user]);
    await a.watch([w.user]);
    const blockedAt = Date.now();
    await a.ask({ type: 'block', users: [w.user] });
    await w.sees(a.user, (one) => one.version === 0, settled);
    await a.sees(w.user, (one) => one.version === 0, settled);
    assert.ok(Date.now() - blockedAt < settled);
    assert.equal(JSON.stringify(w.state.get(a.user)), JSON.stringify(blank(a.user)));
    const from = w.received.length;
    await a.ask({ type: 'signal', to: { userId: w.user }, kind: 'typing', active: true });
    await w.ask({ type: 'signal', to: { userId: a.user }, kind: 'typing', active: true });
    await a.ask({ type: 'status', status: 'away' });
    await delay(1100);
    await a.ask({ type: 'status', status: 'busy' });
    await delay(1100);
    assert.deepEqual(w.received.slice(from).map((r) => r.message).filter((m) => m.type !== 'ack'), []);
    assert.equal(a.received.filter((r) => r.message.type === 'signal').length, 0);
    assert.deepEqual(await surfaces(w, a.user), blank(a.user));
    await a.ask({ type: 'unblock', users: [w.user] });
    await w.sees(a.user, 'busy', settled);
    await a.sees(w.user, 'online', settled);
  });

  test('blocks over REST do the same', async () => {
    const a = await attach(held.server, fresh());
    const w = await watcher(held.server, [a.user]);
    await done(held.server, 'POST', userPath(a.user, '/blocks'), { as: a.user, body: { add: [w.user] } });
    await w.sees(a.user, (one) => one.version === 0, settled);
    await done(held.server, 'PUT', userPath(a.user, '/blocks'), { body: { users: [] } });
    await w.sees(a.user, 'online', settled);
  });
});

describe('invisible', () => {
  test('FO-046 FO-050 an invisible user, an offline one and their rows look the same', async () => {
    const [hidden, gone] = [await attach(held.server, fresh('same')), await attach(held.server, fresh('same'))];
    const w = await attach(held.server, fresh());
    await w.watch([hidden.user, gone.user]);
    await delay(1100);
    await Promise.all([hidden.ask({ type: 'status', status: 'invisible' }), gone.bye()]);
    await w.sees(hidden.user, 'offline');
    await w.sees(gone.user, 'offline');
    const keys = (one) => Object.keys(one).sort().join();
    for (const [x, y] of [[await surfaces(w, hidden.user), await surfaces(w, gone.user)], [w.state.get(hidden.user), w.state.get(gone.user)]]) {
      assert.equal(keys(x), keys(y));
      assert.equal(x.lastSeen.granularity, 'exact');
      assert.ok(Math.abs(x.lastSeen.at - y.lastSeen.at) < 300);
    }
  });

  test('FO-047 the word invisible reaches the user and back ends only', async () => {
    const user = fresh();
    const w = await watcher(held.server, [user]);
    const contact = await watcher(held.server, [user]);
    await setContacts(user, [contact.user]);
    const a = await attach(held.server, user);
    await a.ask({ type: 'status', status: 'invisible', customStatus: { text: 'secret words' } });
    await w.sees(user, 'offline');
    const second = await attach(held.server, user);
    assert.equal((await surfaces(second, user)).status, 'invisible');
    assert.equal((await readPresence(held.server, user)).status, 'invisible');
    await surfaces(w, user);
    await surfaces(contact, user);
    for (const one of [w, contact]) assert.doesNotMatch(one.received.map((r) => r.bytes).join(), /invisible|secret words|declared/);
  });

  test('FO-048 FO-049 nothing moves while invisible: neither events nor anything that can be read', async () => {
    const user = fresh();
    const a = await attach(held.server, user);
    const w = await watcher(held.server, [user]);
    await a.ask({ type: 'status', status: 'invisible' });
    await w.sees(user, 'offline');
    const before = await surfaces(w, user);
    const etag = async () => (await call(held.server, 'GET', userPath(user, '/presence'), { as: w.user })).headers.etag;
    const tag = await etag();
    const from = w.received.length;
    const look = async () => {
      const now = await surfaces(w, user);
      assert.deepEqual(now, before);
      assert.equal(await etag(), tag);
    };
    await a.ask({ type: 'status', customStatus: { text: 'hidden text' } });
    await look();
    await a.ask({ type: 'activity', state: 'idle' });
    const second = await attach(held.server, user, { hello: { device: { type: 'mobile' } } });
    await look();
    await second.ask({ type: 'status', status: 'busy', scope: 'session' });
    await second.bye();
    await a.ask({ type: 'activity', state: 'active' });
    await look();
    await a.close();
    await delay(grace + 600);
    await look();
    const again = await attach(held.server, user);
    await look();
    await again.bye();
    await delay(600);
    await look();
    assert.deepEqual(w.told(user, from), []);
  });

  test('one who comes in invisible is never announced, and keeps the old last seen', async () => {
    const user = fresh();
    const a = await attach(held.server, user);
    await a.bye();
    const w = await watcher(held.server, [user]);
    const { lastSeen } = w.state.get(user);
    await done(held.server, 'PUT', userPath(user, '/status'), { body: { status: 'invisible' } });
    const b = await attach(held.server, user);
    await delay(500);
    await b.bye();
    await delay(500);
    assert.deepEqual(w.told(user), []);
    assert.deepEqual((await surfaces(w, user)).lastSeen, lastSeen);
  });

  test('from invisible back to auto: online again', async () => {
    const a = await attach(held.server, fresh());
    const w = await watcher(held.server, [a.user]);
    await a.ask({ type: 'status', status: 'invisible' });
    await w.sees(a.user, 'offline');
    await a.ask({ type: 'status', status: 'auto' });
    await w.sees(a.user, 'online');
  });
});

describe('noninterference', () => {
  test('FO-052 FO-055 unknown, never seen, hidden, blocked and strange are one canonical entry', async () => {
    const w = await attach(held.server, fresh());
    const make = async (prepare) => { const a = await attach(held.server, fresh('subject')); await prepare(a); return a; };
    const subjects = [
      await make((a) => setRules(a.user, { online: { mode: 'nobody' } })),
      await make((a) => a.ask({ type: 'block', users: [w.user] })),
      await make((a) => setRules(a.user, { online: { mode: 'contacts' } })),
      await make((a) => w.ask({ type: 'block', users: [a.user] })),
      await make(async (a) => { await setRules(a.user, { online: { mode: 'only', users: ['x'] } }); await a.ask({ type: 'status', status: 'dnd', customStatus: { text: 'x' } }); }),
    ];
    const never = fresh('subject');
    const users = [...subjects.map((a) => a.user), never];
    for (const answer of [await w.watch(users), await w.ask({ type: 'get', users }, 'snapshot'),
                          await done(held.server, 'POST', '/v1/presence/query', { as: w.user, body: { users } })]) {
      assert.equal(JSON.stringify(answer.users), JSON.stringify(users.map(blank)));
    }
    const from = w.received.length;
    for (const a of subjects) {
      await a.ask({ type: 'status', status: 'busy' });
      await a.ask({ type: 'signal', to: { userId: w.user }, kind: 'typing', active: true });
      await a.bye();
      await attach(held.server, a.user);
    }
    await delay(1500);
    assert.deepEqual(w.received.slice(from).map((r) => r.message), []);
    const etags = await Promise.all(users.map(async (user) => (await call(held.server, 'GET', userPath(user, '/presence'), { as: w.user })).text.replace(user, 'U')));
    assert.equal(new Set(etags).size, 1);
  });

  test('FO-052 known does not tell: version 0 of a hidden one is left out like that of one who never was', async () => {
    const a = await attach(held.server, fresh());
    await setRules(a.user, { online: { mode: 'nobody' } });
    const w = await attach(held.server, fresh());
    const never = fresh();
    await w.watch([a.user, never]);
    await delay(100);
    const again = await w.watch([a.user, never], { known: { [a.user]: 0, [never]: 0 } });
    const told = again.users.map((one) => one.userId);
    assert.ok(told.length === 0 || told.length === 2, JSON.stringify(again));
  });

  test('FO-052 looking up strangers in bulk meets a limit', async () => {
    const server = await startServer({ set: { 'limits.lookups_per_second': '100', 'limits.lookups_burst': '600' } });
    try {
      const w = await attach(server, fresh());
      const answers = [];
      for (let i = 0; i < 10; ++i) answers.push(await w.request({ type: 'get', users: Array.from({ length: 200 }, (_, k) => `id-${i}-${k}`) }));
      assert.equal(answers[0].type, 'snapshot');
      const refused = answers.filter((answer) => answer.type === 'error');
      assert.ok(refused.length >= 5, `${refused.length} refused`);
      for (const answer of refused) { assert.equal(answer.code, 'rateLimited'); assert.ok(answer.retryAfterMs > 0); }
      await w.ask({ type: 'heartbeat' }, 'heartbeatAck');
    } finally { endClients(); await server.dispose(); }
  });

  test('FO-053 a change of rules is live at once: no true state after the answer', async () => {
    const a = await attach(held.server, fresh());
    const friend = await attach(held.server, fresh());
    const w = await watcher(held.server, [a.user]);
    await friend.watch([a.user]);
    await delay(1100);
    await setRules(a.user, { online: { mode: 'nobody' }, lastSeen: { mode: 'nobody' } });
    const from = w.received.length;
    await a.ask({ type: 'status', status: 'away' });
    await a.ask({ type: 'status', status: 'auto' });
    await w.sees(a.user, (one) => one.version === 0, settled);
    await friend.sees(a.user, (one) => one.version === 0, settled);
    for (const one of w.told(a.user, from)) assert.deepEqual({ ...one, receivedAt: 0 }, { ...blank(a.user), receivedAt: 0 });
    await setContacts(a.user, [friend.user]);
    await setRules(a.user, { online: { mode: 'contacts' } });
    await friend.sees(a.user, 'online', settled);
    await w.hearsNothing(a.user, 700);
  });

  test('FO-055 a contact that is taken away ends the sight, one that is added begins it', async () => {
    const a = await attach(held.server, fresh());
    const w = await watcher(held.server, [a.user]);
    await setRules(a.user, { online: { mode: 'contacts' } });
    await w.sees(a.user, (one) => one.version === 0, settled);
    await done(held.server, 'POST', userPath(a.user, '/contacts'), { body: { add: [w.user] } });
    await w.sees(a.user, 'online', settled);
    await done(held.server, 'POST', userPath(a.user, '/contacts'), { body: { remove: [w.user] } });
    await w.sees(a.user, (one) => one.version === 0, settled);
  });

  test('sight that is gained shows the state, in versions that the viewer never sees go back', async () => {
    const a = await attach(held.server, fresh());
    const w = await watcher(held.server, [a.user]);
    for (let i = 0; i < 3; ++i) {
      await setRules(a.user, { online: { mode: 'nobody' } });
      await w.sees(a.user, (one) => one.version === 0, settled);
      await a.ask({ type: 'status', status: i % 2 ? 'busy' : 'dnd' });
      await setRules(a.user, { online: { mode: 'everyone' } });
      await w.sees(a.user, i % 2 ? 'busy' : 'dnd', settled);
    }
    const versions = w.told(a.user).map((one) => one.version).filter((version) => version !== 0);
    assert.ok(versions.every((version, i) => i === 0 || version >= versions[i - 1]), versions.join());
  });
});

describe('explain', () => {
  test('says why: sessions, merge, rule by rule', async () => {
    const a = await attach(held.server, fresh());
    const w = await attach(held.server, fresh());
    await a.ask({ type: 'status', status: 'busy' });
    const explain = () => done(held.server, 'GET', userPath(a.user, `/explain?viewer=${w.user}`));
    const open = await explain();
    assert.equal(open.subject, a.user);
    assert.equal(open.viewer, w.user);
    assert.deepEqual(open.view, await surfaces(w, a.user));
    assert.equal(open.sessions.length, 1);
    assert.equal(open.merge.result, 'busy');
    assert.equal(open.merge.declared.status, 'busy');
    assert.ok(open.rules.length > 0 && open.rules.every((rule) => rule.passes));
    await setRules(a.user, { online: { mode: 'nobody' } });
    const closed = await explain();
    assert.deepEqual(closed.view, blank(a.user));
    assert.equal(closed.merge.result, 'busy');
    assert.ok(closed.rules.some((rule) => rule.attribute === 'online' && !rule.passes));
  });

  test('says what was at a moment of the last hour, and why', async () => {
    const a = await attach(held.server, fresh());
    const w = await attach(held.server, fresh());
    await delay(50);
    const at = Date.now();
    await delay(50);
    await a.ask({ type: 'status', status: 'busy', customStatus: { text: 'not to be kept' } });
    await setRules(a.user, { lastSeen: { mode: 'nobody' } });
    const { then, past } = await done(held.server, 'GET', userPath(a.user, `/explain?viewer=${w.user}&at=${at}`));
    assert.deepEqual([then.at, then.known, then.status, then.shown, then.seen, then.rulesChanged], [at, true, 'online', 'online', undefined, true]);
    assert.equal(then.because.cause, 'connect');
    assert.equal(then.because.sessionId, a.welcome.sessionId);
    assert.deepEqual(past.transitions.map(({ cause, changed }) => [cause, changed]),
      [['connect', ['status', 'devices']], ['status', ['status', 'customStatus']], ['privacy', ['rules']]]);
    assert.ok(past.complete && past.since <= at);
    assert.ok(!JSON.stringify(past).includes('not to be kept'));
    assertError(await call(held.server, 'GET', userPath(a.user, `/explain?viewer=${w.user}&at=${Date.now() + 60_000}`)), 400, 'badRequest');
  });
});
