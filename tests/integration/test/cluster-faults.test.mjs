// What several nodes on one real Redis promise when nodes and the store fail (DESIGN rules 7, 30 to 32).
import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import { attach, endClients, fresh, watcher } from '../lib/client.mjs';
import { startRedis } from '../lib/redis.mjs';
import { done, listSessions, readPresence, userPath } from '../lib/rest.mjs';
import { delay, startServer, until } from '../lib/server.mjs';

const lease = 8000;
const nodes = [];
let redis;

const startNode = async (set = {}) => {
  const node = await startServer({ set: { 'store.url': redis.url, 'database.url': 'memory:', ...set } });
  nodes.push(node);
  return node;
};
const statuses = (w, user) => w.told(user).map((one) => one.status);
const many = (count, name) => Array.from({ length: count }, () => fresh(name));

before(async () => { redis = await startRedis(); });
afterEach(async () => {
  endClients();
  for (const node of nodes.splice(0)) {
    assert.equal(node.exit?.signal ?? 'none', node.killedByTest ? 'SIGKILL' : 'none', node.stderr.slice(-2000));
    await node.dispose();
  }
  assert.deepEqual(await redis.withoutTtl(), [], 'keys without a TTL');
});
after(async () => { await redis?.dispose(); });

describe('a session moves between nodes', () => {
  test('a resume on another node closes the half-open connection 4409 and nobody is told', async () => {
    const [a, b, c] = [await startNode(), await startNode(), await startNode()];
    const user = fresh();
    const one = await attach(a, user);
    const w = await watcher(c, [user]);
    one.goSilent();
    const two = await attach(b, user, { hello: { resume: one.welcome.resume } });
    assert.equal(two.welcome.resumed, true);
    assert.equal(two.welcome.sessionId, one.welcome.sessionId);
    one.socket.resume();
    await one.closedWith(4409, 'replaced');
    await w.hearsNothing(user, 4500);
    assert.equal((await listSessions(c, user)).length, 1);
  });

  test('a back end ends a session that another node holds', async () => {
    const [a, b] = [await startNode(), await startNode()];
    const one = await attach(a, fresh());
    await done(b, 'DELETE', userPath(one.user, `/sessions/${one.welcome.sessionId}`));
    await one.closedWith(4403);
    assert.equal((await readPresence(b, one.user)).status, 'offline');
  });

  test('FO-012 the last device is the last of all nodes', async () => {
    const [a, b, c] = [await startNode(), await startNode(), await startNode()];
    const user = fresh();
    const phone = await attach(a, user);
    const laptop = await attach(b, user);
    const w = await watcher(c, [user]);
    await phone.bye();
    await w.hearsNothing(user, 1500);
    await laptop.bye();
    await w.sees(user, 'offline');
  });
});

describe('death of a node', () => {
  test('FO-001 kill -9: who comes back elsewhere is never shown offline, the others once, with the last renewal', async () => {
    const [a, b, c] = [await startNode(), await startNode(), await startNode()];
    const users = many(100);
    const clients = await Promise.all(users.map((user) => attach(a, user)));
    const w = await watcher(c, users);
    await delay(2500);
    a.killedByTest = true;
    const killedAt = Date.now();
    await a.kill();
    await delay(1000);
    const back = users.slice(0, 50);
    await Promise.all(back.map((user, i) => attach(i % 2 ? b : c, user, { hello: { resume: clients[i].welcome.resume } })
      .then((client) => assert.equal(client.welcome.resumed, true))));
    const gone = users.slice(50);
    await until(() => gone.every((user) => w.state.get(user).status === 'offline'), 'all who are gone', lease + 4000);
    const took = Date.now() - killedAt;
    assert.ok(took <= lease + 1000 + 500, `settled ${took} ms after the kill`);
    for (const user of gone) {
      assert.deepEqual(statuses(w, user), ['offline']);
      const { at } = w.state.get(user).lastSeen;
      assert.ok(at <= killedAt + 20 && at >= killedAt - 3000, `${at - killedAt} ms`);
    }
    await delay(3000);
    for (const user of back) assert.deepEqual(statuses(w, user), [], user);
  });

  test('SIGSTOP past the lease: it heals, and harms nobody who moved', async () => {
    const [a, b] = [await startNode(), await startNode()];
    const [stays, moves] = many(2);
    const one = await attach(a, stays);
    const two = await attach(a, moves);
    const w = await watcher(b, [stays, moves]);
    a.signal('SIGSTOP');
    await delay(1000);
    const moved = await attach(b, moves, { hello: { resume: two.welcome.resume } });
    assert.equal(moved.welcome.resumed, true);
    await w.sees(stays, 'offline', lease + 4000);
    await delay(1000);
    a.signal('SIGCONT');
    await w.sees(stays, 'online', 6000);
    await two.closedWith(4409, 'replaced');
    await delay(5000);
    assert.equal(one.ended, undefined);
    assert.equal(moved.ended, undefined);
    assert.deepEqual(statuses(w, moves), []);
    assert.equal(w.state.get(stays).status, 'online');
  });
});

describe('the store fails', () => {
  test('stopped for 14 s: own users stay right, others are unknown after 10 s, all agree afterwards', async () => {
    const [a, b] = [await startNode(), await startNode()];
    const [here, there, nobody] = many(3);
    const mine = await attach(a, here);
    await attach(b, there);
    const w = await watcher(a, [here, there, nobody]);
    const stoppedAt = Date.now();
    await redis.stop();
    await w.next('health', { timeoutMs: 6000 });
    await mine.ask({ type: 'status', status: 'busy' });
    await w.sees(here, 'busy');
    const late = await attach(a, fresh('late'));
    const other = await w.sees(there, 'unknown', 16_000);
    assert.ok(Date.now() - stoppedAt >= 9500, `${Date.now() - stoppedAt} ms`);
    assert.ok(other.version > 0);
    await w.sees(nobody, 'unknown', 1000);
    const health = w.received.map((r) => r.message).filter((m) => m.type === 'health');
    assert.deepEqual(health.map((m) => m.store), ['down']);
    await delay(Math.max(0, 14_000 - (Date.now() - stoppedAt)));
    await redis.start();
    await w.sees(there, 'online', 10_000);
    await w.sees(nobody, 'offline', 10_000);
    assert.equal((await until(async () => {
      const seen = await readPresence(b, late.user);
      return seen.status === 'online' && seen;
    }, 'who came meanwhile', 10_000)).status, 'online');
    assert.equal((await readPresence(b, here)).status, 'busy');
    for (const user of [here, there]) assert.ok(!statuses(w, user).includes('offline'), user);
    assert.equal(mine.ended, undefined);
  });

  test('FLUSHALL: the nodes state all again, nobody is shown offline', async () => {
    const [a, b] = [await startNode(), await startNode()];
    const users = many(60);
    await Promise.all(users.map((user, i) => attach(i % 2 ? a : b, user)));
    const w = await watcher(a, users);
    const other = await watcher(b, users);
    await redis.command('FLUSHALL');
    // Whoever looks anew, from the first moment on, is not told otherwise either (rule 31).
    const shown = new Set();
    for (const end = Date.now() + 6000; Date.now() < end;) {
      for (const node of [a, b]) shown.add((await readPresence(node, users[shown.size % 2])).status);
    }
    assert.deepEqual([...shown].filter((status) => status !== 'unknown' && status !== 'online'), []);
    const late = await watcher(b, users);
    for (const user of users) {
      assert.equal(late.state.get(user).status, 'online');
      assert.ok([w, other].every((each) => !statuses(each, user).includes('offline')), user);
    }
  });

  test('FO-006 a single record that is lost is there again within an interval', async () => {
    const [a, b] = [await startNode(), await startNode()];
    const user = fresh('alone');
    await attach(a, user);
    const w = await watcher(b, [user]);
    const keys = (await redis.command('KEYS', '*')).filter((key) => key.includes(user));
    assert.ok(keys.length > 0, 'the record has the name of its user');
    for (const key of keys) await redis.command('DEL', key);
    await until(async () => (await readPresence(b, user)).status === 'online', 'the record', 3000);
    assert.ok(!statuses(w, user).includes('offline'));
  });
});
