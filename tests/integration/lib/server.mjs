// Starts and stops the real binary, each with a data folder of its own.
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../..');
export const binary = process.env.PRESENCED_BIN ?? path.join(root, 'build/release/bin/presenced');

/** The fast profile: everything that takes minutes in life takes seconds here. */
export const fast = {
  'heartbeat.interval': '1000ms',
  'heartbeat.ttl': '3400ms',
  'heartbeat.grace': '1000ms',
};
export const interval = 1000;
export const ttl = 3400;
export const grace = 1000;

/** Rate limits out of the way, for tests that are about something else. */
export const roomy = {
  'limits.status_per_second': '10000',
  'limits.status_burst': '10000',
  'limits.rest_per_second': '10000',
  'limits.rest_burst': '10000',
  'limits.errors_per_second': '10000',
  'limits.errors_burst': '10000',
  'limits.messages_per_second': '10000',
  'limits.messages_burst': '10000',
};

export const delay = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });

/** Waits until `probe` gives something true, and gives that. */
export async function until(probe, what = 'condition', timeoutMs = 5000) {
  const end = Date.now() + timeoutMs;
  for (;;) {
    const value = await probe();
    if (value) return value;
    if (Date.now() > end) throw new Error(`waited ${timeoutMs} ms in vain for ${what}`);
    await delay(20);
  }
}

class Server {
  constructor(child, dataDir) {
    this.child = child;
    this.dataDir = dataDir;
    this.stderr = '';
    this.stdout = '';
    this.exited = new Promise((resolve) => {
      child.on('exit', (code, signal) => { this.exit = { code, signal }; resolve(this.exit); });
    });
    child.stderr.on('data', (data) => { this.stderr = (this.stderr + data).slice(-4_000_000); });
    child.stdout.on('data', (data) => { this.stdout += data; });
  }

  get pid() { return this.child.pid; }
  get wsUrl() { return `ws://${this.address}/v1/connect`; }
  get httpUrl() { return `http://${this.address}`; }

  async ready(timeoutMs) {
    const found = await until(() => {
      if (this.exit) {
        throw new Error(`server ended before it was ready (${JSON.stringify(this.exit)}):\n` +
                        this.stderr.slice(-2000));
      }
      return /^ready https?:\/\/(\S+)$/m.exec(this.stdout);
    }, 'the line "ready http://ADDRESS:PORT"', timeoutMs);
    this.address = found[1].replace(/\/$/, '');
    this.host = this.address.replace(/:\d+$/, '');
    this.port = Number(/:(\d+)$/.exec(this.address)[1]);
  }

  signal(name) { process.kill(this.pid, name); }

  /** Ends it at once, as a crash would; the data stays. */
  async kill() {
    if (!this.exit) this.signal('SIGKILL');
    return this.exited;
  }

  /** Ends it as an operator would, at last by force; gives how it ended. */
  async terminate(timeoutMs = 10_000) {
    if (!this.exit) this.signal('SIGTERM');
    const result = await Promise.race([this.exited, delay(timeoutMs)]);
    if (!result) await this.kill();
    return result;
  }

  /** For the end of a test: gone, with its data. */
  async dispose() {
    await this.kill();
    rmSync(this.dataDir, { recursive: true, force: true });
  }

  residentBytes() {
    return 1024 * Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${this.pid}/status`))[1]);
  }

  openFiles() { return readdirSync(`/proc/${this.pid}/fd`).length; }

  /** Seconds of CPU used so far. */
  cpuSeconds() {
    const fields = readFileSync(`/proc/${this.pid}/stat`, 'utf8').replace(/^.*\) /, '').split(' ');
    return (Number(fields[11]) + Number(fields[12])) / 100;
  }
}

/**
 * @param set      configuration keys and values, over the fast profile and the roomy limits
 * @param dataDir  a folder to go on with; else a new one
 * @param dev      false: without --dev
 * @param config   a configuration file
 */
export async function startServer({ set = {}, dataDir, dev = true, config, env = {}, timeoutMs = 15_000 } = {}) {
  if (!existsSync(binary)) throw new Error(`no server binary at ${binary}; set PRESENCED_BIN`);
  const folder = dataDir ?? mkdtempSync(path.join(os.tmpdir(), 'presenced-test-'));
  const settings = {
    listen: '127.0.0.1:0', data_dir: folder, 'drain.timeout': '3s', ...fast, ...roomy, ...set,
  };
  const options = Object.entries(settings).filter(([, value]) => value !== null)
    .flatMap(([key, value]) => ['--set', `${key}=${value}`]);
  const child = spawn(binary, ['serve', ...(dev ? ['--dev'] : []), ...(config ? ['--config', config] : []), ...options],
                      { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, ...env } });
  const server = new Server(child, folder);
  server.secret = set['auth.secret'] ?? 'dev';  // What tokens and back ends of this server use.
  server.key = set['auth.api_keys'] ?? 'dev';
  try {
    await server.ready(timeoutMs);
  } catch (error) {
    await server.kill();
    throw error;
  }
  return server;
}

/** Runs a command of the binary to its end. */
export function run(parameters, { env = {}, timeoutMs = 10_000 } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(binary, parameters, { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, ...env } });
    let stdout = '';
    let stderr = '';
    const timer = setTimeout(() => child.kill('SIGKILL'), timeoutMs);
    child.stdout.on('data', (data) => { stdout += data; });
    child.stderr.on('data', (data) => { stderr += data; });
    child.on('error', reject);
    child.on('close', (code, signal) => { clearTimeout(timer); resolve({ code, signal, stdout, stderr }); });
  });
}
