// Frames that no proper client sends: RFC 6455 to the letter, and limits before memory.
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

/** Sends bytes and expects that close, and TCP to be closed soon after, answered or not. */
async function closes(bytes, code, { word, welcomed = true } = {}) {
  const raw = await connected({ welcomed });
  await raw.write(bytes);
  await raw.closedWith(code, { word });
  const at = Date.now();
  await Promise.race([raw.gone, delay(3500)]);
  assert.ok(raw.ended, 'TCP is still open 3.5 s after the Close');
  assert.ok(Date.now() - at < 3000);
  raw.destroy();
}

describe('FO-095 control frames out of shape', () => {
  const broken = {
    'a ping of 126 bytes': frame(9, 'x'.repeat(126)), 'a ping of 65,536 bytes': frame(9, 'x'.repeat(65536)),
    'a pong of 126 bytes': frame(10, 'x'.repeat(126)), 'a close of 126 bytes': frame(8, 'x'.repeat(126)),
    'a ping in pieces': frame(9, 'x', { fin: false }), 'a close in pieces': frame(8, '', { fin: false }),
    'a close with one byte': frame(8, 'x'), 'a continuation without a start': frame(0, 'x'),
    'new text inside a fragmented one': Buffer.concat([frame(1, 'a', { fin: false }), frame(1, 'b')]),
    'an unmasked text': frame(1, '{}', { mask: false }), 'an unmasked ping': frame(9, '', { mask: false }),
    'a length with the top bit set': frame(1, '', { length: -1 }),
    'a long length where a short one would do': Buffer.from([0x81, 0xfe, 0, 5, 0, 0, 0, 0, 1, 2, 3, 4, 5]),
    ...Object.fromEntries([3, 4, 5, 6, 7, 11, 12, 13, 14, 15].map((opcode) => [`opcode ${opcode}`, frame(opcode, '')])),
    ...Object.fromEntries([1, 2, 4, 7].map((rsv) => [`reserved bits ${rsv}`, frame(1, '{}', { rsv })])),
  };
  for (const [what, bytes] of Object.entries(broken)) {
    // RFC 6455 wants the shortest length, and many servers take the other; either is fine here.
    if (what.startsWith('a long length')) continue;
    test(`FO-095 1002: ${what}`, async () => { await closes(bytes, 1002, { word: 'protocol_error' }); });
  }

  test('FO-095 1002 before welcome as well', async () => {
    await closes(frame(9, 'x'.repeat(126)), 1002, { welcomed: false });
    await closes(frame(1, '{}', { mask: false }), 1002, { welcomed: false });
  });

  test('FO-095 a legal ping in the middle of fragments is answered and the message completes', async () => {
    const raw = await connected();
    const message = JSON.stringify({ type: 'heartbeat', id: 42 });
    await raw.write(Buffer.concat([frame(1, message.slice(0, 5), { fin: false }), frame(9, 'hello'), frame(0, message.slice(5, 9), { fin: false }), frame(0, '', { fin: false }), frame(0, message.slice(9))]));
    assert.equal((await raw.next((f) => f.opcode === 10, 'pong')).payload.toString(), 'hello');
    assert.equal((await raw.answer(42)).type, 'heartbeatAck');
    raw.destroy();
  });

  test('FO-095 pings of 0 and 125 bytes are answered with the same bytes', async () => {
    const raw = await connected();
    for (const payload of ['', 'x'.repeat(125)]) {
      raw.frames.length = 0;
      await raw.write(frame(9, payload));
      assert.equal((await raw.next((f) => f.opcode === 10, 'pong')).payload.toString(), payload);
    }
    raw.destroy();
  });

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

  test('the server never masks, and sends whole text frames without reserved bits', async () => {
    const raw = await connected();
    await raw.write(heartbeat(1));
    await raw.answer(1);
    for (const f of raw.frames) { assert.equal(f.masked, 0); assert.equal(f.first, 0x81); }
    raw.destroy();
  });
});

describe('FO-096 reserved close codes', () => {
  for (const code of [0, 999, 1004, 1005, 1006, 1015, 1016, 2999, 5000, 65535]) {
    test(`FO-096 ${code} is answered with 1002`, async () => { await closes(closeFrame(code), 1002); });
  }
  for (const code of [1000, 1001, 1003, 1007, 1009, 1011, 3000, 4000, 4999]) {
    test(`FO-096 ${code} is echoed`, async () => { await closes(closeFrame(code, 'so long'), code); });
  }
  test('FO-096 an empty Close is answered', async () => {
    const raw = await connected();
    await raw.write(frame(8, ''));
    const close = await raw.next((f) => f.opcode === 8, 'Close');
    assert.ok(close.payload.length === 0 || close.payload.readUInt16BE(0) === 1000);
    raw.destroy();
  });
  test('FO-096 a close reason that is not UTF-8', async () => {
    const raw = await connected();
    await raw.write(frame(8, Buffer.from([0x03, 0xe8, 0xff])));
    const close = await raw.next((f) => f.opcode === 8, 'Close');
    assert.ok([1002, 1007].includes(close.payload.readUInt16BE(0)));
    raw.destroy();
  });
});

describe('text and sizes', () => {
  for (const [what, bytes] of [['a lone byte', [0xff]], ['an overlong slash', [0xc0, 0xaf]], ['a surrogate', [0xed, 0xa0, 0x80]], ['beyond U+10FFFF', [0xf4, 0x90, 0x80, 0x80]], ['a cut sequence', [0xe2, 0x82]]]) {
    test(`1007: ${what}`, async () => {
      await closes(frame(1, Buffer.from(bytes)), 1007, { word: 'invalid_utf8' });
      await closes(Buffer.concat([frame(1, Buffer.from(bytes.slice(0, 1)), { fin: false }), frame(0, Buffer.from(bytes.slice(1)))]), 1007);
    });
  }

  test('a character split between fragments is whole again', async () => {
    const raw = await connected();
    const message = Buffer.from(JSON.stringify({ type: 'heartbeat', id: 3, x: '€😀' }));
    const cut = message.indexOf(0x82);
    await raw.write(Buffer.concat([frame(1, message.subarray(0, cut), { fin: false }), frame(0, message.subarray(cut))]));
    assert.equal((await raw.answer(3)).type, 'heartbeatAck');
    raw.destroy();
  });

  test('1003: binary messages', async () => { await closes(frame(2, Buffer.from([1, 2, 3])), 1003, { word: 'unsupported_data' }); });

  test('1009 is told by the header alone, before the bytes come', async () => {
    await closes(frame(1, '', { length: 131_073 }), 1009, { word: 'message_too_large' });
    await closes(frame(1, '', { length: 2 ** 40 }), 1009);
    await closes(frame(1, '', { length: 16_385 }), 1009, { welcomed: false });
  });

  test('every byte alone: frames may come in any pieces', async () => {
    const raw = await connected();
    const bytes = Buffer.concat([heartbeat(1), frame(9, 'abc'), heartbeat(2)]);
    for (const byte of bytes) { await raw.write(Buffer.from([byte])); await delay(1); }
    assert.equal((await raw.answer(1)).type, 'heartbeatAck');
    assert.equal((await raw.answer(2)).type, 'heartbeatAck');
    raw.destroy();
  });

  test('many frames at once are all read', async () => {
    const raw = await connected();
    await raw.write(Buffer.concat(Array.from({ length: 100 }, (_, i) => heartbeat(100 + i))));
    assert.equal((await raw.answer(199)).type, 'heartbeatAck');
    raw.destroy();
  });
});

describe('FO-093 compression bomb', () => {
  test('FO-093 compression is not offered, so RSV1 is 1002', async () => {
    await closes(frame(1, Buffer.alloc(1000), { rsv: 4 }), 1002);
    await closes(frame(1, Buffer.alloc(1000), { rsv: 4 }), 1002, { welcomed: false });
  });
});

describe('FO-094 endless fragments', () => {
  test('FO-094 the sum over the limit: 1009', async () => {
    const raw = await connected();
    const piece = frame(0, 'x'.repeat(1000), { fin: false });
    await raw.write(frame(1, '', { fin: false }));
    for (let i = 0; i < 140 && !raw.ended; ++i) await raw.write(piece);
    await raw.closedWith(1009);
    raw.destroy();
  });

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
