// Canaries: a node's measure of its own truth, over two real nodes and a real Redis.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { attach, endClients, fresh } from '../lib/client.mjs';
import { startRedis } from '../lib/redis.mjs';
import { call } from '../lib/rest.mjs';
import { delay, startServer, until } from '../lib/server.mjs';

let redis;
const nodes = [];
before(async () => {
  redis = await startRedis();
  for (let i = 0; i < 2; ++i) nodes.push(await startServer({ set: { 'store.url': redis.url, threads: '2', 'log.level': 'debug' } }));
});
after(async () => {
  endClients();
  for (const node of nodes) await node.dispose();
  await redis?.dispose();
});

async function metric(node, sample) {
  const page = (await call(node, 'GET', '/metrics', { anonymous: true })).text;
  return Number(page.split('\n').find((line) => line.startsWith(`${sample} `))?.split(' ').at(-1));
}
const errors = async (node) => {
  const kinds = await Promise.all(['change_missed', 'death_missed', 'death_early'].map((kind) => metric(node, `presenced_truth_errors_total{kind="${kind}"}`)));
  return kinds.reduce((sum, one) => sum + one, 0);
};
const propagation = 'presenced_truth_propagation_seconds';
const lateness = 'presenced_truth_detection_lateness_seconds';

test('each node times the changes of the other, and its own deaths', async () => {
  for (const node of nodes) {
    await until(async () => await metric(node, `${propagation}_count`) >= 2, 'two changes', 45_000);
    await until(async () => await metric(node, `${lateness}_count`) >= 1, 'a death', 45_000);
    const [count, inTime] = [await metric(node, `${propagation}_count`), await metric(node, `${propagation}_bucket{le="1"}`)];
    assert.equal(inTime, count);
    assert.equal(await metric(node, `${lateness}_bucket{le="2.5"}`), await metric(node, `${lateness}_count`));
    assert.equal(await errors(node), 0);
  }
});

test('nobody meets a canary', async () => {
  const stats = (await call(nodes[0], 'GET', '/v1/stats')).json;
  assert.deepEqual([stats.users.online, stats.sessions.live, stats.nodes], [0, 0, 2]);
  const someone = await attach(nodes[0], fresh());
  const page = (await call(nodes[0], 'GET', '/metrics', { anonymous: true })).text;
  for (const sample of ['presenced_users{status="online"} 1', 'presenced_sessions{state="live"} 1', 'presenced_watches 0', 'presenced_watched_users 0',
                        'presenced_silent_deaths_total 0', 'presenced_transitions_total{cause="connect"} 1', 'presenced_settles_total{cause="silence"} 0',
                        'presenced_last_seen_rows_total{outcome="written"} 0']) {
    assert.ok(page.includes(`\n${sample}\n`), sample);
  }
  for (const node of nodes) assert.doesNotMatch(node.stderr, /pulse|mortal/);
  const name = '\u0001pulse:0000000000000000';
  await someone.refused({ type: 'get', users: [name] });
  await assert.rejects(attach(nodes[0], name), /hello/);
  for (const path of ['presence', 'sessions', 'explain?viewer=x']) {
    assert.equal((await call(nodes[0], 'GET', `/v1/users/${encodeURIComponent(name)}/${path}`)).status, 400, path);
  }
  endClients();
});

test('a store that is slow for once stands in the histogram, and is no untruth', async () => {
  const slow = async () => (await Promise.all(nodes.map(async (node) => await metric(node, `${propagation}_count`) - await metric(node, `${propagation}_bucket{le="1"}`)))).reduce((a, b) => a + b);
  assert.equal(await slow(), 0);
  const end = Date.now() + 60_000;
  while (await slow() === 0 && Date.now() < end) {
    await redis.command('CLIENT', 'PAUSE', '2000', 'ALL');
    await delay(2300);  // No divisor of the ten seconds between two changes, which else might always fall between two pauses.
  }
  assert.ok(await slow() > 0);
  for (const node of nodes) assert.equal(await errors(node), 0);
});
