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

  // The server has the rules; what matters here is that it gets what the app said, and that the app
  // gets the server's refusal.
  for (const text of ["\ud83d", "\ude00\ud83d", "a\udc49b", "\0", "e" + "\u0301".repeat(5_000)]) {
    test(`FO-067, FO-072: ${JSON.stringify(text.slice(0, 4))} goes out as it is, not cut or mended`, async () => {
      const bench = await new Bench().connected();
      bench.server.script = (connection, frame) => {
        const error = { type: "error", id: frame.id, code: "badRequest", message: "text: too long" };
        connection.send({ ...error, limit: 100 });
        return true;
      };
      const error = await refusal(bench.client.setStatus({ customStatus: { text } }));
      expect([error.code, error.limit, error.temporary]).toEqual(["badRequest", 100, false]);
      expect(bench.server.last.of("status")[0]).toMatchObject({ customStatus: { text } });
    });
  }

  for (const expiresInMs of [Number.NaN, Infinity]) {
    test(`FO-101: an end in ${expiresInMs} ms is not left out, so that the server refuses it`, async () => {
      const bench = await new Bench().connected();
      await bench.client.setStatus({ status: "busy", expiresInMs });
      expect(bench.server.last.of("status")[0]).toHaveProperty("expiresInMs", null);
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

  test("it is said again with its end, without what the server keeps, and not once it is over", async () => {
    const bench = await new Bench().connected();
    const custom = { text: "Lunch" };
    await bench.client.setStatus({ status: "dnd", scope: "session", expiresInMs: 60_000, customStatus: custom });
    await bench.client.setStatus({ customStatus: null, scope: "session" });
    const expiresAt = bench.clock.now() + 60_000;
    bench.server.welcome = { resumed: false };
    const renew = async () => {
      bench.server.last.close(1006);
      await bench.clock.advance(20_000);
      return bench.server.last.of("status");
    };
    expect(await renew()).toEqual([{ type: "status", status: "dnd", scope: "session", expiresAt }]);
    await bench.clock.advance(60_000);
    expect(await renew()).toEqual([]);
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

describe("a request that is longer than the server takes", () => {
  const ids = Array.from({ length: 400 }, (_, index) => `${"é".repeat(20)}${index}`);

  test("is refused with the bound and never sent, since it would end the connection", async () => {
    const bench = new Bench();
    bench.server.limits = { ...bench.server.limits, messageBytes: 16_384 };
    await bench.connected();
    const calls = [
      bench.client.get(ids),
      bench.client.block(ids),
      bench.client.setPrivacy({ online: { mode: "only", users: ids } }),
      bench.client.signal({ to: { room: "doc" }, kind: "draw", active: true, data: "x".repeat(16_384) }),
    ];
    for (const call of calls) {
      const error = await refusal(call);
      expect([error.code, error.limit, error.temporary]).toEqual(["tooLarge", 16_384, false]);
    }
    for (const type of ["get", "block", "privacy", "signal"]) {
      expect(bench.server.last.of(type)).toEqual([]);
    }
    expect(bench.client.connection.state).toBe("ready");
    expect(bench.errors).toEqual([]);
  });

  test("is sent where its bytes just fit", async () => {
    const bench = new Bench();
    const request = JSON.stringify({ type: "block", users: ids, id: 2 });
    const bytes = new TextEncoder().encode(request).length;
    bench.server.limits = { ...bench.server.limits, messageBytes: bytes };
    await bench.connected();
    await bench.client.block(ids);
    expect(bench.server.last.of("block")).toHaveLength(1);
    // The next id is as long, one name more is not.
    expect((await refusal(bench.client.block([...ids, "x"]))).code).toBe("tooLarge");
  });
});
