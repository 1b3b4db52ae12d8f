// JSON and ids that break servers: each must get a clean answer, and nobody else may notice.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Client, attach, endClients, fresh, watcher } from '../lib/client.mjs';
import { assertError, call, done, readPresence, userPath } from '../lib/rest.mjs';
import { delay, startServer } from '../lib/server.mjs';
import { withServer } from '../lib/suite.mjs';
import { tokenFor } from '../lib/tokens.mjs';

const held = withServer({ set: {
  'limits.messages_per_second': '100000', 'limits.messages_burst': '100000',
  'limits.signals_per_second': '100000', 'limits.signals_burst': '100000',
} });

/** Sends text that must be answered with badRequest, and a connection that goes on. */
async function isBad(client, raw) {
  const from = client.received.length;
  client.sendRaw(raw);
  const answer = await client.when(() => client.received.slice(from).map((r) => r.message).find((m) => m.type !== 'update'), `an answer to ${raw.slice(0, 80)}`);
  assert.equal(answer.type, 'error', `${raw.slice(0, 100)} gave ${JSON.stringify(answer).slice(0, 200)}`);
  assert.ok(['badRequest', 'limitExceeded', 'tooLarge'].includes(answer.code), JSON.stringify(answer));
  return answer;
}

const deep = {
  'arrays closed': (n) => '['.repeat(n) + ']'.repeat(n), 'arrays unclosed': (n) => '['.repeat(n),
  'objects closed': (n) => '{"a":'.repeat(n) + '1' + '}'.repeat(n), 'by turns': (n) => '[{"a":'.repeat(n) + '1' + '}]'.repeat(n),
};

describe('FO-065 deep nesting', () => {
  for (const [what, make] of Object.entries(deep)) {
    test(`FO-065 ${what}: refused, alone and inside an unknown field; the connection goes on`, async () => {
      const client = await attach(held.server, fresh());
      for (const n of [100, 1200, 3000, 15_000]) {
        await isBad(client, make(n));
        if (!what.includes('unclosed')) await isBad(client, `{"type":"heartbeat","x":${make(n)}}`);
      }
      if (what.startsWith('arrays')) await isBad(client, make(60_000));
      await client.ask({ type: 'heartbeat' }, 'heartbeatAck');
    });

    test(`FO-065 ${what}: before hello, 4400`, async () => {
      const client = new Client(held.server);
      await client.opened;
      client.sendRaw(make(1200));
      await client.closedWith(4400);
    });

    test(`FO-065 ${what}: by every REST body`, async () => {
      for (const [method, target] of [['POST', '/v1/presence/query'], ['PUT', '/v1/users/a/status'], ['PUT', '/v1/users/a/privacy'], ['PUT', '/v1/users/a/contacts'], ['POST', '/v1/users/a/contacts'], ['PUT', '/v1/users/a/blocks'], ['POST', '/v1/users/a/blocks'], ['POST', '/v1/users/a/revoke']]) {
        assertError(await call(held.server, method, target, { raw: make(15_000) }), 400, 'badRequest');
        assertError(await call(held.server, method, target, { raw: `{"users":["a"],"status":"busy","before":0,"x":${make(3000)}}` }), 400, 'badRequest');
      }
    });
  }

  test('FO-065 thirty levels are fine', async () => {
    const client = await attach(held.server, fresh());
    const ack = client.next((m) => m.id === 5);
    client.sendRaw(`{"type":"heartbeat","id":5,"x":${deep['arrays closed'](28)}}`);
    assert.equal((await ack).type, 'heartbeatAck');
  });
});

describe('FO-066 valid JSON of the wrong kind', () => {
  test('FO-066 texts that are no message', async () => {
    const client = await attach(held.server, fresh());
    for (const raw of ['null', 'true', '1', '-0', '1e999', '"x"', '[]', '{}', '[[]]', '{"type":null}', '{"type":[]}', '{"type":5}', '{"type":{}}', '{"type":"watch"}', '', ' ', '{', '}', '{"type":"heartbeat"',
      '{"type":"heartbeat"}}', '{"type":"heartbeat"} {}', "{'type':'heartbeat'}", '{type:"heartbeat"}', '{"type":"heartbeat",}', '\ufeff{"type":"heartbeat"}', '{"type":"heart\u0000beat"}', '{"type":"heartbeat","x":"\n"}',
      '{"type":"heartbeat","idleMs":01}', '{"type":"heartbeat","idleMs":.5}', '{"type":"heartbeat","idleMs":NaN}', '{"type":"heartbeat","x":"\\x"}', '{"type":"heartbeat","x":"\\u12"}', '// {}', '{"type":"heartbeat","idleMs":1e400}']) {
      await isBad(client, raw);
    }
    await client.ask({ type: 'heartbeat' }, 'heartbeatAck');
  });

  test('FO-066 doubled and odd keys crash nothing', async () => {
    const client = await attach(held.server, fresh());
    for (const raw of ['{"type":"heartbeat","type":"bye2","id":1}', '{"id":1,"id":2,"type":"heartbeat"}', '{"":1,"type":"heartbeat","id":3}', '{"__proto__":{"type":"x"},"type":"heartbeat","id":4}', '{"type":"heartbeat","\\u0000":1,"id":5}']) {
      const from = client.received.length;
      client.sendRaw(raw);
      await client.when(() => client.received.length > from, `an answer to ${raw}`);
    }
    await client.ask({ type: 'heartbeat' }, 'heartbeatAck');
  });

  const odd = [null, true, false, 0, -1, 1.5, 1e300, '', 'x', '\u0000', [], [null], [[]], {}, { a: 1 }, [1, 'a', {}], 'y'.repeat(3000)];
  // A right message of each type, and its fields with the values that are right by chance.
  const requests = {
    heartbeat: [{}, { idleMs: [0] }], activity: [{ state: 'active' }, { state: [] }],
    status: [{ status: 'busy', scope: 'user', expiresInMs: 60000, customStatus: { text: 'a', emoji: 'b', expiresInMs: 60000 } }, { status: [], scope: [], expiresInMs: [], customStatus: [null] }],
    watch: [{ users: ['a'], mode: 'add', known: { a: 1 } }, { users: [], mode: [], known: [{}, { a: 1 }] }], unwatch: [{ users: ['a'] }, { users: [[]] }],
    get: [{ users: ['a'] }, { users: [] }], signal: [{ to: { userId: 'a' }, kind: 'k', active: true, data: 1 }, { to: [], kind: ['x'], active: [true, false], data: odd }],
    privacy: [{ online: { mode: 'everyone' }, lastSeen: { mode: 'nobody' } }, { online: [], lastSeen: [] }],
    block: [{ users: ['m'] }, { users: [[]] }], unblock: [{ users: ['m'] }, { users: [[]] }], delivery: [{ mode: 'live' }, { mode: [] }],
    join: [{ room: 'r', meta: { a: 1 }, observe: true, updates: false }, { room: ['x'], meta: [{}, { a: 1 }], observe: [true, false], updates: [true, false] }],
    leave: [{ room: 'r' }, { room: ['x'] }],
  };
  for (const [type, [right, allowed]] of Object.entries(requests)) {
    test(`FO-066 ${type}: each field replaced by each kind of value is refused whole`, async () => {
      const client = await attach(held.server, fresh());
      for (const field of Object.keys({ ...right, ...allowed })) {
        for (const value of odd) {
          if (allowed[field].some((fine) => JSON.stringify(fine) === JSON.stringify(value))) continue;
          const answer = await isBad(client, JSON.stringify({ type, ...right, [field]: value, id: 9 }));
          assert.equal(answer.id, 9);
          assert.ok(answer.message.includes(field), `"${answer.message}" does not name ${field}`);
          assert.ok(!answer.message.includes('yyyyyyyy'), 'input is repeated');
        }
      }
      const [mine] = (await client.ask({ type: 'get', users: [client.user] }, 'snapshot')).users;
      assert.equal(mine.status, 'online', 'a refused request was half applied');
      assert.deepEqual(await done(held.server, 'GET', userPath(client.user, '/status')), { status: 'auto' });
      assert.deepEqual(await done(held.server, 'GET', userPath(client.user, '/blocks')), { users: [] });
      assert.equal((await done(held.server, 'GET', userPath(client.user, '/privacy'))).lastSeen.mode, 'everyone');
      assert.equal((await done(held.server, 'GET', '/v1/rooms/r')).count, 0);
    });
  }

  test('FO-066 a list of 10,000 empties is refused and costs nothing', async () => {
    const client = await attach(held.server, fresh());
    await isBad(client, JSON.stringify({ type: 'watch', users: Array(10_000).fill('') }));
    await isBad(client, JSON.stringify({ type: 'watch', users: Array(10_000).fill(null) }));
  });

  test('FO-066 4429 too_many_messages: a client that goes on making mistakes is closed', async () => {
    const server = await startServer({ set: { 'limits.errors_per_second': '1', 'limits.errors_burst': '50' } });
    try {
      const client = await attach(server, fresh());
      for (let i = 0; i < 200 && !client.ended; ++i) { client.sendRaw('null'); await delay(2); }
      await client.closedWith(4429, 'too_many_messages');
      assert.ok(client.received.filter((r) => r.message.type === 'error').length >= 49);
    } finally { endClients(); await server.dispose(); }
  });
});

describe('FO-067 FO-068 strings', () => {
  for (const text of ['\\ud83d', '\\ude00\\ud83d', 'a\\udc49b', '\\ud83d\\u0041', '\\u0000', '\\u0000a', 'a\\u0000', 'a\\u0000b']) {
    test(`FO-067 FO-068 "${text}" is refused at each door`, async () => {
      const client = await attach(held.server, fresh());
      for (const raw of [`{"type":"status","customStatus":{"text":"${text}"}}`, `{"type":"status","customStatus":{"emoji":"${text}"}}`, `{"type":"watch","users":["${text}"]}`,
        `{"type":"get","users":["${text}"]}`, `{"type":"block","users":["${text}"]}`, `{"type":"privacy","online":{"mode":"only","users":["${text}"]}}`,
        `{"type":"signal","to":{"userId":"${text}"},"kind":"k","active":true}`, `{"type":"signal","to":{"userId":"a"},"kind":"${text}","active":true}`]) await isBad(client, raw);
      const hello = new Client(held.server);
      await hello.opened;
      hello.sendRaw(`{"type":"hello","token":"${tokenFor(fresh())}","device":{"type":"web","name":"${text}"}}`);
      await hello.closedWith(4400);
      for (const [method, rest, raw] of [['PUT', '/status', `{"customStatus":{"text":"${text}"}}`], ['PUT', '/contacts', `{"users":["${text}"]}`], ['POST', '/blocks', `{"add":["${text}"]}`], ['PUT', '/privacy', `{"online":{"mode":"only","users":["${text}"]}}`]]) {
        assertError(await call(held.server, method, userPath(client.user, rest), { raw }), 400, 'badRequest');
      }
      assert.equal((await readPresence(held.server, client.user)).customStatus, undefined);
    });
  }

  test('FO-067 a pair given as escapes is one character', async () => {
    const client = await attach(held.server, fresh());
    const ack = client.next('ack');
    client.sendRaw('{"type":"status","id":1,"customStatus":{"text":"\\ud83d\\ude00"}}');
    await ack;
    assert.equal((await readPresence(held.server, client.user)).customStatus.text, '😀');
  });

  test('FO-068 a refused string leaves the writes of others alone', async () => {
    const good = await attach(held.server, fresh());
    const bad = await attach(held.server, fresh());
    await Promise.all(Array.from({ length: 20 }, async (_, i) => {
      await isBad(bad, '{"type":"status","customStatus":{"text":"\\u0000"}}').catch(() => {});
      await good.ask({ type: 'status', customStatus: { text: `n${i}` } });
    }));
    assert.match((await done(held.server, 'GET', userPath(good.user, '/status'))).customStatus.text, /^n\d+$/);
  });
});

describe('ids', () => {
  test('FO-069 separators inside ids: pairs never affect each other', async () => {
    const pairs = [['a:b', 'a'], ['r:members', 'r'], ['p{1}', 'p'], ['a,b', 'b'], ['x\u2028', 'x'], ['user/1', 'user'], ['a|b', 'a b']];
    for (const [one, other] of pairs) {
      const a = await attach(held.server, one, { hello: { device: { type: 'web', name: 'b:c' } } });
      const w = await watcher(held.server, [one, other]);
      assert.deepEqual([w.state.get(one).status, w.state.get(other).status], ['online', 'offline'], one);
      const b = await attach(held.server, other);
      await w.sees(other, 'online');
      await a.bye();
      await w.sees(one, 'offline');
      assert.equal(w.state.get(other).status, 'online', other);
      await b.bye();
    }
  });

  test('FO-069 ids like internal names are ordinary people', async () => {
    for (const id of ['beats', 'room', 'device', '_', 'user', 'constructor', '__proto__', 'toString', 'null', 'undefined', 'true', 'SELECT', "'; DROP TABLE profiles; --", 'key with space', '{p001}', '$1', '%s%n', '<script>', '${x}']) {
      const a = await attach(held.server, id);
      const w = await watcher(held.server, [id]);
      assert.equal(w.state.get(id).status, 'online', id);
      await a.ask({ type: 'status', customStatus: { text: id } });
      assert.equal((await w.sees(id, (one) => one.customStatus)).customStatus.text, id);
      await a.ask({ type: 'status', customStatus: null });
      await a.bye();
    }
  });

  test('FO-069 128 bytes fit, 129 do not; control and direction characters and blanks are refused', async () => {
    const w = await attach(held.server, fresh());
    const fits = ['x'.repeat(128), 'ü'.repeat(64), '😀'.repeat(32), 'a\u200db', 'a\u00a0b', ' a', 'a '];
    assert.deepEqual((await w.watch(fits)).users.map((one) => one.userId), fits);
    for (const id of ['x'.repeat(129), 'ü'.repeat(65), 'x'.repeat(100_000), 'a\tb', 'a\rb', 'a\nb', 'a\u001bb', 'a\u007fb', 'a\u0085b', 'a\u009fb', '\u200e', 'a\u200fb', 'a\u202ab', 'a\u202eb', 'a\u2066b', 'a\u2069b', '', ' ', '   ', '\u00a0', '\u200b', '\u3000\u2003']) {
      await w.refused({ type: 'watch', users: ['good', id] });
    }
    await w.refused({ type: 'get', users: ['a\r\nDEL x'] });
  });

  test('FO-070 stars and brackets are letters', async () => {
    const people = {};
    for (const id of ['*', 'u*', 'u?', '[a-z]', '\\*', 'u1', 'u2', '%', '_']) people[id] = await attach(held.server, id);
    for (const id of Object.keys(people)) await people[id].ask({ type: 'privacy', online: { mode: id === '*' ? 'everyone' : 'nobody' } }, 'privacy');
    const w = await watcher(held.server, Object.keys(people), {});
    for (const id of Object.keys(people)) assert.equal(w.state.get(id).status, id === '*' ? 'online' : 'offline', id);
    const from = w.received.length;
    await delay(1100);
    for (const id of ['u1', 'u2', '*']) await people[id].ask({ type: 'status', status: 'busy' });
    await w.sees('*', 'busy');
    await delay(300);
    assert.deepEqual(w.received.slice(from).flatMap((r) => r.message.users.map((one) => one.userId)), ['*']);
    for (const one of Object.values(people)) await one.ask({ type: 'privacy', online: { mode: 'everyone' } }, 'privacy');
  });

  test('FO-071 lookalikes are different people, byte for byte', async () => {
    const pairs = [['user', 'us\u0435r'], ['j\u00fcrgen', 'ju\u0308rgen'], ['\u212a', 'k'], ['K', 'k'], ['\uff41bc', 'abc'], ['a\u200db', 'ab'], ['trailing', 'trailing '], ['Upper', 'upper'], ['\u00df', 'ss']];
    for (const [shown, hidden] of pairs) {
      const a = await attach(held.server, shown);
      const b = await attach(held.server, hidden);
      await b.ask({ type: 'privacy', online: { mode: 'nobody' } }, 'privacy');
      const w = await watcher(held.server, [shown, hidden]);
      assert.deepEqual([w.state.get(shown).status, w.state.get(hidden).status], ['online', 'offline'], `${shown} ${hidden}`);
      await b.ask({ type: 'privacy', online: { mode: 'everyone' } }, 'privacy');
      await a.bye();
      await b.bye();
    }
  });

  test('FO-073 long digits are text and come back as they were; numbers are refused', async () => {
    const w = await attach(held.server, fresh());
    const ids = ['9007199254740993', '9223372036854775808', '007', '7', '1e3', '-0'];
    const seven = await attach(held.server, '7');
    const snapshot = await w.watch(ids);
    assert.deepEqual(snapshot.users.map((one) => one.userId), ids);
    assert.deepEqual(snapshot.users.map((one) => one.status), ['offline', 'offline', 'offline', 'online', 'offline', 'offline']);
    for (const raw of ['9007199254740993', '7', '7.0', '1e3', '-0']) {
      const answer = await isBad(w, `{"type":"watch","users":[${raw}]}`);
      assert.match(answer.message, /users/);
    }
    assert.equal((await seven.ask({ type: 'get', users: ['7'] }, 'snapshot')).users[0].userId, '7');
  });

  test('FO-017 times that clients send are neither believed nor stored', async () => {
    const user = fresh();
    const a = new Client(held.server);
    await a.hello({ token: tokenFor(user), time: Date.now() + 3_600_000, lastSeen: 5, at: 12, serverTime: 1 });
    a.send({ type: 'heartbeat', at: Date.now() - 7_200_000, timestamp: 4e12 });
    await a.ask({ type: 'activity', state: 'active', at: 4e12 });
    await delay(200);
    const before = Date.now();
    await a.bye();
    const { at } = (await readPresence(held.server, user)).lastSeen;
    assert.ok(at >= before - 5 && at <= Date.now());
  });
});
