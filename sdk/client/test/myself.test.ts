import { describe, expect, test } from "vitest";
import { PresenceError, type ErrorCode } from "../src/codes.js";
import type { StatusChange } from "../src/protocol.js";
import { Bench } from "./harness.js";

async function refusal(promise: Promise<unknown>): Promise<PresenceError> {
  const error = await promise.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(PresenceError);
  return error as PresenceError;
}

describe("status", () => {
  test("a change goes out as it is and the promise brings what the server said", async () => {
    const bench = await new Bench().connected();
    bench.server.script = (connection, frame) => {
      if (frame.type === "status") {
        connection.send({ type: "ack", id: frame.id, appliedInMs: 1_500 });
      }
      return frame.type === "status";
    };
    const change: StatusChange = {
      status: "dnd",
      expiresInMs: 3_600_000,
      customStatus: { text: "Dentist", emoji: "🦷", expiresInMs: 3_600_000 },
    };
    expect(await bench.client.setStatus(change)).toEqual({ appliedInMs: 1_500 });
    const sent = bench.server.last.of("status")[0];
    expect(sent).toEqual({ type: "status", ...change, id: expect.any(Number) });
  });

  test("FO-008: over the rate the error says when again, and the connection stays", async () => {
    const bench = await new Bench().connected();
    bench.server.script = (connection, frame) => {
      const error = { type: "error", id: frame.id, code: "rateLimited", message: "too often" };
      connection.send({ ...error, temporary: true, retryAfterMs: 800 });
      return true;
    };
    const error = await refusal(bench.client.setStatus({ status: "away" }));
    expect([error.code, error.temporary, error.retryAfterMs]).toEqual(["rateLimited", true, 800]);
    expect(bench.client.connection.state).toBe("ready");
  });

  for (const text of ["\ud83d", "\ude00\ud83d", "a\udc49b", "\0"]) {
    test(`FO-067: ${JSON.stringify(text)} is refused, not cut or mended`, async () => {
      const bench = await new Bench().connected();
      for (const customStatus of [{ text }, { text: "fine", emoji: text }]) {
        expect((await refusal(bench.client.setStatus({ customStatus }))).code).toBe("badRequest");
      }
      expect(bench.server.last.of("status")).toHaveLength(0);
    });
  }

  for (const [name, text, fits] of [
    ["99 letters and an emoji", "a".repeat(99) + "😀", true],
    ["100 emoji", "😀".repeat(100), true],
    ["101 emoji", "😀".repeat(101), false],
    ["50 flags", "🇩🇪".repeat(50), true],
    ["100 letters with an accent beside", "e\u0301".repeat(100), false],
    ["100 Arabic letters", "ع".repeat(100), true],
    ["100 families", "👨‍👩‍👧‍👦".repeat(100), false],
    ["one letter under 5,000 marks", "e" + "\u0301".repeat(5_000), false],
  ] as const) {
    test(`FO-072: ${name}: ${fits ? "fits whole" : "is refused with the limit"}`, async () => {
      const bench = await new Bench().connected();
      const done = bench.client.setStatus({ customStatus: { text } });
      if (fits) {
        await done;
        expect(bench.server.last.of("status")[0]).toMatchObject({ customStatus: { text } });
      } else {
        expect((await refusal(done)).limit).toBe(100);
      }
    });
  }

  for (const expiresInMs of [0, -1, 1.5, Number.NaN, Infinity, 2 ** 53, "60" as never]) {
    test(`FO-101: an end in ${expiresInMs} ms is refused`, async () => {
      const bench = await new Bench().connected();
      const change: StatusChange = { status: "busy", expiresInMs };
      expect((await refusal(bench.client.setStatus(change))).code).toBe("badRequest");
    });
  }

  test("a status of this device alone is said again when the session is a new one", async () => {
    const bench = await new Bench().connected();
    await bench.client.setStatus({ status: "busy", scope: "session" });
    bench.server.welcome = { resumed: true };
    bench.server.last.close(1006);
    await bench.clock.advance(5_000);
    expect(bench.server.last.of("status")).toHaveLength(0);
    bench.server.welcome = { resumed: false };
    bench.server.last.close(1006);
    await bench.clock.advance(20_000);
    expect(bench.server.last.of("status")).toEqual([
      { type: "status", status: "busy", scope: "session" },
    ]);
  });

  test("FO-015: one's own presence is watched like any other and may be invisible", async () => {
    const bench = await new Bench().connected();
    const declared = { status: "invisible", scope: "user" };
    bench.server.set("me", "invisible", 3, { declared });
    bench.client.watch("me");
    await bench.clock.advance(1_000);
    expect(bench.client.presence("me")).toMatchObject({ status: "invisible", declared });
  });
});

describe("requests without a connection", () => {
  test("wait for it while connecting", async () => {
    const bench = new Bench();
    bench.client.connect();
    const done = bench.client.setStatus({ status: "busy" });
    await bench.clock.advance(10);
    expect(await done).toEqual({});
  });

  for (const [when, code] of [
    ["nobody connects", "disconnected"],
    ["no connection comes about in 15 s", "disconnected"],
    ["the connection is lost before the answer", "disconnected"],
    ["the server never answers", "timeout"],
  ] as [string, ErrorCode][]) {
    test(`fail when ${when}`, async () => {
      const bench = new Bench();
      if (when.startsWith("no connection")) {
        bench.server.isReachable = false;
      }
      if (when !== "nobody connects") {
        await bench.connected();
      }
      bench.server.script = (_connection, frame) => frame.type === "status";
      const failed = refusal(bench.client.setStatus({ status: "busy" }));
      await bench.clock.advance(0);
      if (when.startsWith("the connection")) {
        bench.server.last.close(1006);
      }
      await bench.clock.advance(16_000);
      const error = await failed;
      expect([error.code, error.temporary]).toEqual([code, true]);
    });
  }
});

describe("privacy", () => {
  test("rules are read and set, people blocked and unblocked", async () => {
    const bench = await new Bench().connected();
    expect(await bench.client.getPrivacy()).toEqual({
      online: { mode: "everyone" },
      lastSeen: { mode: "everyone" },
    });
    const online = { mode: "only", users: ["bo"] } as const;
    expect((await bench.client.setPrivacy({ online })).online).toEqual(online);
    await bench.client.block(["mallory"]);
    await bench.client.unblock(["mallory"]);
    const types = bench.server.last.frames.map((frame) => frame.type);
    expect(types.slice(1)).toEqual(["privacy", "privacy", "block", "unblock"]);
  });

  test("get looks without a watch", async () => {
    const bench = await new Bench().connected();
    bench.server.set("ana", "busy", 3);
    expect(await bench.client.get(["ana"])).toEqual([
      { userId: "ana", status: "busy", version: 3 },
    ]);
    expect(bench.server.last.watched.size).toBe(0);
  });
});

describe("health", () => {
  test("comes with the welcome and on each change", async () => {
    const bench = new Bench();
    const heard: string[] = [];
    bench.client.on("health", (health) => heard.push(health.store));
    await bench.connected();
    bench.server.last.send({ type: "health", store: "down", since: 5 });
    bench.server.last.send({ type: "health", store: "down", since: 5 });
    bench.server.last.send({ type: "health", store: "ok", since: 9 });
    expect(heard).toEqual(["ok", "down", "ok"]);
    expect(bench.client.health).toEqual({ store: "ok", since: 9 });
  });
});
