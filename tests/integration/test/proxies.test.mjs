// Behind nginx and HAProxy, with the files of deploy/ as they stand.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, test } from 'node:test';
import { parse } from 'yaml';
import { Client, attach, endClients, fresh } from '../lib/client.mjs';
import { Nodes, statuses } from '../lib/nodes.mjs';
import { hasHaproxy, hasNginx, startHaproxy, startNginx } from '../lib/proxies.mjs';
import { startRedis } from '../lib/redis.mjs';
import { call } from '../lib/rest.mjs';
import { delay, root, startServer, until } from '../lib/server.mjs';
import { EventStream, endStreams } from '../lib/stream.mjs';
import { tokenFor } from '../lib/tokens.mjs';

const proxies = [
  { name: 'nginx', start: startNginx, here: hasNginx, readTimeout: (ms) => ['proxy_read_timeout 130s', `proxy_read_timeout ${ms}ms`] },
  { name: 'HAProxy', start: startHaproxy, here: hasHaproxy, readTimeout: (ms) => ['timeout tunnel 130s', `timeout tunnel ${ms}ms`] },
];
const insecure = { rejectUnauthorized: false };  // The certificate is the test's own.

afterEach(() => { endStreams(); endClients(); });

for (const { name, start, here, readTimeout } of proxies) {
  test(`${name}: WebSocket, stream, poll and REST pass as they come; the operator's paths do not`, { skip: !here }, async () => {
    const server = await startServer();
    const proxy = await start([server]);
    try {
      const ada = await attach(proxy, fresh(), insecure);
      const bo = await attach(proxy, fresh(), { ...insecure, hello: { observe: true } });
      await bo.watch([ada.user]);
      const stream = new EventStream(proxy, `/v1/stream?users=${ada.user}`, { as: fresh() });
      await stream.begun;
      assert.equal(stream.status, 200);
      await stream.sees(ada.user, 'online', 2000);
      const first = await call(proxy, 'GET', `/v1/poll?users=${ada.user}`, { as: bo.user });
      const polled = call(proxy, 'GET', `/v1/poll?users=${ada.user}&cursor=${encodeURIComponent(first.json.cursor)}&waitMs=5000`, { as: bo.user });
      await delay(200);
      const at = Date.now();
      await ada.ask({ type: 'status', status: 'busy' });
      await Promise.all([bo.sees(ada.user, 'busy'), stream.sees(ada.user, 'busy', 2000)]);
      assert.equal((await polled).json.users[0].status, 'busy');
      assert.ok(Date.now() - at < 2000, 'something was held back on the way');
      assert.equal((await call(proxy, 'GET', `/v1/users/${ada.user}/presence`)).json.status, 'busy');
      const many = Array.from({ length: 8000 }, (_, i) => `${'contact'.repeat(14)}-${i}`);
      const put = await call(proxy, 'PUT', `/v1/users/${ada.user}/contacts`, { body: { users: many } });
      assert.equal(put.json.users.length, 8000);
      for (const hidden of ['/metrics', '/admin/', '/admin/index.html']) {
        assert.equal((await fetch(proxy.httpUrl + hidden)).status, 403, hidden);
      }
      assert.equal((await fetch(`${proxy.httpUrl}/healthz`)).status, 200);
    } finally { await proxy.dispose(); await server.dispose(); }
  });

  test(`FO-080 ${name}: quiet clients stay where the time-out is above the interval, and below it they lose nothing`, { skip: !here }, async () => {
    const server = await startServer();
    const patient = await start([server], [readTimeout(2000)]);   // Two intervals, as 60 s are.
    const hasty = await start([server], [readTimeout(600)]);      // Between two heartbeats.
    const beats = (client) => { const timer = setInterval(() => client.socket.readyState === 1 && client.send({ type: 'heartbeat' }), 1000); client.closed.then(() => clearInterval(timer)); };
    try {
      const quiet = await Promise.all(Array.from({ length: 5 }, () => attach(patient, fresh(), { ...insecure, beat: false })));
      quiet.forEach(beats);
      const cut = await attach(hasty, fresh(), { ...insecure, beat: false });
      beats(cut);
      const watcher = await attach(server, fresh(), { hello: { observe: true } });
      await watcher.watch([...quiet, cut].map(({ user }) => user));
      let resumed = 0;
      const end = Date.now() + 6000;
      let current = cut;
      while (Date.now() < end) {
        if (!await Promise.race([current.closed, delay(end - Date.now())])) break;
        const next = new Client(hasty, { ...insecure, beat: false });
        const welcome = await next.hello({ token: tokenFor(cut.user), resume: current.welcome.resume });
        assert.ok(welcome.resumed);
        resumed += 1;
        beats(next);
        current = next;
      }
      assert.ok(resumed >= 3, `the hasty proxy cut the connection ${resumed} times`);
      assert.deepEqual(quiet.filter(({ ended }) => ended), []);
      for (const { user } of [...quiet, cut]) assert.deepEqual(statuses(watcher, user), [], 'a flap');
      const page = await (await fetch(`${server.httpUrl}/metrics`)).text();
      const returned = Number(/^presenced_grace_outcomes_total\{outcome="returned"\} (\d+)/m.exec(page)[1]);
      assert.ok(returned >= resumed, `the operator sees ${returned} returns`);
    } finally { await patient.dispose(); await hasty.dispose(); await server.dispose(); }
  });

  test(`FO-099 ${name}: limits of one address go by the client, and nobody chooses whose`, { skip: !here }, async () => {
    const limits = { 'limits.address_accepts_per_second': '1', 'limits.address_accepts_burst': '3' };
    const server = await startServer({ set: { ...limits, 'proxies.trusted': '127.0.0.1,10.9.9.9' } });
    const proxy = await start([server]);
    // Straight to the node, as the proxy at 127.0.0.1 would speak: `hops` is what it adds last.
    const come = async (hops) => attach(server, fresh(), { headers: { 'x-forwarded-for': hops } }).then(() => 101, (error) => error.status);
    try {
      assert.deepEqual([await come('192.0.2.1'), await come('8.8.8.8, 192.0.2.1'), await come('192.0.2.1:4711, 10.9.9.9')], [101, 101, 101]);
      for (const hops of ['192.0.2.1', '192.0.2.99, 192.0.2.1', `${'x'.repeat(500)}, 192.0.2.1`]) assert.equal(await come(hops), 429, hops);
      for (const hops of ['192.0.2.2', '[2001:db8::1]:55', 'garbage', '', ','.repeat(500)]) assert.equal(await come(hops), 101, hops);
      // Through the real proxy the client is 127.0.0.2, whatever it writes: loopback is spared, 192.0.2.1 is not touched.
      for (let i = 0; i < 8; ++i) await attach(proxy, fresh(), { ...insecure, localAddress: '127.0.0.2', headers: { 'x-forwarded-for': '192.0.2.1' } });
      await until(async () => await come('192.0.2.1') === 101, 'the bucket of 192.0.2.1 to fill', 3000);
    } finally { await proxy.dispose(); await server.dispose(); }
  });

  test(`FO-082 ${name}: a rolling restart behind it shows nobody offline and refuses nobody`, { skip: !here }, async () => {
    const redis = await startRedis();
    const nodes = new Nodes({ 'store.url': redis.url, 'heartbeat.grace': '3s' });
    let proxy;
    try {
      const [one, two] = await nodes.startMany(2);
      proxy = await start([one, two]);
      const people = await Promise.all(Array.from({ length: 12 }, () => attach(proxy, fresh(), insecure)));
      const watcher = await attach(two, fresh(), { hello: { observe: true } });
      await watcher.watch(people.map(({ user }) => user));
      one.killedByTest = true;
      one.signal('SIGTERM');
      let refused = 0;
      let asked = 0;
      const newcomers = (async () => {  // Who comes anew meanwhile finds the other node.
        while (!one.exit) {
          asked += 1;
          await attach(proxy, fresh(), insecure).then((client) => client.bye(), () => { refused += 1; });
          await delay(50);
        }
      })();
      const returned = await Promise.all(people.map(async (person) => {
        const told = await Promise.race([person.next('reconnect', { from: 0 }).catch(() => undefined), one.exited.then(() => undefined)]);
        if (!told) return 'stayed';
        await delay(told.afterMs);
        const next = new Client(proxy, insecure);
        await next.hello({ token: tokenFor(person.user), resume: person.welcome.resume });
        return next.welcome.resumed ? 'resumed' : 'new';
      }));
      assert.deepEqual(await one.exited, { code: 0, signal: null });
      await newcomers;
      const count = (what) => returned.filter((one) => one === what).length;
      assert.ok(count('resumed') >= 1 && count('stayed') >= 1 && count('new') === 0, returned.join());
      assert.equal(refused, 0, `${refused} of ${asked} newcomers were refused`);
      await delay(1000);
      for (const { user } of people) assert.ok(!statuses(watcher, user).includes('offline'), `${user} was shown offline`);
    } finally { await proxy?.dispose(); await nodes.dispose(); await redis.dispose(); }
  });
}

test('FO-061 nginx: no token stands in its log, whatever road it came by', { skip: !hasNginx }, async () => {
  const server = await startServer();
  const proxy = await startNginx([server]);
  try {
    const token = tokenFor('logged');
    await attach(proxy, 'logged', { ...insecure, token });
    await new Client(proxy, { ...insecure, headers: { authorization: `Bearer ${token}` } }).hello();
    const stream = new EventStream(proxy, '/v1/stream?users=logged', { headers: { authorization: `Bearer ${token}` } });
    await stream.begun;
    assert.equal((await call(proxy, 'GET', '/v1/users/logged/presence', { token })).status, 200);
    await delay(100);
    endStreams();
    endClients();
    await until(() => ['v1/connect', 'v1/stream'].every((road) => readFileSync(`${proxy.folder}/access.log`, 'utf8').includes(road)), 'the log');
    const log = readFileSync(`${proxy.folder}/access.log`, 'utf8') + readFileSync(`${proxy.folder}/error.log`, 'utf8') + proxy.said;
    assert.match(log, /v1\/connect/);
    for (const part of token.split('.').slice(1)) assert.ok(!log.includes(part.slice(0, 12)), log);
  } finally { await proxy.dispose(); await server.dispose(); }
});

test('the times in the examples fit the defaults of the server, Envoy\'s too', () => {
  const text = (file) => readFileSync(path.join(root, 'deploy', file), 'utf8');
  const [ttl, idle] = [100, 60];  // heartbeat.ttl; NetLimits::http_idle_timeout
  const seconds = (file, pattern) => Number(pattern.exec(text(file))[1]);
  assert.ok(seconds('nginx/presenced.conf', /proxy_read_timeout (\d+)s/) > ttl);
  assert.ok(seconds('nginx/presenced.conf', /keepalive_timeout (\d+)s/) < idle);
  assert.ok(seconds('haproxy/haproxy.cfg', /timeout tunnel (\d+)s/) > ttl);
  const envoy = parse(text('envoy/envoy.yaml')).static_resources;
  const manager = envoy.listeners[0].filter_chains[0].filters[0].typed_config;
  assert.ok(Number.parseInt(manager.stream_idle_timeout, 10) > ttl);
  assert.deepEqual(manager.upgrade_configs, [{ upgrade_type: 'websocket' }]);
  const routes = manager.route_config.virtual_hosts[0].routes;
  assert.equal(routes.at(-1).route.timeout, '0s');
  assert.deepEqual(routes.slice(0, 2).map((route) => route.direct_response.status), [403, 403]);
  const [cluster] = envoy.clusters;
  assert.equal(routes.at(-1).route.cluster, cluster.name);
  assert.equal(cluster.health_checks[0].http_health_check.path, '/readyz');
  const options = cluster.typed_extension_protocol_options['envoy.extensions.upstreams.http.v3.HttpProtocolOptions'];
  assert.ok(Number.parseInt(options.common_http_protocol_options.idle_timeout, 10) < idle);
});
