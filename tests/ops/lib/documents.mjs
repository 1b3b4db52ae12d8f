// Runs what the documentation tells to type, and holds what it prints against what the page says it prints.
//
//   <!-- run -->          runs to its end, and must succeed; all of a page in one shell
//   <!-- serve -->        starts a server and goes on once it says `ready`
//   <!-- background -->   starts something and goes on
//   <!-- output -->       what the command before printed; `…` stands for anything
//   <!-- elsewhere: … --> is not run here, and why
//
// Ports are other ones than on the page. `./dev run` and `./dev cluster` start the built server, without building; what
// the machine itself is told (`apt-get`, `systemctl`) is only written down: reader.told.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import net from 'node:net';
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

/** Blocks with commands that say neither that they are run nor why not. */
export function unmarkedIn(page) {
  const blocks = [...page.matchAll(/(?:^(.*)\n+)?^```(\w*)\n([^]*?)^```/gm)];
  return blocks.filter(([, before, language, body]) => (language === 'sh' || (language === '' && /^(\$|\.\/|curl|cmake|npm|build\/|presenced |redis|docker)/.test(body)))
    && !/^<!-- (run|serve|background|elsewhere: .{10,}) -->$/.test(before ?? '')).map(([, , , body]) => body);
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

/** The first of so many, below those that the system gives out by itself: nobody else is given one meanwhile. */
export async function freePortsInARow(count) {
  const isFree = (port) => new Promise((resolve) => {
    const probe = net.createServer().once('error', () => resolve(false));
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
  });
  for (;;) {
    const first = 20_000 + Math.floor(Math.random() * 10_000);
    const free = await Promise.all(Array.from({ length: count }, (_, i) => isFree(first + i)));
    if (free.every(Boolean)) return first;
  }
}

/** A page's folder, shell, and what it started. */
export class Reader {
  /** One who reads these pages one after the other, in one folder. */
  static async open(...names) {
    const reader = new Reader();
    reader.ports = await portsFor(names.map(text).join('\n'));
    reader.folder = mkdtempSync(path.join(os.tmpdir(), 'presenced-docs-'));
    reader.at = reader.folder;
    reader.started = [];
    chmodSync(reader.folder, 0o755);  // PostgreSQL runs as a user of its own.
    const bin = path.join(reader.folder, 'build/release/bin');
    mkdirSync(bin, { recursive: true });
    for (const program of ['presenced', 'presenced-sim']) {
      const built = path.join(path.dirname(binary), program);
      if (existsSync(built)) symlinkSync(built, path.join(bin, program));
    }
    symlinkSync(path.join(root, 'deploy'), path.join(reader.folder, 'deploy'));
    reader.script('dev', `case "$1" in run) shift; exec ${binary} serve --dev --demo "$@" ;; cluster) exec ${root}/tools/cluster.sh ${binary} ;; esac; exit 2`);
    for (const program of ['apt-get', 'systemctl']) reader.script(`build/release/bin/${program}`, `echo "${program} $*" >> ${reader.folder}/told`);
    reader.env = { ...process.env, PATH: `${bin}:${process.env.PATH}`, PRESENCED_DRAIN_TIMEOUT: '1s' };
    reader.shell = reader.spawn('bash', [], 'pipe');
    return reader;
  }

  script(name, body) { writeFileSync(path.join(this.folder, name), `#!/bin/sh\n${body}\n`, { mode: 0o755 }); }

  /** What the machine was told: `apt-get install …`. */
  get told() { return existsSync(`${this.folder}/told`) ? readFileSync(`${this.folder}/told`, 'utf8').trim().split('\n') : []; }

  /** Does all that a page says, in its order. What it starts goes on. */
  async walk(name) {
    let printed = '';
    for (const { kind, body, line } of blocksOf(text(name))) {
      try {
        if (kind === 'serve') await this.serve(body);
        else if (kind === 'background') this.background(body);
        else if (kind === 'run') printed = await this.run(body);
        else assert.ok(fits(printed, this.adapted(body)), `the page says\n${body}but it printed\n${printed}`);
      } catch (error) { throw new Error(`${name}, line ${line}: ${error.message}`); }
    }
  }

  /** Ctrl-C in every terminal. */
  async stopAll() {
    for (const child of this.started.filter((one) => one !== this.shell).reverse()) {
      try { process.kill(-child.pid, 'SIGINT'); } catch { /* It is gone. */ }
      await until(() => child.gone, 'what was started to end', 15_000);
    }
    this.started = [this.shell];
  }

  spawn(program, words, stdin) {
    const child = spawn(program, words, { cwd: this.at, env: this.env, stdio: [stdin, 'pipe', 'pipe'], detached: true });
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
    return adapted.replace(/@(\d+)@/g, '$1').replaceAll('/tmp/three-nodes', `${this.folder}/three-nodes`);
  }

  async run(body, timeoutMs = 30_000) {
    const { shell } = this;
    shell.said = '';
    shell.complaints = '';
    shell.stdin.write(`set -e\n${this.adapted(body)}\necho; echo "__done__ $PWD"\n`);
    const end = /\n__done__ (.*)\n$/;
    await until(() => end.test(shell.said) || shell.gone, 'a block to end', timeoutMs);
    if (shell.gone) throw new Error(`the shell ${shell.gone}: ${shell.said}${shell.complaints}`);
    this.at = end.exec(shell.said)[1];
    return shell.said.replace(end, '');
  }

  async serve(body) {
    const settled = /--config|listen=|dev cluster/.test(body) ? '' : ` --set listen=127.0.0.1:${this.ports.get('8080')} --set data_dir=data`;
    this.env.FIRST_PORT = this.firstPort = await freePortsInARow(3);
    const server = this.spawn('bash', ['-c', `exec ${this.adapted(body).trim()}${settled}`], 'ignore');
    await until(() => {
      if (server.gone) throw new Error(`the server ${server.gone}: ${server.complaints}`);
      return /^ready /m.test(server.said);
    }, 'a server to be ready', 60_000);
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
