import { describe, expect, test } from "vitest";
import { Bench, randomFrom } from "./harness.js";

const MINUTE = 60_000;

function beatTimes(bench: Bench): () => number[] {
  const times: number[] = [];
  bench.server.script = (_connection, frame) => {
    if (frame.type === "heartbeat") {
      times.push(bench.clock.now());
    }
    return false;
  };
  return () => times;
}

describe("beats", () => {
  test("the first falls anywhere in the interval, later ones up to 10 % early", async () => {
    const firsts: number[] = [];
    for (let seed = 0; seed < 40; seed++) {
      const bench = new Bench({}, seed);
      const times = beatTimes(bench);
      await bench.connected();
      await bench.clock.advance(10 * MINUTE);
      const [first, ...rest] = times();
      firsts.push((first as number) - bench.server.last.openedAt);
      const gaps = rest.map((time, index) => time - (times()[index] as number));
      expect(Math.max(...gaps)).toBeLessThanOrEqual(30_000);
      expect(Math.min(...gaps)).toBeGreaterThanOrEqual(27_000);
      bench.client.destroy();
    }
    expect(Math.min(...firsts)).toBeLessThan(5_000);
    expect(Math.max(...firsts)).toBeGreaterThan(25_000);
  });

  test("a beat of an active person says how long ago the last input was; an idle one does not", async () => {
    const bench = await new Bench({ random: () => 0 }).connected();
    await bench.clock.advance(10_000);
    bench.page.fire("keydown");
    await bench.clock.advance(25_000);
    expect(bench.server.last.of("heartbeat").at(-1)).toMatchObject({ idleMs: 20_000 });
    await bench.clock.advance(6 * MINUTE);
    expect(bench.server.last.of("heartbeat").at(-1)).not.toHaveProperty("idleMs");
  });

  for (const [intervalMs, waitMs] of [
    [60_000, 10_000],
    [30_000, 10_000],
    [3_000, 1_000],
  ] as const) {
    test(`with an interval of ${intervalMs} ms an answer is awaited for ${waitMs} ms`, async () => {
      const bench = new Bench({ random: () => 1 });
      bench.server.welcome = { heartbeat: { intervalMs, ttlMs: intervalMs * 4 } };
      await bench.connected();
      bench.server.isMute = true;
      await bench.clock.advance(intervalMs + waitMs - 1);
      expect(bench.client.connection.state).toBe("ready");
      await bench.clock.advance(1);
      expect(bench.client.connection).toMatchObject({ state: "connecting", closeCode: 4408 });
    });
  }
});

describe("a link that lies", () => {
  test("FO-076: a server that takes all and says nothing is found out within 2 intervals", async () => {
    for (let seed = 0; seed < 20; seed++) {
      const bench = await new Bench({ random: randomFrom(seed) }).connected();
      bench.client.watch("ana");
      await bench.clock.advance(1_000);
      bench.server.isMute = true;
      await bench.clock.advance(65_000);
      expect(bench.server.connections.length).toBeGreaterThan(1);
      expect(bench.status("ana")).toBe("offline (stale)");
      bench.client.destroy();
    }
  });

  test("FO-076: beats in between do not put the end of the wait off", async () => {
    const bench = await new Bench({ random: () => 1 }).connected();
    bench.server.isMute = true;
    await bench.clock.advance(30_000);
    for (let second = 0; second < 10; second++) {
      bench.page.show("visible");
      await bench.clock.advance(999);
    }
    expect(bench.client.connection.state).toBe("connecting");
  });

  test("FO-075: after a long sleep the open socket is replaced within 5 s, and values are stale until then", async () => {
    const bench = await new Bench().connected();
    bench.server.set("ana", "online", 7);
    bench.client.watch("ana");
    await bench.clock.advance(1_000);
    expect(bench.status("ana")).toBe("online");

    bench.server.isMute = true;
    bench.clock.sleep(10 * MINUTE);
    bench.server.set("ana", "busy", 9);
    bench.page.show("visible");
    bench.page.fire("online");
    bench.server.isMute = false;
    await bench.clock.advance(0);
    expect(bench.status("ana")).toBe("online (stale)");
    await bench.clock.advance(5_000);
    expect(bench.server.connections).toHaveLength(2);
    expect(bench.status("ana")).toBe("busy");
  });

  test("FO-075: a machine that slept with the page in front is told by nothing: its late timer finds out", async () => {
    const bench = await new Bench().connected();
    bench.server.set("ana", "online", 7);
    bench.client.watch("ana");
    await bench.clock.advance(1_000);
    bench.clock.sleep(10 * MINUTE);
    bench.server.set("ana", "busy", 9);
    await bench.clock.advance(0);
    expect(bench.server.last.isClosedByClient).toBe(true);
    expect(bench.server.last.of("heartbeat")).toHaveLength(0);
    expect(bench.client.connection).toMatchObject({ state: "connecting", closeCode: 4408 });
    await bench.clock.advance(6_000);
    expect(bench.server.last.of("hello")[0]).toMatchObject({ resume: "r1" });
    expect(bench.status("ana")).toBe("busy");
  });

  test("FO-075: after a nap that no event tells of, the beat that is overdue goes out at once", async () => {
    const bench = await new Bench({ random: () => 0.99 }).connected();
    bench.clock.sleep(70_000);
    await bench.clock.advance(0);
    expect(bench.server.last.of("heartbeat")).toHaveLength(1);
    bench.server.isMute = true;
    await bench.clock.advance(45_000);
    expect(bench.server.connections.length).toBeGreaterThan(1);
  });

  test("FO-075: after a nap the socket is asked, and replaced if it stays silent for 4 s", async () => {
    const bench = await new Bench({ random: () => 0.99 }).connected();
    bench.client.watch("ana");
    await bench.clock.advance(1_000);
    bench.server.isMute = true;
    bench.clock.sleep(70_000);
    bench.page.show("visible");
    await bench.clock.advance(200);
    expect(bench.status("ana")).toBe("offline (stale)");
    await bench.clock.advance(3_800);
    expect(bench.server.last.isClosedByClient).toBe(true);
  });

  test("FO-075: after a nap a socket that answers is kept, and what it told counts again", async () => {
    const bench = await new Bench({ random: () => 0.99 }).connected();
    bench.client.watch("ana");
    bench.client.join("doc");
    await bench.clock.advance(1_000);
    const told: string[] = [];
    bench.client.subscribeUser("ana", ({ stale }) => told.push(`ana ${stale}`));
    bench.client.subscribeRoom("doc", ({ stale }) => told.push(`doc ${stale}`));
    bench.server.isMute = true;
    bench.clock.sleep(70_000);
    bench.page.show("visible");
    await bench.clock.advance(300);
    const { id } = bench.server.last.of("heartbeat").at(-1) as { id: number };
    bench.server.last.send({ type: "heartbeatAck", id, serverTime: bench.clock.now() });
    await bench.clock.advance(500);
    expect(told).toEqual(["ana true", "doc true", "ana false", "doc false"]);
    expect(bench.server.connections).toHaveLength(1);
    expect(bench.status("ana")).toBe("offline");
  });
});

describe("a hidden page", () => {
  test("FO-074: with one wake-up a minute for 2 h no link is lost and each wake-up beats once", async () => {
    const bench = new Bench();
    const times = beatTimes(bench);
    await bench.connected();
    bench.page.show("hidden");
    await bench.clock.advance(5 * MINUTE);
    bench.clock.alignMs = MINUTE;
    const before = times().length;
    await bench.clock.advance(120 * MINUTE);
    expect(bench.server.connections).toHaveLength(1);
    expect(bench.server.last.of("activity")).toEqual([{ type: "activity", state: "idle" }]);
    const beats = times().slice(before);
    expect(new Set(beats.map((time) => Math.floor(time / MINUTE))).size).toBe(beats.length);
    expect(Math.max(...beats.slice(1).map((time, i) => time - beats[i]!))).toBeLessThan(100_000);

    bench.page.show("visible");
    bench.page.fire("mousemove");
    await bench.clock.advance(0);
    expect(times().at(-1)).toBe(bench.clock.now());
    expect(bench.server.last.of("activity").at(-1)).toEqual({ type: "activity", state: "active" });
  });

  test("FO-077: a phone that is locked is idle at once, a hidden tab of a computer is not", async () => {
    const phone = await new Bench({ device: { type: "mobile" } }).connected();
    const computer = await new Bench({ device: { type: "desktop" } }).connected();
    for (const bench of [phone, computer]) {
      bench.page.show("hidden");
      await bench.clock.advance(0);
    }
    expect(phone.server.last.of("activity")).toEqual([{ type: "activity", state: "idle" }]);
    expect(computer.server.last.of("activity")).toEqual([]);
  });
});

describe("activity", () => {
  test("input is noticed, its lack after 5 minutes; each change is told once", async () => {
    const bench = await new Bench().connected();
    expect(bench.server.last.of("hello")[0]).toMatchObject({ activity: "active" });
    await bench.clock.advance(4 * MINUTE);
    for (let i = 0; i < 100; i++) {
      bench.page.fire("mousemove");
    }
    await bench.clock.advance(4 * MINUTE);
    expect(bench.server.last.of("activity")).toHaveLength(0);
    await bench.clock.advance(1 * MINUTE);
    expect(bench.server.last.of("activity")).toEqual([{ type: "activity", state: "idle" }]);
    bench.page.fire("touchstart");
    bench.page.fire("wheel");
    await bench.clock.advance(0);
    expect(bench.server.last.of("activity")).toHaveLength(2);
  });

  test("a new connection is told the state as it is", async () => {
    const bench = await new Bench().connected();
    await bench.clock.advance(6 * MINUTE);
    bench.server.last.close(1006);
    await bench.clock.advance(5_000);
    expect(bench.server.last.of("hello")[0]).toMatchObject({ activity: "idle" });
  });
});
