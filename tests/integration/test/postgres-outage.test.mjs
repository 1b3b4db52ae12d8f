// Two nodes on Redis and PostgreSQL: the database is away for a minute while 5,000 sessions end, and the
// node that held them is killed meanwhile (DESIGN rule 16).
import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import { endClients, fresh } from '../lib/client.mjs';
import { Crowd, endCrowds } from '../lib/crowd.mjs';
import { Nodes } from '../lib/nodes.mjs';
import { Postgres, hasPostgres } from '../lib/postgres.mjs';
import { startRedis } from '../lib/redis.mjs';
import { delay, until } from '../lib/server.mjs';
import { long } from '../lib/suite.mjs';

const sizes = long ? { sessions: 5000, awayMs: 60_000 } : { sessions: 600, awayMs: 12_000 };
const lease = 8000;

describe(`PostgreSQL is away for ${sizes.awayMs / 1000} s while ${sizes.sessions} sessions end`, { skip: !hasPostgres && 'no PostgreSQL here' }, () => {
  let postgres;
  let redis;
  let nodes;
  before(async () => {
    redis = await startRedis();
    postgres = await Postgres.create();
    await postgres.start();
  });
  afterEach(async () => {
    endClients();
    await endCrowds();
    await nodes.dispose();
    if (!postgres.child) await postgres.start();
  });
  after(async () => { await postgres.dispose(); await redis.dispose(); });

  const lastSeens = () => new Map(postgres.query('SELECT last_seen_ms, user_id FROM presenced.profiles WHERE last_seen_ms IS NOT NULL')
    .map((line) => [line.slice(line.indexOf('|') + 1), Number(line.slice(0, line.indexOf('|')))]));
  const startTwo = async () => {
    nodes = new Nodes({ 'store.url': redis.url, 'database.url': postgres.url });
    return nodes.startMany(2);
  };
  const rowsOf = async (users, timeoutMs) => {
    await until(() => { const stored = lastSeens(); return users.every((user) => stored.has(user)); }, 'all rows', timeoutMs)
      .catch((error) => { const stored = lastSeens(); const lost = users.filter((user) => !stored.has(user));
        throw new Error(`${error.message}: ${lost.length} are missing, ${lost.slice(0, 5)}`); });
    return lastSeens();
  };
  const parted = (users) => [users.filter((_, i) => i % 2), users.filter((_, i) => i % 2 === 0)];

  test('all ends are in it afterwards, each with its time', async () => {
    const [a, b] = await startTwo();
    const users = Array.from({ length: sizes.sessions }, () => fresh('ends'));
    const [onA, onB] = parted(users);
    const crowd = new Crowd();
    await Promise.all([crowd.attach(a, onA, { atOnce: 100 }), crowd.attach(b, onB, { atOnce: 100 })]);
    await postgres.stop();
    const from = Date.now();
    const ended = await crowd.bye(users, { perSecond: sizes.sessions / (sizes.awayMs / 1000 - 5) });
    assert.equal(ended.size, users.length);
    await delay(Math.max(0, sizes.awayMs - (Date.now() - from)));
    await postgres.start();
    const stored = await rowsOf(users, 20_000);
    for (const [user, at] of ended) assert.ok(Math.abs(stored.get(user) - at) < 1000, `${user}: ${stored.get(user) - at} ms off`);
  });

  test('the node is killed meanwhile and started again: none lost, none backwards', async () => {
    const [a] = await startTwo();
    const users = Array.from({ length: sizes.sessions }, () => fresh('killed'));
    const crowd = new Crowd();
    await crowd.attach(a, users, { atOnce: 100 });
    // The last tenth is still there when the node is killed.
    const [leave, stay] = [users.slice(0, sizes.sessions * 0.9), users.slice(sizes.sessions * 0.9)];
    await postgres.stop();
    const from = Date.now();
    const ended = await crowd.bye(leave, { perSecond: leave.length / (sizes.awayMs / 2000) });
    await delay(1800);  // The writer's second.
    const crash = Date.now();
    await nodes.kill(a);
    const again = await nodes.start({ dataDir: a.dataDir });
    await delay(Math.max(0, sizes.awayMs - (Date.now() - from)));
    await postgres.start();
    const newest = Date.now() + 3_600_000;
    postgres.query(`INSERT INTO presenced.profiles (user_id, last_seen_ms) VALUES ('${leave[0]}', ${newest}) ON CONFLICT (user_id) DO UPDATE SET last_seen_ms = ${newest}`);
    const stored = await rowsOf(users, lease + 20_000);
    assert.equal(stored.get(leave[0]), newest, 'went backwards');
    for (const user of leave.slice(1)) assert.ok(Math.abs(stored.get(user) - ended.get(user)) < 1000, `${user}: ${stored.get(user) - ended.get(user)} ms off`);
    for (const user of stay) assert.ok(stored.get(user) <= crash + 100 && stored.get(user) > crash - 3000, `${user}: ${stored.get(user) - crash} ms off`);
    assert.equal(again.exit, undefined);
  });

  test('the node is killed meanwhile and never comes back: the others write what it could not', async () => {
    const [a] = await startTwo();
    const users = Array.from({ length: sizes.sessions }, () => fresh('gone'));
    const crowd = new Crowd();
    await crowd.attach(a, users, { atOnce: 100 });
    const [leave, stay] = [users.slice(0, sizes.sessions * 0.9), users.slice(sizes.sessions * 0.9)];
    await postgres.stop();
    const from = Date.now();
    const ended = await crowd.bye(leave, { perSecond: leave.length / (sizes.awayMs / 2000) });
    await delay(1800);
    const crash = Date.now();
    await nodes.kill(a);
    await delay(Math.max(0, sizes.awayMs - (Date.now() - from)));
    await postgres.start();
    const stored = await rowsOf(users, lease + 20_000);
    for (const user of leave) assert.ok(Math.abs(stored.get(user) - ended.get(user)) < 1000, `${user}: ${stored.get(user) - ended.get(user)} ms off`);
    for (const user of stay) assert.ok(stored.get(user) <= crash + 100 && stored.get(user) > crash - 3000, `${user}: ${stored.get(user) - crash} ms off`);
  });
});
