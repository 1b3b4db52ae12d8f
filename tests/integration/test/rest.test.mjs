// Each call of api/openapi.yaml, who may make it, and what it refuses. Shapes are checked by lib/rest.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { attach, fresh, watcher } from '../lib/client.mjs';
import { assertError, call, done, listSessions, readPresence, userPath } from '../lib/rest.mjs';
import { RawClient } from '../lib/raw.mjs';
import { delay, grace, root } from '../lib/server.mjs';
import { withServer } from '../lib/suite.mjs';

const held = withServer();
const rest = (method, target, options) => call(held.server, method, target, options);

describe('who may call what', () => {
  const user = 'subject-of-rights';
  // method, path, body, whether the user itself may
  const calls = [
    ['GET', '/presence', undefined, true], ['GET', '/status', undefined, true], ['PUT', '/status', { status: 'auto' }, true], ['DELETE', '/status', undefined, true],
    ['GET', '/privacy', undefined, true], ['PUT', '/privacy', { online: { mode: 'everyone' } }, true], ['GET', '/contacts', undefined, false],
    ['PUT', '/contacts', { users: [] }, false], ['POST', '/contacts', { add: [] }, false], ['GET', '/blocks', undefined, true],
    ['PUT', '/blocks', { users: [] }, true], ['POST', '/blocks', { add: [], remove: [] }, true], ['GET', '/sessions', undefined, false],
    ['DELETE', '/sessions/none', undefined, false], ['POST', '/revoke', { before: 0 }, false], ['DELETE', '', undefined, false], ['GET', '/explain?viewer=x', undefined, false],
  ];
  for (const [method, rest_, body, self] of calls) {
    test(`${method} …${rest_}: anonymous 401, back end yes, user ${self ? 'own only' : 'never'}`, async () => {
      const target = `/v1/users/${user}${rest_}`;
      assertError(await rest(method, target, { body, anonymous: true }), 401, 'unauthorized');
      assertError(await rest(method, target, { body, token: 'wrong-key' }), 401, 'unauthorized');
      const byBackEnd = await rest(method, target, { body });
      assert.ok([200, 204, 404].includes(byBackEnd.status), byBackEnd.text);
      const byOwner = await rest(method, target, { body, as: user });
      if (self) assert.ok([200, 204].includes(byOwner.status), byOwner.text); else assertError(byOwner, 403, 'forbidden');
      const byOther = await rest(method, target, { body, as: 'someone-else' });
      if (rest_ === '/presence') assert.equal(byOther.status, 200); else assertError(byOther, 403, 'forbidden');
    });
  }

  test('401 names the scheme', async () => {
    assert.match((await rest('GET', '/v1/users/a/presence', { anonymous: true })).headers['www-authenticate'], /^Bearer/);
  });

  test('a user may name itself as viewer, nobody else', async () => {
    assert.equal((await rest('GET', '/v1/users/a/presence?viewer=me', { as: 'me' })).status, 200);
    assertError(await rest('GET', '/v1/users/a/presence?viewer=you', { as: 'me' }), 403, 'forbidden');
  });
});

test('a request that is refused before it is whole is answered as all others are', async () => {
  for (const [rest, status] of [['Content-Length: 90000000\r\n\r\n', 413], [`X: ${'x'.repeat(70_000)}\r\n\r\n`, 431],
                                ['Transfer-Encoding: gzip\r\n\r\n', 501]]) {
    const raw = new RawClient(held.server);
    await raw.connected;
    await raw.write(`POST /v1/presence/query HTTP/1.1\r\nHost: test\r\nOrigin: https://a.example\r\n${rest}`);
    const head = await raw.head();
    assert.match(head, new RegExp(`^HTTP/1\\.1 ${status} `));
    assert.match(head, /\r\nCache-Control: no-store\r\n/i);
    assert.match(head, /\r\nAccess-Control-Allow-Origin: https:\/\/a\.example\r\n/i, String(status));
    raw.destroy();
  }
});

describe('presence', () => {
  test('of one and of many, in order, duplicates once', async () => {
    const a = await attach(held.server, fresh());
    const never = fresh();
    assert.equal((await readPresence(held.server, a.user)).status, 'online');
    const before = Date.now();
    const many = await done(held.server, 'POST', '/v1/presence/query', { body: { users: [never, a.user, never] } });
    assert.deepEqual(many.users.map((one) => [one.userId, one.status]), [[never, 'offline'], [a.user, 'online']]);
    assert.ok(many.asOf >= before - 5);
  });

  test('up to 1,000 ids; above that limitExceeded', async () => {
    const users = Array.from({ length: 1000 }, (_, i) => `q${i}`);
    assert.equal((await done(held.server, 'POST', '/v1/presence/query', { body: { users } })).users.length, 1000);
    const answer = await rest('POST', '/v1/presence/query', { body: { users: [...users, 'one-more'] } });
    assertError(answer, 429, 'limitExceeded');
    assert.equal(answer.json.error.limit, 1000);
  });

  for (const body of [{}, { users: 'a' }, { users: [5] }, { users: [''] }, { users: null }, [], null, 'a', 5]) {
    test(`query refuses ${JSON.stringify(body)}`, async () => {
      assertError(await rest('POST', '/v1/presence/query', { body }), 400, 'badRequest');
    });
  }

  for (const raw of ['', '{', '{"users":[]} x', Buffer.from('{"users":["\xed\xa0\x80"]}', 'latin1'), Buffer.from([0x7b, 0xff, 0x7d]), '\ufeff{"users":["a"]}', '{"users":["\\ud800"]}', '{"users":["\\u0000"]}']) {
    test(`query refuses the text ${JSON.stringify(raw.toString())}`, async () => {
      assertError(await rest('POST', '/v1/presence/query', { raw }), 400, 'badRequest');
    });
  }

  test('an ETag is a hash of the bytes: 304 while they are the same', async () => {
    const a = await attach(held.server, fresh());
    const target = userPath(a.user, '/presence');
    const first = await rest('GET', target);
    assert.ok(first.headers.etag);
    assert.equal((await rest('GET', target, { headers: { 'if-none-match': first.headers.etag } })).status, 304);
    await a.ask({ type: 'status', status: 'busy' });
    const second = await rest('GET', target, { headers: { 'if-none-match': first.headers.etag } });
    assert.equal(second.status, 200);
    assert.notEqual(second.headers.etag, first.headers.etag);
  });

  test('FO-003 no call creates a session, an event or a last seen', async () => {
    const user = fresh();
    const w = await watcher(held.server, [user]);
    for (let i = 0; i < 3; ++i) {
      await done(held.server, 'GET', userPath(user, '/presence'), { as: user });
      await done(held.server, 'POST', '/v1/presence/query', { as: user, body: { users: [user, w.user] } });
      await done(held.server, 'PUT', userPath(user, '/status'), { as: user, body: { status: 'online', customStatus: { text: `n${i}` } } });
      await done(held.server, 'GET', userPath(user, '/privacy'), { as: user });
      await listSessions(held.server, user);
      await done(held.server, 'GET', userPath(user, `/explain?viewer=${w.user}`));
    }
    await delay(1300);
    assert.deepEqual(await listSessions(held.server, user), []);
    assert.deepEqual(w.told(user), []);
    const one = await readPresence(held.server, user);
    assert.equal(one.status, 'offline');
    assert.equal(one.lastSeen, undefined);
  });
});

describe('status', () => {
  test('PUT stores and shows, GET reads, DELETE goes back to auto', async () => {
    const user = fresh();
    const a = await attach(held.server, user);
    const w = await watcher(held.server, [user]);
    const expiresAt = Date.now() + 60_000;
    const put = await done(held.server, 'PUT', userPath(user, '/status'), { as: user, body: { status: 'dnd', expiresAt, customStatus: { text: 'T', emoji: '🎧' } } });
    assert.deepEqual(put, { status: 'dnd', expiresAt, customStatus: { text: 'T', emoji: '🎧' } });
    assert.deepEqual(await done(held.server, 'GET', userPath(user, '/status')), put);
    assert.equal((await w.sees(user, 'dnd')).customStatus.text, 'T');
    const kept = await done(held.server, 'PUT', userPath(user, '/status'), { body: { customStatus: null } });
    assert.deepEqual(kept, { status: 'dnd', expiresAt });
    assert.equal((await rest('DELETE', userPath(user, '/status'))).status, 204);
    await w.sees(user, 'online');
    assert.deepEqual(await done(held.server, 'GET', userPath(user, '/status')), { status: 'auto' });
    await a.bye();
  });

  test('a status of one who is away from all devices waits for the next one', async () => {
    const user = fresh();
    await done(held.server, 'PUT', userPath(user, '/status'), { body: { status: 'busy' } });
    assert.equal((await readPresence(held.server, user)).status, 'offline');
    await attach(held.server, user);
    assert.equal((await readPresence(held.server, user)).status, 'busy');
  });

  for (const body of [{}, { status: 'offline' }, { status: 5 }, { status: 'busy', expiresAt: 1 }, { status: 'busy', expiresInMs: 0 },
    { expiresInMs: 5000 }, { status: 'busy', scope: 'session' }, { customStatus: {} }, { customStatus: { text: 'x'.repeat(101) } }, [], null]) {
    test(`PUT status refuses ${JSON.stringify(body).slice(0, 60)}`, async () => {
      const user = fresh();
      const answer = await rest('PUT', userPath(user, '/status'), { body });
      assert.ok([400, 413, 429].includes(answer.status), answer.text);
      assert.deepEqual(await done(held.server, 'GET', userPath(user, '/status')), { status: 'auto' });
    });
  }

  test('FO-102 an expired status is shown by no read, though nobody was there', async () => {
    const user = fresh();
    await done(held.server, 'PUT', userPath(user, '/status'), { body: { status: 'busy', expiresInMs: 800, customStatus: { text: 'soon over', expiresInMs: 800 } } });
    await delay(900);
    assert.deepEqual(await done(held.server, 'GET', userPath(user, '/status')), { status: 'auto' });
    const a = await attach(held.server, user);
    const [mine] = (await a.ask({ type: 'get', users: [user] }, 'snapshot')).users;
    assert.equal(mine.status, 'online');
    assert.equal(mine.customStatus, undefined);
  });
});

describe('privacy, contacts, blocks', () => {
  test('privacy: what is not named stays; {} is refused', async () => {
    const user = fresh();
    assert.deepEqual(await done(held.server, 'GET', userPath(user, '/privacy'), { as: user }), { online: { mode: 'everyone' }, lastSeen: { mode: 'everyone' } });
    const put = await done(held.server, 'PUT', userPath(user, '/privacy'), { as: user, body: { online: { mode: 'only', users: ['z', 'a', 'z'] } } });
    assert.deepEqual(put, { online: { mode: 'only', users: ['a', 'z'] }, lastSeen: { mode: 'everyone' } });
    assert.deepEqual(await done(held.server, 'GET', userPath(user, '/privacy')), put);
    for (const body of [{}, { online: {} }, { online: { mode: 'all' } }, { online: { mode: 'only' } }, { lastSeen: null }, { online: { mode: 'only', users: [5] } }]) {
      assertError(await rest('PUT', userPath(user, '/privacy'), { body }), 400, 'badRequest');
    }
    assert.deepEqual(await done(held.server, 'GET', userPath(user, '/privacy')), put);
  });

  for (const list of ['contacts', 'blocks']) {
    test(`${list}: PUT replaces, POST adds and removes, GET reads`, async () => {
      const user = fresh();
      const target = userPath(user, `/${list}`);
      assert.deepEqual(await done(held.server, 'GET', target), { users: [] });
      assert.deepEqual(await done(held.server, 'PUT', target, { body: { users: ['c', 'a', 'c'] } }), { users: ['a', 'c'] });
      assert.deepEqual(await done(held.server, 'POST', target, { body: { add: ['b', 'a'], remove: ['c', 'never'] } }), { users: ['a', 'b'] });
      assert.deepEqual(await done(held.server, 'POST', target, { body: { remove: ['a'] } }), { users: ['b'] });
      assert.deepEqual(await done(held.server, 'GET', target), { users: ['b'] });
      for (const body of [{}, { add: 'a' }, { add: [5] }, { remove: [''] }, { add: null }]) assertError(await rest('POST', target, { body }), 400, 'badRequest');
      for (const body of [{}, { users: 'a' }, { users: [5] }, []]) assertError(await rest('PUT', target, { body }), 400, 'badRequest');
      assert.deepEqual(await done(held.server, 'GET', target), { users: ['b'] });
    });
  }
});

describe('sessions, revoke, erase', () => {
  test('the list tells device, activity, state and times', async () => {
    const user = fresh();
    const before = Date.now();
    const a = await attach(held.server, user, { hello: { device: { type: 'tablet', name: 'Küche' }, activity: 'idle' } });
    const b = await attach(held.server, user, { hello: { observe: true } });
    await a.ask({ type: 'status', status: 'busy', scope: 'session' });
    const [first, second] = await listSessions(held.server, user);
    assert.equal(first.sessionId, a.welcome.sessionId);
    assert.deepEqual(first.device, { type: 'tablet', name: 'Küche' });
    assert.deepEqual([first.status, first.activity, first.observing, first.state], ['busy', 'idle', false, 'live']);
    assert.ok(first.connectedAt >= before - 5 && first.connectedAt <= Date.now());
    assert.deepEqual([second.sessionId, second.observing], [b.welcome.sessionId, true]);
    assert.doesNotMatch(JSON.stringify([first, second]), new RegExp(a.welcome.resume.slice(0, 24).replace(/[.*+?^${}()|[\]\\]/g, '\\$&')), 'the secret of resume shows');
  });

  test('4403 kicked: ending one session leaves the others, without a grace', async () => {
    const user = fresh();
    const a = await attach(held.server, user);
    const b = await attach(held.server, user);
    const w = await watcher(held.server, [user]);
    assert.equal((await rest('DELETE', userPath(user, `/sessions/${a.welcome.sessionId}`))).status, 204);
    await a.closedWith(4403, 'kicked');
    await b.ask({ type: 'heartbeat' }, 'heartbeatAck');
    await w.hearsNothing(user, 200);
    const at = Date.now();
    await done(held.server, 'DELETE', userPath(user, `/sessions/${b.welcome.sessionId}`));
    await w.sees(user, 'offline');
    assert.ok(w.told(user).at(-1).receivedAt - at < grace - 100);
    assertError(await rest('DELETE', userPath(user, `/sessions/${b.welcome.sessionId}`)), 404, 'notFound');
    const back = await attach(held.server, user, { hello: { resume: b.welcome.resume } });
    assert.equal(back.welcome.resumed, false);
  });

  test('a session of another user is not found under this one', async () => {
    const a = await attach(held.server, fresh());
    assertError(await rest('DELETE', userPath(fresh(), `/sessions/${a.welcome.sessionId}`)), 404, 'notFound');
    await a.ask({ type: 'heartbeat' }, 'heartbeatAck');
  });

  test('4403 erased: sessions end, all that was stored is gone, also in the lists of others', async () => {
    const user = fresh();
    const friend = await attach(held.server, fresh());
    await done(held.server, 'PUT', userPath(friend.user, '/contacts'), { body: { users: [user] } });
    await done(held.server, 'PUT', userPath(friend.user, '/blocks'), { body: { users: ['other'] } });
    await done(held.server, 'PUT', userPath(user, '/contacts'), { body: { users: [friend.user] } });
    const a = await attach(held.server, user);
    await a.ask({ type: 'status', status: 'busy', customStatus: { text: 'x' } });
    await a.ask({ type: 'privacy', lastSeen: { mode: 'contacts' } }, 'privacy');
    await friend.watch([user]);
    assert.equal((await rest('DELETE', userPath(user, ''))).status, 204);
    await a.closedWith(4403, 'erased');
    await friend.sees(user, 'offline', 2500);
    assert.deepEqual(await listSessions(held.server, user), []);
    assert.deepEqual(await done(held.server, 'GET', userPath(user, '/status')), { status: 'auto' });
    assert.deepEqual((await done(held.server, 'GET', userPath(user, '/privacy'))).lastSeen, { mode: 'everyone' });
    assert.deepEqual(await done(held.server, 'GET', userPath(user, '/contacts')), { users: [] });
    assert.deepEqual(await done(held.server, 'GET', userPath(friend.user, '/contacts')), { users: [] });
    assert.equal((await readPresence(held.server, user)).lastSeen, undefined);
    assert.equal((await rest('DELETE', userPath(user, ''))).status, 204, 'again is fine');
    const again = await attach(held.server, user);
    assert.equal((await again.ask({ type: 'get', users: [user] }, 'snapshot')).users[0].status, 'online');
    await friend.sees(user, 'online');
  });

  for (const body of [{}, { before: 'now' }, { before: -1 }, { before: 1.5 }, { before: null }]) {
    test(`revoke refuses ${JSON.stringify(body)}`, async () => {
      assertError(await rest('POST', userPath(fresh(), '/revoke'), { body }), 400, 'badRequest');
    });
  }

  test('explain needs a viewer', async () => {
    assertError(await rest('GET', '/v1/users/a/explain'), 400, 'badRequest');
  });
});

describe('the service itself', () => {
  test('the contract is served as it lies in the project', async () => {
    const protocol = await rest('GET', '/v1/protocol.json', { anonymous: true });
    assert.deepEqual(protocol.json, JSON.parse(readFileSync(path.join(root, 'protocol/protocol.json'))));
    const yaml = await rest('GET', '/v1/openapi.yaml', { anonymous: true });
    assert.equal(yaml.text, readFileSync(path.join(root, 'api/openapi.yaml'), 'utf8'));
  });

  test('healthz, readyz, version need no credential', async () => {
    assert.deepEqual((await rest('GET', '/healthz', { anonymous: true })).json, { status: 'ok' });
    assert.equal((await rest('GET', '/readyz', { anonymous: true })).json.status, 'ready');
    assert.equal((await rest('GET', '/version', { anonymous: true })).json.name, 'presenced');
  });

  test('unknown paths and unknown methods are not found', async () => {
    for (const [method, target] of [['GET', '/v1/nothing'], ['GET', '/v1/users'], ['GET', '/v1/users/a/b/c'], ['GET', '/v1/users//presence'], ['DELETE', '/v1/presence/query'],
                                    ['PUT', '/v1/users/a/presence'], ['GET', '/v1'], ['PATCH', '/v1/users/a/status'], ['GET', '/v1/users/a/presence/']]) {
      const answer = await rest(method, target);
      assert.ok([400, 404].includes(answer.status), `${method} ${target}: ${answer.status}`);
      assert.ok(answer.json.error.code, answer.text);
    }
  });

  test('413: a body above 256 KiB, by its length and by its bytes', async () => {
    const answer = await rest('POST', '/v1/presence/query', { raw: JSON.stringify({ users: ['a'], x: 'x'.repeat(256 * 1024) }) });
    assertError(answer, 413, 'tooLarge');
    const raw = new RawClient(held.server);
    await raw.connected;
    await raw.write('POST /v1/presence/query HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer dev\r\nContent-Length: 99999999999\r\n\r\n');
    assert.match(await raw.head(), /^HTTP\/1\.1 413 /);
    raw.destroy();
  });

  test('429 rateLimited: a user that calls too often, not a back end', async () => {
    const { startServer } = await import('../lib/server.mjs');
    const server = await startServer({ set: { 'limits.rest_per_second': '5', 'limits.rest_burst': '10' } });
    try {
      const answers = [];
      for (let i = 0; i < 30; ++i) answers.push(await call(server, 'GET', '/v1/users/a/presence', { as: 'greedy' }));
      const refused = answers.filter((answer) => answer.status === 429);
      assert.ok(refused.length >= 10, `${refused.length}`);
      assertError(refused[0], 429, 'rateLimited');
      assert.ok(refused[0].json.error.retryAfterMs > 0 && Number(refused[0].headers['retry-after']) >= 1);
      assert.equal((await call(server, 'GET', '/v1/users/a/presence', { as: 'modest' })).status, 200);
      for (let i = 0; i < 30; ++i) assert.equal((await call(server, 'GET', '/v1/users/a/presence')).status, 200);
    } finally { await server.dispose(); }
  });

  test('FO-069 odd ids in paths are decoded once and never normalised', async () => {
    for (const user of ['a/b', '..', '.', 'a?b#c', 'a%2Fb', 'ü', 'a b', 'a:b', '*', '%', 'a+b', '😀', "a'\";--"]) {
      const a = await attach(held.server, user);
      const one = await readPresence(held.server, user);
      assert.equal(one.userId, user);
      assert.equal(one.status, 'online', user);
      await done(held.server, 'PUT', userPath(user, '/contacts'), { body: { users: [user] } });
      assert.deepEqual(await done(held.server, 'GET', userPath(user, '/contacts')), { users: [user] });
      await a.bye();
    }
    for (const target of ['/v1/users/%00/presence', '/v1/users/a%0Ab/presence', `/v1/users/${'x'.repeat(129)}/presence`, '/v1/users/%FF/presence', '/v1/users/%20/presence', '/v1/users/%E2%80%AE/presence', '/v1/users/%zz/presence', '/v1/users/a%/presence']) {
      assertError(await rest('GET', target), 400, 'badRequest');
    }
  });
});
