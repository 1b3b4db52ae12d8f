// The Debian package: built, installed below a folder as dpkg does it, started from there, removed.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { freePort } from '../../integration/lib/redis.mjs';
import { binary, until } from '../../integration/lib/server.mjs';
import { has, root, succeed, text } from '../lib/files.mjs';

const build = path.join(root, 'build/release');
// dpkg writes as root; the package holds the binary of the build, whichever PRESENCED_BIN names.
const skip = process.getuid() !== 0 || !existsSync(path.join(build, 'CPackConfig.cmake')) || !existsSync(path.join(build, 'bin/presenced'));
const keys = succeed(binary, ['config']).trim().split('\n').map((line) => line.split(' = ')[0]);

let folder;
let system;  // Stands for `/`.
let deb;
const at = (name) => path.join(system, name);
const dpkg = (...words) => succeed('dpkg', [`--root=${system}`, '--force-script-chrootless', '--force-depends', '--force-not-root', ...words]);
const mode = (name) => (statSync(at(name)).mode & 0o777).toString(8);

before(() => {
  if (skip) return;
  folder = mkdtempSync(path.join(os.tmpdir(), 'presenced-package-'));
  system = path.join(folder, 'system');
  for (const name of ['var/lib/dpkg/updates', 'var/lib/dpkg/info', 'etc']) mkdirSync(at(name), { recursive: true });
  for (const name of ['status', 'available']) writeFileSync(at(`var/lib/dpkg/${name}`), '');
  succeed('bash', ['-c', `umask 022; cpack --config ${build}/CPackConfig.cmake -B ${folder}/files`]);
  deb = path.join(folder, 'files', readdirSync(`${folder}/files`).find((name) => name.endsWith('.deb')));
  dpkg('-i', deb);
});

after(() => { if (folder) rmSync(folder, { recursive: true, force: true }); });

test('it makes the user and secrets of its own, readable for the service alone', { skip }, () => {
  assert.match(readFileSync(at('etc/passwd'), 'utf8'), /^presenced:.*:\/var\/lib\/presenced:\/usr\/sbin\/nologin$/m);
  const group = Number(/^presenced:x:(\d+):/m.exec(readFileSync(at('etc/group'), 'utf8'))[1]);
  assert.ok(group > 0);
  for (const name of ['jwt-secret', 'api-key', 'presenced.toml']) {
    assert.equal(mode(`etc/presenced/${name}`), '640', name);
    assert.equal(statSync(at(`etc/presenced/${name}`)).gid, group, name);
  }
  const [secret, key] = ['jwt-secret', 'api-key'].map((name) => readFileSync(at(`etc/presenced/${name}`), 'utf8'));
  assert.match(secret, /^[\w+/]{43}\n$/);
  assert.notEqual(secret, key);
  dpkg('-i', deb);  // As an upgrade does: they stay.
  assert.equal(readFileSync(at('etc/presenced/jwt-secret'), 'utf8'), secret);
  for (const name of ['presenced', 'redis-server']) assert.equal(existsSync(at(`usr/bin/${name}`)), name === 'presenced');
  assert.match(succeed('dpkg-deb', ['-f', deb, 'Depends']), /libssl3.*/);
});

test('systemd finds nothing wrong with its unit, and little that it may do', { skip }, () => {
  for (const unit of ['sysinit.target', 'basic.target', 'shutdown.target', 'network-online.target', 'multi-user.target', 'system.slice', '-.slice', 'tmp.mount', '-.mount']) {
    const kind = unit.split('.').at(-1);
    const body = kind === 'mount' ? `[Mount]\nWhat=tmpfs\nWhere=/${unit === '-.mount' ? '' : 'tmp'}\n` : `[Unit]\nDescription=${unit}\n`;
    writeFileSync(at(`usr/lib/systemd/system/${unit}`), body);
  }
  mkdirSync(at('bin'));
  writeFileSync(at('bin/kill'), '', { mode: 0o755 });
  const verified = spawnSync('systemd-analyze', ['verify', `--root=${system}`, '--man=no', 'presenced.service'], { encoding: 'utf8' });
  assert.equal(verified.status, 0, verified.stderr);
  const said = verified.stderr.split('\n').filter((line) => /presenced/.test(line));
  assert.deepEqual(said, []);
  // 0 may do nothing, 10 everything: 2.0 and more is not let pass.
  succeed('systemd-analyze', ['security', '--offline=true', '--threshold=20', `--root=${system}`, 'presenced.service']);
});

/** Tells what systemd would be told: one line a datagram. Node has no datagrams of that kind. */
function listenAsSystemd(socket) {
  const child = spawn('python3', ['-c', `
import socket, sys
heard = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
heard.bind(sys.argv[1])
print("here", flush=True)
while True:
    print(heard.recv(4096).decode().replace("\\n", " "), flush=True)
`, socket], { stdio: ['ignore', 'pipe', 'inherit'] });
  child.said = '';
  child.stdout.on('data', (data) => { child.said += data; });
  return child;
}

test('it starts from there, tells systemd so, serves with its secrets, reloads, drains', { skip }, async () => {
  const port = await freePort();
  const config = at('etc/presenced/presenced.toml');
  // The paths of the package are those of a whole system.
  writeFileSync(config, readFileSync(config, 'utf8').replaceAll('"/var', `"${system}/var`).replaceAll('file:/etc', `file:${system}/etc`)
    .replace('127.0.0.1:8080', `127.0.0.1:${port}`));
  const program = at('usr/bin/presenced');
  succeed(program, ['check', '--config', config]);
  const socket = `${folder}/notify`;
  const systemd = listenAsSystemd(socket);
  await until(() => systemd.said.includes('here'), 'the socket');
  const child = spawn(program, ['serve', '--config', config], { stdio: 'ignore', env: { ...process.env, NOTIFY_SOCKET: socket, WATCHDOG_USEC: '900000' } });
  const ended = new Promise((resolve) => { child.on('exit', (code, signal) => resolve({ code, signal })); });
  const heard = (pattern) => until(() => pattern.exec(systemd.said), `systemd to be told ${pattern}, heard ${systemd.said}`, 8000);
  try {
    await heard(new RegExp(`^READY=1 STATUS=serving on 127.0.0.1:${port}$`, 'm'));
    const key = readFileSync(at('etc/presenced/api-key'), 'utf8').trim();
    const token = succeed(program, ['token', '--user', 'ada', '--secret', `file:${at('etc/presenced/jwt-secret')}`]).trim();
    const url = `http://127.0.0.1:${port}`;
    const ask = (target, bearer, more = {}) => fetch(url + target, { ...more, headers: { authorization: `Bearer ${bearer}` } });
    assert.equal((await ask('/v1/heartbeat', token, { method: 'POST', body: '{"deviceId":"a"}' })).status, 200);
    assert.equal((await (await ask('/v1/users/ada/presence', key)).json()).status, 'online');
    assert.equal((await ask('/v1/users/ada/presence', 'dev')).status, 401);
    await heard(/WATCHDOG=1[^]*WATCHDOG=1/);
    child.kill('SIGHUP');
    await heard(/RELOADING=1\nREADY=1/);
    // A process that stands still says nothing: systemd would end it.
    child.kill('SIGSTOP');
    await new Promise((resolve) => { setTimeout(resolve, 200); });
    const before = systemd.said.length;
    await new Promise((resolve) => { setTimeout(resolve, 1000); });
    assert.equal(systemd.said.slice(before), '');
    child.kill('SIGCONT');
    child.kill('SIGTERM');
    await heard(/STOPPING=1 .*EXTEND_TIMEOUT_USEC=30000000/);
    assert.deepEqual(await ended, { code: 0, signal: null });
    assert.ok(existsSync(at('var/lib/presenced/presenced.db')));
  } finally { child.kill('SIGKILL'); systemd.kill(); }
});

test('removed it leaves secrets and data, purged it leaves nothing', { skip }, () => {
  dpkg('-r', 'presenced');
  assert.ok(!existsSync(at('usr/bin/presenced')));
  assert.ok(existsSync(at('etc/presenced/jwt-secret')) && existsSync(at('var/lib/presenced')));
  dpkg('-P', 'presenced');
  assert.ok(!existsSync(at('etc/presenced')) && !existsSync(at('var/lib/presenced')));
});

test('the manual of the configuration has each key, and is well formed; so is that of the program', () => {
  const manual = succeed('tools/man_keys.py', [binary]);
  const listed = [...manual.matchAll(/^\.It Ic (\S+) Pq /gm)].map(([, key]) => key);
  assert.deepEqual(listed, keys);
  for (const [name, body] of [['presenced.toml.5', manual], ['presenced.8', text('deploy/man/presenced.8')]]) {
    const linted = spawnSync('mandoc', ['-T', 'lint', '-W', 'warning'], { input: body, encoding: 'utf8' });
    assert.equal(linted.status, 0, `${name}: ${linted.stdout}${linted.stderr}`);
  }
});

test('manual and completions have each command and option, and no others', () => {
  const commands = [...succeed(binary, ['--help']).matchAll(/^ {2}(\w+) {3,}/gm)].map(([, name]) => name);
  assert.ok(commands.includes('serve') && commands.length >= 5);
  const options = Object.fromEntries(commands.map((command) => [command,
    [...succeed(binary, [command, '--help']).matchAll(/^ {2}(?:-h,)?--(\w+)/gm)].map(([, name]) => name).filter((name) => name !== 'help')]));
  const all = [...new Set(Object.values(options).flat())].sort();
  const manual = text('deploy/man/presenced.8');
  const inManual = [...manual.matchAll(/^\.It (?:Fl h , )?Fl Fl (\w+)/gm)].map(([, name]) => name).filter((name) => name !== 'help').sort();
  assert.deepEqual(inManual, all);
  for (const command of commands) assert.match(manual, new RegExp(`^\\.It Cm ${command}$`, 'm'));
  const zsh = text('deploy/completions/_presenced');
  assert.deepEqual([...new Set([...zsh.matchAll(/--(\w+)/g)].map(([, name]) => name))].filter((name) => name !== 'help').sort(), all);
  for (const command of commands) assert.match(zsh, new RegExp(`'${command}:`));
  if (has('zsh')) succeed('zsh', ['-n', 'deploy/completions/_presenced']);
  const complete = (...words) => succeed('bash', ['-c', `
    source deploy/completions/presenced.bash
    COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _presenced; printf '%s\\n' "\${COMPREPLY[@]}"`, 'bash', binary, ...words])
    .trim().split('\n');
  assert.deepEqual(complete('').filter((word) => !word.startsWith('-')).sort(), [...commands].sort());
  for (const command of commands) {
    assert.deepEqual(complete(command, '--').map((word) => word.slice(2)).filter((word) => word !== 'help').sort(), [...options[command]].sort(), command);
  }
  assert.deepEqual(complete('serve', '--set', 'heartbeat.').sort(), keys.filter((key) => key.startsWith('heartbeat.')).map((key) => `${key}=`).sort());
});
