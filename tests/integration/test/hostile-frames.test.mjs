// What broken frames, endless ones and broken HTTP do to others, to sessions and to memory. The letter of RFC 6455 is held
// in tests/conformance.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { attach, fresh, watcher } from '../lib/client.mjs';
import { RawClient, closeFrame, frame, text } from '../lib/raw.mjs';
import { readPresence } from '../lib/rest.mjs';
import { delay, grace } from '../lib/server.mjs';
import { withServer } from '../lib/suite.mjs';
import { tokenFor } from '../lib/tokens.mjs';

const held = withServer();
const heartbeat = (id) => text({ type: 'heartbeat', id });

async function connected({ welcomed = true } = {}) {
  const raw = new RawClient(held.server);
  raw.user = fresh('raw');
  if (welcomed) await raw.hello(raw.user); else await raw.upgrade();
  return raw;
}

describe('FO-095 what a broken or closed connection leaves', () => {
  test('FO-095 data after a Close is not looked at', async () => {
    const raw = await connected();
    const w = await watcher(held.server, [raw.user]);
    await raw.write(Buffer.concat([closeFrame(1000), text({ type: 'status', status: 'dnd' }), heartbeat(5)]));
    await raw.closedWith(1000);
    await delay(300);
    assert.equal(raw.frames.filter((f) => f.opcode === 1).length, 1, 'only welcome');
    assert.equal((await readPresence(held.server, raw.user)).status, 'online');
    await w.sees(raw.user, 'offline', grace + 2000);
    raw.destroy();
  });

  test('FO-095 a session that ends by a broken frame ends normally for others: after the grace, with a last seen', async () => {
    const raw = await connected();
    const w = await watcher(held.server, [raw.user]);
    const at = Date.now();
    await raw.write(frame(3, ''));
    const one = await w.sees(raw.user, 'offline', grace + 2000);
    assert.ok(w.told(raw.user)[0].receivedAt - at >= grace - 20);
    assert.ok(Math.abs(one.lastSeen.at - at) < 300);
    raw.destroy();
  });
});

describe('FO-094 endless fragments', () => {
  for (const size of [0, 1]) {
    test(`FO-094 fragments of ${size} bytes without end: 1008 within 1,100 of them`, async () => {
      const before = held.server.residentBytes();
      const raw = await connected();
      await raw.write(frame(1, '', { fin: false }));
      for (let i = 0; i < 1100 && !raw.ended; ++i) raw.socket.write(frame(0, 'x'.repeat(size), { fin: false }));
      await raw.closedWith(1008, { word: 'policy' });
      assert.ok(held.server.residentBytes() - before < 16e6);
      raw.destroy();
    });
  }

  test('FO-094 before welcome the smaller limit counts for the sum', async () => {
    const raw = await connected({ welcomed: false });
    await raw.write(frame(1, 'x'.repeat(9000), { fin: false }));
    await raw.write(frame(0, 'x'.repeat(9000), { fin: false }));
    await raw.closedWith(1009);
    raw.destroy();
  });

  test('FO-094 a message begun and never finished is closed within 35 s, though pings go on', { timeout: 60_000 }, async () => {
    const raw = await connected();
    await raw.write(frame(1, '{', { fin: false }));
    const start = Date.now();
    const pings = setInterval(() => raw.socket.write(frame(9, '')), 900);
    try {
      await raw.closedWith(1008, { timeoutMs: 36_000 });
      assert.ok(Date.now() - start > 20_000);
    } finally { clearInterval(pings); raw.destroy(); }
  });
});

test('others notice nothing of all this', async () => {
  const calm = await attach(held.server, fresh());
  const w = await watcher(held.server, [calm.user]);
  await Promise.all(Array.from({ length: 100 }, async (_, i) => {
    const raw = new RawClient(held.server);
    await raw.upgrade();
    const garbage = Buffer.from(Array.from({ length: 400 }, () => Math.floor(Math.random() * 256)));
    await raw.write(i % 2 ? garbage : Buffer.concat([text({ type: 'hello', token: tokenFor(fresh()) }), garbage]));
    await delay(50);
    raw.destroy();
  }));
  await calm.ask({ type: 'heartbeat' }, 'heartbeatAck');
  await w.hearsNothing(calm.user, 300);
});

describe('broken HTTP', () => {
  test('a chunked body of nothing but its end is answered, byte by byte, and the server lives', async () => {
    const raw = new RawClient(held.server);
    await raw.connected;
    await raw.write('POST /v1/presence/query HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n');
    for (const byte of '0\r\n\r\n') { await delay(20); await raw.write(byte); }
    assert.match(await raw.head(3000), /^HTTP\/1\.1 401 /);
    raw.destroy();
    assert.equal((await readPresence(held.server, 'x')).status, 'offline');
  });

  for (const [what, bytes, status] of [
    ['no HTTP at all', 'hello\r\n\r\n', 400], ['HTTP/0.9', 'GET /\r\n\r\n', 400], ['a head without end', `GET / HTTP/1.1\r\nX: ${'x'.repeat(9000)}\r\n\r\n`, 431],
    ['two lengths', 'POST /v1/presence/query HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello', 400],
    ['a length that is no number', 'POST /v1/presence/query HTTP/1.1\r\nHost: x\r\nContent-Length: abc\r\n\r\n', 400],
    ['a line break in a header name', 'GET / HTTP/1.1\r\nHo st: x\r\n\r\n', 400], ['a zero byte', 'GET /\0 HTTP/1.1\r\nHost: x\r\n\r\n', 400],
  ]) {
    test(`${what}: ${status} or closed, and the server lives`, async () => {
      const raw = new RawClient(held.server);
      await raw.connected;
      await raw.write(bytes);
      const head = await raw.head(3000);
      if (head !== '') assert.match(head, new RegExp(`^HTTP/1\\.[01] ${status} `)); else assert.ok(raw.ended);
      raw.destroy();
      assert.equal((await readPresence(held.server, 'x')).status, 'offline');
    });
  }
});
