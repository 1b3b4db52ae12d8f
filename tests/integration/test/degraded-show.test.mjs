// What a node shows of others by `degraded.show` while a real Redis is away (DESIGN rule 30).
import assert from 'node:assert/strict';
import { afterEach, describe, test } from 'node:test';
import { attach, endClients, fresh, watcher } from '../lib/client.mjs';
import { Nodes, statuses } from '../lib/nodes.mjs';
import { startRedis } from '../lib/redis.mjs';
import { delay } from '../lib/server.mjs';

const closing = [];
afterEach(async () => {
  endClients();
  for (const close of closing.splice(0)) await close();
});

async function onRedis() {
  const redis = await startRedis();
  const nodes = new Nodes({ 'store.url': redis.url });
  closing.push(async () => { await nodes.dispose(); await redis.dispose(); });
  return { redis, nodes };
}

describe('degraded.show', () => {
  test('of others: `offline` as if they were gone, `last_known` as they were told last', { timeout: 60_000 }, async () => {
    const { redis, nodes } = await onRedis();
    const a = await nodes.start();
    const asOffline = await nodes.start({ set: { 'degraded.show': 'offline' } });
    const lastKnown = await nodes.start({ set: { 'degraded.show': 'last_known' } });
    const one = await attach(a, fresh());
    await one.ask({ type: 'status', status: 'busy' });
    const [w, holds] = [await watcher(asOffline, [one.user]), await watcher(lastKnown, [one.user])];
    await redis.stop({ keepData: true });
    await w.sees(one.user, 'offline', 16_000);
    await delay(3000);
    assert.deepEqual(statuses(holds, one.user), []);
    assert.equal(holds.state.get(one.user).status, 'busy');
    await redis.start();
    await w.sees(one.user, 'busy', 15_000);
    await delay(1000);
    // A store that was restarted may have lost writes, so all is stated again under higher versions.
    assert.deepEqual(statuses(holds, one.user).filter((status) => status !== 'busy'), []);
    await one.ask({ type: 'status', status: 'dnd' });
    for (const each of [w, holds]) await each.sees(one.user, 'dnd', 5000);
  });
});
