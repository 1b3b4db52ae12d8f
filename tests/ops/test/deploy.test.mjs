// deploy/docker and deploy/kubernetes, held against the server and against each other as far as that goes without Docker.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { parseDocument } from 'yaml';
import { binary, startServer } from '../../integration/lib/server.mjs';
import { has, root, succeed, text, yaml, yamls } from '../lib/files.mjs';

const folder = mkdtempSync(path.join(os.tmpdir(), 'presenced-deploy-'));
after(() => rmSync(folder, { recursive: true, force: true }));

const defaults = Object.fromEntries(succeed(binary, ['config']).trim().split('\n').map((line) => /^(\S+) = (.*?)  #/.exec(line).slice(1)));
const seconds = (key) => Number.parseInt(defaults[key], 10);
const port = defaults.listen.split(':').at(-1);

/** Secrets as the files say they are made, in a folder of the test's. */
const secrets = path.join(folder, 'secrets');
succeed('bash', ['deploy/docker/make-secrets.sh', secrets]);

/** What `presenced check` says of these variables and this file. */
function check(environment, file) {
  return succeed(binary, ['check', ...(file ? ['--config', file] : [])], { env: environment });
}

const instructions = text('deploy/docker/Dockerfile').replaceAll(/^#.*\n/gm, '').replaceAll('\\\n', ' ').split('\n').filter(Boolean)
  .map((line) => [line.slice(0, line.indexOf(' ')), line.slice(line.indexOf(' ') + 1).trim()]);
const lastStage = instructions.slice(instructions.findLastIndex(([word]) => word === 'FROM'));

test('the image is built in stages, runs without root and listens where the server does', () => {
  const of = (word) => lastStage.filter(([one]) => one === word).map(([, rest]) => rest);
  assert.equal(instructions.filter(([word]) => word === 'FROM').length, 2);
  assert.deepEqual(of('EXPOSE'), [port]);
  assert.match(of('USER')[0], /^[1-9]\d*:[1-9]\d*$/);
  assert.deepEqual(JSON.parse(of('ENTRYPOINT')[0]), ['/usr/bin/presenced']);
  assert.ok(succeed(binary, ['--help']).includes(JSON.parse(of('CMD')[0])[0]));
  assert.deepEqual(of('STOPSIGNAL'), ['SIGTERM']);
  const environment = Object.fromEntries(of('ENV').flatMap((line) => line.split(/\s+/)).map((pair) => pair.split('=')));
  check({ ...environment, PRESENCED_AUTH_SECRET: 'x' });
  assert.equal(environment.PRESENCED_LISTEN, `0.0.0.0:${port}`);
  assert.deepEqual(of('VOLUME'), [environment.PRESENCED_DATA_DIR]);
  const stages = instructions.flatMap(([word, rest]) => (word === 'FROM' ? [rest.split(' AS ')[1]] : []));
  for (const [, rest] of instructions.filter(([word]) => word === 'COPY')) {
    const from = /--from=(\S+)/.exec(rest)?.[1];
    if (from) assert.ok(stages.includes(from), from);
    else for (const source of rest.split(/\s+/).slice(0, -1)) assert.ok(existsSync(path.join(root, source)), source);
  }
  const groups = new Set(succeed('tools/packages.sh', ['list']).split('\n').map((line) => line.split(' ')[0]));
  for (const group of /packages\.sh install (.*)/.exec(text('deploy/docker/Dockerfile'))[1].split(' ')) assert.ok(groups.has(group), group);
});

const compose = parseDocument(text('deploy/docker/compose.yml'), { merge: true });
assert.deepEqual(compose.errors, []);
const { services, volumes, secrets: composeSecrets, networks } = compose.toJS();
const nodes = Object.entries(services).filter(([, service]) => service.image === 'presenced');

test('compose: what services name is there, and nodes take their variables', () => {
  assert.equal(nodes.length, 3);
  for (const [name, service] of Object.entries(services)) {
    for (const other of service.depends_on ?? []) assert.ok(services[other], `${name} waits for ${other}`);
    for (const volume of service.volumes ?? []) {
      const source = volume.split(':')[0];
      if (source.startsWith('.')) assert.ok(existsSync(path.join(root, 'deploy/docker', source)), source);
      else assert.ok(source in volumes, source);
    }
    for (const secret of service.secrets ?? []) assert.ok(existsSync(path.join(secrets, path.basename(composeSecrets[secret].file))), secret);
    for (const network of service.networks) assert.ok(network in networks);
    assert.ok(service.image.includes(':') || service.build, `${name}: any version`);
    for (const published of service.ports ?? []) assert.match(published, /^127\.0\.0\.1:/);
  }
  for (const [name, service] of nodes) {
    const environment = Object.fromEntries(Object.entries(service.environment)
      .map(([key, value]) => [key, String(value).replace('/run/secrets', secrets)]));
    check({ PRESENCED_DATA_DIR: folder, ...environment });
    const hosts = [...service.environment.PRESENCED_STORE_URL.matchAll(/([\w-]+):(\d+)/g)];
    assert.equal(hosts.length, 3);
    for (const [, host, redisPort] of hosts) assert.ok(services[host] && redisPort === '6379', host);
    assert.ok(Number.parseInt(service.stop_grace_period, 10) > seconds('drain.timeout'), name);
    assert.ok(service.ulimits.nofile > Number(defaults['limits.connections']), name);
    assert.equal(service.environment.PRESENCED_PROXIES_TRUSTED, networks.inside.ipam.config[0].subnet);
  }
  for (const target of yaml('deploy/docker/prometheus.yml').scrape_configs[0].static_configs[0].targets) {
    assert.ok(services[target.split(':')[0]] && target.endsWith(`:${port}`), target);
  }
  assert.match(succeed('stat', ['-c', '%a', secrets]), /^700$/m);
  assert.equal(yaml('deploy/docker/grafana/datasources/prometheus.yml').datasources[0].url, 'http://prometheus:9090');
});

test('the Grafana of docs/scaling.md is that of compose, and finds the Prometheus of that page', () => {
  const command = /^docker run .*\\\n(?: .*\n)+/m.exec(text('docs/scaling.md'))[0];
  const { image, environment, volumes: mounts } = services.grafana;
  assert.ok(command.trim().endsWith(` ${image}`));
  for (const [name, value] of Object.entries(environment)) assert.ok(command.includes(` --env ${name}=${value} `), name);
  const mounted = [...command.matchAll(/--volume "\$PWD\/([^:]+):([^"]+)"/g)].map(([, from, to]) => [path.join(root, from), to]);
  const wanted = mounts.map((mount) => [path.join(root, 'deploy/docker', mount.split(':')[0]), mount.slice(mount.indexOf(':') + 1)]);
  assert.deepEqual(mounted, wanted);
  const { hostname, port: prometheusPort } = new URL(yaml('deploy/docker/grafana/datasources/prometheus.yml').datasources[0].url);
  assert.ok(command.includes(` --add-host ${hostname}:127.0.0.1 `));
  assert.ok(text('docs/scaling.md').includes(`--web.listen-address=127.0.0.1:${prometheusPort}`));
});

test('compose: the health check tells a node that is ready from one that is not there', async () => {
  const [, ...words] = nodes[0][1].healthcheck.test;
  const probe = (other) => spawnSync(words[0], words.slice(1).map((word) => word.replace('/8080', `/${other}`))).status;
  const server = await startServer();
  try {
    assert.equal(probe(server.port), 0);
  } finally { await server.dispose(); }
  assert.notEqual(probe(server.port), 0);
});

test('compose: nginx takes its file, Redis its options', { skip: !has('nginx', '-v') }, () => {
  const file = path.join(folder, 'nginx.conf');
  writeFileSync(path.join(folder, 'site.conf'), text('deploy/docker/nginx.conf').replaceAll(/server node-(\d):8080/g, 'server 127.0.0.$1:8080'));
  writeFileSync(file, `pid ${folder}/pid; events {} http { include ${folder}/site.conf; }`);
  succeed('nginx', ['-t', '-c', file, '-e', 'stderr']);
  for (const node of [1, 2, 3]) assert.match(text('deploy/docker/nginx.conf'), new RegExp(`server node-${node}:${port}`));
  const [program, ...options] = services['redis-1'].command;
  const redis = path.join(folder, 'redis');
  mkdirSync(redis);
  // It reads its options before it says that it has no port.
  const started = spawnSync(program, [...options, '--port', '0', '--dir', redis], { timeout: 10_000, encoding: 'utf8' });
  assert.match(started.stdout, /not listen anywhere/);
});

const objects = [...yamls('deploy/kubernetes/presenced.yaml'), ...yamls('deploy/kubernetes/autoscaling.yaml')];
const one = (kind, name = 'presenced') => objects.find((object) => object.kind === kind && object.metadata.name === name);

test('Kubernetes: the configuration passes `presenced check`, and probes ask what the server answers', async () => {
  const file = path.join(folder, 'presenced.toml');
  for (const [name, body] of [['store-url', 'redis-cluster://u:p@a:6379,b:6379'], ['database-url', 'postgresql://u:p@a/b']]) writeFileSync(path.join(secrets, name), body);
  const toml = one('ConfigMap').data['presenced.toml'];
  writeFileSync(file, toml.replaceAll('/etc/presenced/secrets', secrets));
  check({}, file);
  const spec = one('StatefulSet').spec.template.spec;
  const [container] = spec.containers;
  assert.deepEqual(container.args, ['serve', '--config', container.volumeMounts[0].mountPath]);
  assert.equal(String(container.ports[0].containerPort), /listen = ".*:(\d+)"/.exec(toml)[1]);
  const named = [...toml.matchAll(/file:\/etc\/presenced\/secrets\/([\w-]+)/g)].map(([, name]) => name).sort();
  const made = [...text('deploy/kubernetes/presenced.yaml').matchAll(/--from-literal=([\w-]+)=/g)].map(([, name]) => name).sort();
  assert.deepEqual(named, made);
  const server = await startServer();
  try {
    for (const kind of ['startupProbe', 'livenessProbe', 'readinessProbe']) {
      assert.equal((await fetch(server.httpUrl + container[kind].httpGet.path)).status, 200, kind);
    }
    assert.equal(container.readinessProbe.httpGet.path, '/readyz');
  } finally { await server.dispose(); }
});

test('Kubernetes: selectors find the pods, a pod has time to drain, and scaling goes by a metric that is there', () => {
  const set = one('StatefulSet');
  const { labels } = set.spec.template.metadata;
  const selectors = [set.spec.selector.matchLabels, one('Service').spec.selector, one('Service', 'presenced-nodes').spec.selector,
                     one('PodDisruptionBudget').spec.selector.matchLabels];
  for (const selector of selectors) assert.deepEqual(selector, labels);
  assert.equal(set.spec.serviceName, one('Service', 'presenced-nodes').metadata.name);
  const { spec } = set.spec.template;
  const [container] = spec.containers;
  const sleep = Number(container.lifecycle.preStop.exec.command[1]);
  assert.ok(spec.terminationGracePeriodSeconds >= sleep + seconds('drain.timeout') + 10);
  assert.ok(sleep >= 2 * container.readinessProbe.periodSeconds);
  assert.ok(spec.securityContext.runAsNonRoot && container.securityContext.readOnlyRootFilesystem);
  assert.equal(`${spec.securityContext.runAsUser}:${spec.securityContext.runAsGroup}`, lastStage.find(([word]) => word === 'USER')[1]);
  for (const mount of container.volumeMounts) {
    assert.ok([...spec.volumes, ...set.spec.volumeClaimTemplates.map((claim) => claim.metadata)].some(({ name }) => name === mount.name), mount.name);
  }
  for (const service of ['presenced', 'presenced-nodes']) assert.equal(one('Service', service).spec.ports[0].targetPort, container.ports[0].name);
  const scaler = one('HorizontalPodAutoscaler').spec;
  assert.deepEqual(scaler.scaleTargetRef, { apiVersion: set.apiVersion, kind: set.kind, name: set.metadata.name });
  assert.equal(scaler.minReplicas, set.spec.replicas);
  const [connections] = scaler.metrics;
  assert.match(text('docs/metrics.md'), new RegExp(`^\\| \`${connections.pods.metric.name}\``, 'm'));
  // When one of the fewest is gone, the others carry its clients.
  const each = Number(connections.pods.target.averageValue);
  assert.ok(each * scaler.minReplicas / (scaler.minReplicas - 1) < Number(defaults['limits.connections']));
  assert.ok(one('PodDisruptionBudget').spec.maxUnavailable < set.spec.replicas);
});

test('scripts in deploy can be run', () => {
  for (const name of ['docker/make-secrets.sh', 'debian/postinst', 'debian/prerm', 'debian/postrm']) {
    assert.ok(statSync(path.join(root, 'deploy', name)).mode & 0o100, name);
    succeed(text(`deploy/${name}`).startsWith('#!/bin/sh') ? 'sh' : 'bash', ['-n', `deploy/${name}`]);
  }
});
