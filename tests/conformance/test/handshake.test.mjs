// The opening handshake: RFC 6455, section 4.2, and what must not be agreed to.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { tokenFor } from '../../integration/lib/tokens.mjs';
import { beat, close, text } from '../lib/frames.mjs';
import { holdServer } from '../lib/held.mjs';
import { Peer, handshake } from '../lib/peer.mjs';
import { playAll, welcomed } from '../lib/play.mjs';

const held = holdServer();

/** Sends a handshake and holds the answer to `status`; gives its head. */
async function answered(options, status) {
  const peer = new Peer(held.server);
  try {
    assert.equal(await peer.open(options), status, peer.head ?? peer.waiting.toString());
    return peer.head;
  } finally {
    peer.destroy();
  }
}

const fieldsOf = (head) => Object.fromEntries(head.trim().split('\r\n').slice(1)
  .map((line) => [line.split(': ')[0].toLowerCase(), line.split(': ').slice(1).join(': ')]));

test('the key of the RFC is accepted as the RFC has it, and nothing is agreed to that was not offered', async () => {
  const head = await answered({}, 101);
  assert.ok(head.startsWith('HTTP/1.1 101 Switching Protocols\r\n'));
  assert.deepEqual(fieldsOf(head), { upgrade: 'websocket', connection: 'Upgrade', 'sec-websocket-accept': 's3pPLMBiTxaQ9kYGzzhZRbK+xOo=' });
});

describe('handshakes that are good', () => {
  for (const [what, options] of Object.entries({
    'Upgrade in other letters': { fields: { Upgrade: 'WebSocket' } },
    'Connection in other letters': { fields: { Connection: 'upgrade' } },
    'names of fields in other letters': { fields: { Upgrade: null, UPGRADE: 'websocket', Connection: null, cONNECTION: 'Upgrade' } },
    'Connection with more in it': { fields: { Connection: 'keep-alive, Upgrade' } },
    'Connection in two fields': { fields: { Connection: ['keep-alive', 'Upgrade'] } },
    'Upgrade with more in it': { fields: { Upgrade: 'h2c, websocket' } },
    'white space around values': { fields: { Upgrade: '  websocket\t', 'Sec-WebSocket-Version': ' 13 ' } },
    'a target that is a URL': { path: 'http://presence.example/v1/connect' },
    'a query': { path: '/v1/connect?client=7' },
    'fields that nobody knows': { fields: { 'X-Anything': 'x', 'Sec-WebSocket-Anything': 'x' } },
  })) {
    test(what, async () => { await answered(options, 101); });
  }
});

describe('handshakes that are refused', () => {
  const refused = {
    'no key': [{ fields: { 'Sec-WebSocket-Key': null } }, 400],
    'an empty key': [{ fields: { 'Sec-WebSocket-Key': '' } }, 400],
    'a key of 15 bytes': [{ fields: { 'Sec-WebSocket-Key': 'MTIzNDU2Nzg5MDEyMzQ1' } }, 400],
    'a key of 17 bytes': [{ fields: { 'Sec-WebSocket-Key': 'MTIzNDU2Nzg5MDEyMzQ1Njc=' } }, 400],
    'a key that is not base64': [{ fields: { 'Sec-WebSocket-Key': '*********************===' } }, 400],
    'two keys': [{ fields: { 'Sec-WebSocket-Key': ['dGhlIHNhbXBsZSBub25jZQ==', 'dGhlIHNhbXBsZSBub25jZQ=='] } }, 400],
    'no version': [{ fields: { 'Sec-WebSocket-Version': null } }, 426],
    'version 7': [{ fields: { 'Sec-WebSocket-Version': '7' } }, 426],
    'version 14': [{ fields: { 'Sec-WebSocket-Version': '14' } }, 426],
    'version 13 among others': [{ fields: { 'Sec-WebSocket-Version': '13, 8' } }, 426],
    'two versions': [{ fields: { 'Sec-WebSocket-Version': ['13', '13'] } }, 426],
    'a version that is no number': [{ fields: { 'Sec-WebSocket-Version': 'x' } }, 426],
    'no Host': [{ fields: { Host: null } }, 400],
    'two Hosts': [{ fields: { Host: ['presence.example', 'other.example'] } }, 400],
    'a POST': [{ method: 'POST', fields: { 'Content-Length': '0' } }, 400],
    'a body': [{ fields: { 'Content-Length': '5' } }, 400, 'hello'],
    'HTTP/1.0, which knows no upgrade': [{ version: 'HTTP/1.0' }, 400],
    'another path': [{ path: '/v1/connected' }, 404],
    'no Upgrade': [{ fields: { Upgrade: null } }, 400],
    'an Upgrade to something else': [{ fields: { Upgrade: 'h2c' } }, 400],
    'a Connection without upgrade': [{ fields: { Connection: 'keep-alive' } }, 400],
  };
  for (const [what, [options, status, body = '']] of Object.entries(refused)) {
    test(`${status}: ${what}`, async () => {
      const peer = new Peer(held.server);
      await peer.write(Buffer.concat([handshake(options), Buffer.from(body)]));
      await peer.until(() => peer.status !== undefined);
      assert.equal(peer.status, status, peer.head);
      assert.equal(fieldsOf(peer.head)['sec-websocket-accept'], undefined);
      assert.equal(fieldsOf(peer.head)['sec-websocket-version'], status === 426 ? '13' : undefined);
      peer.destroy();
    });
  }
});

describe('how its bytes come', () => {
  const hello = text(JSON.stringify({ type: 'hello', id: 1, token: tokenFor('handshake') }));

  test('byte by byte', async () => {
    const peer = new Peer(held.server);
    for (const byte of handshake()) {
      await peer.write(Buffer.from([byte]));
      await setImmediate();
    }
    await peer.until(() => peer.status !== undefined);
    assert.equal(peer.status, 101);
    peer.destroy();
  });

  test('with the first frames right behind it, in one packet', async () => {
    const peer = new Peer(held.server);
    await peer.write(Buffer.concat([handshake(), hello, text(beat(2)), close(1000)]));
    peer.saidClose = true;
    await peer.until(() => peer.ended);
    assert.deepEqual(peer.record, ['welcome 1', 'heartbeatAck 2', 'close 1000', 'end']);
    peer.destroy();
  });

  test('behind another request of the same connection', async () => {
    const peer = new Peer(held.server);
    await peer.write('GET /healthz HTTP/1.1\r\nHost: presence.example\r\n\r\n');
    await peer.until(() => peer.status !== undefined);
    assert.equal(peer.status, 200);
    Object.assign(peer, { status: undefined, waiting: Buffer.alloc(0) });
    assert.equal(await peer.open(), 101);
    await peer.write(hello);
    await peer.until(() => peer.record.length > 0);
    assert.deepEqual(peer.record, ['welcome 1']);
    peer.destroy();
  });

  test('frames instead of a handshake are no HTTP', async () => {
    const peer = new Peer(held.server);
    await peer.write(hello);
    await peer.write('\r\n\r\n');
    await peer.until(() => peer.status !== undefined);
    assert.equal(peer.status, 400);
    peer.destroy();
  });
});

// 12 and 13: whatever compression is offered, none is agreed to; so a frame that is compressed all the same has a
// reserved bit.
describe('FO-093 compression', () => {
  const offers = {
    '12.1': 'permessage-deflate', '13.1': 'permessage-deflate; client_no_context_takeover; client_max_window_bits',
    '13.2': 'permessage-deflate; server_no_context_takeover; client_max_window_bits',
    '13.3': 'permessage-deflate; server_max_window_bits=9; client_max_window_bits',
    '13.4': 'permessage-deflate; server_max_window_bits=15; client_max_window_bits',
    '13.5': 'permessage-deflate; server_no_context_takeover; server_max_window_bits=9',
    '13.6': 'permessage-deflate; server_no_context_takeover; server_max_window_bits=15; client_max_window_bits=8',
    '13.7': 'permessage-deflate; server_max_window_bits=9, permessage-deflate; server_no_context_takeover, permessage-deflate',
    '13.x.1': 'x-webkit-deflate-frame', '13.x.2': 'permessage-bzip2, foo; bar="baz"', '13.x.3': ';;,,=',
  };
  for (const [id, offer] of Object.entries(offers)) {
    test(`FO-093 ${id} ${offer}`, async () => {
      assert.equal(fieldsOf(await answered({ fields: { 'Sec-WebSocket-Extensions': offer } }, 101))['sec-websocket-extensions'], undefined);
    });
  }
  playAll(held, [
    { id: 'FO-093 12.x', what: 'a compressed message', expect: ['close 1002 protocol_error'],
      send: [text(Buffer.from('aa562aa92c4855b2522a484d2c4a4b2c4e55aa050000', 'hex'), { rsv: 4 })] },
  ]);
});

describe('before welcome', () => {
  for (const [what, frames, expected] of [
    ['a text without a mask', [text('{}', { mask: false })], 'close 1002 protocol_error'],
    ['text that is not UTF-8', [text(Buffer.from([0xff]))], 'close 1007 invalid_utf8'],
    ['a text of 16 KiB and a byte', [text('x'.repeat(16 * 1024 + 1))], 'close 1009 message_too_large'],
    ['a Close', [close(1000)], 'close 1000'],
  ]) {
    test(`${what}: ${expected}`, async () => {
      const peer = new Peer(held.server);
      await peer.open();
      await peer.write(Buffer.concat(frames));
      peer.saidClose = expected === 'close 1000';
      await peer.until(() => peer.ended);
      assert.deepEqual(peer.record, [expected, 'end']);
      peer.destroy();
    });
  }
});

test('a Close that the peer does not answer ends TCP within 3 s', async () => {
  const peer = await welcomed(held.server);
  peer.answersClose = false;
  await peer.write(text('{}', { mask: false }));
  await peer.until(() => peer.record.length === 1);
  const at = Date.now();
  await peer.until(() => peer.ended);
  assert.deepEqual(peer.record, ['close 1002 protocol_error', 'end']);
  assert.ok(Date.now() - at < 3000, `${Date.now() - at} ms`);
  peer.destroy();
});
