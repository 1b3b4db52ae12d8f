// Bare TCP, for bytes that no proper client would send.
import assert from 'node:assert/strict';
import net from 'node:net';
import { randomBytes } from 'node:crypto';
import { delay } from './server.mjs';
import { tokenFor } from './tokens.mjs';

/** A client's frame. `length`: lie about it; `mask: false`: leave the mask out. */
export function frame(opcode, payload = '', { fin = true, rsv = 0, mask = true, length } = {}) {
  const body = Buffer.from(payload);
  const size = length ?? body.length;
  const head = [(fin ? 0x80 : 0) | (rsv << 4) | opcode];
  const masked = mask ? 0x80 : 0;
  if (size >= 0 && size < 126) head.push(masked | size);
  else if (size >= 0 && size < 65536) head.push(masked | 126, size >> 8, size & 255);
  else {
    const long = Buffer.alloc(8);
    long.writeBigUInt64BE(BigInt.asUintN(64, BigInt(size)));
    head.push(masked | 127, ...long);
  }
  if (!mask) return Buffer.concat([Buffer.from(head), body]);
  const key = randomBytes(4);
  return Buffer.concat([Buffer.from(head), key, Buffer.from(body.map((byte, i) => byte ^ key[i & 3]))]);
}

export const text = (message) => frame(1, typeof message === 'string' ? message : JSON.stringify(message));
export const closeFrame = (code, reason = '') => {
  const payload = Buffer.alloc(2);
  payload.writeUInt16BE(code);
  return frame(8, Buffer.concat([payload, Buffer.from(reason)]));
};

export class RawClient {
  constructor(server, { localAddress } = {}) {
    this.frames = [];
    this.buffer = Buffer.alloc(0);
    this.ended = false;
    this.socket = net.connect({ host: '127.0.0.1', port: server.port, localAddress, allowHalfOpen: true });
    this.socket.setNoDelay(true);
    this.socket.on('error', () => {});
    this.connected = new Promise((resolve) => { this.socket.once('connect', resolve); this.socket.once('error', resolve); });
    this.gone = new Promise((resolve) => {
      const end = () => { if (!this.ended) { this.ended = true; this.endedAt = Date.now(); resolve(); } };
      this.socket.on('end', end);
      this.socket.on('close', end);
    });
    this.socket.on('data', (data) => { this.buffer = Buffer.concat([this.buffer, data]); if (this.upgraded) this.parse(); });
  }

  write(bytes) { return new Promise((resolve) => { this.socket.write(bytes, () => resolve()); }); }

  /** Does the handshake; gives the status line and head. */
  async upgrade({ headers = {}, path = '/v1/connect' } = {}) {
    await this.connected;
    const fields = { Host: 'test', Upgrade: 'websocket', Connection: 'Upgrade', 'Sec-WebSocket-Version': '13',
                     'Sec-WebSocket-Key': randomBytes(16).toString('base64'), ...headers };
    const lines = Object.entries(fields).filter(([, value]) => value !== null)
      .flatMap(([name, value]) => [value].flat().map((one) => `${name}: ${one}\r\n`));
    await this.write(`GET ${path} HTTP/1.1\r\n${lines.join('')}\r\n`);
    const head = await this.head();
    if (head.startsWith('HTTP/1.1 101')) { this.upgraded = true; this.parse(); }
    return head;
  }

  async head(timeoutMs = 5000) {
    const end = Date.now() + timeoutMs;
    while (this.buffer.indexOf('\r\n\r\n') < 0) {
      if (this.ended || Date.now() > end) return this.buffer.toString('latin1');
      await delay(5);
    }
    const at = this.buffer.indexOf('\r\n\r\n') + 4;
    const head = this.buffer.subarray(0, at).toString('latin1');
    this.buffer = this.buffer.subarray(at);
    return head;
  }

  parse() {
    for (;;) {
      const b = this.buffer;
      if (b.length < 2) return;
      let size = b[1] & 127;
      let at = 2;
      if (size === 126) { if (b.length < 4) return; size = b.readUInt16BE(2); at = 4; }
      else if (size === 127) { if (b.length < 10) return; size = Number(b.readBigUInt64BE(2)); at = 10; }
      if (b.length < at + size) return;
      this.frames.push({ opcode: b[0] & 15, first: b[0], masked: b[1] >> 7, payload: b.subarray(at, at + size) });
      this.buffer = b.subarray(at + size);
    }
  }

  async next(matches, what, timeoutMs = 5000) {
    const end = Date.now() + timeoutMs;
    for (;;) {
      const found = this.frames.find(matches);
      if (found) return found;
      if (Date.now() > end || (this.ended && this.socket.destroyed)) {
        throw new Error(`no ${what}; got ${JSON.stringify(this.frames.slice(-3).map((f) => [f.opcode, f.payload.toString('latin1').slice(0, 200)]))}`);
      }
      await delay(5);
    }
  }

  /** Upgrades and says hello; gives welcome. */
  async hello(user, fields = {}) {
    const head = await this.upgrade();
    assert.match(head, /^HTTP\/1\.1 101 /);
    await this.write(text({ type: 'hello', id: 0, token: tokenFor(user), ...fields }));
    const answer = await this.next((f) => f.opcode === 1, 'welcome');
    const welcome = JSON.parse(answer.payload.toString());
    assert.equal(welcome.type, 'welcome', answer.payload.toString());
    return welcome;
  }

  /** The text message that answers `id`. */
  async answer(id, timeoutMs) {
    const of = (f) => { try { return JSON.parse(f.payload.toString()).id === id; } catch { return false; } };
    const found = await this.next((f) => f.opcode === 1 && of(f), `answer ${id}`, timeoutMs);
    return JSON.parse(found.payload.toString());
  }

  /** The server's Close must come with that code, and TCP end soon after even without an answer. */
  async closedWith(code, { word, timeoutMs = 5000 } = {}) {
    const close = await this.next((f) => f.opcode === 8, `Close ${code}`, timeoutMs);
    assert.equal(close.payload.length >= 2 ? close.payload.readUInt16BE(0) : 1005, code, close.payload.toString('latin1'));
    if (word) assert.equal(close.payload.subarray(2).toString().split(/[\s:]/)[0], word);
    return close;
  }

  destroy() { this.socket.destroy(); }
}
