// Drills of docs/operating.md, "Alerts": each is done to a real node, and a real Prometheus with the shipped rules sees the alert.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { describe, test } from 'node:test';
import { attach, fresh } from '../../integration/lib/client.mjs';
import { hasPostgres, Postgres } from '../../integration/lib/postgres.mjs';
import { freePort, startRedis } from '../../integration/lib/redis.mjs';
import { Receiver, newSecret } from '../../integration/lib/receiver.mjs';
import { delay, startServer, until } from '../../integration/lib/server.mjs';
import { yaml } from '../lib/files.mjs';
import { Prometheus, hasPrometheus } from '../lib/prometheus.mjs';

const long = process.env.LONG_TESTS === '1';
const faketime = ['x86_64', 'aarch64'].map((kind) => `/usr/lib/${kind}-linux-gnu/faketime/libfaketimeMT.so.1`).find(existsSync);
const skip = !hasPrometheus && 'no prometheus here';
/** As an operator has it: canaries at their ttl, people who stay. */
const calm = { 'heartbeat.interval': '20s', 'heartbeat.ttl': '60s', 'limits.hello_timeout': '60s' };

/** What a drill needs; all of it goes when the drill is over. */
class Drill {
  constructor() { this.parts = []; }
  keep(part) { this.parts.push(part); return part; }
  async node(set = {}, more = {}) { return this.keep(await startServer({ ...more, set: { ...calm, ...set } })); }
  async redis(...options) { return this.keep(await startRedis(options)); }
  async postgres() {
    const one = this.keep(await Postgres.create());
    await one.start();
    return one;
  }

  /** Somebody who stays until the drill is over. */
  async person(node, options) {
    const one = await attach(node, fresh(), options);
    this.keep({ dispose: () => one.socket.terminate() });
    return one;
  }
  people(node, count, options) { return Promise.all(Array.from({ length: count }, () => this.person(node, options))); }

  /** Begins to look at `nodes`: the alert does not fire yet. */
  async watch(alert, ...nodes) {
    this.alert = alert;
    this.prometheus = this.keep(await Prometheus.start(nodes.map(({ address }) => address), { patient: false }));
    await until(async () => (await this.prometheus.firing()).every(({ alertname }) => alertname !== alert), `${alert} not to fire yet`, 10_000);
  }

  async fires() { return (await this.prometheus.firing()).find(({ alertname }) => alertname === this.alert); }

  /** Waits until it fires and gives its labels; `again` is done over and over meanwhile. */
  async sees(timeoutMs = 20_000, again = async () => {}) {
    const end = Date.now() + timeoutMs;
    for (;;) {
      const labels = await this.fires();
      if (labels) return labels;
      if (Date.now() > end) throw new Error(`${this.alert} did not fire within ${timeoutMs} ms`);
      await again();
      await delay(100);
    }
  }

  async end() {
    for (const part of this.parts.reverse()) await part.dispose?.();
  }
}

/** The drills: by alert, what is done and what is seen. */
const drills = [];
function drill(alert, run, { needs, slow = false } = {}) { drills.push({ alert, run, needs, slow }); }

drill('PresencedNodeDown', async (d) => {
  const [one, other] = [await d.node(), await d.node()];
  await d.watch('PresencedNodeDown', one, other);
  await one.kill();
  assert.equal((await d.sees()).instance, one.address);
});

drill('PresencedAllNodesDown', async (d) => {
  const nodes = [await d.node(), await d.node()];
  await d.watch('PresencedAllNodesDown', ...nodes);
  for (const node of nodes) await node.kill();
  await d.sees();
});

drill('PresencedNodeNotReady', async (d) => {
  const redis = await d.redis();
  await redis.stop();
  const node = await d.node({ 'store.url': redis.url });
  await d.watch('', node);
  d.alert = 'PresencedNodeNotReady';
  await d.sees();
});

drill('PresencedRestarting', async (d) => {
  const listen = `127.0.0.1:${await freePort()}`;
  let node = await d.node({ listen });
  const start = async () => {
    await node.kill();
    await delay(1500);
    node = d.keep(await startServer({ set: { ...calm, listen }, dataDir: node.dataDir }));
    await delay(1500);
  };
  await d.watch('PresencedRestarting', node);
  await d.sees(40_000, start);
});

drill('PresencedLoopLag', async (d) => {
  const node = await d.node();
  await d.watch('PresencedLoopLag', node);
  await d.sees(40_000, async () => { node.signal('SIGSTOP'); await delay(1000); node.signal('SIGCONT'); await delay(1000); });
});

drill('PresencedStalls', async (d) => {
  const node = await d.node();
  await d.watch('PresencedStalls', node);
  await d.sees(60_000, async () => { node.signal('SIGSTOP'); await delay(4000); node.signal('SIGCONT'); await delay(3000); });
});

drill('PresencedStoreDown', async (d) => {
  const redis = await d.redis();
  const node = await d.node({ 'store.url': redis.url });
  await d.watch('PresencedStoreDown', node);
  await redis.stop();
  await d.sees();
});

drill('PresencedStoreDegraded', async (d) => {
  const redis = await d.redis('--maxmemory-policy', 'noeviction');
  const node = await d.node({ 'store.url': redis.url });
  await d.watch('PresencedStoreDegraded', node);
  await redis.command('CONFIG', 'SET', 'maxmemory', '1mb');
  await d.sees(20_000, async () => { await d.person(node).catch(() => {}); });
});

drill('PresencedDatabaseDown', async (d) => {
  const postgres = await d.postgres();
  const node = await d.node({ 'database.url': postgres.url });
  await d.watch('PresencedDatabaseDown', node);
  await postgres.stop();
  await d.sees();
}, { needs: 'postgres' });

drill('PresencedSqliteFails', async (d) => {
  const node = await d.node();
  await d.watch('PresencedSqliteFails', node);
  const holder = spawn('python3', ['-c', `
import sqlite3, sys, time
held = sqlite3.connect(sys.argv[1], isolation_level=None)
held.execute("BEGIN EXCLUSIVE")
time.sleep(120)`, `${node.dataDir}/presenced.db`]);
  d.keep({ dispose: () => holder.kill('SIGKILL') });
  await d.sees(60_000, async () => { await d.person(node).catch(() => {}); });
});

drill('PresencedStoreSlow', async (d) => {
  const redis = await d.redis();
  const node = await d.node({ 'store.url': redis.url });
  const people = await d.people(node, 5);
  await d.watch('PresencedStoreSlow', node);
  let turn = 0;
  await d.sees(40_000, async () => {
    await redis.command('CLIENT', 'PAUSE', '400', 'ALL');
    turn += 1;
    for (const one of people) await one.ask({ type: 'status', scope: 'session', status: turn % 2 ? 'busy' : 'away' });
  });
});

drill('PresencedStoreLostData', async (d) => {
  const redis = await d.redis();
  const node = await d.node({ 'store.url': redis.url });
  await d.person(node);
  await d.watch('PresencedStoreLostData', node);
  await redis.command('FLUSHALL');
  await d.sees();
});

drill('PresencedNodesDisagree', async (d) => {
  const redis = await d.redis();
  const nodes = [await d.node({ 'store.url': redis.url }), await d.node({ 'store.url': redis.url })];
  const other = await d.node({ 'store.url': `${redis.url}?prefix=other` });
  await d.watch('', ...nodes, other);
  d.alert = 'PresencedNodesDisagree';
  await d.sees();
});

drill('PresencedLeaseLost', async (d) => {
  const redis = await d.redis();
  const nodes = [await d.node({ 'store.url': redis.url }), await d.node({ 'store.url': redis.url })];
  for (const node of nodes) await d.person(node, { beat: false });
  await d.watch('PresencedLeaseLost', ...nodes);
  nodes[0].signal('SIGSTOP');
  await delay(20_000);
  nodes[0].signal('SIGCONT');
  assert.equal((await d.sees()).instance, nodes[0].address);
});

drill('PresencedBusDeaf', async (d) => {
  const redis = await d.redis();
  const nodes = [await d.node({ 'store.url': redis.url }), await d.node({ 'store.url': redis.url })];
  await d.watch('PresencedBusDeaf', ...nodes);
  await redis.command('ACL', 'SETUSER', 'default', '-ssubscribe');
  await redis.command('CLIENT', 'KILL', 'TYPE', 'pubsub');
  await d.sees(60_000);
});

drill('PresencedClockOff', async (d) => {
  const redis = await d.redis();
  const node = await d.node({ 'store.url': redis.url }, { env: { LD_PRELOAD: faketime, FAKETIME: '+30s', FAKETIME_DONT_FAKE_MONOTONIC: '1' } });
  await d.watch('', node);
  d.alert = 'PresencedClockOff';
  await d.sees(60_000);
}, { needs: 'faketime' });

drill('PresencedRefusesConnections', async (d) => {
  const node = await d.node({ 'limits.accepts_per_second': '1', 'limits.accepts_burst': '10' });
  await d.watch('PresencedRefusesConnections', node);
  const labels = await d.sees(40_000, async () => {
    await Promise.all(Array.from({ length: 50 }, () => fetch(`${node.httpUrl}/healthz`, { headers: { connection: 'close' } }).catch(() => {})));
  });
  assert.equal(labels.reason, 'rate');
});

drill('PresencedDescriptorsShort', async (d) => {
  const node = await d.node();
  const lowered = spawn('prlimit', ['--nofile=500:500', '--pid', String(node.pid)]);
  await new Promise((resolve) => { lowered.on('exit', resolve); });
  await d.watch('PresencedDescriptorsShort', node);
  for (let i = 0; i < 9; ++i) await d.people(node, 50, { beat: false });
  await d.sees();
});

drill('PresencedTokensRefused', async (d) => {
  const node = await d.node();
  await d.watch('PresencedTokensRefused', node);
  await d.sees(40_000, async () => {
    await Promise.all(Array.from({ length: 20 }, () => fetch(`${node.httpUrl}/v1/users/a/presence`, { headers: { authorization: 'Bearer not.a.token', connection: 'close' } })));
  });
});

drill('PresencedKeySetFails', async (d) => {
  const node = await d.node({ 'auth.jwks': `http://127.0.0.1:${await freePort()}/keys` });
  await d.watch('', node);
  d.alert = 'PresencedKeySetFails';
  await d.sees(60_000);
});

drill('PresencedManySilentDeaths', async (d) => {
  const node = await d.node({ 'heartbeat.interval': '1s', 'heartbeat.ttl': '3400ms' });
  await d.watch('PresencedManySilentDeaths', node);
  const people = await d.people(node, 60, { beat: false });
  await delay(2000);
  for (const one of people) one.goSilent();
  await d.sees(30_000);
});

drill('PresencedWebhookEventsLost', async (d) => {
  const receiver = await new Receiver(newSecret()).listen();
  d.keep({ dispose: () => receiver.close() });
  receiver.answer = () => 500;
  const node = await d.node({ 'webhooks.url': receiver.url, 'webhooks.secret': receiver.secret, 'webhooks.allow_private': 'true', 'limits.webhook_outbox': '1' });
  await d.watch('PresencedWebhookEventsLost', node);
  await d.sees(30_000, async () => { (await d.person(node)).send({ type: 'bye' }); });
});

drill('PresencedLastSeenLost', async (d) => {
  const postgres = await d.postgres();
  const node = await d.node({ 'database.url': postgres.url, 'limits.last_seen_spool': '4096', 'limits.last_seen_queue': '10' });
  const people = await d.people(node, 200);
  await d.watch('PresencedLastSeenLost', node);
  await postgres.stop();
  for (const one of people) one.send({ type: 'bye' });
  await d.sees(30_000);
}, { needs: 'postgres' });

drill('PresencedSlowReaders', async (d) => {
  const node = await d.node({ 'limits.slow_reader': '2s', 'limits.lookups_per_second': '1000000', 'limits.lookups_burst': '10000000', 'limits.messages_per_second': '100000', 'limits.messages_burst': '100000' });
  const wish = JSON.stringify({ type: 'get', users: Array.from({ length: 100 }, () => fresh('u'.repeat(100))), id: 1_000_000 });
  await d.watch('PresencedSlowReaders', node);
  for (const one of await d.people(node, 60)) {
    one.socket.pause();
    for (let i = 0; i < 300; ++i) one.sendRaw(wish);
    await delay(1);  // Other drills have their turn.
  }
  await d.sees(60_000);
});

drill('PresencedChangesLate', async (d) => {
  const redis = await d.redis();
  const nodes = [await d.node({ 'store.url': redis.url }), await d.node({ 'store.url': redis.url })];
  await d.watch('PresencedChangesLate', ...nodes);
  await d.sees(240_000, async () => { await redis.command('CLIENT', 'PAUSE', '2000', 'ALL'); await delay(3000); });
}, { slow: true });

drill('PresencedDeathsLate', async (d) => {
  const node = await d.node();
  await d.watch('PresencedDeathsLate', node);
  await d.sees(280_000, async () => { node.signal('SIGSTOP'); await delay(2000); node.signal('SIGCONT'); await delay(2000); });
}, { slow: true });

drill('PresencedUntruths', async (d) => {
  const node = await d.node();
  await d.watch('PresencedUntruths', node);
  await d.sees(280_000, async () => { node.signal('SIGSTOP'); await delay(20_000); node.signal('SIGCONT'); await delay(1000); });
}, { slow: true });

test('there is a drill for each alert', () => {
  const notHere = ['PresencedQueueGrows'];  // Over 20,000 people who leave take minutes to come.
  const alerts = yaml('deploy/prometheus/alerts.yml').groups.flatMap((group) => group.rules).map((rule) => rule.alert);
  assert.deepEqual([...drills.map(({ alert }) => alert), ...notHere].sort(), alerts.sort());
});

const only = process.env.DRILL ?? '';
describe('drills', { concurrency: 5, skip, timeout: 900_000 }, () => {
  for (const { alert, run, needs, slow } of drills) {
    const here = { postgres: hasPostgres, faketime }[needs] ?? true;
    const missing = here ? slow && !long && 'only with --all' : `no ${needs} here`;
    if (!alert.includes(only)) continue;
    test(alert, { skip: missing, timeout: 300_000 }, async () => {
      const d = new Drill();
      try { await run(d); } finally { await d.end(); }
    });
  }
});
