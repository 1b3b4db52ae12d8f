// GET /metrics: what Prometheus reads, and what nobody may read out of it.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { afterEach, test } from 'node:test';
import { attach, endClients, fresh, watcher } from '../lib/client.mjs';
import { startRedis } from '../lib/redis.mjs';
import { assertError, call } from '../lib/rest.mjs';
import { delay, root, startServer, until } from '../lib/server.mjs';
import { endStreams, openStream } from '../lib/stream.mjs';
import { withServer } from '../lib/suite.mjs';

const held = withServer({ set: { threads: '2' } });
afterEach(() => { endStreams(); endClients(); });

const has = (program) => spawnSync(program, ['--version']).status === 0;

async function page(server = held.server) {
  const answer = await call(server, 'GET', '/metrics', { anonymous: true });
  assert.equal(answer.status, 200);
  return answer.text;
}

/** Values by sample, as it stands on the page: `name{label="x"}`. */
function samplesOf(text) {
  const lines = text.split('\n').filter((line) => line && !line.startsWith('#'));
  return new Map(lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]));
}
const samples = async (server) => samplesOf(await page(server));
const namesOf = (text) => [...text.matchAll(/^# TYPE (\S+) /gm)].map(([, name]) => name);

test('promtool finds nothing wrong', { skip: !has('promtool') }, async () => {
  const checked = spawnSync('promtool', ['check', 'metrics'], { input: await page() });
  assert.equal(checked.status, 0, `${checked.stdout}${checked.stderr}`);
  assert.equal(`${checked.stdout}${checked.stderr}`, '');
});

test('what clients do is counted, whichever thread they are on', async () => {
  const before = await samples();
  const subjects = [];
  for (let i = 0; i < 6; ++i) subjects.push(await attach(held.server, fresh()));
  const viewer = await watcher(held.server, subjects.map(({ user }) => user));
  await openStream(held.server, '/v1/stream?users=a', { as: fresh() });
  for (const subject of subjects) {
    await subject.ask({ type: 'heartbeat' }, 'heartbeatAck');
    await subject.ask({ type: 'status', status: 'busy' });
    await viewer.sees(subject.user, 'busy');
  }
  const now = await samples();
  const grown = (sample) => now.get(sample) - before.get(sample);
  assert.equal(grown('presenced_transitions_total{cause="connect"}'), 6);
  assert.equal(grown('presenced_transitions_total{cause="status"}'), 6);
  assert.equal(grown('presenced_deliveries_total'), 6);
  assert.equal(grown('presenced_welcomes_total'), 7);
  assert.equal(grown('presenced_requests_total'), 6 + 1 /* watch */);
  assert.ok(grown('presenced_heartbeats_total') >= 6);
  assert.ok(grown('presenced_settle_seconds_count') >= 13);
  assert.ok(grown('presenced_snapshot_seconds_count') >= 1);
  assert.ok(grown('presenced_store_commit_seconds_count') >= 13);  // 7 attaches, 6 statuses
  assert.ok(grown('presenced_store_read_seconds_count') >= 2);
  assert.ok(grown('presenced_loop_lag_seconds_count') > 0);
  assert.equal(now.get('presenced_users{status="busy"}'), 6);
  assert.equal(now.get('presenced_users{status="online"}'), 0);
  assert.equal(now.get('presenced_sessions{state="observing"}'), 1);
  assert.equal(now.get('presenced_sessions{state="live"}'), 7);
  assert.equal(now.get('presenced_connections{kind="websocket"}'), 7);
  assert.equal(now.get('presenced_connections{kind="stream"}'), 1);
  assert.equal(now.get('presenced_watches'), 7);
  assert.equal(now.get('presenced_store_health{state="ok"}'), 1);
});

test('a silent death and a grace are told apart by their cause', async () => {
  const server = await startServer();
  const counted = async (sample) => (await samples(server)).get(sample);
  try {
    const silent = await attach(server, fresh(), { beat: false });
    const lost = await attach(server, fresh());
    silent.goSilent();
    await lost.reset();
    await until(async () => await counted('presenced_transitions_total{cause="grace_over"}') === 1, 'the end of the grace');
    assert.equal(await counted('presenced_grace_outcomes_total{outcome="ended"}'), 1);
    assert.equal(await counted('presenced_silent_deaths_total'), 0);
    await until(async () => await counted('presenced_transitions_total{cause="silence"}') === 1, 'the silent death', 8000);
    assert.equal(await counted('presenced_silent_deaths_total'), 1);
  } finally { await server.dispose(); }
});

test('causes that explain tells are the labels under which they were counted', async () => {
  const server = await startServer();
  try {
    const counted = async () => new Map([...(await samples(server))].filter(([name]) => name.startsWith('presenced_transitions_total{'))
      .map(([name, value]) => [/cause="(\w+)"/.exec(name)[1], value]).filter(([, value]) => value > 0));
    const user = fresh();
    const client = await attach(server, user);
    await client.ask({ type: 'status', status: 'busy' });
    await delay(1200);  // Else two within a second are told as one.
    client.send({ type: 'bye' });
    await client.closed;
    const explain = async () => (await call(server, 'GET', `/v1/users/${user}/explain?viewer=x&at=${Date.now()}`)).json.past.transitions;
    const told = new Map();
    for (const { cause } of await until(async () => { const all = await explain(); return all.length === 3 && all; }, 'three transitions')) {
      told.set(cause, (told.get(cause) ?? 0) + 1);
    }
    assert.deepEqual([...told].sort(), [...await counted()].sort());
    assert.deepEqual([...told.keys()].sort(), ['connect', 'goodbye', 'status']);
  } finally { await server.dispose(); }
});

test('no name of a person, room or device is in it', async () => {
  const user = fresh('zqbody');
  const client = await attach(held.server, user, { hello: { device: { type: 'web', name: 'zqphone' } } });
  await client.join('zqroom');
  await client.watch(['zqfriend']);
  await call(held.server, 'GET', '/v1/users/zqfriend/presence', { token: 'zqtoken' });
  const text = await page();
  assert.doesNotMatch(text, /zqbody|zqphone|zqroom|zqfriend|zqtoken/);
  assert.ok(samplesOf(text).get('presenced_tokens_refused_total{reason="malformed"}') >= 1);
});

test('whoever is invisible is not counted, nor is their session', async () => {
  const client = await attach(held.server, fresh());
  const seen = await samples();
  await client.ask({ type: 'status', status: 'invisible' });
  const now = await samples();
  assert.equal(now.get('presenced_users{status="online"}'), seen.get('presenced_users{status="online"}') - 1);
  assert.equal(now.get('presenced_sessions{state="live"}'), seen.get('presenced_sessions{state="live"}') - 1);
  assert.equal([...now.keys()].find((sample) => sample.includes('invisible')), undefined);
});

const listed = readFileSync(path.join(root, 'docs/metrics.md'), 'utf8').split('\n')
  .map((line) => /^\| `(\w+)`/.exec(line)?.[1]).filter(Boolean);

test('docs/metrics.md lists each of them, and none that is not there', async () => {
  const here = namesOf(await page());
  assert.deepEqual(here.filter((name) => !listed.includes(name)), []);
  const ofOthers = /^presenced_(redis|bus|postgres|lease|sweep|record|records|store|node|clock)_/;
  assert.deepEqual(listed.filter((name) => !here.includes(name) && !ofOthers.test(name)), []);
});

test('a node on Redis tells of it, of the bus and of its lease', async () => {
  const redis = await startRedis();
  const server = await startServer({ set: { 'store.url': redis.url } });
  try {
    await attach(server, fresh());
    const text = await page(server);
    const here = namesOf(text);
    assert.deepEqual(here.filter((name) => !listed.includes(name)), []);
    assert.deepEqual(listed.filter((name) => !here.includes(name) && !/_postgres_/.test(name)), []);
    if (has('promtool')) assert.equal(spawnSync('promtool', ['check', 'metrics'], { input: text }).status, 0);
    const now = samplesOf(text);
    assert.equal(now.get('presenced_store_up{store="redis"}'), 1);
    assert.equal(now.get('presenced_sessions{state="live"}'), 1);
    assert.ok(now.get('presenced_lease_renewals_total') >= 1);
    assert.ok(now.get('presenced_redis_commands_total') >= 1);
    await redis.stop();
    await until(async () => (await samples(server)).get('presenced_store_health{state="down"}') === 1, 'the store to be down', 15_000);
    assert.equal((await samples(server)).get('presenced_store_up{store="redis"}'), 0);
  } finally { await server.dispose(); await redis.dispose(); }
});

test('the configuration says who may read it', async () => {
  const closed = await startServer({ set: { 'metrics.access': 'key' } });
  const off = await startServer({ set: { 'metrics.access': 'off' } });
  try {
    assertError(await call(closed, 'GET', '/metrics', { anonymous: true }), 401, 'unauthorized');
    assertError(await call(closed, 'GET', '/metrics', { as: fresh() }), 401, 'unauthorized');
    assert.equal((await call(closed, 'GET', '/metrics')).status, 200);
    assertError(await call(off, 'GET', '/metrics'), 404, 'notFound');
  } finally { await closed.dispose(); await off.dispose(); }
});

const freePort = () => new Promise((resolve) => {
  const probe = net.createServer().listen(0, '127.0.0.1', () => {
    const { port } = probe.address();
    probe.close(() => resolve(port));
  });
});

test('a real Prometheus scrapes it', { skip: !has('prometheus') }, async () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'presenced-prometheus-'));
  const port = await freePort();
  writeFileSync(path.join(folder, 'prometheus.yml'), JSON.stringify({
    global: { scrape_interval: '1s' },
    scrape_configs: [{ job_name: 'presenced', static_configs: [{ targets: [held.server.address] }] }],
  }));
  const child = spawn('prometheus', [`--config.file=${folder}/prometheus.yml`, `--storage.tsdb.path=${folder}/data`,
                                     `--web.listen-address=127.0.0.1:${port}`], { stdio: 'ignore' });
  const ended = new Promise((resolve) => { child.on('exit', resolve); });
  const query = async (expression) => {
    const answer = await fetch(`http://127.0.0.1:${port}/api/v1/query?query=${encodeURIComponent(expression)}`).catch(() => undefined);
    return answer?.ok ? (await answer.json()).data.result : [];  // Not while it starts.
  };
  try {
    await attach(held.server, fresh());
    await until(async () => (await query('presenced_users{status="online"} >= 1')).length === 1, 'a scrape', 30_000);
    assert.equal((await query('up'))[0].value[1], '1');
    assert.ok((await query('histogram_quantile(0.99, presenced_settle_seconds_bucket)'))[0].value[1] > 0);
  } finally {
    child.kill('SIGKILL');
    await ended;
    rmSync(folder, { recursive: true, force: true });
  }
});
