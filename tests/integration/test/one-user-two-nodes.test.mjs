// Two nodes that settle one user at the same time, ten thousand times (DESIGN rules 7, 14 and 15).
import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import { attach, endClients, fresh, watcher } from '../lib/client.mjs';
import { Nodes } from '../lib/nodes.mjs';
import { startRedis } from '../lib/redis.mjs';
import { readPresence } from '../lib/rest.mjs';
import { until } from '../lib/server.mjs';

const changes = 5000;  // On each of the two.
const words = ['busy', 'away', 'dnd', 'online'];

describe('one user on two nodes', () => {
  let redis;
  let nodes;
  before(async () => {
    redis = await startRedis();
    nodes = new Nodes({ 'store.url': redis.url });
  });
  afterEach(() => endClients());
  after(async () => { await nodes.dispose(); await redis.dispose(); });

  test('both change it at once, 10,000 times: versions grow, nothing is lost, all watchers end equal', async (context) => {
    const [a, b] = await nodes.startMany(2);
    const user = fresh('both');
    const sides = [await attach(a, user), await attach(b, user, { hello: { device: { type: 'mobile' } } })];
    const watchers = [await watcher(a, [user]), await watcher(b, [user])];
    let conflicts = 0;
    const began = Date.now();
    await Promise.all(sides.map(async (side, s) => {
      const one = async (from) => {
        for (let i = from; i < changes - 1; i += 10) {
          // Whoever loses many races in a row is told to come again, and has changed nothing.
          let answer;
          while ((answer = await side.request({ type: 'status', scope: 'session', status: words[(i + s) % 4] })).code === 'conflict') conflicts += 1;
          assert.equal(answer.type, 'ack', JSON.stringify(answer));
        }
      };
      await Promise.all(Array.from({ length: 10 }, (_, i) => one(i)));
    }));
    await sides[0].ask({ type: 'status', scope: 'session', status: 'dnd' });
    await sides[1].ask({ type: 'status', scope: 'session', status: 'away' });
    const took = Date.now() - began;
    assert.ok(conflicts < changes / 100, `${conflicts} conflicts`);
    for (const w of watchers) await w.sees(user, 'away');
    await until(() => watchers[0].state.get(user).version === watchers[1].state.get(user).version, 'one version');
    const told = watchers.map((w) => w.told(user).map((one) => one.version));
    for (const versions of told) {
      assert.ok(versions.length >= took / 2000, `${versions.length} updates in ${took} ms`);
      assert.ok(versions.every((version, i) => i === 0 || version > versions[i - 1]), 'versions grow');
    }
    assert.deepEqual(await readPresence(a, user), await readPresence(b, user));
    context.diagnostic(`${2 * changes} changes in ${took} ms, ${told.map((versions) => versions.length).join(' and ')} updates told, ${conflicts} asked to come again`);
  });
});
