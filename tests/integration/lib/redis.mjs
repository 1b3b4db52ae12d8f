// Starts and stops real Redis servers: loopback, free ports, a folder of their own, nothing kept.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { until } from './server.mjs';

const freePort = () => new Promise((resolve, reject) => {
  const probe = net.createServer();
  probe.once('error', reject);
  probe.listen(0, '127.0.0.1', () => { const { port } = probe.address(); probe.close(() => resolve(port)); });
});

/** Reads one value of the protocol from the front of `text`: [value, what is left], or nothing yet. */
function readValue(text) {
  const end = text.indexOf('\r\n');
  if (end < 0) return undefined;
  const [kind, head, rest] = [text[0], text.slice(1, end), text.slice(end + 2)];
  if (kind === '$') {
    const size = Number(head);
    if (size < 0) return [null, rest];
    return rest.length < size + 2 ? undefined : [rest.slice(0, size), rest.slice(size + 2)];
  }
  if (kind === '*') {
    const values = [];
    let left = rest;
    for (let i = 0; i < Number(head); i++) {
      const one = readValue(left);
      if (!one) return undefined;
      values.push(one[0]);
      left = one[1];
    }
    return [values, left];
  }
  if (kind === '-') return [new Error(head), rest];
  return [kind === ':' ? Number(head) : head, rest];
}

export class Redis {
  get url() { return `redis://127.0.0.1:${this.port}`; }

  async start() {
    this.child = spawn('redis-server', ['--port', this.port, '--bind', '127.0.0.1', '--dir', this.folder,
                                        '--save', '', '--appendonly', 'no', ...this.options],
                       { stdio: 'ignore' });
    this.exited = new Promise((resolve) => { this.child.on('exit', resolve); });
    // One that asks for a password answers too.
    await until(() => this.command('PING').then(() => true, (error) => /^NOAUTH/.test(error.message)), 'redis-server', 15_000);
  }

  /** Runs one command on a connection of its own. */
  command(...words) {
    return new Promise((resolve, reject) => {
      const socket = net.connect(this.port, '127.0.0.1');
      let text = '';
      socket.setEncoding('latin1');
      socket.on('error', reject);
      socket.on('close', () => reject(new Error('closed')));
      socket.on('data', (data) => {
        text += data;
        const value = readValue(text);
        if (!value) return;
        socket.removeAllListeners('close');
        socket.destroy();
        if (value[0] instanceof Error) reject(value[0]); else resolve(value[0]);
      });
      const bytes = words.map((word) => Buffer.from(String(word)));
      socket.write(Buffer.concat([Buffer.from(`*${bytes.length}\r\n`),
        ...bytes.flatMap((one) => [Buffer.from(`$${one.length}\r\n`), one, Buffer.from('\r\n')])]));
    });
  }

  signal(name) { process.kill(this.child.pid, name); }

  /** At once, with all that it holds. */
  async stop() {
    if (this.child.exitCode === null && this.child.signalCode === null) this.signal('SIGKILL');
    await this.exited;
  }

  /** Keys that would stay for ever; there must be none. */
  async withoutTtl() {
    const keys = await this.command('KEYS', '*');
    const found = [];
    for (const key of keys) if (await this.command('PTTL', Buffer.from(key, 'latin1').toString()) === -1) found.push(key);
    return found;
  }

  async dispose() {
    await this.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

export async function startRedis(options = []) {
  const redis = new Redis();
  redis.port = await freePort();
  redis.options = options;
  redis.folder = mkdtempSync(path.join(os.tmpdir(), 'presenced-redis-'));
  await redis.start();
  return redis;
}
