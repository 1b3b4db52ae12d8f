// deploy/prometheus and deploy/grafana, held against what a real node says and loaded by a real Prometheus.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { hasPostgres, Postgres } from '../../integration/lib/postgres.mjs';
import { startRedis } from '../../integration/lib/redis.mjs';
import { startServer, until } from '../../integration/lib/server.mjs';
import { json, succeed, text, yaml } from '../lib/files.mjs';
import { Prometheus, hasPrometheus } from '../lib/prometheus.mjs';

const rules = yaml('deploy/prometheus/alerts.yml').groups.flatMap((group) => group.rules);
const dashboard = json('deploy/grafana/presenced.json');
const panels = dashboard.panels.flatMap((panel) => [panel, ...(panel.panels ?? [])]);
const queries = panels.flatMap((panel) => (panel.targets ?? []).map((target) => [panel.title, target.expr]));
const expressions = [...rules.map((rule) => [rule.alert, rule.expr]), ...queries,
                     ['annotation', dashboard.annotations.list[0].expr]];

let redis;
let postgres;
let node;
let samples;  // Lines of /metrics of a node on Redis and PostgreSQL, which has all there are.

before(async () => {
  redis = await startRedis();
  if (hasPostgres) {
    postgres = await Postgres.create();
    await postgres.start();
  }
  const database = postgres ? { 'database.url': postgres.url } : {};
  node = await startServer({ set: { 'store.url': redis.url, ...database } });
  const page = await (await fetch(`${node.httpUrl}/metrics`)).text();
  samples = page.split('\n').filter((line) => line && !line.startsWith('#'));
});

after(async () => {
  await node?.dispose();
  await redis?.dispose();
  await postgres?.dispose();
});

/** `[metric, {label: [value]}]` of each selector in an expression. */
function selectorsOf(expression) {
  return [...expression.matchAll(/\b((?:presenced|process)_\w+)(?:\{([^}]*)\})?/g)].map(([, name, labels]) => [
    name, Object.fromEntries([...(labels ?? '').matchAll(/(\w+)(?:!~|=~|!=|=)"([^"]*)"/g)]
      .filter(([, label]) => !['instance', 'job', 'le'].includes(label))
      .map(([, label, values]) => [label, values.split('|')]))]);
}

test('alerts and dashboard name metrics, labels and values that a node has', { skip: !hasPostgres }, () => {
  let found = 0;
  for (const [where, expression] of expressions) {
    for (const [name, labels] of selectorsOf(expression)) {
      found += 1;
      const own = samples.filter((line) => new RegExp(`^${name}[{ ]`).test(line));
      assert.ok(own.length > 0, `${where}: no metric ${name}`);
      for (const [label, values] of Object.entries(labels)) {
        for (const value of values) {
          assert.ok(own.some((line) => line.includes(`${label}="${value}"`)), `${where}: ${name} has no ${label}="${value}"`);
        }
      }
    }
  }
  assert.ok(found > 80, `only ${found} selectors were found`);
});

test('promtool finds the rules and the configuration sound', () => {
  succeed('promtool', ['check', 'config', 'deploy/prometheus/prometheus.yml']);
});

test('each alert fires on its case, keeps quiet on the other, and has its row in docs/operating.md', () => {
  const cases = yaml('deploy/prometheus/alerts_test.yml').tests;
  for (const { alert, labels, annotations } of rules) {
    const [fires, quiet] = ['fires', 'stays quiet'].map((what) => cases.find(({ name }) => name === `${alert} ${what}`)?.alert_rule_test[0]);
    assert.equal(fires?.exp_alerts?.length, 1, `${alert} has no case that fires`);
    assert.ok(quiet && !quiet.exp_alerts, `${alert} has no case that does not`);
    for (const one of [fires, quiet]) assert.equal(one.alertname, alert);
    assert.ok(['page', 'ticket'].includes(labels.severity), alert);
    assert.ok(annotations.summary && annotations.description, alert);
  }
  const rows = [...text('docs/operating.md').matchAll(/^\| `(Presenced\w+)` \|([^|]+)\|([^|]+)\|$/gm)];
  assert.deepEqual(rows.map(([, name]) => name).sort(), rules.map(({ alert }) => alert).sort());
  for (const [, name, ...cells] of rows) for (const cell of cells) assert.ok(cell.trim().length > 10, `${name}: an empty cell`);
  succeed('promtool', ['test', 'rules', 'deploy/prometheus/alerts_test.yml']);
});

test('each panel of the dashboard has its query, its place and its unit', () => {
  const seen = new Set();
  for (const panel of panels.filter(({ type }) => type !== 'row')) {
    const { x, y, w, h } = panel.gridPos;
    assert.ok(x + w <= 24 && w > 0 && h > 0, panel.title);
    assert.ok(panel.targets.length > 0 && panel.fieldConfig.defaults.unit, panel.title);
    assert.ok(!seen.has(`${x},${y}`), `${panel.title} lies on another`);
    seen.add(`${x},${y}`);
  }
  assert.equal(new Set(panels.map(({ id }) => id)).size, panels.length);
});

test('a real Prometheus takes rules and queries, and sees a node die', { skip: !hasPrometheus }, async () => {
  const prometheus = await Prometheus.start([node.address]);
  try {
    for (const [title, expression] of queries) {
      const answer = await prometheus.query(expression.replaceAll('$instance', '.*').replaceAll('$__rate_interval', '1m'));
      assert.equal(answer.status, 'success', `${title}: ${JSON.stringify(answer)}`);
    }
    const loaded = (await prometheus.ask('rules')).data.groups.flatMap((group) => group.rules);
    assert.deepEqual(loaded.map(({ name }) => name).sort(), rules.map(({ alert }) => alert).sort());
    assert.deepEqual(loaded.filter(({ health }) => health === 'err'), []);
    // What was looked at before the first scrape found no node: it goes with the next evaluation.
    await until(async () => (await prometheus.ask('alerts')).data.alerts.length === 0, 'no alert while the node is well', 10_000);
    await node.kill();
    await until(async () => (await prometheus.ask('alerts')).data.alerts.some(({ labels }) => labels.alertname === 'PresencedNodeDown'),
                'the alert of a node that is down', 15_000);
  } finally { await prometheus.dispose(); }
});
