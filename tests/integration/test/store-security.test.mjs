// A store that asks who is there: a user of Redis with no more rights than docs/redis.md says, and TLS.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, afterEach, before, describe, test } from 'node:test';
import { attach, endClients, fresh, watcher } from '../lib/client.mjs';
import { Nodes } from '../lib/nodes.mjs';
import { freePort, startRedis } from '../lib/redis.mjs';
import { RedisCluster } from '../lib/redis-cluster.mjs';
import { root, until } from '../lib/server.mjs';

/** The rights that docs/redis.md names, for the prefix `pd`. */
const rights = /`(~PREFIX\*[^`]*)`/.exec(readFileSync(path.join(root, 'docs/redis.md'), 'utf8'))[1]
  .replaceAll('PREFIX', 'pd').split(' ');

/** Comings, changes and goings cross from one node to the other, death of a node included. */
async function serves(nodes, url) {
  const [a, b] = await nodes.startMany(2, { set: { 'store.url': url } });
  const user = fresh();
  const w = await watcher(b, [user]);
  const one = await attach(a, user);
  await w.sees(user, 'online');
  await one.ask({ type: 'status', scope: 'session', status: 'busy' });
  await w.sees(user, 'busy');
  const room = fresh('room');
  await one.join(room);
  await w.join(room, { observe: true });
  await w.when(() => w.rooms.get(room).count === 1, 'the room');
  await nodes.kill(a);
  await w.sees(user, 'offline', 12_000);
  for (const node of [a, b]) assert.doesNotMatch(node.stderr, /NOPERM|redis_mistake/);
}

describe('a user of Redis with few rights', () => {
  const nodes = new Nodes({});
  afterEach(async () => { endClients(); await nodes.dispose(); });

  test('is enough on a single Redis, and sees nothing else', async () => {
    const redis = await startRedis();
    try {
      await redis.command('ACL', 'SETUSER', 'presenced', 'on', '>pass:word/1', ...rights);
      await serves(nodes, `redis://presenced:pass%3Aword%2F1@127.0.0.1:${redis.port}`);
      assert.match(String(await redis.command('ACL', 'DRYRUN', 'presenced', 'GET', 'other')), /no permissions/);
      assert.match(String(await redis.command('ACL', 'DRYRUN', 'presenced', 'FLUSHALL')), /no permissions/);
      assert.match(String(await redis.command('ACL', 'DRYRUN', 'presenced', 'CONFIG', 'GET', '*')), /no permissions/);
    } finally {
      await redis.dispose();
    }
  });

  test('is enough on a cluster', async () => {
    const cluster = await RedisCluster.start();
    try {
      for (const one of cluster.servers) await one.command('ACL', 'SETUSER', 'presenced', 'on', '>secret', ...rights);
      await serves(nodes, cluster.url.replace('://', '://presenced:secret@'));
    } finally {
      await cluster.dispose();
    }
  });
});

describe('TLS to the store', () => {
  const nodes = new Nodes({});
  let folder;
  let redis;
  let tlsPort;
  const openssl = (...words) => {
    const made = spawnSync('openssl', words, { cwd: folder });
    assert.equal(made.status, 0, made.stderr.toString());
  };
  before(async () => {
    folder = mkdtempSync(path.join(os.tmpdir(), 'presenced-tls-'));
    for (const name of ['server', 'other']) {
      openssl('req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=redis', '-addext', 'subjectAltName=IP:127.0.0.1',
              '-keyout', `${name}.key`, '-out', `${name}.pem`);
    }
    tlsPort = await freePort();
    redis = await startRedis(['--tls-port', tlsPort, '--tls-cert-file', `${folder}/server.pem`, '--tls-key-file', `${folder}/server.key`,
                              '--tls-ca-cert-file', `${folder}/server.pem`, '--tls-auth-clients', 'no']);
  });
  afterEach(async () => { endClients(); await nodes.dispose(); });
  after(async () => { await redis.dispose(); rmSync(folder, { recursive: true, force: true }); });

  test('serves as without', () => serves(nodes, `rediss://127.0.0.1:${tlsPort}?ca=${folder}/server.pem`));

  test('serves as without on a cluster, whose servers speak TLS among themselves too', async () => {
    const cluster = await RedisCluster.start({ tls: { certificate: `${folder}/server.pem`, key: `${folder}/server.key` } });
    try {
      for (const one of cluster.servers) await one.command('ACL', 'SETUSER', 'presenced', 'on', '>secret', ...rights);
      await serves(nodes, cluster.url.replace('://', '://presenced:secret@'));
      const clear = await Promise.all(cluster.servers.map((one) => one.command('CLIENT', 'LIST')));
      const listening = new Set(cluster.servers.map((one) => `127.0.0.1:${one.port}`));
      assert.deepEqual(clear.join('').split('\n').filter((line) => /name=presenced/.test(line) && listening.has(/ laddr=(\S+)/.exec(line)[1])), [], 'connections in the clear');
    } finally {
      await cluster.dispose();
    }
  });

  test('a server that an authority nobody knows vouches for is not spoken to', async () => {
    const before = (await redis.commandCalls()).get('client|setname') ?? 0;
    const node = await nodes.start({ set: { 'store.url': `rediss://127.0.0.1:${tlsPort}?ca=${folder}/other.pem` } });
    await until(() => /certificate/.test(node.stderr), 'word of the certificate');
    assert.equal((await redis.commandCalls()).get('client|setname') ?? 0, before);
  });
});
