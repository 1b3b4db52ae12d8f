// The process of lib/crowd.mjs.
import net from 'node:net';
import { tokenFor } from './tokens.mjs';

const beat = Buffer.from([0x8a, 0x80, 0, 0, 0, 0]);
const delay = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });

/** A client's text frame; masked with zeros, which leaves the text as it is. */
function text(message) {
  const body = Buffer.from(JSON.stringify(message));
  const head = body.length < 126 ? Buffer.from([0x81, 0x80 | body.length, 0, 0, 0, 0])
    : Buffer.from([0x81, 0xfe, body.length >> 8, body.length & 255, 0, 0, 0, 0]);
  return Buffer.concat([head, body]);
}

class Light {
  constructor(port, user, resume, beatEveryMs, whenEnded) {
    this.user = user;
    this.pending = Buffer.alloc(0);
    this.code = 0;
    this.socket = net.connect({ port, host: '127.0.0.1', noDelay: true });
    this.welcomed = new Promise((resolve) => { this.answer = resolve; });
    this.beatEveryMs = beatEveryMs;
    const began = Date.now();
    this.socket.on('error', () => {});
    this.socket.on('close', () => {
      clearInterval(this.timer);
      const early = this.refusal ?? { error: 'lost' };
      this.answer({ ...early, tookMs: Date.now() - began });
      whenEnded(this);
    });
    this.socket.on('data', (data) => this.take(data));
    this.socket.write('GET /v1/connect HTTP/1.1\r\nHost: test\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n' +
                      'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n');
    this.hello = { type: 'hello', token: tokenFor(user), device: { type: 'mobile' }, ...(resume ? { resume } : {}) };
  }

  take(data) {
    let bytes = this.pending.length ? Buffer.concat([this.pending, data]) : data;
    if (!this.upgraded) {
      const end = bytes.indexOf('\r\n\r\n');
      if (end < 0) { this.pending = bytes; return; }
      if (!bytes.subarray(0, 12).equals(Buffer.from('HTTP/1.1 101'))) {
        this.refusal = { error: bytes.subarray(0, 12).toString('latin1') };
        this.socket.destroy();
        return;
      }
      this.upgraded = true;
      bytes = bytes.subarray(end + 4);
      this.socket.write(text(this.hello));
      this.hello = undefined;
    }
    for (;;) {
      if (bytes.length < 2) break;
      const small = bytes[1] & 127;
      const at = small === 127 ? 10 : small === 126 ? 4 : 2;
      if (bytes.length < at) break;
      const size = small === 127 ? Number(bytes.readBigUInt64BE(2)) : small === 126 ? bytes.readUInt16BE(2) : small;
      if (bytes.length < at + size) break;
      this.frame(bytes[0] & 15, bytes.subarray(at, at + size));
      bytes = bytes.subarray(at + size);
    }
    this.pending = Buffer.from(bytes);
  }

  frame(opcode, payload) {
    if (opcode === 9) this.socket.write(Buffer.concat([Buffer.from([0x8a, 0x80 | payload.length, 0, 0, 0, 0]), payload]));
    else if (opcode === 8) { this.code = payload.length >= 2 ? payload.readUInt16BE(0) : 1005; this.socket.end(); }
    else if (opcode === 1 && this.answer) {
      const message = JSON.parse(payload.toString());
      if (message.type === 'welcome') {
        this.answer({ resume: message.resume, resumed: message.resumed, at: Date.now() });
        this.timer = setTimeout(() => {
          this.socket.write(beat);
          this.timer = setInterval(() => this.socket.write(beat), this.beatEveryMs);
        }, Math.random() * this.beatEveryMs);
      } else if (message.type === 'error') {
        this.refusal = { error: message.code, retryAfterMs: message.retryAfterMs };
      }
    }
  }
}

const people = new Map();

const calls = {
  async attach({ port, users, resume, beatEveryMs, atOnce, perSecond }) {
    const found = new Map();
    const left = [...users];
    const began = Date.now();
    let begun = 0;
    const one = async () => {
      for (let user = left.shift(); user !== undefined; user = left.shift()) {
        const wait = perSecond ? began + (begun++ * 1000) / perSecond - Date.now() : 0;
        if (wait > 0) await delay(wait);
        const light = new Light(port, user, resume.get(user), beatEveryMs, (ended) => {
          if (people.get(ended.user) !== ended) return;
          people.delete(ended.user);
          process.send({ ended: ended.user, code: ended.code });
        });
        const answer = await light.welcomed;
        found.set(user, answer);
        if (!answer.error) people.set(user, light);
      }
    };
    await Promise.all(Array.from({ length: atOnce }, one));
    return found;
  },

  async bye({ users, perSecond }) {
    const said = new Map();
    const began = Date.now();
    for (const [i, user] of users.entries()) {
      const wait = began + (i * 1000) / perSecond - Date.now();
      if (wait > 0) await delay(wait);
      const light = people.get(user);
      if (!light) continue;
      people.delete(user);
      said.set(user, Date.now());
      light.socket.write(text({ type: 'bye' }));
    }
    return said;
  },
};

process.on('message', async ({ call, what, ...fields }) => {
  try {
    process.send({ call, value: await calls[what](fields) });
  } catch (error) {
    process.send({ call, error: error.stack });
  }
});
process.on('disconnect', () => process.exit(0));
