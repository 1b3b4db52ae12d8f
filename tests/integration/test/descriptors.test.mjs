// A node that is out of file descriptors: who is there is served on, who knocks is told or waits, and it heals by itself.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { afterEach, test } from 'node:test';
import { attach, endClients, fresh, watcher } from '../lib/client.mjs';
import { RawClient } from '../lib/raw.mjs';
import { call } from '../lib/rest.mjs';
import { delay, startServer, until } from '../lib/server.mjs';

const limit = (pid, files) => spawnSync('prlimit', ['--pid', String(pid), `--nofile=${files}:`]).status === 0;
const limitOf = (pid) => Number(/^Max open files\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/limits`, 'utf8'))[1]);
const able = spawnSync('prlimit', ['--version']).status === 0;
let server;
afterEach(async () => { endClients(); await server?.dispose(); });

test('out of file descriptors: no crash, those before are served, and others come in when there are some', { timeout: 60_000, skip: !able && 'no prlimit' }, async () => {
  server = await startServer();
  const people = await Promise.all(Array.from({ length: 20 }, () => attach(server, fresh())));
  const w = await watcher(server, people.map((one) => one.user));
  const before = limitOf(server.pid);
  assert.ok(limit(server.pid, server.openFiles() + 4));
  const knocking = Array.from({ length: 60 }, () => new RawClient(server));
  await delay(1500);
  const shed = knocking.filter((one) => one.ended).length;
  assert.ok(shed >= 1, 'nobody was turned away: all hang');
  for (let i = 0; i < 10; ++i) {
    const asked = Date.now();
    await people[i].ask({ type: 'status', status: 'busy' });
    await w.sees(people[i].user, 'busy', 2000);
    assert.ok(Date.now() - asked < 1500, `${Date.now() - asked} ms`);
  }
  const cpu = server.cpuSeconds();
  await delay(2000);
  assert.ok(server.cpuSeconds() - cpu < 1, `spun for ${server.cpuSeconds() - cpu} s of two`);
  for (const one of knocking) one.destroy();
  await until(() => attach(server, fresh('waits')).then(() => true, () => false), 'a place that others gave up', 10_000);
  const metrics = (await call(server, 'GET', '/metrics')).text;
  assert.ok(Number(/^presenced_accepts_refused_total\{reason="descriptors"\} (\d+)$/m.exec(metrics)[1]) >= shed);
  assert.ok(Number(/^presenced_accept_pauses_total (\d+)$/m.exec(metrics)[1]) >= 1);
  assert.ok(limit(server.pid, before));
  const came = await Promise.all(Array.from({ length: 50 }, () => attach(server, fresh('comes'))));
  assert.equal(came.filter((one) => one.welcome).length, 50);
  assert.deepEqual(people.filter((one) => one.ended), []);
});
