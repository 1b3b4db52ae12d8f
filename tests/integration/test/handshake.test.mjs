// From the first byte to `welcome`: protocol.md "The WebSocket".
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Client, attach, endClients, fresh } from '../lib/client.mjs';
import { RawClient, frame, text } from '../lib/raw.mjs';
import { delay, startServer } from '../lib/server.mjs';
import { withServer } from '../lib/suite.mjs';
import { tokenFor } from '../lib/tokens.mjs';

const held = withServer({ set: { 'limits.hello_timeout': '1s' } });
const statusOf = (head) => Number(/^HTTP\/1\.1 (\d+)/.exec(head)?.[1]);

describe('upgrade', () => {
  test('a client that offers presence.v1 gets it', async () => {
    const client = new Client(held.server);
    await client.opened;
    assert.equal(client.socket.protocol, 'presence.v1');
  });

  test('presence.v1 is chosen among others', async () => {
    const client = new Client(held.server, { protocols: ['chat', 'presence.v1', 'presence.v9'] });
    await client.opened;
    assert.equal(client.socket.protocol, 'presence.v1');
  });

  test('a client that offers no subprotocol is accepted', async () => {
    const client = new Client(held.server, { protocols: [] });
    const welcome = await client.hello({ token: tokenFor(fresh()) });
    assert.equal(welcome.type, 'welcome');
    assert.equal(client.socket.protocol, '');
  });

  test('only unknown subprotocols: 400', async () => {
    const client = new Client(held.server, { protocols: ['presence.v2', 'chat'] });
    await assert.rejects(client.opened, { status: 400 });
  });

  for (const path of ['/v1/connect?token=abc', '/v1/connect?x=1&token=abc', '/v1/connect?token=', '/v1/connect?%74oken=abc']) {
    test(`FO-061 a token in the URL is refused with 400: ${path}`, async () => {
      const raw = new RawClient(held.server);
      assert.equal(statusOf(await raw.upgrade({ path })), 400);
      raw.destroy();
    });
  }
});

describe('hello', () => {
  test('welcome says all that the table names', async () => {
    const user = fresh();
    const before = Date.now();
    const client = new Client(held.server);
    const expires = Math.floor(Date.now() / 1000) + 900;
    const welcome = await client.hello({ token: tokenFor(user, { exp: expires }) });
    assert.equal(welcome.userId, user);
    assert.equal(welcome.resumed, false);
    assert.ok(welcome.serverTime >= before - 5 && welcome.serverTime <= Date.now() + 5);
    assert.deepEqual(welcome.heartbeat, { intervalMs: 1000, ttlMs: 3400 });
    assert.equal(welcome.graceMs, 1000);
    assert.deepEqual(welcome.limits, { watch: 500, messageBytes: 131072, customStatusText: 100, sessions: 20, roomMembers: 500 });
    assert.equal(welcome.health.store, 'ok');
    assert.equal(welcome.expiresAt, expires * 1000);
  });

  test('the token may come with the upgrade', async () => {
    const user = fresh();
    const client = new Client(held.server, { headers: { authorization: `Bearer ${tokenFor(user)}` } });
    assert.equal((await client.hello()).userId, user);
  });

  test('of two tokens the one in hello counts', async () => {
    const user = fresh();
    const client = new Client(held.server, { headers: { authorization: `Bearer ${tokenFor(fresh())}` } });
    assert.equal((await client.hello({ token: tokenFor(user) })).userId, user);
  });

  test('a userId in hello is ignored: it comes from the token alone', async () => {
    const user = fresh();
    const client = new Client(held.server);
    assert.equal((await client.hello({ token: tokenFor(user), userId: 'root', sessionId: 'x' })).userId, user);
  });

  test('hello without id is answered without id', async () => {
    const client = new Client(held.server);
    await client.opened;
    const answer = client.next('welcome');
    client.send({ type: 'hello', token: tokenFor(fresh()) });
    assert.ok(!('id' in (await answer)));
  });

  test('nothing is sent before hello, and nothing unasked after it', async () => {
    const client = new Client(held.server, { headers: { authorization: `Bearer ${tokenFor(fresh())}` } });
    await client.opened;
    await delay(300);
    assert.equal(client.received.length, 0);
    await client.hello();
    await delay(500);
    assert.equal(client.received.length, 1);
  });

  test('4408 hello_timeout: no hello in time', async () => {
    const client = new Client(held.server);
    await client.opened;
    const start = Date.now();
    const end = await client.closedWith(4408, 'hello_timeout', 4000);
    assert.ok(end.at - start > 700 && end.at - start < 2500, `${end.at - start} ms`);
  });

  test('4408: pings do not put off the time for hello', async () => {
    const client = new Client(held.server);
    await client.opened;
    const timer = setInterval(() => client.socket.ping(), 100);
    try { await client.closedWith(4408, 'hello_timeout', 4000); } finally { clearInterval(timer); }
  });

  for (const [what, first] of [
    ['another message', { type: 'heartbeat', id: 4 }], ['bye', { type: 'bye' }], ['no type', { id: 4 }],
    ['a list', []], ['null', null], ['a device of an unknown type', { type: 'hello', token: 'T', device: { type: 'toaster' } }],
    ['a device that is text', { type: 'hello', token: 'T', device: 'desktop' }], ['a device without type', { type: 'hello', token: 'T', device: { name: 'x' } }],
    ['a device name of a number', { type: 'hello', token: 'T', device: { type: 'web', name: 5 } }],
    ['an unknown activity', { type: 'hello', token: 'T', activity: 'sleeping' }], ['observe that is text', { type: 'hello', token: 'T', observe: 'true' }],
    ['a token that is a number', { type: 'hello', token: 5 }], ['a resume that is a number', { type: 'hello', token: 'T', resume: 5 }],
    ['an id that is text', { type: 'hello', token: 'T', id: 'x' }], ['an id below zero', { type: 'hello', token: 'T', id: -1 }],
  ]) {
    test(`4400 bad_hello: first comes ${what}`, async () => {
      const client = new Client(held.server);
      await client.opened;
      const message = first && first.token === 'T' ? { ...first, token: tokenFor(fresh()) } : first;
      client.send(message);
      await client.closedWith(4400, 'bad_hello');
      const error = client.received.at(-1)?.message;
      assert.equal(error?.type, 'error');
      assert.equal(error.code, 'badRequest');
      if (Number.isInteger(first?.id) && first.id >= 0) assert.equal(error.id, first.id);
    });
  }

  test('4400: no JSON at all', async () => {
    const client = new Client(held.server);
    await client.opened;
    client.sendRaw('hello');
    await client.closedWith(4400, 'bad_hello');
  });

  for (const [what, token] of [['missing', undefined], ['garbage', 'abc'], ['of another secret', tokenFor('x', {}, { secret: 'other' })]]) {
    test(`4401: the token is ${what}`, async () => {
      const client = new Client(held.server);
      await client.opened;
      client.send({ type: 'hello', id: 9, token });
      const end = await client.closedWith(4401);
      assert.match(end.reason, token === undefined ? /^token_missing/ : /^token_refused/);
      assert.deepEqual({ ...client.received.at(-1).message, message: '' },
                       { type: 'error', id: 9, code: 'unauthorized', message: '', temporary: false });
    });
  }

  test('4401: a bad token of the upgrade shows as a close, not as an HTTP status', async () => {
    const client = new Client(held.server, { headers: { authorization: 'Bearer nonsense' } });
    await client.opened;
    client.send({ type: 'hello' });
    await client.closedWith(4401, 'token_refused');
  });

  test('an Authorization of another scheme, as browsers send behind a page with a password, is no token', async () => {
    const headers = { authorization: `Basic ${Buffer.from('staging:secret').toString('base64')}` };
    const client = new Client(held.server, { headers });
    await client.opened;
    await client.ask({ type: 'hello', token: tokenFor(fresh()) }, 'welcome');
    const bare = new Client(held.server, { headers });
    await bare.opened;
    bare.send({ type: 'hello' });
    await bare.closedWith(4401, 'token_missing');
  });

  test('a second hello is a bad request and the connection stays', async () => {
    const client = await attach(held.server, fresh());
    await client.refused({ type: 'hello', token: tokenFor(fresh()) });
    await client.ask({ type: 'heartbeat' }, 'heartbeatAck');
  });

  test('1009: a message above 16 KiB before welcome, and not one below', async () => {
    const fits = new Client(held.server);
    await fits.opened;
    const hello = { type: 'hello', token: tokenFor(fresh()), x: '' };
    hello.x = 'x'.repeat(16384 - JSON.stringify(hello).length);
    const welcome = fits.next('welcome');
    fits.send(hello);
    await welcome;
    const over = new Client(held.server);
    await over.opened;
    hello.x += 'x';
    over.send(hello);
    await over.closedWith(1009, 'message_too_large');
  });

  test('1009: exactly 128 KiB are fine after welcome, a byte more is not', async () => {
    const client = await attach(held.server, fresh());
    const message = { type: 'heartbeat', id: 999, x: '' };
    message.x = 'x'.repeat(131072 - JSON.stringify(message).length);
    const ack = client.next('heartbeatAck');
    client.send(message);
    assert.equal((await ack).id, 999);
    message.x += 'x';
    client.send(message);
    await client.closedWith(1009, 'message_too_large');
  });
});

describe('FO-098 Origin check that can be talked round', () => {
  const allowed = 'https://app.example.com';
  let server;
  before(async () => { server = await startServer({ set: { 'auth.allowed_origins': allowed } }); });
  after(async () => { endClients(); await server?.dispose(); });

  const outcome = async (origin) => {
    const raw = new RawClient(server);
    const head = await raw.upgrade({ headers: { Origin: origin } });
    raw.destroy();
    return statusOf(head);
  };

  test('FO-098 the allowed origin and a client without one pass', async () => {
    assert.equal(await outcome(allowed), 101);
    assert.equal(await outcome(null), 101);
  });

  for (const origin of ['null', 'http://app.example.com', 'https://app.example.com:8443', 'https://evilapp.example.com',
    'https://app.example.com.evil.io', 'https://app.example.com@evil.io', 'https://app.example.com.',
    'https://app.example.com/', 'https://[::1]', 'https://xn--pp-eka.example.com', '', `https://${'a'.repeat(6000)}.example.com`]) {
    test(`FO-098 refused before the upgrade: ${origin.slice(0, 40) || 'empty'}`, async () => {
      assert.equal(await outcome(origin), 403);
    });
  }

  test('FO-098 two Origin headers are refused', async () => {
    assert.ok([400, 403].includes(await outcome([allowed, 'https://evil.io'])));
    assert.ok([400, 403].includes(await outcome([allowed, allowed])));
  });

  test('FO-098 REST answers CORS from the same list', async () => {
    const { call } = await import('../lib/rest.mjs');
    const target = '/v1/users/a/presence';
    const good = await call(server, 'GET', target, { headers: { origin: allowed } });
    assert.equal(good.headers['access-control-allow-origin'], allowed);
    const bad = await call(server, 'GET', target, { headers: { origin: 'https://evil.io' } });
    assert.equal(bad.headers['access-control-allow-origin'], undefined);
    const preflight = await call(server, 'OPTIONS', target, { anonymous: true, headers: {
      origin: allowed, 'access-control-request-method': 'GET', 'access-control-request-headers': 'authorization' } });
    assert.equal(preflight.status, 204);
    assert.equal(preflight.headers['access-control-allow-origin'], allowed);
    assert.match(preflight.headers['access-control-allow-headers'], /authorization/i);
    const refused = await call(server, 'OPTIONS', target, { anonymous: true, headers: {
      origin: 'https://evil.io', 'access-control-request-method': 'GET' } });
    assert.equal(refused.headers['access-control-allow-origin'], undefined);
  });

  test('frames that arrive together with the upgrade are read', async () => {
    const raw = new RawClient(server);
    await raw.connected;
    raw.upgraded = false;
    await raw.write(Buffer.concat([Buffer.from('GET /v1/connect HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n' +
      'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n'),
      text({ type: 'hello', id: 1, token: tokenFor(fresh()) }), frame(9, 'x')]));
    const head = await raw.head();
    assert.match(head, /s3pPLMBiTxaQ9kYGzzhZRbK\+xOo=/);
    raw.upgraded = true;
    raw.parse();
    assert.equal((await raw.answer(1)).type, 'welcome');
    assert.equal((await raw.next((f) => f.opcode === 10, 'pong')).payload.toString(), 'x');
    raw.destroy();
  });
});
