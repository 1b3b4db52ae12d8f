import { describe, expect, test } from "vitest";
import { endOfDay, lastSeenText } from "../src/words.js";
import type { LastSeen } from "../src/protocol.js";
import { Bench } from "./harness.js";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

describe("last seen in words", () => {
  for (const [name, offMs] of [
    ["2 h behind", -2 * HOUR],
    ["90 s behind", -90_000],
    ["10 min ahead", 10 * MINUTE],
    ["70 years ahead", 70 * 365 * 24 * HOUR],
  ] as const) {
    test(`FO-017: a clock ${name} does not change the age`, async () => {
      const bench = new Bench();
      const serverTime = bench.clock.now();
      bench.clock.sleep(offMs);
      bench.server.welcome = { serverTime };
      await bench.connected();
      const lastSeen: LastSeen = { granularity: "recent", at: serverTime - 5 * MINUTE };
      expect(lastSeenText(lastSeen, bench.client.serverNow(), "en")?.text).toBe("5 minutes ago");
      const future: LastSeen = { granularity: "exact", at: serverTime + HOUR };
      expect(lastSeenText(future, bench.client.serverNow(), "en")?.text).toBe("now");
    });
  }

  test("FO-020: what is not known is not told, least of all 1970", () => {
    const now = 1_790_000_000_000;
    expect(lastSeenText(undefined, now, "en")).toBeUndefined();
    expect(lastSeenText({ granularity: "longAgo" }, now, "en")).toBeUndefined();
    expect(lastSeenText({ granularity: "longAgo", at: 0 }, now, "en")).toBeUndefined();
  });

  test("speaks the reader's language and says how long the words hold", () => {
    const now = 1_790_000_000_000;
    const at = now - 3 * MINUTE - 20_000;
    expect(lastSeenText({ granularity: "recent", at }, now, "de")).toEqual({
      text: "vor 3 Minuten",
      staysMs: 40_000,
    });
    expect(lastSeenText({ granularity: "thisWeek" }, now, "en")?.text).toBe("this week");
    expect(lastSeenText({ granularity: "recent", at: now - 90 * MINUTE }, now, "en")?.text).toBe(
      "1 hour ago",
    );
  });
});

describe("the end of today", () => {
  for (const [zone, now, midnight] of [
    ["America/Los_Angeles", "2026-09-21T16:30:00-07:00", "2026-09-22T00:00:00-07:00"],
    ["Pacific/Kiritimati", "2026-09-21T23:59:59+14:00", "2026-09-22T00:00:00+14:00"],
    ["Asia/Kolkata", "2026-09-21T00:00:00+05:30", "2026-09-22T00:00:00+05:30"],
    ["Europe/Berlin", "2026-03-29T00:30:00+01:00", "2026-03-30T00:00:00+02:00"],
    ["Europe/Berlin", "2026-10-25T00:30:00+02:00", "2026-10-26T00:00:00+01:00"],
  ] as const) {
    test(`FO-100: in ${zone} at ${now}`, () => {
      expect(new Date(endOfDay(Date.parse(now), zone)).toISOString()).toBe(
        new Date(midnight).toISOString(),
      );
    });
  }
});
