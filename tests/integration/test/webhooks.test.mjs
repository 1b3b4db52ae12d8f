// Webhooks: what is sent, signed how, in which order, and what becomes of failures and crashes.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { afterEach, describe, test } from 'node:test';
import { attach, endClients, fresh } from '../lib/client.mjs';
import { Postgres, hasPostgres } from '../lib/postgres.mjs';
import { Receiver, newSecret, verifies } from '../lib/receiver.mjs';
import { assertError, assertSchema, call, done, listSessions, userPath } from '../lib/rest.mjs';
import { delay, grace, run, startServer, until } from '../lib/server.mjs';

const servers = [];
const receivers = [];
const receiver = async (secret = newSecret()) => {
  const one = await new Receiver(secret).listen();
  receivers.push(one);
  return one;
};
const start = async (hook, { set = {}, ...options } = {}) => {
  const server = await startServer({ ...options, set: {
    'webhooks.url': hook.url, 'webhooks.secret': hook.secret, 'webhooks.allow_private': 'true', ...set } });
  servers.push(server);
  return server;
};
afterEach(async () => {
  endClients();
  for (const server of servers.splice(0)) await server.dispose();
  for (const one of receivers.splice(0)) await one.close();
});

describe('what is sent', () => {
  test('coming, changing and going, signed, in order, with the public view before and after', async () => {
    const hook = await receiver();
    const server = await start(hook);
    const a = await attach(server, fresh());
    await hook.types(a.user, 2);
    await delay(1100);
    await a.ask({ type: 'status', status: 'busy', customStatus: { text: 'Zug nach "Köln"\n', emoji: '🚆' } });
    await hook.types(a.user, 3);
    await delay(1100);
    const said = Date.now();
    a.send({ type: 'bye' });
    assert.deepEqual(await hook.types(a.user, 5),
                     ['presence.changed', 'user.online', 'presence.changed', 'presence.changed', 'user.offline']);
    hook.check();
    const events = hook.taken(a.user);
    for (const event of events) assertSchema('WebhookEvent', event);
    assert.deepEqual([events[0].before, events[0].after.status], [{ status: 'offline' }, 'online']);
    assert.equal(events[2].before.status, 'online');
    assert.equal(events[2].after.status, 'busy');
    assert.deepEqual(events[2].after.customStatus, { text: 'Zug nach "Köln"\n', emoji: '🚆' });
    assert.ok(Math.abs(events[4].lastSeenAt - said) < 1000);
    const versions = events.map((event) => event.version);
    assert.deepEqual(versions, [...versions].sort((x, y) => x - y));
    assert.equal(new Set(events.map((event) => event.id)).size, 5);
  });

  test('FO-047 of one who is invisible nothing is sent after the first offline, and the word is never said', async () => {
    const hook = await receiver();
    const server = await start(hook);
    const a = await attach(server, fresh());
    await hook.types(a.user, 2);
    await delay(1100);
    await a.ask({ type: 'status', status: 'invisible' });
    await hook.types(a.user, 4);
    await a.ask({ type: 'status', customStatus: { text: 'hidden' } });
    await a.ask({ type: 'activity', state: 'idle' });
    a.send({ type: 'bye' });
    const hidden = await attach(server, fresh());
    await hidden.ask({ type: 'status', status: 'invisible' });
    await delay(2500);
    assert.deepEqual(hook.taken(a.user).map((event) => event.type).slice(2), ['presence.changed', 'user.offline']);
    assert.ok(hook.calls.every((one) => !/invisible|hidden/.test(one.body)));
  });

  test('FO-110 every way out gives exactly one offline, and leaves each room once', async () => {
    const hook = await receiver();
    const server = await start(hook);
    const ways = {
      bye: async (one) => one.send({ type: 'bye' }),
      close: async (one) => one.socket.close(1000),
      reset: async (one) => one.socket.terminate(),
      silence: async (one) => one.goSilent(),
      kick: async (one) => done(server, 'DELETE', userPath(one.user, `/sessions/${(await listSessions(server, one.user))[0].sessionId}`)),
      revoke: async (one) => done(server, 'POST', userPath(one.user, '/revoke'), { body: { before: Date.now() + 1000 } }),
      erase: async (one) => done(server, 'DELETE', userPath(one.user, '')),
    };
    const people = await Promise.all(Object.keys(ways).map(async (way) => [way, await attach(server, fresh(way))]));
    for (const [, one] of people) await hook.types(one.user, 2);
    for (const [way, one] of people) await one.ask({ type: 'join', room: `room ${way}` }, 'room');
    for (const [, one] of people) await hook.types(one.user, 3);  // What waits of one who is erased is not sent.
    for (const [way, one] of people) await ways[way](one);
    await delay(6500);
    for (const [way, one] of people) {
      const types = hook.taken(one.user).filter((event) => event.room === undefined).map((event) => event.type);
      assert.deepEqual(types, ['presence.changed', 'user.online', 'presence.changed', 'user.offline'], way);
      assert.deepEqual(hook.taken().filter((event) => event.room === `room ${way}`).map((event) => event.type),
                       ['room.occupied', 'room.joined', 'room.left', 'room.vacated'], way);
    }
  });

  test('FO-112 a reload within the grace sends nothing, a return after it one clean pair', async () => {
    const hook = await receiver();
    const server = await start(hook);
    let a = await attach(server, fresh());
    await hook.types(a.user, 2);
    for (let i = 0; i < 8; ++i) {
      a.socket.terminate();
      await delay(grace * 0.4);
      a = await attach(server, a.user, { hello: { resume: a.welcome.resume } });
    }
    await delay(1500);
    assert.equal(hook.taken(a.user).length, 2);
    a.socket.terminate();
    await delay(grace + 1500);
    await attach(server, a.user);
    assert.deepEqual((await hook.types(a.user, 6)).filter((type) => type.startsWith('user.')), ['user.online', 'user.offline', 'user.online']);
  });
});

describe('failures', () => {
  test('FO-111 a try again has the same ids and bytes and a fresh signature; by then both secrets sign', async () => {
    const hook = await receiver();
    const answers = [500, 503, 200];
    hook.answer = () => answers.shift() ?? 200;
    const second = newSecret();
    const server = await start(hook, { set: { 'webhooks.secret': `${second},${hook.secret}` } });
    const a = await attach(server, fresh());
    await until(() => hook.taken(a.user).length === 2, 'the third try', 15_000);
    const tries = hook.calls.slice(0, 3);
    assert.equal(new Set(tries.map((one) => one.id)).size, 1);
    assert.equal(new Set(tries.map((one) => one.body)).size, 1);
    for (const one of tries) {
      assert.ok(verifies(one, hook.secret) && verifies(one, second));
      assert.equal(one.signature.split(' ').length, 2);
      const old = { ...one, timestamp: String(Number(one.timestamp) - 600) };
      assert.ok(!verifies(old, second), 'the time is not signed');
    }
    const metrics = async () => (await call(server, 'GET', '/metrics', { anonymous: true })).text;
    await until(async () => (await metrics()).includes('presenced_webhook_calls_total{outcome="delivered"} 1\n'), 'the delivery to be counted');
    const page = await metrics();
    for (const [outcome, count] of [['delivered', 1], ['refused', 2], ['gone', 0], ['unanswered', 0]]) {
      assert.match(page, new RegExp(`^presenced_webhook_calls_total\\{outcome="${outcome}"\\} ${count}$`, 'm'));
    }
  });

  test('a failed delivery holds back only the users in it', async () => {
    const hook = await receiver();
    const bad = fresh('bad');
    let failing = true;
    hook.answer = (one) => (failing && one.body.includes(bad) ? 500 : 200);
    const server = await start(hook);
    const b = await attach(server, bad);
    await until(() => hook.calls.length >= 1, 'the first try');
    const others = await Promise.all(Array.from({ length: 5 }, () => attach(server, fresh())));
    for (const one of others) await hook.types(one.user, 2);
    await delay(1100);
    b.send({ type: 'bye' });
    await delay(1500);
    assert.equal(hook.taken(bad).length, 0);
    failing = false;
    assert.deepEqual(await hook.types(bad, 4, 40_000), ['presence.changed', 'user.online', 'presence.changed', 'user.offline']);
  });

  test('redirects are not followed, long answers are cut, slow ones given up, and all is tried again', async () => {
    const hook = await receiver();
    let redirected = 0;
    const elsewhere = http.createServer((request, response) => { ++redirected; response.end(); });
    await new Promise((resolve) => { elsewhere.listen(0, '127.0.0.1', resolve); });
    const answers = [
      { status: 302, headers: { location: `http://127.0.0.1:${elsewhere.address().port}/` } },
      { status: 200, body: 'x'.repeat(5_000_000) },
    ];
    hook.answer = () => answers.shift() ?? 200;
    const server = await start(hook);
    const a = await attach(server, fresh());
    await until(() => hook.taken(a.user).length === 2, 'the second try', 15_000);
    assert.equal(redirected, 0);
    assert.equal(hook.calls.length, 2);
    elsewhere.close();
  });

  test('410 stops the receiver; a reload starts it again', async () => {
    const hook = await receiver();
    hook.answer = () => 410;
    const config = path.join('/tmp', `presenced-hooks-${process.pid}.toml`);
    writeFileSync(config, `[webhooks]\nurl = "${hook.url}"\nsecret = "${hook.secret}"\nallow_private = true\n`);
    const server = await startServer({ config });
    servers.push(server);
    await attach(server, fresh());
    await until(() => hook.calls.length === 1, 'the first call');
    await until(async () => (await done(server, 'GET', '/v1/webhooks')).receivers[0].stopped, 'the stop');
    hook.answer = () => 200;
    await attach(server, fresh());
    await delay(1500);
    assert.equal(hook.calls.length, 1);
    server.signal('SIGHUP');
    await until(async () => !(await done(server, 'GET', '/v1/webhooks')).receivers[0].stopped, 'the reload');
    await delay(300);
    const late = await attach(server, fresh());
    assert.deepEqual(await hook.types(late.user, 2), ['presence.changed', 'user.online']);
  });
});

describe('crashes', () => {
  const crash = async (set) => {
    const hook = await receiver();
    let up = false;
    hook.answer = () => (up ? 200 : 503);
    let server = await start(hook, { set });
    const people = await Promise.all(Array.from({ length: 30 }, () => attach(server, fresh(), { beat: false })));
    for (const one of people) one.send({ type: 'bye' });
    await delay(1500);
    await server.kill();
    const before = hook.calls.length;
    assert.ok(before > 0);
    const tried = new Set(hook.calls.map((one) => `${one.id} ${one.body}`));
    up = true;
    server = await start(hook, { set, dataDir: server.dataDir });
    for (const one of people) {
      const types = await hook.types(one.user, 4, 30_000);
      assert.deepEqual(types, ['presence.changed', 'user.online', 'presence.changed', 'user.offline'], one.user);
    }
    const again = hook.calls.slice(before).filter((one) => tried.has(`${one.id} ${one.body}`));
    assert.ok(again.length > 0, 'no batch came again as it was');
    hook.check();
  };

  test('FO-113 kill -9 between the outbox and the delivery: all comes, in order, batches as they were (SQLite)', async () => {
    await crash({});
  });

  test('FO-113 the same with PostgreSQL', { skip: !hasPostgres && 'no PostgreSQL here' }, async () => {
    const postgres = await Postgres.create();
    await postgres.start();
    try { await crash({ 'database.url': postgres.url }); } finally { await postgres.dispose(); }
  });

  test('FO-113 events of a killed node are sent by another', { skip: !hasPostgres && 'no PostgreSQL here' }, async () => {
    const postgres = await Postgres.create();
    await postgres.start();
    try {
      const hook = await receiver();
      let up = false;
      hook.answer = () => (up ? 200 : 503);
      const one = await start(hook, { set: { 'database.url': postgres.url } });
      const two = await start(hook, { set: { 'database.url': postgres.url } });
      const a = await attach(one, fresh());
      await until(() => hook.calls.length > 0, 'a try');
      await one.kill();
      up = true;
      assert.deepEqual(await hook.types(a.user, 2, 30_000), ['presence.changed', 'user.online']);
      assert.equal((await done(two, 'GET', '/v1/webhooks')).waiting, 0);
    } finally { await postgres.dispose(); }
  });
});

describe('where they may go', () => {
  test('a loopback receiver is not called unless that is allowed, by name or by number', async () => {
    const hook = await receiver();
    for (const host of ['127.0.0.1', 'localhost', '[::ffff:127.0.0.1]', '0.0.0.0']) {
      const server = await start(hook, { set: {
        'webhooks.url': `http://${host}:${hook.port}/`, 'webhooks.http_hosts': host, 'webhooks.allow_private': 'false' } });
      const [result] = (await done(server, 'POST', '/v1/webhooks/test')).results;
      assert.equal(result.delivered, false);
      assert.match(result.error, /open internet/, host);
      await server.dispose();
    }
    assert.equal(hook.calls.length, 0);
  });

  test('plain http, no secret, a bad secret and too many of them are refused at the start', async () => {
    const refused = async (...sets) => {
      const { code, stderr } = await run(['check', '--dev', ...sets.flatMap((set) => ['--set', set])]);
      assert.notEqual(code, 0);
      return stderr;
    };
    const secret = `webhooks.secret=${newSecret()}`;
    assert.match(await refused('webhooks.url=http://example.org/', secret), /webhooks\.url.*http_hosts/);
    assert.match(await refused('webhooks.url=https://example.org/'), /webhooks\.secret is empty/);
    assert.match(await refused('webhooks.url=https://example.org/', 'webhooks.secret=hunter2hunter2'), /webhooks\.secret/);
    assert.doesNotMatch(await refused('webhooks.url=https://example.org/', 'webhooks.secret=hunter2hunter2'), /hunter2/);
    assert.match(await refused('webhooks.url=https://example.org/', `webhooks.secret=${newSecret()},${newSecret()},${newSecret()}`), /most is 2/);
  });
});

describe('REST', () => {
  test('a test call tells what came of it; users may not ask', async () => {
    const hook = await receiver();
    const server = await start(hook);
    assert.deepEqual((await done(server, 'POST', '/v1/webhooks/test')).results, [{ url: hook.url, delivered: true, status: 200 }]);
    assert.equal(hook.calls[0].events[0].type, 'test');
    hook.check();
    hook.answer = () => 404;
    assert.deepEqual((await done(server, 'POST', '/v1/webhooks/test')).results,
                     [{ url: hook.url, delivered: false, status: 404, error: 'it answered 404' }]);
    const facts = await done(server, 'GET', '/v1/webhooks');
    assert.equal(facts.receivers[0].url, hook.url);
    assert.deepEqual((await done(server, 'GET', '/v1/webhooks/dead-letters')).deadLetters, []);
    for (const [method, target] of [['GET', '/v1/webhooks'], ['GET', '/v1/webhooks/dead-letters'], ['POST', '/v1/webhooks/test']]) {
      assertError(await call(server, method, target, { as: 'somebody' }), 403, 'forbidden');
      assertError(await call(server, method, target, { anonymous: true }), 401, 'unauthorized');
    }
  });
});
