import { describe, expect, test } from "vitest";
import { PresenceError } from "../src/codes.js";
import { Bench } from "./harness.js";

function usersOf(frames: { [field: string]: unknown }[]): unknown[] {
  return frames.map((frame) => frame["users"]);
}

describe("watching", () => {
  test("watches of a user add up; the server hears of the first and of the last", async () => {
    const bench = await new Bench().connected();
    const first = bench.client.watch("ana");
    const second = bench.client.watch(["ana", "bo"]);
    await bench.clock.advance(1_000);
    expect(usersOf(bench.server.last.of("watch"))).toEqual([["ana", "bo"]]);
    first();
    first(); // taken back once only
    await bench.clock.advance(1_000);
    expect(bench.server.last.of("unwatch")).toHaveLength(0);
    second();
    await bench.clock.advance(1_000);
    expect(usersOf(bench.server.last.of("unwatch"))).toEqual([["ana", "bo"]]);
    expect(bench.server.last.watched.size).toBe(0);
  });

  test("a quick change of pages and back tells the server nothing", async () => {
    const bench = await new Bench().connected();
    let stop = bench.client.watch(["ana", "bo"]);
    await bench.clock.advance(1_000);
    for (let i = 0; i < 20; i++) {
      stop();
      stop = bench.client.watch(["bo", "ana"]);
      await bench.clock.advance(20);
    }
    await bench.clock.advance(1_000);
    expect(bench.server.last.of("watch")).toHaveLength(1);
    expect(bench.server.last.of("unwatch")).toHaveLength(0);
  });

  test("FO-106: who is watched again soon is not told, also when others are watched meanwhile", async () => {
    const bench = await new Bench().connected();
    const stop = bench.client.watch("ana");
    await bench.clock.advance(1_000);
    stop();
    bench.client.watch("bo");
    await bench.clock.advance(100);
    expect([...bench.server.last.watched]).toEqual(["ana", "bo"]);
    bench.client.watch("ana");
    await bench.clock.advance(1_000);
    expect(bench.server.last.of("unwatch")).toHaveLength(0);
    expect(bench.server.last.of("watch").map(({ users }) => users)).toEqual([["ana"], ["bo"]]);
  });

  test("FO-026: what was unwatched does not come back with the link, what was added does", async () => {
    const bench = await new Bench().connected();
    const stopAna = bench.client.watch("ana");
    const stopBo = bench.client.watch("bo");
    await bench.clock.advance(1_000);
    stopAna();
    await bench.clock.advance(1_000);
    bench.changes.length = 0;
    bench.server.last.close(1006);
    await bench.clock.advance(5_000);
    expect([...bench.server.last.watched]).toEqual(["bo"]);

    bench.server.last.close(1006);
    stopBo();
    bench.client.watch("chris");
    await bench.clock.advance(15_000);
    expect([...bench.server.last.watched]).toEqual(["chris"]);
    expect(usersOf(bench.server.last.of("watch"))).toEqual([["chris"]]);
    bench.server.last.send({
      type: "update",
      users: [{ userId: "ana", status: "online", version: 99 }],
    });
    await bench.clock.advance(1_000);
    expect(bench.changes.flat()).not.toContain("ana");
    expect(bench.status("ana")).toBe("unknown");
  });

  test("after a reconnect the versions that are held are named, but none of what is unknown or hidden", async () => {
    const bench = await new Bench().connected();
    bench.server.set("ana", "online", 7);
    bench.server.set("bo", "unknown", 5);
    bench.server.set("__proto__", "busy", 3);
    bench.client.watch(["ana", "bo", "hidden", "__proto__"]);
    await bench.clock.advance(1_000);
    expect(bench.server.last.of("watch")[0]).not.toHaveProperty("known");
    bench.changes.length = 0;
    bench.server.last.close(1006);
    await bench.clock.advance(5_000);
    const again = bench.server.last.of("watch")[0] as never as Record<string, unknown>;
    expect(again["mode"]).toBe("set");
    expect(again["users"]).toEqual(["ana", "bo", "hidden", "__proto__"]);
    expect(Object.entries(again["known"] as object)).toEqual([
      ["ana", 7],
      ["__proto__", 3],
    ]);
    await bench.clock.advance(1_000);
    expect(bench.status("ana")).toBe("online");
    expect(bench.status("__proto__")).toBe("busy");
    expect(bench.status("hidden")).toBe("offline");
  });

  for (const count of [500, 501, 5_000]) {
    test(`FO-042: ${count} users are split or reported, and never asked for in a loop`, async () => {
      const bench = await new Bench().connected();
      const ids = Array.from({ length: count }, (_, i) => `user-${i}`);
      const stop = bench.client.watch(ids);
      await bench.clock.advance(60_000);
      expect(bench.server.last.watched.size).toBe(500);
      const asked = bench.server.last.of("watch");
      expect(asked).toHaveLength(1);
      const reports = bench.errors.map((error) => [error.code, error.limit]);
      expect(reports).toEqual(count > 500 ? [["limitExceeded", 500]] : []);
      stop();
      await bench.clock.advance(1_000);
      expect(bench.server.last.watched.size).toBe(0);
    });
  }

  test("FO-042: who waited for a place gets it when one is free", async () => {
    const bench = new Bench();
    bench.server.limits.watch = 2;
    await bench.connected();
    const stop = bench.client.watch(["a", "b"]);
    bench.client.watch("c");
    await bench.clock.advance(1_000);
    expect([...bench.server.last.watched]).toEqual(["a", "b"]);
    stop();
    await bench.clock.advance(1_000);
    expect([...bench.server.last.watched]).toEqual(["c"]);
  });

  test("FO-042: no message is larger than the server's bound", async () => {
    const bench = new Bench();
    bench.server.limits = { ...bench.server.limits, watch: 5_000, messageBytes: 16_384 };
    await bench.connected();
    const ids = Array.from({ length: 1_000 }, (_, i) => `${'é"'.repeat(30)}${i}`);
    ids.forEach((id) => bench.server.set(id, "online", 9_007_199_254_740_000));
    bench.client.watch(ids);
    await bench.clock.advance(1_000);
    bench.server.last.close(1006);
    await bench.clock.advance(5_000);
    expect(bench.server.last.watched.size).toBe(1_000);
    const frames = bench.server.connections.flatMap((one) => one.of("watch"));
    expect(frames.length).toBeGreaterThan(10);
    expect(frames.filter((frame) => frame["mode"] === "set")).toHaveLength(1);
    for (const frame of frames) {
      expect(new TextEncoder().encode(JSON.stringify(frame)).length).toBeLessThanOrEqual(16_384);
    }
  });

  test("a watch over the rate is asked again after the time named, a forbidden one is not", async () => {
    const bench = await new Bench().connected();
    let refusals = 2;
    bench.server.script = (connection, frame) => {
      if (frame.type !== "watch" || refusals-- <= 0) {
        return false;
      }
      const error = { type: "error", id: frame.id, message: "no" };
      connection.send({ ...error, code: "rateLimited", temporary: true, retryAfterMs: 3_000 });
      return true;
    };
    bench.client.watch("ana");
    await bench.clock.advance(6_100);
    expect(bench.server.last.watched.size).toBe(1);
    expect(bench.errors.map((error) => error.code)).toEqual(["rateLimited", "rateLimited"]);

    bench.server.script = (connection, frame) => {
      connection.send({ type: "error", id: frame.id, code: "forbidden", message: "no" });
      return true;
    };
    bench.client.watch("bo");
    await bench.clock.advance(20_000);
    expect(bench.server.last.of("watch")).toHaveLength(4);
  });

  test("what is no id is refused at the door, so that it spoils no other's watch", async () => {
    const bench = await new Bench().connected();
    for (const id of ["", " ", "\u200b", "a\u0000b", "a\u202eb", "\ud83d", "x".repeat(129), 7]) {
      expect(() => bench.client.watch([id as string])).toThrow(PresenceError);
    }
    bench.client.watch(["é".repeat(64), "a b", "7", "constructor"]);
    await bench.clock.advance(1_000);
    expect(bench.server.last.watched.size).toBe(4);
  });

  test("a snapshot in parts takes effect at once, with its last part", async () => {
    const bench = await new Bench().connected();
    bench.server.script = (connection, frame) => {
      if (frame.type !== "watch") {
        return false;
      }
      const part = { type: "snapshot", id: frame.id, asOf: 1 };
      connection.send({
        ...part,
        users: [{ userId: "a", status: "online", version: 1 }],
        more: true,
      });
      bench.clock.setTimer(() => {
        connection.send({ ...part, users: [{ userId: "b", status: "busy", version: 1 }] });
      }, 1_000);
      return true;
    };
    bench.client.watch(["a", "b"]);
    await bench.clock.advance(900);
    expect(bench.status("a")).toBe("unknown");
    await bench.clock.advance(400);
    expect([bench.status("a"), bench.status("b")]).toEqual(["online", "busy"]);
    expect(bench.changes).toEqual([["a", "b"]]);
  });
});
