// GET and POST /v1/poll, with Node's HTTP, fetch and curl as clients.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import http from 'node:http';
import net from 'node:net';
import { promisify } from 'node:util';
import { describe, test } from 'node:test';
import { attach, fresh } from '../lib/client.mjs';
import { assertError, call, done, userPath } from '../lib/rest.mjs';
import { delay, startServer, until } from '../lib/server.mjs';
import { withServer } from '../lib/suite.mjs';
import { tokenFor } from '../lib/tokens.mjs';

const held = withServer();
const query = (fields) => Object.entries(fields).map(([name, value]) =>
  `${name}=${Array.isArray(value) ? value.map(encodeURIComponent).join(',') : encodeURIComponent(value)}`).join('&');
const poll = (as, fields, server = held.server) => call(server, 'GET', `/v1/poll?${query(fields)}`, { as });
const waiting = async (server = held.server) => (await done(server, 'GET', '/v1/stats')).connections.poll;

describe('a poll', () => {
  test('gives everything, then waits, then tells the change alone', async () => {
    const [viewer, a, b] = [fresh(), fresh(), fresh()];
    const first = await poll(viewer, { users: [a, b], waitMs: 30000 });
    assert.deepEqual(first.json.users, [a, b].map((userId) => ({ userId, status: 'offline', version: 0 })));
    const second = poll(viewer, { users: [a, b], waitMs: 8000, cursor: first.json.cursor });
    await until(waiting, 'the poll to wait');
    await attach(held.server, b);
    const { json } = await second;
    assert.deepEqual(json.users.map((one) => [one.userId, one.status]), [[b, 'online']]);
    assert.notEqual(json.cursor, first.json.cursor);
    assert.equal(await waiting(), 0);
    const third = await poll(viewer, { users: [a, b], cursor: json.cursor });
    assert.deepEqual(third.json.users, []);
    assert.equal(third.json.cursor, json.cursor);
  });

  test('waits as long as it may, not less and not much more', async () => {
    const [viewer, user] = [fresh(), fresh()];
    const { cursor } = (await poll(viewer, { users: [user] })).json;
    const begun = Date.now();
    const answer = await poll(viewer, { users: [user], cursor, waitMs: 1500 });
    const took = Date.now() - begun;
    assert.ok(took >= 1480 && took < 2200, `${took} ms`);
    assert.deepEqual(answer.json.users, []);
  });

  test('FO-028 no change falls between two polls', async () => {
    const [viewer, user] = [fresh(), fresh()];
    const client = await attach(held.server, user);
    let cursor = '';
    let last;
    const take = async (waitMs) => {
      const { json } = await poll(viewer, { users: [user], cursor, waitMs });
      cursor = json.cursor;
      last = json.users[0] ?? last;
    };
    const polling = (async () => { while (last?.status !== 'dnd') await take(3000); })();
    for (const status of ['away', 'busy', 'online', 'busy', 'away', 'dnd']) {
      await client.ask({ type: 'status', status });
      await delay(Math.random() * 300);
    }
    await polling;
  });

  test('cursors of others and of nobody give everything; they are good on a server that was restarted', async () => {
    const server = await startServer();
    let again;
    try {
      const [viewer, user] = [fresh(), fresh()];
      const { cursor } = (await poll(viewer, { users: [user] }, server)).json;
      for (const odd of ['x', '1', '', `${cursor}0`, 'é"\\', cursor.slice(2)]) {
        assert.equal((await poll(viewer, { users: [user], cursor: odd, waitMs: 5000 }, server)).json.users.length, 1, odd);
      }
      assert.equal((await poll(fresh(), { users: [user], cursor }, server)).json.users.length, 1);
      await server.kill();
      again = await startServer({ dataDir: server.dataDir });
      assert.equal((await poll(viewer, { users: [user], cursor }, again)).json.users.length, 0);
    } finally { await again?.dispose(); await server.dispose(); }
  });

  test('a client that goes away while it waits is noticed and freed', async () => {
    const [viewer, user] = [fresh(), fresh()];
    const { cursor } = (await poll(viewer, { users: [user] })).json;
    const target = `/v1/poll?${query({ users: [user], cursor, waitMs: 30000 })}`;
    const headers = { authorization: `Bearer ${tokenFor(viewer)}` };
    const gone = http.request({ host: '127.0.0.1', port: held.server.port, path: target, headers, agent: false });
    gone.on('error', () => {});
    gone.end();
    const reset = net.connect(held.server.port, '127.0.0.1');
    reset.on('error', () => {});
    reset.write(`GET ${target} HTTP/1.1\r\nHost: h\r\nAuthorization: ${headers.authorization}\r\n\r\n`);
    await until(async () => await waiting() === 2, 'two waiting');
    gone.destroy();
    reset.resetAndDestroy();
    await until(async () => await waiting() === 0, 'none waiting', 2000);
  });

  test('a client that only closed its own side is answered', async () => {
    const [viewer, user] = [fresh(), fresh()];
    const { cursor } = (await poll(viewer, { users: [user] })).json;
    const socket = net.connect({ port: held.server.port, host: '127.0.0.1', allowHalfOpen: true });
    let text = '';
    const ended = new Promise((resolve) => { socket.on('end', resolve); });
    socket.on('data', (part) => { text += part; });
    socket.end(`GET /v1/poll?${query({ users: [user], cursor, waitMs: 30000 })} HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer ${tokenFor(viewer)}\r\n\r\n`);
    await until(() => text.includes('"users":[]'), 'the answer', 2000);
    await ended;
    socket.destroy();
  });

  test('by curl and by fetch', async () => {
    const [viewer, user] = [fresh(), fresh()];
    const url = `${held.server.httpUrl}/v1/poll?users=${user}`;
    const { stdout } = await promisify(execFile)('curl', ['-s', '-H', `Authorization: Bearer ${tokenFor(viewer)}`, url]);
    const { cursor } = JSON.parse(stdout);
    const answer = await fetch(`${url}&cursor=${cursor}`, { headers: { authorization: `Bearer ${tokenFor(viewer)}` } });
    assert.deepEqual((await answer.json()).users, []);
  });

  test('POST takes as many as a connection may watch', async () => {
    const viewer = fresh();
    const users = Array.from({ length: 500 }, (_, i) => `p${i}`);
    const post = (body) => call(held.server, 'POST', '/v1/poll', { as: viewer, body });
    const { json } = await post({ users });
    assert.equal(json.users.length, 500);
    assert.deepEqual((await post({ users, cursor: json.cursor, waitMs: 100 })).json.users, []);
    assertError(await post({ users: [...users, 'more'] }), 429, 'limitExceeded');
    assertError(await call(held.server, 'GET', `/v1/poll?users=${users.slice(0, 101).join(',')}`, { as: viewer }), 429, 'limitExceeded');
  });

  for (const [what, fields] of Object.entries({
    'no users': { waitMs: 0 }, 'users empty': { users: '' }, 'waitMs below': { users: 'a', waitMs: -1 }, 'waitMs above': { users: 'a', waitMs: 30001 },
    'waitMs no number': { users: 'a', waitMs: 'x' }, 'waitMs empty': { users: 'a', waitMs: '' }, 'waitMs a fraction': { users: 'a', waitMs: 1.5 },
  })) {
    test(`refuses ${what}`, async () => assertError(await poll(fresh(), fields), 400, 'badRequest'));
  }
  for (const body of [{}, { users: 'a' }, { users: [5] }, { users: ['a'], waitMs: '5' }, { users: ['a'], waitMs: 30001 }, { users: ['a'], waitMs: 0.5 }, { users: ['a'], cursor: 5 }, [], null]) {
    test(`POST refuses ${JSON.stringify(body)}`, async () =>
      assertError(await call(held.server, 'POST', '/v1/poll', { as: fresh(), body }), 400, 'badRequest'));
  }

  test('is for users who may watch', async () => {
    assertError(await call(held.server, 'GET', '/v1/poll?users=a'), 403, 'forbidden');
    assertError(await call(held.server, 'GET', '/v1/poll?users=a', { anonymous: true }), 401, 'unauthorized');
    assertError(await call(held.server, 'GET', '/v1/poll?users=a', { token: tokenFor('w', { presence: { watch: false } }) }), 403, 'forbidden');
  });

  test('a revoked token ends the wait with 401', async () => {
    const [viewer, user] = [fresh(), fresh()];
    const { cursor } = (await poll(viewer, { users: [user] })).json;
    const answer = poll(viewer, { users: [user], cursor, waitMs: 8000 });
    await until(waiting, 'the poll to wait');
    await done(held.server, 'POST', userPath(viewer, '/revoke'), { body: { before: Date.now() + 1000 } });
    assertError(await answer, 401, 'unauthorized');
  });
});
