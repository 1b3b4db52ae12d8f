// Nodes that come up before their stores (DESIGN rule 30), and how /readyz and /metrics tell what a node waits for.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { attach, endClients, fresh } from '../lib/client.mjs';
import { Nodes } from '../lib/nodes.mjs';
import { hasPostgres, Postgres } from '../lib/postgres.mjs';
import { startRedis } from '../lib/redis.mjs';
import { call, readPresence } from '../lib/rest.mjs';
import { startServer, until } from '../lib/server.mjs';

after(endClients);

async function readiness(node) {
  const { status, json } = await call(node, 'GET', '/readyz', { anonymous: true });
  return [status, json.status, json.store, json.database];
}
const comesToSay = (node, ...wanted) => until(async () => JSON.stringify(await readiness(node)) === JSON.stringify(wanted), wanted.join(' '), 15_000)
  .catch(async (error) => { throw new Error(`${error.message}; it says ${await readiness(node)}`); });

/** The value of a sample of /metrics. */
async function sample(node, name) {
  const { text } = await call(node, 'GET', '/metrics', { anonymous: true });
  return Number(text.split('\n').find((line) => line.startsWith(`${name} `))?.split(' ')[1]);
}

test('FO-083 nodes that come up before Redis and PostgreSQL say what they wait for, and go on by themselves', { skip: !hasPostgres }, async () => {
  const redis = await startRedis();
  await redis.stop();
  const postgres = await Postgres.create();
  const nodes = new Nodes({ 'store.url': redis.url, 'database.url': postgres.url });
  try {
    const [one, other] = await nodes.startMany(2);
    assert.equal((await call(one, 'GET', '/healthz', { anonymous: true })).status, 200);
    await comesToSay(one, 503, 'storeDown', 'down', 'down');
    assert.equal(await sample(one, 'presenced_ready'), 0);
    await redis.start();
    await comesToSay(one, 200, 'degraded', 'ok', 'down');
    await until(async () => await sample(one, 'presenced_ready') === 1, 'the node to count as ready');
    await postgres.start();
    for (const node of [one, other]) await comesToSay(node, 200, 'ready', 'ok', 'ok');
    const someone = await attach(one, fresh());
    await until(async () => (await readPresence(other, someone.user)).status === 'online', 'the other node to know');
  } finally {
    await nodes.dispose();
    await postgres.dispose();
    await redis.dispose();
  }
});

test('FO-083 a store that is down, a database that is down and a drain are told apart', { skip: !hasPostgres }, async () => {
  const redis = await startRedis();
  const postgres = await Postgres.create();
  await postgres.start();
  const node = await startServer({ set: { 'store.url': redis.url, 'database.url': postgres.url, 'drain.timeout': '5s' } });
  try {
    await comesToSay(node, 200, 'ready', 'ok', 'ok');
    await postgres.stop();
    await until(async () => await sample(node, 'presenced_store_up{store="postgres"}') === 0, 'the database to be missed, though nobody asks for it', 15_000);
    await comesToSay(node, 200, 'degraded', 'ok', 'down');
    await redis.stop();
    await comesToSay(node, 503, 'storeDown', 'down', 'down');
    await until(async () => await sample(node, 'presenced_ready') === 0, 'the node to count as not ready');
    await postgres.start();
    await redis.start();
    await comesToSay(node, 200, 'ready', 'ok', 'ok');
    await attach(node, fresh());  // Somebody for whom it drains.
    node.signal('SIGTERM');
    await comesToSay(node, 503, 'draining', 'ok', 'ok');
    await node.exited;
  } finally {
    await node.dispose();
    await postgres.dispose();
    await redis.dispose();
  }
});
