import { describe, expect, test } from "vitest";
import { Backoff } from "../src/backoff.js";
import { Bench, randomFrom } from "./harness.js";

const MINUTE = 60_000;

function gaps(times: number[]): number[] {
  return times.slice(1).map((time, index) => time - (times[index] as number));
}

describe("delays between attempts", () => {
  test("FO-036: first attempts of 3,000 clients spread evenly over 5 s", () => {
    const bins = new Array<number>(50).fill(0);
    for (let seed = 0; seed < 3_000; seed++) {
      const delay = new Backoff({ firstMs: 5_000, capMs: 60_000 }, randomFrom(seed)).nextMs();
      expect(delay).toBeLessThan(5_000);
      bins[Math.floor(delay / 100)]! += 1;
    }
    expect(Math.max(...bins)).toBeLessThanOrEqual(3 * (3_000 / 50));
    expect(Math.min(...bins)).toBeGreaterThan(0);
  });

  test("FO-037: after the cap chance still tells 500 clients apart", () => {
    const rows: number[][] = [];
    for (let seed = 0; seed < 500; seed++) {
      const backoff = new Backoff({ firstMs: 5_000, capMs: 60_000 }, randomFrom(seed));
      rows.push(Array.from({ length: 15 }, () => backoff.nextMs()).slice(9));
    }
    const all = rows.flat();
    const mean = all.reduce((sum, x) => sum + x, 0) / all.length;
    const deviation = Math.sqrt(all.reduce((sum, x) => sum + (x - mean) ** 2, 0) / all.length);
    expect(deviation / mean).toBeGreaterThanOrEqual(0.25);
    expect(Math.max(...all)).toBeLessThanOrEqual(60_000);
    const inStep = rows.some((row, i) =>
      rows.slice(i + 1).some((other) => row.every((x, k) => Math.abs(x - other[k]!) <= 50)),
    );
    expect(inStep).toBe(false);
  });

  test("the first attempt falls within half of the server's grace", async () => {
    const bench = new Bench();
    bench.server.welcome = { graceMs: 1_000 };
    await bench.connected();
    await bench.clock.advance(31_000);
    bench.server.last.close(1006);
    await bench.clock.advance(500);
    expect(bench.client.connection.state).toBe("ready");
  });
});

describe("a server that accepts and closes", () => {
  for (const afterMs of [0, 50, 900]) {
    test(`FO-038: is tried at most 10 times in 2 min when it closes after ${afterMs} ms`, async () => {
      let attempts = 0;
      for (let seed = 0; seed < 20; seed++) {
        const bench = new Bench({}, seed);
        bench.server.script = (connection, frame) => {
          if (frame.type === "hello") {
            bench.clock.setTimer(() => connection.close(1013, "overloaded"), afterMs);
          }
        };
        await bench.connected();
        await bench.clock.advance(2 * MINUTE);
        expect(bench.server.connections.length).toBeLessThanOrEqual(10);
        expect(bench.tokens).toBeLessThanOrEqual(bench.server.connections.length);
        attempts += bench.server.connections.length;
        bench.client.destroy();
      }
      expect(attempts / 20).toBeGreaterThan(3);
    });
  }

  test("FO-038: gaps grow, and only a connection that lasted resets them", async () => {
    const bench = new Bench({ random: () => 0.5 });
    bench.server.script = (connection, frame) => {
      if (frame.type === "hello") {
        connection.close(1013);
        return true;
      }
      return false;
    };
    await bench.connected();
    await bench.clock.advance(5 * MINUTE);
    const before = gaps(bench.server.connections.map((one) => one.openedAt));
    expect(before.slice(0, 5)).toEqual([2_500, 6_000, 12_000, 24_000, 36_000]);

    bench.server.script = undefined;
    await bench.clock.advance(2 * MINUTE);
    expect(bench.client.connection.state).toBe("ready");
    bench.server.last.close(1006);
    await bench.clock.advance(2_500);
    expect(bench.client.connection.state).toBe("ready");
  });

  test("FO-038: a hint to wait is obeyed, also when the page is shown", async () => {
    const bench = new Bench();
    bench.server.script = (connection, frame) => {
      connection.send({
        type: "error",
        id: frame.id,
        code: "unavailable",
        message: "later",
        temporary: true,
        retryAfterMs: 40_000,
      });
      connection.close(1013, "unavailable");
      return true;
    };
    await bench.connected();
    await bench.clock.advance(20_000);
    bench.page.fire("online");
    await bench.clock.advance(19_900);
    expect(bench.server.connections).toHaveLength(1);
    await bench.clock.advance(10_000);
    expect(bench.server.connections).toHaveLength(2);
  });
});

describe("waking", () => {
  async function atTheCap(): Promise<Bench> {
    const bench = new Bench();
    bench.server.isReachable = false;
    await bench.connected();
    while (bench.server.connections.length < 13) {
      await bench.clock.advance(1_000);
    }
    return bench;
  }

  for (const signal of ["online", "visible"]) {
    test(`FO-039: ${signal} brings an attempt within a second`, async () => {
      const bench = await atTheCap();
      bench.server.isReachable = true;
      await bench.clock.advance(1_000);
      if (signal === "online") {
        bench.page.fire("online");
      } else {
        bench.page.show("visible");
      }
      await bench.clock.advance(1_000);
      expect(bench.client.connection.state).toBe("ready");
    });
  }

  test("FO-039: signals again and again make at most one attempt a second", async () => {
    const bench = await atTheCap();
    const before = bench.server.connections.length;
    for (let i = 0; i < 20; i++) {
      bench.page.fire("online");
      bench.page.show("visible");
      await bench.clock.advance(250);
    }
    const attempts = bench.server.connections.slice(before).map((one) => one.openedAt);
    expect(attempts.length).toBeGreaterThanOrEqual(3);
    expect(attempts.length).toBeLessThanOrEqual(5);
    expect(Math.min(...gaps(attempts))).toBeGreaterThanOrEqual(1_000);
  });

  test("FO-039: reconnectNow tries at once", async () => {
    const bench = await atTheCap();
    bench.server.isReachable = true;
    bench.client.reconnectNow();
    await bench.clock.advance(0);
    expect(bench.client.connection.state).toBe("ready");
  });
});

describe("what a close code asks for", () => {
  for (const code of [1000, 1002, 1003, 1007, 1008, 1009, 4400, 4403, 4409, 4499]) {
    test(`FO-096: ${code} stops with an error that names it`, async () => {
      const bench = await new Bench().connected();
      bench.server.last.close(code, "because");
      await bench.clock.advance(10 * MINUTE);
      expect(bench.server.connections).toHaveLength(1);
      expect(bench.client.connection).toEqual({
        state: "disconnected",
        reason: "because",
        closeCode: code,
      });
      expect(bench.errors.map((error) => [error.code, error.closeCode])).toEqual([
        ["stopped", code],
      ]);
      expect(bench.clock.timers).toBe(0);
    });
  }

  for (const code of [1001, 1005, 1006, 1012, 1013, 4408, 4429, 4500, 4599, 3000]) {
    test(`FO-096: ${code} reconnects and resumes`, async () => {
      const bench = await new Bench().connected();
      bench.server.last.close(code);
      await bench.clock.advance(5_000);
      expect(bench.server.connections).toHaveLength(2);
      expect(bench.server.last.of("hello")[0]).toMatchObject({ resume: "r1" });
    });
  }

  test("reconnect names when to come back; the client stays until then", async () => {
    const bench = await new Bench().connected();
    bench.server.last.send({ type: "reconnect", afterMs: 2_300, reason: "restarting" });
    await bench.clock.advance(2_299);
    expect(bench.server.connections).toHaveLength(1);
    expect(bench.client.connection.state).toBe("ready");
    await bench.clock.advance(1);
    expect(bench.server.connections).toHaveLength(2);
    expect(bench.server.last.of("hello")[0]).toMatchObject({ resume: "r1" });
  });

  test("a close before the time of reconnect does not bring it forward", async () => {
    const bench = await new Bench().connected();
    await bench.clock.advance(31_000);
    bench.server.last.send({ type: "reconnect", afterMs: 9_000 });
    bench.server.last.close(1012, "restarting");
    await bench.clock.advance(8_999);
    expect(bench.server.connections).toHaveLength(1);
    await bench.clock.advance(1);
    expect(bench.server.connections).toHaveLength(2);
  });

  test("no welcome within 10 s is a dead link", async () => {
    const bench = new Bench();
    bench.server.isMute = true;
    await bench.connected();
    await bench.clock.advance(9_999);
    expect(bench.server.last.isClosedByClient).toBe(false);
    await bench.clock.advance(1);
    expect(bench.server.last.isClosedByClient).toBe(true);
    expect(bench.client.connection.retryAt).toBeGreaterThan(bench.clock.now());
  });
});

describe("a page that is put away", () => {
  test("closes without bye and resumes once when shown", async () => {
    const bench = await new Bench().connected();
    bench.page.show("hidden");
    bench.page.fire("freeze");
    expect(bench.server.last.isClosedByClient).toBe(true);
    expect(bench.server.last.of("bye")).toHaveLength(0);
    await bench.clock.advance(10 * MINUTE);
    bench.page.fire("resume"); // still hidden
    await bench.clock.advance(MINUTE);
    expect(bench.server.connections).toHaveLength(1);
    bench.page.show("visible");
    bench.page.fire("pageshow");
    await bench.clock.advance(1_000);
    expect(bench.server.connections).toHaveLength(2);
    expect(bench.server.last.of("hello")[0]).toMatchObject({ resume: "r1" });
    expect(bench.client.connection.state).toBe("ready");
  });
});
