import { describe, expect, test } from "vitest";
import type { WirePresence } from "../src/protocol.js";
import { Bench, randomFrom } from "./harness.js";

const MINUTE = 60_000;

/** A bench whose watches wait for `answer`. */
async function holdingWatches(): Promise<{
  bench: Bench;
  answer: (...users: WirePresence[]) => void;
}> {
  const bench = await new Bench().connected();
  let id: number | undefined;
  bench.server.script = (_connection, frame) => {
    id = frame.type === "watch" ? frame.id : id;
    return frame.type === "watch";
  };
  return {
    bench,
    answer: (...users) => bench.server.last.send({ type: "snapshot", id, users, asOf: 1 }),
  };
}

function ana(status: WirePresence["status"], version: number): WirePresence {
  return { userId: "ana", status, version };
}

describe("versions", () => {
  for (const order of ["event first", "snapshot first"]) {
    test(`FO-029: the higher version wins, ${order}`, async () => {
      const { bench, answer } = await holdingWatches();
      bench.client.watch("ana");
      await bench.clock.advance(10);
      if (order === "event first") {
        bench.server.update("ana", "offline", 8);
        answer(ana("online", 7));
      } else {
        answer(ana("online", 7));
        bench.server.update("ana", "offline", 8);
      }
      await bench.clock.advance(1_000);
      expect(bench.status("ana")).toBe("offline");
    });
  }

  test("FO-029: an older event after a snapshot changes and tells nothing", async () => {
    const { bench, answer } = await holdingWatches();
    bench.client.watch("ana");
    await bench.clock.advance(10);
    bench.server.update("ana", "busy", 9);
    answer(ana("busy", 9));
    bench.server.update("ana", "offline", 8);
    await bench.clock.advance(1_000);
    expect(bench.status("ana")).toBe("busy");
    expect(bench.changes).toEqual([["ana"]]);
  });

  test("FO-029: 200 users, events and snapshot shuffled", async () => {
    const random = randomFrom(7);
    const { bench, answer } = await holdingWatches();
    const ids = Array.from({ length: 200 }, (_, i) => `u${i}`);
    bench.client.watch(ids);
    await bench.clock.advance(10);
    const version = () => 1 + Math.floor(random() * 20);
    const expected = new Map<string, WirePresence>();
    for (const userId of ids) {
      const user = { userId, status: "away" as const, version: version() };
      expected.set(userId, user);
      bench.server.last.send({ type: "update", users: [user] });
    }
    const snapshot = ids.map((userId) => ({
      userId,
      status: "online" as const,
      version: version(),
    }));
    answer(...snapshot);
    const later = ids.map((userId) => ({ userId, status: "busy" as const, version: version() }));
    later.sort(() => random() - 0.5);
    later.forEach((user) => bench.server.last.send({ type: "update", users: [user] }));
    await bench.clock.advance(1_000);
    for (const user of [...snapshot, ...later]) {
      if (user.version >= (expected.get(user.userId) as WirePresence).version) {
        expected.set(user.userId, user);
      }
    }
    const statuses = ids.map((userId) => bench.status(userId));
    expect(statuses).toEqual(ids.map((userId) => expected.get(userId)?.status));
    expect(new Set(statuses).size).toBe(3);
  });

  test("version 0 replaces whatever was held, by update and by snapshot", async () => {
    const { bench, answer } = await holdingWatches();
    bench.client.watch("ana");
    await bench.clock.advance(10);
    bench.server.update("ana", "online", 8);
    answer(ana("offline", 0));
    await bench.clock.advance(1_000);
    expect(bench.client.presence("ana")).toEqual({
      userId: "ana",
      status: "offline",
      stale: false,
    });
    bench.server.update("ana", "busy", 9);
    bench.server.update("ana", "offline", 0);
    await bench.clock.advance(1_000);
    expect(bench.status("ana")).toBe("offline");
    bench.server.update("ana", "away", 9);
    await bench.clock.advance(1_000);
    expect(bench.status("ana")).toBe("away");
  });

  test("an update with the same version replaces: privacy and unknown move no version", async () => {
    const bench = await new Bench().connected();
    bench.server.set("ana", "online", 8);
    bench.client.watch("ana");
    await bench.clock.advance(1_000);
    bench.server.update("ana", "unknown", 8);
    await bench.clock.advance(1_000);
    expect(bench.status("ana")).toBe("unknown");
  });

  test("a snapshot after a reconnect replaces also a higher version", async () => {
    const bench = await new Bench().connected();
    bench.server.set("ana", "online", 8);
    bench.client.watch("ana");
    await bench.clock.advance(1_000);
    bench.server.set("ana", "busy", 5);
    bench.server.last.close(1006);
    await bench.clock.advance(6_000);
    expect(bench.status("ana")).toBe("busy");
  });

  test("FO-030: leave and join of one user in one message end with the newer one", async () => {
    for (const turned of [false, true]) {
      const bench = await new Bench().connected();
      bench.server.set("ana", "online", 1);
      bench.client.watch("ana");
      await bench.clock.advance(1_000);
      const users = [ana("offline", 2), ana("online", 3)];
      bench.server.last.send({ type: "update", users: turned ? users.reverse() : users });
      await bench.clock.advance(1_000);
      expect(bench.status("ana")).toBe("online");
      expect(bench.changes).toEqual([["ana"]]);
    }
  });
});

describe("what the app is told", () => {
  test("FO-041: 200 updates in a burst make one call for each changed user, at most 5 calls a second", async () => {
    const bench = await new Bench().connected();
    const ids = Array.from({ length: 50 }, (_, i) => `u${i}`);
    bench.client.watch(ids);
    await bench.clock.advance(1_000);
    bench.changes.length = 0;
    for (let i = 0; i < 200; i++) {
      bench.server.update(`u${i % 50}`, i < 150 ? "away" : "busy", i + 1);
    }
    await bench.clock.advance(200);
    expect(bench.changes).toEqual([[...ids].sort()]);
    bench.changes.length = 0;
    for (let i = 0; i < 100; i++) {
      bench.server.update("u1", i % 2 ? "away" : "busy", 1_000 + i);
      await bench.clock.advance(10);
    }
    expect(bench.changes.length).toBeLessThanOrEqual(6);
  });

  test("FO-032: one change is one call to whoever listens to that user, and none to others", async () => {
    const bench = await new Bench().connected();
    bench.client.watch(["ana", "bo"]);
    await bench.clock.advance(1_000);
    const calls: string[] = [];
    bench.client.subscribeUser("ana", (presence) => calls.push(`ana ${presence.status}`));
    const stop = bench.client.subscribeUser("bo", (presence) =>
      calls.push(`bo ${presence.status}`),
    );
    bench.server.update("ana", "busy", 3);
    await bench.clock.advance(1_000);
    expect(calls).toEqual(["ana busy"]);
    stop();
    bench.server.update("bo", "busy", 3);
    await bench.clock.advance(1_000);
    expect(calls).toEqual(["ana busy"]);
  });

  test("values are frozen and stay the same object until something in them changes", async () => {
    const bench = await new Bench().connected();
    const more = { customStatus: { text: "Lunch" }, devices: ["web"] };
    bench.server.set("ana", "away", 3, more);
    bench.client.watch("ana");
    await bench.clock.advance(1_000);
    const before = bench.client.presence("ana");
    expect(Object.isFrozen(before)).toBe(true);
    expect(Object.isFrozen(before.customStatus)).toBe(true);
    expect(Object.isFrozen(before.devices)).toBe(true);
    bench.changes.length = 0;
    bench.server.update("ana", "away", 4, more);
    await bench.clock.advance(1_000);
    expect(bench.client.presence("ana")).toBe(before);
    expect(bench.changes).toEqual([]);
    expect(bench.client.presence("nobody")).toBe(bench.client.presence("nobody"));
  });

  test("a listener that throws hinders no other", async () => {
    const bench = await new Bench().connected();
    const thrown: unknown[] = [];
    const catchIt = (error: unknown) => thrown.push(error);
    const host = globalThis as never as { process: NodeEvents };
    const others = host.process.listeners("uncaughtException");
    host.process.removeAllListeners("uncaughtException");
    host.process.on("uncaughtException", catchIt);
    bench.client.on("presence", () => {
      throw new Error("the app's");
    });
    const heard: string[] = [];
    bench.client.on("presence", (changed) => heard.push(...changed));
    bench.client.watch("ana");
    await bench.clock.advance(1_000);
    await new Promise((resolve) => setTimeout(resolve, 0));
    host.process.removeAllListeners("uncaughtException");
    others.forEach((listener) => host.process.on("uncaughtException", listener));
    expect(heard).toEqual(["ana"]);
    expect(thrown).toHaveLength(1);
  });

  test("a status of a later version is unknown, not shown as it stands", async () => {
    const bench = await new Bench().connected();
    bench.server.set("ana", "meditating" as never, 3);
    bench.client.watch("ana");
    await bench.clock.advance(1_000);
    expect(bench.status("ana")).toBe("unknown");
  });
});

interface NodeEvents {
  on(name: string, listener: (error: unknown) => void): void;
  listeners(name: string): ((error: unknown) => void)[];
  removeAllListeners(name: string): void;
}

describe("while disconnected", () => {
  test("values are stale at once, unknown after the ttl, never offline, and come back with the link", async () => {
    const bench = await new Bench().connected();
    bench.server.set("ana", "online", 3);
    bench.client.watch("ana");
    await bench.clock.advance(1_000);
    bench.server.isReachable = false;
    bench.server.last.close(1006);
    await bench.clock.advance(200);
    expect(bench.status("ana")).toBe("online (stale)");
    await bench.clock.advance(99_700);
    expect(bench.status("ana")).toBe("online (stale)");
    await bench.clock.advance(300);
    expect(bench.status("ana")).toBe("unknown (stale)");
    bench.server.isReachable = true;
    bench.client.reconnectNow();
    await bench.clock.advance(300);
    expect(bench.status("ana")).toBe("online");
    expect(bench.server.last.of("watch")[0]).toMatchObject({ known: { ana: 3 } });
  });

  test("a link that came back without an answer does not make old values look new", async () => {
    const { bench, answer } = await holdingWatches();
    bench.client.watch("ana");
    await bench.clock.advance(10);
    answer(ana("online", 3));
    bench.server.isReachable = false;
    bench.server.last.close(1006);
    await bench.clock.advance(2 * MINUTE);
    bench.server.isReachable = true;
    bench.client.reconnectNow();
    await bench.clock.advance(1_000);
    expect(bench.client.connection.state).toBe("ready");
    expect(bench.status("ana")).toBe("unknown (stale)");
  });
});

describe("the end of a custom status", () => {
  const DAY = 24 * 60 * MINUTE;
  for (const [name, inMs] of [
    ["2^31 ms less a second", 2 ** 31 - 1_000],
    ["2^31 ms and a second", 2 ** 31 + 1_000],
    ["31 days", 31 * DAY],
    ["10 years", 3_653 * DAY],
  ] as const) {
    test(`FO-101: ${name} ahead it stays until then`, async () => {
      const bench = await new Bench({ random: () => 1 }).connected();
      const expiresAt = bench.clock.now() + inMs;
      bench.server.set("ana", "online", 3, { customStatus: { text: "Away", expiresAt } });
      bench.client.watch("ana");
      await bench.clock.advance(1_000);
      expect(bench.client.presence("ana").customStatus?.text).toBe("Away");
      // Nothing but the timers of the map is of interest in these years.
      bench.client.disconnect();
      await bench.clock.advance(60_000);
      expect(bench.client.presence("ana").customStatus?.text).toBe("Away");
      await bench.clock.advance(inMs - 62_000);
      bench.client.reconnectNow();
      await bench.clock.advance(900);
      expect(bench.client.presence("ana").customStatus?.text).toBe("Away");
      await bench.clock.advance(300);
      expect(bench.client.presence("ana").customStatus).toBeUndefined();
    });
  }

  test("FO-101: year 9999 and 2^53 stay, the past is gone at once", async () => {
    const bench = await new Bench().connected();
    const custom = (expiresAt: number) => ({ customStatus: { text: "x", expiresAt } });
    bench.server.set("a", "online", 1, custom(253_402_300_799_000));
    bench.server.set("b", "online", 1, custom(2 ** 53 - 1));
    bench.server.set("c", "online", 1, custom(bench.clock.now() - 1));
    bench.client.watch(["a", "b", "c"]);
    await bench.clock.advance(60 * MINUTE);
    const texts = ["a", "b", "c"].map((id) => bench.client.presence(id).customStatus?.text);
    expect(texts).toEqual(["x", "x", undefined]);
  });
});
