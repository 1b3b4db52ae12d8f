// A real PostgreSQL of a test's own: a temporary folder, a free port on loopback, and a user
// without rights where the tests run as root. Stopped and started at will.
import { spawn, spawnSync } from 'node:child_process';
import { appendFileSync, chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { until } from './server.mjs';

const root = '/usr/lib/postgresql';
const programs = existsSync(root)
  ? readdirSync(root).map((version) => path.join(root, version, 'bin'))
    .filter((folder) => existsSync(path.join(folder, 'initdb'))).sort().at(-1)
  : undefined;
/** False where the Debian package `postgresql` is missing. */
export const hasPostgres = programs !== undefined;

const idOf = (flag) => Number(spawnSync('id', [flag, 'postgres']).stdout.toString());
const identity = () => (process.getuid() === 0 ? { uid: idOf('-u'), gid: idOf('-g') } : {});

const freePort = () => new Promise((resolve, reject) => {
  const server = net.createServer();
  server.once('error', reject);
  server.listen(0, '127.0.0.1', () => { const { port } = server.address(); server.close(() => resolve(port)); });
});

export class Postgres {
  static async create({ settings = '' } = {}) {
    const postgres = new Postgres();
    postgres.folder = mkdtempSync(path.join(os.tmpdir(), 'presenced-pg-'));
    postgres.data = path.join(postgres.folder, 'data');
    postgres.port = await freePort();
    const { uid, gid } = identity();
    if (uid !== undefined) chownSync(postgres.folder, uid, gid);
    const made = spawnSync(path.join(programs, 'initdb'), ['-D', postgres.data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync'], identity());
    if (made.status !== 0) throw new Error(`initdb: ${made.stderr}`);
    appendFileSync(path.join(postgres.data, 'postgresql.conf'),
      `listen_addresses = '127.0.0.1'\nport = ${postgres.port}\nunix_socket_directories = '${postgres.folder}'\n` +
      `timezone = 'Asia/Bangkok'\nfsync = off\nmax_connections = 40\nshared_buffers = 16MB\n${settings}\n`);
    return postgres;
  }

  get url() { return `postgresql://postgres@127.0.0.1:${this.port}/postgres`; }

  async start() {
    this.child = spawn(path.join(programs, 'postgres'), ['-D', this.data], { ...identity(), stdio: 'ignore' });
    this.exited = new Promise((resolve) => { this.child.once('exit', resolve); });
    await until(() => spawnSync(path.join(programs, 'pg_isready'), ['-h', '127.0.0.1', '-p', String(this.port)]).status === 0, 'PostgreSQL', 30_000);
  }

  /** As an operator would, clients thrown out. */
  async stop() {
    if (!this.child) return;
    this.child.kill('SIGINT');
    await this.exited;
    this.child = undefined;
  }

  /** Rows as text, fields parted by `|`. */
  query(sql) {
    const asked = spawnSync(path.join(programs, 'psql'), ['-h', '127.0.0.1', '-p', String(this.port), '-U', 'postgres', '-At', '-c', sql]);
    if (asked.status !== 0) throw new Error(`psql: ${asked.stderr}`);
    return asked.stdout.toString().trim().split('\n').filter((line) => line !== '');
  }

  async dispose() {
    if (this.child) { this.child.kill('SIGQUIT'); await this.exited; }
    rmSync(this.folder, { recursive: true, force: true });
  }
}
