// The other end: a client on bare TCP that does what it is told, and writes down all that comes.
import net from 'node:net';
import { frame } from './frames.mjs';

const key = 'dGhlIHNhbXBsZSBub25jZQ==';

/** The head of a handshake. A field that is null is left out, one with a list comes several times. */
export function handshake({ method = 'GET', path = '/v1/connect', version = 'HTTP/1.1', fields = {} } = {}) {
  const all = { Host: 'presence.example', Upgrade: 'websocket', Connection: 'Upgrade', 'Sec-WebSocket-Version': '13',
                'Sec-WebSocket-Key': key, ...fields };
  const lines = Object.entries(all).filter(([, value]) => value !== null)
    .flatMap(([name, value]) => [value].flat().map((one) => `${name}: ${one}\r\n`));
  return Buffer.from(`${method} ${path} ${version}\r\n${lines.join('')}\r\n`);
}

/** What a frame of the server says, as one line of the record. */
function lineOf(opcode, payload) {
  if (opcode === 10) return `pong ${payload.toString('hex')}`.trim();
  if (opcode === 9) return `ping ${payload.toString('hex')}`.trim();
  if (opcode === 8) {
    if (payload.length < 2) return payload.length === 0 ? 'close' : 'broken: a Close of one byte';
    return `close ${payload.readUInt16BE(0)} ${payload.subarray(2).toString().split(':')[0]}`.trim();
  }
  try {
    const { type, id, code } = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(payload));
    return [type, id ?? '-', code].filter((word) => word !== undefined).join(' ');
  } catch (error) {
    return `broken: ${error.message}`;
  }
}

/** Why no server may send such a header, or null. */
function faultOf(first, second, size) {
  const opcode = first & 15;
  if ((first & 0x70) !== 0) return 'reserved bits';
  if ((first & 0x80) === 0) return 'a fragment';
  if ((second & 0x80) !== 0) return 'a mask';
  if (![1, 8, 9, 10].includes(opcode)) return `opcode ${opcode}`;
  if (opcode > 7 && size > 125) return 'a long control frame';
  if (((second & 127) === 126 && size < 126) || ((second & 127) === 127 && size < 65536)) return 'a length too long in form';
  return null;
}

export class Peer {
  /**
   * @param answersClose  false: a Close of the server is not answered
   */
  constructor(server, { answersClose = true } = {}) {
    this.record = [];       // One line for each frame of the server, `end` for the end of TCP.
    this.answersClose = answersClose;
    this.waiting = Buffer.alloc(0);
    this.wakers = new Set();
    this.socket = net.connect({ host: server.host, port: server.port, allowHalfOpen: true });
    this.socket.setNoDelay(true);
    this.socket.on('error', () => {});
    this.socket.on('data', (bytes) => { this.waiting = Buffer.concat([this.waiting, bytes]); this.read(); });
    this.socket.on('end', () => this.note('end'));
    this.socket.on('close', () => { if (!this.ended) this.note('reset'); });
  }

  get ended() { return ['end', 'reset'].includes(this.record.at(-1)); }

  write(bytes) { return new Promise((resolve) => { this.socket.write(bytes, () => resolve()); }); }

  note(line) {
    if (this.ended) return;
    this.record.push(line);
    for (const wake of this.wakers) wake();
  }

  read() {
    if (!this.upgraded) {
      const at = this.waiting.indexOf('\r\n\r\n');
      if (at < 0) return;
      this.head = this.waiting.subarray(0, at + 4).toString('latin1');
      this.status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(this.head)?.[1]);
      if (this.status !== 101) { for (const wake of this.wakers) wake(); return; }
      this.upgraded = true;
      this.waiting = this.waiting.subarray(at + 4);
      for (const wake of this.wakers) wake();
    }
    while (this.readFrame());
  }

  readFrame() {
    const b = this.waiting;
    if (b.length < 2) return false;
    const form = b[1] & 127;
    const at = form === 126 ? 4 : form === 127 ? 10 : 2;
    if (b.length < at) return false;
    const size = form === 126 ? b.readUInt16BE(2) : form === 127 ? Number(b.readBigUInt64BE(2)) : form;
    if (b.length < at + size) return false;
    const fault = faultOf(b[0], b[1], size);
    const payload = b.subarray(at, at + size);
    this.waiting = b.subarray(at + size);
    this.note(fault ? `broken: ${fault}` : lineOf(b[0] & 15, payload));
    if ((b[0] & 15) === 8) {
      this.reason = payload.subarray(2).toString();
      if (this.answersClose && !this.saidClose) this.socket.write(frame(8, payload.subarray(0, 2)));
    }
    return true;
  }

  /** Waits until `holds`, the end of TCP, or the time is over. */
  async until(holds, timeoutMs = 10_000) {
    if (holds() || this.ended) return;
    await new Promise((resolve) => {
      const done = () => { clearTimeout(timer); this.wakers.delete(wake); resolve(); };
      const wake = () => { if (holds() || this.ended) done(); };
      const timer = setTimeout(done, timeoutMs);
      this.wakers.add(wake);
    });
  }

  /** The handshake; gives the status. */
  async open(options) {
    await this.write(handshake(options));
    await this.until(() => this.status !== undefined);
    return this.status;
  }

  destroy() { this.socket.destroy(); }
}
