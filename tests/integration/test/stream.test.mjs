// GET /v1/stream with curl and Node's HTTP as clients; a browser's EventSource is in tests/browser.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { afterEach, describe, test } from 'node:test';
import { attach, fresh } from '../lib/client.mjs';
import { breachesOf } from '../lib/contract.mjs';
import { assertError, call, done, readPresence, userPath } from '../lib/rest.mjs';
import { EventStream, endStreams, openStream } from '../lib/stream.mjs';
import { startServer, until } from '../lib/server.mjs';
import { withServer } from '../lib/suite.mjs';
import { nowSeconds, tokenFor } from '../lib/tokens.mjs';

const held = withServer();
afterEach(endStreams);
const stats = async (server = held.server) => (await done(server, 'GET', '/v1/stats')).connections;
const urlOf = (...users) => `/v1/stream?users=${users.map(encodeURIComponent).join(',')}`;

describe('a stream', () => {
  test('begins with a snapshot, goes on with updates, and holds the contract', async () => {
    const [a, b] = [fresh(), fresh()];
    const stream = await openStream(held.server, urlOf(a, b), { as: fresh() });
    assert.equal(stream.status, 200);
    assert.equal(stream.headers['content-type'], 'text/event-stream');
    assert.equal(stream.headers['cache-control'], 'no-store');
    assert.equal(stream.headers['x-accel-buffering'], 'no');
    assert.deepEqual(stream.events.map(({ event, id }) => [event, id]), [['snapshot', '1']]);
    assert.deepEqual(stream.events[0].data.users, [a, b].map((userId) => ({ userId, status: 'offline', version: 0 })));
    const client = await attach(held.server, b, { hello: { device: { type: 'mobile' } } });
    await stream.sees(b, 'online');
    await client.ask({ type: 'status', status: 'dnd', customStatus: { text: 'line\nbreak\r\n\u2028' } });
    const told = await stream.sees(b, 'dnd');
    assert.equal(told.customStatus.text, 'line\nbreak\r\n\u2028');
    await client.bye();
    await stream.sees(b, 'offline');
    assert.deepEqual(stream.events.map(({ id }) => Number(id)), stream.events.map((_, i) => i + 1));
    assert.deepEqual(stream.events.slice(1).map(({ event }) => event), stream.events.slice(1).map(() => 'update'));
    for (const { data } of stream.events) assert.deepEqual(breachesOf(data), []);
    assert.equal(stream.last(a).status, 'offline');
  });

  test('by curl, as it comes', async () => {
    const [viewer, user] = [fresh(), fresh()];
    const curl = spawn('curl', ['-sN', '--max-time', '20', '-H', `Authorization: Bearer ${tokenFor(viewer)}`,
                                `${held.server.httpUrl}${urlOf(user)}`], { stdio: ['ignore', 'pipe', 'inherit'] });
    let text = '';
    curl.stdout.on('data', (part) => { text += part; });
    await until(() => text.includes('event: snapshot\n'), 'the snapshot');
    await attach(held.server, user);
    await until(() => /event: update\nid: 2\ndata: .*"status":"online"/.test(text), 'the update');
    curl.kill();
  });

  test('FO-003 makes nobody present, and ends with its client', async () => {
    const [viewer, user] = [fresh(), fresh()];
    await until(async () => (await stats()).stream === 0, 'earlier streams to be gone');
    const before = 0;
    const stream = await openStream(held.server, urlOf(user), { as: viewer });
    assert.equal((await readPresence(held.server, viewer)).status, 'offline');
    assert.equal((await stats()).stream, before + 1);
    stream.close();
    await until(async () => (await stats()).stream === before, 'the stream to be gone');
  });

  test('Last-Event-ID is gone on from, and the snapshot comes all the same', async () => {
    const user = fresh();
    const stream = await openStream(held.server, urlOf(user), { as: fresh(), headers: { 'last-event-id': '7' } });
    assert.deepEqual(stream.events.map(({ event, id }) => [event, id]), [['snapshot', '8']]);
    assert.equal(stream.last(user).userId, user);
  });

  test('a comment comes at least every 15 s', { timeout: 60_000 }, async () => {
    const stream = await openStream(held.server, urlOf(fresh()), { as: fresh() });
    const begun = Date.now();
    await stream.when(() => stream.comments.length >= 2, 'two comments', 31_000);
    const times = [begun, ...stream.comments.map(({ at }) => at)];
    for (let i = 1; i < times.length; ++i) assert.ok(times[i] - times[i - 1] <= 15_000, `${times[i] - times[i - 1]} ms`);
  });

  test('gained and lost sight is told', async () => {
    const [viewer, user] = [fresh(), fresh()];
    await attach(held.server, user);
    const stream = await openStream(held.server, urlOf(user), { as: viewer });
    assert.equal(stream.last(user).status, 'online');
    await done(held.server, 'POST', userPath(user, '/blocks'), { body: { add: [viewer] } });
    await stream.sees(user, 'offline');
    assert.equal(stream.last(user).version, 0);
    await done(held.server, 'POST', userPath(user, '/blocks'), { body: { remove: [viewer] } });
    await stream.sees(user, 'online');
  });

  test('FO-057 a revoked token ends it, and the next is 401', async () => {
    const [viewer, user] = [fresh(), fresh()];
    const stream = await openStream(held.server, urlOf(user), { as: viewer });
    await done(held.server, 'POST', userPath(viewer, '/revoke'), { body: { before: Date.now() + 1000 } });
    await stream.end(2000);
    assert.equal(stream.comments.at(-1).text, 'token_revoked');
    assert.equal((await new EventStream(held.server, urlOf(user), { as: viewer }).begun).status, 401);
  });

  test('FO-005 an erased user hears no more', async () => {
    const viewer = fresh();
    const stream = await openStream(held.server, urlOf(fresh()), { as: viewer });
    await done(held.server, 'DELETE', userPath(viewer, ''));
    await stream.end(2000);
    assert.equal(stream.comments.at(-1).text, 'erased');
  });

  test('who may: users who may watch, by a header, never by the URL', async () => {
    const rest = (target, options) => call(held.server, 'GET', target, options);
    assertError(await rest('/v1/stream?users=a', { anonymous: true }), 401, 'unauthorized');
    assertError(await rest('/v1/stream?users=a'), 403, 'forbidden');
    assertError(await rest('/v1/stream?users=a', { token: tokenFor('w', { presence: { watch: false } }) }), 403, 'forbidden');
    assertError(await rest(`/v1/stream?users=a&token=${tokenFor('w')}`, { anonymous: true }), 400, 'badRequest');
    assertError(await rest('/v1/stream?users=a', { anonymous: true, headers: { cookie: `presence_token=${tokenFor('w')}`, 'sec-fetch-site': 'same-origin' } }), 401, 'unauthorized');
  });

  for (const users of ['', 'a,', ',a', 'a,,b', 'a%', '%00', '%e2%80%ae', '%20', 'a&users=b', 'x'.repeat(129)]) {
    test(`refuses users=${users.slice(0, 20)}`, async () => {
      assertError(await call(held.server, 'GET', `/v1/stream?users=${users}`, { as: fresh() }), 400, 'badRequest');
    });
  }

  test('FO-069 ids with commas, slashes and dots are told apart', async () => {
    const users = ['a,b', 'a', 'b', '..', 'a/b', 'a+b', 'a b', '%2C'];
    const stream = await openStream(held.server, urlOf(...users).replaceAll('.', '%2E'), { as: fresh() });
    assert.deepEqual(stream.events[0].data.users.map((one) => one.userId), users);
  });

  test('FO-042 a hundred users, and no more', async () => {
    const users = Array.from({ length: 100 }, (_, i) => `s${i}`);
    assert.equal((await openStream(held.server, urlOf(...users), { as: fresh() })).events[0].data.users.length, 100);
    const answer = await call(held.server, 'GET', urlOf(...users, 'one-more'), { as: fresh() });
    assertError(answer, 429, 'limitExceeded');
    assert.equal(answer.json.error.limit, 100);
  });
});

describe('limits, tokens and ends', () => {
  test('streams of a user are limited over all threads, and freed when they end', async () => {
    const server = await startServer({ set: { threads: '2', 'limits.readers_per_user': '3' } });
    try {
      const viewer = fresh();
      const streams = [];
      for (let i = 0; i < 3; ++i) streams.push(await openStream(server, urlOf('a'), { as: viewer }));
      const answer = await call(server, 'GET', urlOf('a'), { as: viewer });
      assertError(answer, 429, 'limitExceeded');
      assert.equal(answer.json.error.limit, 3);
      assert.equal((await openStream(server, urlOf('a'), { as: fresh() })).status, 200);
      streams[0].close();
      await until(async () => (await new EventStream(server, urlOf('a'), { as: viewer }).begun).status === 200, 'a free place');
    } finally { endStreams(); await server.dispose(); }
  });

  test('streams of the node are limited', async () => {
    const server = await startServer({ set: { threads: '1', 'limits.readers': '2' } });
    try {
      for (let i = 0; i < 2; ++i) await openStream(server, urlOf('a'), { as: fresh() });
      assertError(await call(server, 'GET', urlOf('a'), { as: fresh() }), 503, 'unavailable');
    } finally { endStreams(); await server.dispose(); }
  });

  test('FO-058 it ends with its token', { timeout: 20_000 }, async () => {
    const server = await startServer({ set: { 'auth.leeway': '1s' } });
    try {
      const token = tokenFor('w', { exp: nowSeconds() + 2 });
      const stream = await openStream(server, urlOf('a'), { headers: { authorization: `Bearer ${token}` } });
      const begun = Date.now();
      await stream.end(5000);
      assert.ok(Date.now() - begun >= 1900);
      assert.equal(stream.comments.at(-1).text, 'token_expired');
    } finally { endStreams(); await server.dispose(); }
  });

  test('FO-082 a drain ends it with a time to come back at, and readyz says draining', async () => {
    const server = await startServer();
    try {
      const client = await attach(server, fresh());  // Somebody for whom the drain takes a while.
      const streams = [await openStream(server, urlOf('a'), { as: fresh() }), await openStream(server, urlOf('a'), { as: fresh() })];
      server.signal('SIGTERM');
      for (const stream of streams) {
        await stream.end(2000);
        assert.equal(stream.comments.at(-1).text, 'restarting');
      }
      assert.ok(streams.every((stream) => stream.retry >= 100 && stream.retry <= 5000));
      assert.notEqual(streams[0].retry, streams[1].retry);
      client.stopBeating();
      assert.deepEqual(await server.exited, { code: 0, signal: null });
    } finally { endStreams(); await server.dispose(); }
  });
});

describe('cookies', () => {
  const name = 'presence_token';
  test('are taken where they are configured, from pages that may', async () => {
    const server = await startServer({ set: { 'auth.cookie': name, 'auth.allowed_origins': 'https://app.example.com' } });
    try {
      const cookie = { cookie: `other=1; ${name}=${tokenFor('w')}` };
      const at = (headers, target = urlOf('a')) => openStream(server, target, { headers: { ...cookie, ...headers } });
      const good = await at({ origin: 'https://app.example.com' });
      assert.equal(good.status, 200);
      assert.equal(good.headers['access-control-allow-origin'], 'https://app.example.com');
      assert.equal(good.headers['access-control-allow-credentials'], 'true');
      assert.equal((await at({ 'sec-fetch-site': 'same-origin' })).status, 200);
      for (const headers of [{}, { origin: 'https://evil.example.com' }, { origin: 'null' }, { 'sec-fetch-site': 'cross-site' }, { 'sec-fetch-site': 'same-site' }]) {
        assert.equal((await at(headers)).status, 401, JSON.stringify(headers));
      }
      assert.equal((await at({ 'sec-fetch-site': 'same-origin' }, userPath('w', '/presence'))).status, 401);
      const preflight = await call(server, 'OPTIONS', '/v1/poll', { anonymous: true, headers: { origin: 'https://app.example.com', 'access-control-request-method': 'POST' } });
      assert.equal(preflight.status, 204);
      assert.equal(preflight.headers['access-control-allow-credentials'], 'true');
    } finally { endStreams(); await server.dispose(); }
  });
});
