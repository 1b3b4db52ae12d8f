// Runs what the documentation tells to type, and holds what it prints against what the page says it prints.
//
//   <!-- run -->          runs to its end, and must succeed; all of a page in one shell
//   <!-- serve -->        starts a server and goes on once it says `ready`
//   <!-- background -->   starts something and goes on
//   <!-- output -->       what the command before printed; `…` stands for anything
//
// Ports are other ones than on the page. `./dev run` starts the built server, without building.
import { spawn } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { freePort } from '../../integration/lib/redis.mjs';
import { binary, until } from '../../integration/lib/server.mjs';
import { root, text } from './files.mjs';

/** [{ kind, body, line }] of the marked blocks of a page, in order. */
export function blocksOf(page) {
  return [...page.matchAll(/<!-- (run|serve|background|output) -->\n+```\w*\n([^]*?)```/g)]
    .map(({ 1: kind, 2: body, index }) => ({ kind, body, line: page.slice(0, index).split('\n').length }));
}

/** Whether `printed` is what a block says; line by line, white space at the ends aside. */
export function fits(printed, wanted) {
  const lines = (one) => one.trim().split(/\n|(?<=\})(?=\{)/);  // Answers of curl end without a new line.
  const [got, said] = [lines(printed), lines(wanted)];
  const pattern = (line) => new RegExp(`^${line.split('…').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('.*')}$`);
  return got.length === said.length && said.every((line, i) => pattern(line).test(got[i]));
}

async function portsFor(page) {
  const named = new Set([...page.matchAll(/(?:127\.0\.0\.1:|--port |for port in (?:\d+ )*)(\d{4})\b/g)].map(([, port]) => port));
  for (const [, list] of page.matchAll(/for port in ([\d ]+);/g)) for (const port of list.split(' ')) named.add(port);
  if (page.includes('./dev run')) named.add('8080');
  const ports = new Map();
  for (const port of named) ports.set(port, String(await freePort()));
  return ports;
}

/** A page's folder, shell, and what it started. */
export class Reader {
  static async open(name) {
    const reader = new Reader();
    reader.page = text(name);
    reader.ports = await portsFor(reader.page);
    reader.folder = mkdtempSync(path.join(os.tmpdir(), 'presenced-docs-'));
    reader.started = [];
    chmodSync(reader.folder, 0o755);  // PostgreSQL runs as a user of its own.
    const bin = path.join(reader.folder, 'build/release/bin');
    mkdirSync(bin, { recursive: true });
    symlinkSync(binary, path.join(bin, 'presenced'));
    symlinkSync(path.join(root, 'deploy'), path.join(reader.folder, 'deploy'));
    const dev = path.join(reader.folder, 'dev');
    writeFileSync(dev, `#!/bin/sh\n[ "$1" = run ] && shift && exec ${binary} serve --dev --demo "$@"\nexit 2\n`);
    chmodSync(dev, 0o755);
    reader.env = { ...process.env, PATH: `${bin}:${process.env.PATH}`, PRESENCED_DRAIN_TIMEOUT: '1s' };
    reader.shell = reader.spawn('bash', [], 'pipe');
    return reader;
  }

  spawn(program, words, stdin) {
    const child = spawn(program, words, { cwd: this.folder, env: this.env, stdio: [stdin, 'pipe', 'pipe'], detached: true });
    child.said = '';
    child.complaints = '';
    child.ended = new Promise((resolve) => { child.on('exit', (code) => { child.gone = `ended with ${code}`; resolve(); }); });
    child.stdout.on('data', (data) => { child.said += data; });
    child.stderr.on('data', (data) => { child.complaints += data; });
    this.started.push(child);
    return child;
  }

  /** With the ports of this reading. Ports made of parts (`808\\1`) are made of parts of theirs. */
  adapted(body) {
    let adapted = body;
    for (const [shown, real] of this.ports) adapted = adapted.replace(new RegExp(`\\b${shown}\\b`, 'g'), `@${real}@`);
    adapted = adapted.replace(/s\/10\\\.0\\\.0\\\.1\\\(\[123\]\\\):@?\d+@?\/127\.0\.0\.1:808\\1\//,
      [1, 2, 3].map((n) => `s/10\\.0\\.0\\.1${n}:8080/127.0.0.1:${this.ports.get(`808${n}`)}/`).join(';'));
    return adapted.replace(/@(\d+)@/g, '$1');
  }

  async run(body, timeoutMs = 30_000) {
    const { shell } = this;
    shell.said = '';
    shell.complaints = '';
    shell.stdin.write(`set -e\n${this.adapted(body)}\necho; echo __done__\n`);
    const done = await until(() => /\n__done__\n$/.test(shell.said) || shell.gone, 'a block to end', timeoutMs);
    if (done !== true) throw new Error(`the shell ${shell.gone}: ${shell.said}${shell.complaints}`);
    return shell.said.replace(/\n__done__\n$/, '');
  }

  async serve(body) {
    const settled = body.includes('--config') || body.includes('listen=') ? '' : ` --set listen=127.0.0.1:${this.ports.get('8080')} --set data_dir=data`;
    const server = this.spawn('bash', ['-c', `exec ${this.adapted(body).trim()}${settled}`], 'ignore');
    await until(() => {
      if (server.gone) throw new Error(`the server ${server.gone}: ${server.complaints}`);
      return /^ready /m.test(server.said);
    }, 'a server to be ready', 15_000);
  }

  background(body) { return this.spawn('bash', ['-c', `exec ${this.adapted(body).trim()}`], 'ignore'); }

  async close() {
    for (const child of this.started.reverse()) {
      try { process.kill(-child.pid, 'SIGKILL'); } catch { /* It is gone. */ }
      await child.ended;
    }
    rmSync(this.folder, { recursive: true, force: true });
  }
}
