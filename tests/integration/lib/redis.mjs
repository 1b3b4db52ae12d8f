// Starts and stops real Redis servers: loopback, free ports, a folder of their own, nothing kept.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { delay, until } from './server.mjs';

const anyPort = () => new Promise((resolve, reject) => {
  const probe = net.createServer();
  probe.once('error', reject);
  probe.listen(0, '127.0.0.1', () => { const { port } = probe.address(); probe.close(() => resolve(port)); });
});

/** A port that nobody listens on now; so low that a cluster's second one, 10,000 above, exists. */
export async function freePort() {
  for (;;) {
    const port = await anyPort();
    if (port < 55_000) return port;
  }
}

/** Reads one value of the protocol from the front of `text`: [value, what is left], or nothing yet. */
export function readValue(text) {
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
      const bytes = words.map((word) => (Buffer.isBuffer(word) ? word : Buffer.from(String(word))));
      socket.write(Buffer.concat([Buffer.from(`*${bytes.length}\r\n`),
        ...bytes.flatMap((one) => [Buffer.from(`$${one.length}\r\n`), one, Buffer.from('\r\n')])]));
    });
  }

  signal(name) { process.kill(this.child.pid, name); }

  get running() { return this.child.exitCode === null && this.child.signalCode === null; }

  /** At once, with all that it holds; `keepData`: what it holds is there again after the start. */
  async stop({ keepData = false } = {}) {
    if (keepData) await this.command('SAVE');
    if (this.running) this.signal('SIGKILL');
    await this.exited;
    if (!keepData) rmSync(path.join(this.folder, 'dump.rdb'), { force: true });
  }

  /** Keys that would stay for ever, of one moment; there must be none. */
  async withoutTtl() {
    return this.command('EVAL', `local found = {}
      for _, key in ipairs(redis.call('KEYS', '*')) do
        if redis.call('PTTL', key) == -1 then found[#found + 1] = key end
      end
      return found`, '0');
  }

  /** How often each command has been called since the start, those inside scripts too. */
  async commandCalls() {
    const info = await this.command('INFO', 'commandstats');
    return new Map([...info.matchAll(/^cmdstat_(\S+?):calls=(\d+)/gm)].map(([, name, calls]) => [name, Number(calls)]));
  }

  async dispose() {
    await this.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/**
 * Looks for keys without a TTL on `servers` until the function that it gives is called; that one
 * gives what was found. Those that are stopped just then are passed over.
 */
export function lookForKeysWithoutTtl(servers, everyMs = 250) {
  const found = new Set();
  let looks = 0;
  let going = true;
  const done = (async () => {
    while (going) {
      for (const server of servers) {
        const keys = await Promise.race([server.withoutTtl().catch(() => undefined), delay(1000)]);
        if (keys) looks += 1;
        for (const key of keys ?? []) found.add(key);
      }
      await delay(everyMs);
    }
  })();
  return async () => { going = false; await done; return { found: [...found], looks }; };
}

export async function startRedis(options = []) {
  const redis = new Redis();
  redis.port = await freePort();
  redis.options = options;
  redis.folder = mkdtempSync(path.join(os.tmpdir(), 'presenced-redis-'));
  await redis.start();
  return redis;
}
