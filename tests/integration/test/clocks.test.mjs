// A node whose clock is half a minute off (DESIGN rule 36), by libfaketime: only what it takes for the
// time of day is wrong, its timers go right.
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, describe, test } from 'node:test';
import { attach, endClients, fresh, watcher } from '../lib/client.mjs';
import { Nodes, allAgree, shownOffline, statuses } from '../lib/nodes.mjs';
import { startRedis } from '../lib/redis.mjs';
import { delay, grace, ttl } from '../lib/server.mjs';

const library = ['/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1', '/usr/lib/aarch64-linux-gnu/faketime/libfaketimeMT.so.1']
  .find((file) => existsSync(file));
const closing = [];
afterEach(async () => {
  endClients();
  for (const close of closing.splice(0)) await close();
});

describe('the clock of one node is 30 s off', { skip: !library && 'no libfaketime here' }, () => {
  for (const off of ['+30s', '-30s']) {
    test(`${off}: nothing expires early, versions grow, no last seen in the future`, async () => {
      const redis = await startRedis();
      const nodes = new Nodes({ 'store.url': redis.url });
      closing.push(async () => { await nodes.dispose(); await redis.dispose(); });
      const wrong = await nodes.start({ env: { LD_PRELOAD: library, FAKETIME: off, FAKETIME_DONT_FAKE_MONOTONIC: '1', DONT_FAKE_MONOTONIC: '1' } });
      const right = await nodes.start();
      const offBy = Number(off.slice(0, -1)) * 1000;
      assert.match(wrong.stderr, /clock_off/, 'the node did not notice');

      const user = fresh();
      const watchers = [await watcher(wrong, [user]), await watcher(right, [user])];
      const one = await attach(wrong, user);
      assert.ok(Math.abs(one.welcome.serverTime - Date.now()) < 1000, `serverTime is ${one.welcome.serverTime - Date.now()} ms off`);
      await allAgree([wrong, right], watchers, new Map([[user, 'online']]));
      await delay(ttl + 1500);
      assert.deepEqual(shownOffline(watchers, [user]), [], 'expired early');
      // Alternately from both sides: each change has a higher version (the clients note a lower one).
      const two = await attach(right, user);
      for (let i = 0; i < 6; i++) {
        const status = i % 2 ? 'busy' : 'dnd';
        await two.ask({ type: 'status', scope: 'session', status });
        await one.ask({ type: 'status', scope: 'session', status });
        await allAgree([wrong, right], watchers, new Map([[user, status]]));
      }
      const moved = await attach(right, user, { hello: { resume: one.welcome.resume } });
      assert.equal(moved.welcome.resumed, true);
      await one.closedWith(4409, 'replaced');
      await two.bye();
      const back = await attach(wrong, user, { hello: { resume: moved.welcome.resume } });
      assert.equal(back.welcome.resumed, true);

      back.goSilent();
      const silentAt = Date.now();
      for (const w of watchers) await w.sees(user, 'offline', ttl + 3000);
      assert.ok(Date.now() - silentAt >= ttl - 1500, `offline after ${Date.now() - silentAt} ms`);
      const now = Date.now();
      for (const w of watchers) {
        const { at } = w.state.get(user).lastSeen;
        assert.ok(at <= now && at >= silentAt - 1500, `last seen ${at - now} ms from now, the clock is ${offBy} ms off`);
      }

      // A lost connection: grace by the clocks of both.
      const third = await attach(right, user);
      await allAgree([wrong, right], watchers, new Map([[user, 'online']]));
      const from = watchers.map((w) => w.received.length);
      await third.reset();
      const lostAt = Date.now();
      for (const w of watchers) await w.sees(user, 'offline', grace + 3000);
      assert.ok(Date.now() - lostAt >= grace - 200);
      watchers.forEach((w, i) => assert.deepEqual(w.told(user, from[i]).map((each) => each.status), ['offline']));
    });

    test(`${off}: its death is settled neither early nor late`, async () => {
      const redis = await startRedis();
      const nodes = new Nodes({ 'store.url': redis.url });
      closing.push(async () => { await nodes.dispose(); await redis.dispose(); });
      const wrong = await nodes.start({ env: { LD_PRELOAD: library, FAKETIME: off, FAKETIME_DONT_FAKE_MONOTONIC: '1', DONT_FAKE_MONOTONIC: '1' } });
      const right = await nodes.start();
      const user = fresh();
      await attach(wrong, user);
      const w = await watcher(right, [user]);
      await delay(2500);
      const killedAt = Date.now();
      await nodes.kill(wrong);
      await w.sees(user, 'offline', 8000 + 3000);
      const took = Date.now() - killedAt;
      assert.ok(took >= 8000 - 2600 && took <= 8000 + 1500, `settled after ${took} ms`);
      assert.deepEqual(statuses(w, user), ['offline']);
      const { at } = w.state.get(user).lastSeen;
      assert.ok(at <= killedAt + 20 && at >= killedAt - 3000, `last seen ${at - killedAt} ms from the kill`);
    });
  }
});

describe('the clock of a node is stepped while it serves', { skip: !library && 'no libfaketime here' }, () => {
  for (const step of ['+300', '-300']) {
    test(`FO-022 ${step} s: nobody is cut off, nobody expires, graces take as long as ever`, { timeout: 60_000 }, async () => {
      const redis = await startRedis();
      const nodes = new Nodes({ 'store.url': redis.url });
      const folder = mkdtempSync(path.join(os.tmpdir(), 'presenced-clock-'));
      closing.push(async () => { await nodes.dispose(); await redis.dispose(); rmSync(folder, { recursive: true }); });
      const file = path.join(folder, 'offset');
      writeFileSync(file, '+0\n');
      const node = await nodes.start({ env: { LD_PRELOAD: library, FAKETIME_TIMESTAMP_FILE: file, FAKETIME_NO_CACHE: '1', FAKETIME_DONT_FAKE_MONOTONIC: '1', DONT_FAKE_MONOTONIC: '1' } });
      const people = await Promise.all(Array.from({ length: 30 }, () => attach(node, fresh())));
      const users = people.map((one) => one.user);
      const w = await watcher(node, users);
      const inGrace = people.splice(0, 3);
      const lostAt = Date.now();
      await Promise.all(inGrace.map((one) => one.reset()));
      writeFileSync(file, `${step}\n`);
      for (const one of inGrace) {
        await w.sees(one.user, 'offline', grace + 2000);
        assert.ok(Date.now() - lostAt >= grace - 50, `offline ${Date.now() - lostAt} ms after the loss`);
      }
      await delay(ttl + 1000);
      assert.deepEqual(shownOffline([w], people.map((one) => one.user)), []);
      for (const one of people) await one.ask({ type: 'heartbeat' }, 'heartbeatAck');
      const last = people[0];
      last.goSilent();
      const silentAt = Date.now();
      await w.sees(last.user, 'offline', ttl + 3000);
      assert.ok(Date.now() - silentAt >= ttl - 1500, `${Date.now() - silentAt} ms`);
    });
  }
});
