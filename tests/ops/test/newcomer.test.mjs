// A newcomer's path by copying commands: README, the first five minutes, three nodes behind nginx with Prometheus; and what
// Grafana would ask of that Prometheus for the dashboard that is shipped, and get. Grafana itself is not in Debian.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { attach, endClients, fresh } from '../../integration/lib/client.mjs';
import { hasPostgres } from '../../integration/lib/postgres.mjs';
import { delay, until } from '../../integration/lib/server.mjs';
import { Reader } from '../lib/documents.mjs';
import { has, json, text, yaml } from '../lib/files.mjs';

const path3 = ['README.md', 'docs/first-five-minutes.md', 'docs/scaling.md'];
const missing = ['nginx', 'haproxy', 'redis-server', 'prometheus'].filter((program) => !has(program, '-v'));
const skip = missing.length > 0 ? `no ${missing} here` : !hasPostgres && 'no PostgreSQL here';

let reader;
before(async () => { if (!skip) reader = await Reader.open(...path3); });
after(async () => { endClients(); await reader?.close(); });

test('README: what it says to type does what it says', { skip }, async () => {
  assert.ok(text('README.md').includes('](docs/first-five-minutes.md)'), 'the way goes on');
  await reader.walk('README.md');
  await reader.stopAll();
});

test('the first five minutes', { skip }, async () => {
  assert.match(text('docs/first-five-minutes.md').split('## And now')[1], /\]\(scaling\.md\)/);
  await reader.walk('docs/first-five-minutes.md');
  await reader.stopAll();
});

test('three nodes behind nginx with Prometheus', { skip }, async () => {
  await reader.run(`cd ${reader.folder}`);
  await reader.walk('docs/scaling.md');
  // All programs that the page uses come by the packages that it names.
  const [install] = reader.told;
  for (const name of ['redis-server', 'postgresql', 'nginx', 'prometheus', 'curl']) assert.ok(install.split(' ').includes(name), name);
});

/** Some people through nginx, who do a little of everything, until `over`. */
async function live(port, secret, over) {
  const door = { wsUrl: `ws://127.0.0.1:${port}/v1/connect`, secret };
  const people = await Promise.all(Array.from({ length: 6 }, () => attach(door, fresh())));
  for (const one of people) {
    await one.watch(people.map(({ user }) => user));
    await one.join('here');
  }
  for (let turn = 0; !over(); turn += 1) {
    for (const one of people) await one.ask({ type: 'status', scope: 'session', status: turn % 2 ? 'busy' : 'away' });
    await fetch(`http://127.0.0.1:${port}/v1/users/a/presence`, { headers: { authorization: 'Bearer no.token.this' } });
    await delay(1500);  // A second between two changes, so that each is told.
  }
}

test('each query of the dashboard gets figures of these three nodes', { skip }, async () => {
  const prometheus = `http://127.0.0.1:${reader.ports.get('9090')}`;
  const secret = readFileSync(path.join(reader.at, 'jwt-secret'), 'utf8').trim();
  const end = Date.now() + 25_000;
  await live(reader.ports.get('8080'), secret, () => Date.now() > end);
  const dashboard = json('deploy/grafana/presenced.json');
  const [, instances] = dashboard.templating.list;
  assert.match(instances.query.query, /^label_values\((\w+), instance\)$/);
  const ask = async (target) => (await fetch(`${prometheus}/api/v1/${target}`)).json();
  const [, metric] = /\((\w+),/.exec(instances.query.query);
  const nodes = (await ask(`label/instance/values?match[]=${metric}`)).data;
  assert.equal(nodes.length, 3);
  // Nobody dies of silence within a minute here, nor within the ttl of a canary.
  const late = new Set(['Deaths told after their ttl, 99 of 100']);
  const now = Date.now() / 1000;
  let asked = 0;
  for (const panel of dashboard.panels.filter(({ targets }) => targets)) {
    for (const { expr } of panel.targets) {
      const query = expr.replaceAll('$instance', `(${nodes.join('|')})`).replaceAll('$__rate_interval', '15s');
      const { status, data } = await ask(`query_range?query=${encodeURIComponent(query)}&start=${now - 20}&end=${now}&step=5`);
      assert.equal(status, 'success', `${panel.title}: ${expr}`);
      const figures = data.result.flatMap(({ values }) => values.map(([, value]) => Number(value)));
      assert.ok(late.has(panel.title) || figures.some(Number.isFinite), `${panel.title} shows nothing: ${expr}`);
      asked += 1;
    }
  }
  assert.ok(asked > 50, `only ${asked} queries`);
  const people = await ask(`query?query=${encodeURIComponent('sum(presenced_sessions{state="live"})')}`);
  assert.ok(Number(people.data.result[0].value[1]) >= 6);
});

test('Grafana as the page starts it would find these files and this Prometheus', { skip }, () => {
  const command = /^docker run .*\\\n(?: .*\n)+/m.exec(text('docs/scaling.md'))[0];
  const mounts = [...command.matchAll(/--volume "\$PWD\/([^:]+):/g)].map(([, from]) => path.join(reader.at, from));
  assert.equal(mounts.length, 2);
  for (const mount of mounts) assert.ok(existsSync(mount), mount);
  const { url } = yaml('deploy/docker/grafana/datasources/prometheus.yml').datasources[0];
  const host = /--add-host (\w+):127\.0\.0\.1/.exec(command)[1];
  assert.equal(url, `http://${host}:9090`);
  assert.ok(reader.ports.has('9090'), 'where the page has its Prometheus');
});

test('`./dev cluster`: what one node is told, the others show', { skip }, async () => {
  // In the end as on the page of the README: on one machine, with a Redis Cluster.
  const page = text('README.md');
  assert.ok(page.includes('./dev cluster'));
  const other = await Reader.open('docs/scaling.md');
  try {
    await other.serve('./dev cluster');
    const first = other.firstPort;
    const ask = async (node, target, options) => {
      const answer = await fetch(`http://127.0.0.1:${first + node}${target}`, { ...options, headers: { authorization: 'Bearer dev' } });
      return answer.status === 204 ? undefined : answer.json();
    };
    await until(async () => (await ask(0, '/v1/stats')).nodes === 3, 'three nodes', 20_000);
    const door = { wsUrl: `ws://127.0.0.1:${first}/v1/connect`, secret: 'dev' };
    const one = await attach(door, fresh());
    await one.ask({ type: 'status', status: 'busy' });
    for (const node of [1, 2]) {
      await until(async () => (await ask(node, `/v1/users/${one.user}/presence`)).status === 'busy', `node ${node} to say so`);
    }
    await other.stopAll();
  } finally { await other.close(); }
});
