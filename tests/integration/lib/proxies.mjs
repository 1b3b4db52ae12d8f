// Real nginx and HAProxy in front of real nodes, with the files of deploy/: only addresses, ports, certificates and what a
// test names are replaced in them.
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { freePort } from './redis.mjs';
import { root, until } from './server.mjs';

export const hasNginx = spawnSync('nginx', ['-v']).status === 0;
export const hasHaproxy = spawnSync('haproxy', ['-v']).status === 0;

/** Replaces, and wants each to have been there: else the test would be about something else. */
function replaced(text, changes) {
  for (const [from, to] of changes) {
    const next = text.replace(from, to);
    if (next === text) throw new Error(`there is no ${from} in the example`);
    text = next;
  }
  return text;
}

function certificate(folder) {
  const made = spawnSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2',
                                     '-subj', '/CN=localhost', '-keyout', `${folder}/key.pem`, '-out', `${folder}/certificate.pem`]);
  if (made.status !== 0) throw new Error(`openssl: ${made.stderr}`);
  writeFileSync(`${folder}/both.pem`, readFileSync(`${folder}/certificate.pem`) + readFileSync(`${folder}/key.pem`));
}

/** A proxy in front of `nodes`, as the tests' clients see a server: by TLS for WebSockets, in the clear for the rest. */
class Proxy {
  constructor(folder, port, tlsPort) {
    Object.assign(this, { folder, port, tlsPort, secret: 'dev', key: 'dev' });
  }

  get wsUrl() { return `wss://127.0.0.1:${this.tlsPort}/v1/connect`; }
  get httpUrl() { return `http://127.0.0.1:${this.port}`; }

  async start(program, parameters) {
    this.child = spawn(program, parameters, { stdio: ['ignore', 'pipe', 'pipe'] });
    this.said = '';
    for (const pipe of [this.child.stdout, this.child.stderr]) pipe.on('data', (data) => { this.said += data; });
    this.exited = new Promise((resolve) => { this.child.on('exit', () => { this.gone = true; resolve(); }); });
    await until(async () => {
      if (this.gone) throw new Error(`${program} ended: ${this.said}`);
      return (await fetch(`${this.httpUrl}/readyz`).catch(() => undefined))?.status === 200;
    }, program, 15_000);
    return this;
  }

  async dispose() {
    if (!this.gone) this.child.kill('SIGTERM');  // nginx: at once.
    await this.exited;
    rmSync(this.folder, { recursive: true, force: true });
  }
}

async function prepared(name) {
  const folder = mkdtempSync(path.join(os.tmpdir(), `presenced-${name}-`));
  certificate(folder);
  return new Proxy(folder, await freePort(), await freePort());
}

const example = (name) => readFileSync(path.join(root, 'deploy', name), 'utf8');

/** @param changes  further [from, to] in deploy/nginx/presenced.conf */
export async function startNginx(nodes, changes = []) {
  const proxy = await prepared('nginx');
  const { folder } = proxy;
  for (const name of ['body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']) mkdirSync(`${folder}/${name}`);
  const servers = nodes.map((node) => `server ${node.address} max_fails=1 fail_timeout=2s;`).join('\n');
  writeFileSync(`${folder}/presenced.conf`, replaced(example('nginx/presenced.conf'), [
    [/( *server 10\.0\.0\.\d+:8080 [^\n]*\n)+/, `${servers}\n`],
    ['listen 443 ssl http2;', `listen 127.0.0.1:${proxy.tlsPort} ssl; listen 127.0.0.1:${proxy.port};`],
    ['/etc/nginx/presence.EXAMPLE.com.pem', `${folder}/certificate.pem`],
    ['/etc/nginx/presence.EXAMPLE.com.key', `${folder}/key.pem`],
    ...changes]));
  writeFileSync(`${folder}/nginx.conf`, `daemon off; ${process.getuid() === 0 ? 'user root;' : ''} worker_processes 1; pid ${folder}/pid; error_log ${folder}/error.log;
    events { worker_connections 1024; }
    http { access_log ${folder}/access.log;
      client_body_temp_path ${folder}/body; proxy_temp_path ${folder}/proxy; fastcgi_temp_path ${folder}/fastcgi;
      uwsgi_temp_path ${folder}/uwsgi; scgi_temp_path ${folder}/scgi;
      include ${folder}/presenced.conf; }\n`);
  return proxy.start('nginx', ['-c', `${folder}/nginx.conf`, '-e', `${folder}/error.log`]);
}

/** @param changes  further [from, to] in deploy/haproxy/haproxy.cfg */
export async function startHaproxy(nodes, changes = []) {
  const proxy = await prepared('haproxy');
  const servers = nodes.map((node, i) => `    server node${i} ${node.address} check\n`).join('');
  writeFileSync(`${proxy.folder}/haproxy.cfg`, replaced(example('haproxy/haproxy.cfg'), [
    [/( *server node\d 10\.0\.0\.\d+:8080 check\n)+/, servers],
    ['bind :443 ssl crt /etc/haproxy/presence.EXAMPLE.com.pem', `bind 127.0.0.1:${proxy.port}\n    bind 127.0.0.1:${proxy.tlsPort} ssl crt ${proxy.folder}/both.pem`],
    ['maxconn 65536', 'maxconn 1000'],
    ...changes]));
  return proxy.start('haproxy', ['-db', '-f', `${proxy.folder}/haproxy.cfg`]);
}
