import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { Bench } from "./harness.js";

const RECONNECTS = 1_000;

test("memory stays flat over 1,000 reconnects, with watches, rooms and people coming and going", async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const bench = await new Bench().connected();
  const users = Array.from({ length: 50 }, (_, index) => `u${index}`);
  users.forEach((userId) => bench.server.set(userId, "online", 1));
  bench.client.watch(users);
  bench.client.join("doc");

  const reconnect = async (times: number) => {
    for (let i = 0; i < times; i++) {
      const stop = bench.client.watch([`guest${i}`]);
      const leave = bench.client.join(`room${i}`);
      bench.client.presence(`glance${i}`);
      await bench.clock.advance(300);
      stop();
      leave();
      bench.server.last.close(1006);
      await bench.clock.advance(40_000);
      bench.server.connections.splice(0, bench.server.connections.length - 1);
      bench.statuses.length = bench.changes.length = 0;
    }
  };
  const heap = () => {
    collect();
    return process.memoryUsage().heapUsed;
  };
  // What is looked at once is kept up to a bound; the second thousand must find it filled.
  await reconnect(RECONNECTS);
  const before = heap();
  await reconnect(RECONNECTS);
  const grown = heap() - before;
  console.log(`${RECONNECTS} reconnects: ${Math.round(grown / 1024)} KiB more`);
  expect(bench.client.connection.state).toBe("ready");
  expect(grown).toBeLessThan(300 * 1024);
}, 120_000);
