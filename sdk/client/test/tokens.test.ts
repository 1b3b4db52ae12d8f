import { describe, expect, test } from "vitest";
import type { ClientOptions } from "../src/options.js";
import { Bench } from "./harness.js";

const MINUTE = 60_000;

/** Tokens that live a minute, from a provider that takes 150 ms. */
function shortLived(more: Partial<ClientOptions> = {}): {
  bench: Bench;
  mostInFlight: () => number;
} {
  let inFlight = 0;
  let most = 0;
  const bench: Bench = new Bench({
    getToken: () => {
      most = Math.max(most, ++inFlight);
      return new Promise((resolve) => {
        bench.clock.setTimer(() => {
          inFlight--;
          resolve(`token-until-${bench.clock.now() + MINUTE}`);
        }, 150);
      });
    },
    ...more,
  });
  bench.server.script = (connection, frame) => {
    const token = frame["token"] as string | undefined;
    const expiresAt = Number(token?.slice("token-until-".length));
    if (frame.type === "hello") {
      bench.server.welcome = { expiresAt };
    } else if (frame.type === "auth") {
      connection.send({ type: "ack", id: frame.id, expiresAt });
      return true;
    }
    return false;
  };
  return { bench, mostInFlight: () => most };
}

function tokensSent(bench: Bench): { at: number; until: number }[] {
  return bench.server.connections.flatMap((one) =>
    [...one.of("hello"), ...one.of("auth")].map((frame) => ({
      at: one.openedAt,
      until: Number((frame["token"] as string).slice("token-until-".length)),
    })),
  );
}

describe("tokens", () => {
  test("FO-059: after a wake every hello carries a token that is still good", async () => {
    const { bench, mostInFlight } = shortLived();
    await bench.connected();
    await bench.clock.advance(1_000);
    expect(bench.client.connection.state).toBe("ready");
    bench.page.show("hidden");
    bench.server.isReachable = false;
    bench.server.last.close(1006);
    bench.clock.sleep(10 * MINUTE);
    bench.server.isReachable = true;
    bench.page.show("visible");
    bench.page.fire("online");
    await bench.clock.advance(5_000);
    expect(bench.client.connection.state).toBe("ready");
    for (const { at, until } of tokensSent(bench)) {
      expect(until).toBeGreaterThan(at + 30_000);
    }
    expect(mostInFlight()).toBe(1);
  });

  test("FO-059: a token refreshed on the open link is the one of the next hello", async () => {
    const { bench } = shortLived();
    await bench.connected();
    await bench.clock.advance(30_000);
    bench.server.last.send({ type: "tokenExpiring", inMs: 30_000 });
    await bench.clock.advance(1_000);
    const refreshed = bench.server.last.of("auth")[0]?.["token"];
    bench.server.last.close(1006);
    await bench.clock.advance(5_000);
    expect(refreshed).toBeDefined();
    expect(bench.server.last.of("hello")[0]?.["token"]).toBe(refreshed);
  });

  test("a token with much life left is used again, without a question", async () => {
    const bench = new Bench();
    bench.server.welcome = { expiresAt: bench.clock.now() + 60 * MINUTE };
    await bench.connected();
    bench.server.last.close(1006);
    await bench.clock.advance(5_000);
    expect(bench.server.connections).toHaveLength(2);
    expect(bench.tokens).toBe(1);
  });

  test("FO-059: however often one reconnects, one question is open and one socket comes of it", async () => {
    const { bench, mostInFlight } = shortLived();
    bench.client.connect();
    await bench.clock.advance(50);
    for (let i = 0; i < 5; i++) {
      bench.client.reconnectNow();
      await bench.clock.advance(10);
    }
    await bench.clock.advance(1_000);
    expect(mostInFlight()).toBe(1);
    expect(bench.server.connections).toHaveLength(1);
    expect(bench.client.connection.state).toBe("ready");
  });

  test("a token that comes after signing out opens nothing", async () => {
    const { bench } = shortLived();
    bench.client.connect();
    await bench.clock.advance(50);
    bench.client.signOut();
    await bench.clock.advance(10_000);
    expect(bench.server.connections).toHaveLength(0);
  });

  test("FO-061: the token is in hello alone, never in the address", async () => {
    const urls: string[] = [];
    const bench: Bench = new Bench({
      transport: (url, subprotocol, handlers) => {
        urls.push(`${url} ${subprotocol}`);
        return bench.server.transport(url, subprotocol, handlers);
      },
    });
    await bench.connected();
    expect(urls).toEqual(["ws://server/v1/connect presence.v1"]);
    expect(bench.server.last.of("hello")[0]).toMatchObject({ token: "token-1" });
  });
});

describe("refused tokens", () => {
  function refusing(
    isGood: (token: string) => boolean,
    getToken?: () => string | Promise<string>,
  ): Bench {
    const bench = new Bench(getToken === undefined ? {} : { getToken });
    bench.server.script = (connection, frame) => {
      if (frame.type !== "hello" || isGood(frame["token"] as string)) {
        return false;
      }
      const error = { type: "error", id: frame.id, code: "unauthorized", message: "no" };
      connection.send(error);
      connection.close(4401, "token_refused");
      return true;
    };
    return bench;
  }

  function mostIn(ms: number, times: number[]): number {
    return Math.max(...times.map((from) => times.filter((t) => t >= from && t < from + ms).length));
  }

  test("FO-060: a good token after a refused one: one retry, then fine", async () => {
    const bench = await refusing((token) => token === "token-2").connected();
    await bench.clock.advance(100);
    expect(bench.server.connections).toHaveLength(2);
    expect(bench.client.connection.state).toBe("ready");
    expect(bench.errors).toHaveLength(0);
  });

  test("FO-060: the same bad token each time: stops after three tries", async () => {
    const bench = await refusing(
      () => false,
      () => "bad",
    ).connected();
    await bench.clock.advance(30 * MINUTE);
    const times = bench.server.connections.map((one) => one.openedAt);
    expect(times).toHaveLength(3);
    expect(mostIn(MINUTE, times)).toBeLessThanOrEqual(3);
    expect(bench.client.connection).toMatchObject({ state: "disconnected", closeCode: 4401 });
    expect(bench.errors.at(-1)?.code).toBe("unauthorized");
    expect(bench.clock.timers).toBe(0);
  });

  for (const how of ["throws", "rejects", "never answers"]) {
    test(`FO-060: a provider that ${how}: stops after a few tries`, async () => {
      const asked: number[] = [];
      const bench: Bench = refusing(
        () => false,
        () => {
          asked.push(bench.clock.now());
          if (how === "throws") {
            throw new Error("no");
          }
          return how === "rejects" ? Promise.reject(new Error("no")) : new Promise(() => {});
        },
      );
      await bench.connected();
      await bench.clock.advance(30 * MINUTE);
      expect(asked.length).toBeGreaterThan(1);
      expect(asked.length).toBeLessThanOrEqual(5);
      expect(mostIn(MINUTE, asked)).toBeLessThanOrEqual(3);
      expect(bench.server.connections).toHaveLength(0);
      expect(bench.errors.at(-1)?.code).toBe("tokenFailed");
      expect(bench.client.connection).toEqual({ state: "disconnected", reason: "tokenFailed" });
      expect(bench.clock.timers).toBe(0);
    });
  }

  test("a provider that failed while there was no network is asked again when it is back", async () => {
    let works = false;
    const bench = new Bench({
      getToken: () => {
        if (!works) {
          throw new Error("offline");
        }
        return "good";
      },
    });
    bench.page.navigator.onLine = false;
    await bench.connected();
    await bench.clock.advance(30 * MINUTE);
    expect(bench.client.connection.state).toBe("connecting");
    works = true;
    bench.page.navigator.onLine = true;
    bench.page.fire("online");
    await bench.clock.advance(2_000);
    expect(bench.client.connection.state).toBe("ready");
  });

  test("a token that expires on the open link is replaced at once", async () => {
    const bench = await new Bench().connected();
    await bench.clock.advance(MINUTE);
    bench.server.last.close(4401, "token_expired");
    await bench.clock.advance(10);
    expect(bench.client.connection.state).toBe("ready");
    expect(bench.tokens).toBe(2);
  });

  test("a server that welcomes and then refuses is not tried in a loop", async () => {
    const bench = new Bench();
    bench.server.script = (connection, frame) => {
      if (frame.type === "hello") {
        bench.clock.setTimer(() => connection.close(4401, "token_revoked"), 1);
      }
      return false;
    };
    await bench.connected();
    await bench.clock.advance(30 * MINUTE);
    expect(bench.server.connections).toHaveLength(3);
    expect(bench.client.connection.state).toBe("disconnected");
  });
});
