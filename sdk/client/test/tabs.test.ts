import { describe, expect, test } from "vitest";
import { workerClock } from "../src/worker_clock.js";
import { Bench, FakePage } from "./harness.js";

const MINUTE = 60_000;

/** Another page in the world of the first; by default in a tab of its own. */
function beside(first: Bench, stored?: Map<string, string>, options = {}): Bench {
  const page = new FakePage(first.page.origin, stored);
  return new Bench(options, 2, { clock: first.clock, server: first.server, page });
}

function hello(bench: Bench, index: number): unknown {
  return bench.server.connections[index]?.of("hello")[0]?.["resume"];
}

describe("activity in several tabs", () => {
  test("input in one keeps the other active, at little cost", async () => {
    const first = await new Bench().connected();
    const second = await beside(first).connected();
    let posts = 0;
    const [channel] = first.page.origin.channels;
    const post = (channel as unknown as { postMessage(): void }).postMessage;
    Object.assign(channel as object, { postMessage: () => (posts++, post.call(channel)) });
    for (let second = 0; second < 600; second++) {
      first.page.fire("mousemove");
      await first.clock.advance(1_000);
    }
    expect(posts).toBe(60);
    expect(first.server.connections.flatMap((one) => one.of("activity"))).toEqual([]);
    await first.clock.advance(6 * MINUTE);
    const states = first.server.connections.map((one) => one.of("activity").map((f) => f["state"]));
    expect(states).toEqual([["idle"], ["idle"]]);
    second.page.fire("keydown");
    await first.clock.advance(0);
    expect(first.server.connections.map((one) => one.of("activity").length)).toEqual([2, 2]);
  });

  test("another user in another tab is another person", async () => {
    const first = await new Bench().connected();
    first.server.userId = "someone-else";
    await beside(first).connected();
    for (let minute = 0; minute < 6; minute++) {
      first.page.fire("mousemove");
      await first.clock.advance(MINUTE);
    }
    expect(first.server.connections.map((one) => one.of("activity").length)).toEqual([0, 1]);
  });

  test("no channel stays open without a connection, so that a page put away can be kept", async () => {
    const first = await new Bench().connected();
    expect(first.page.origin.channels.size).toBe(1);
    first.page.fire("pagehide");
    expect(first.page.origin.channels.size).toBe(0);
    first.page.fire("pageshow");
    await first.clock.advance(2_000);
    expect(first.page.origin.channels.size).toBe(1);
    first.client.destroy();
    expect(first.page.origin.channels.size).toBe(0);
  });
});

describe("the session over pages of one tab", () => {
  test("a reload goes on with it", async () => {
    const first = await new Bench().connected();
    first.page.fire("pagehide");
    await beside(first, first.page.stored).connected();
    expect(hello(first, 1)).toBe("r1");
  });

  test("FO-011: a duplicated tab, which copies the storage of a living page, gets one of its own", async () => {
    const first = await new Bench().connected();
    expect(first.page.stored.size).toBe(0);
    await beside(first, new Map(first.page.stored)).connected();
    expect(hello(first, 1)).toBeUndefined();
    // Also when the page was reloaded before: what it took out of the storage is gone from there.
    first.page.fire("pagehide");
    const reloaded = await beside(first, first.page.stored).connected();
    await beside(first, new Map(reloaded.page.stored)).connected();
    expect([hello(first, 2), hello(first, 3)]).toEqual(["r1", undefined]);
  });

  test("FO-077: a frozen page keeps it to itself: a copy of its tab steals nothing", async () => {
    const first = await new Bench().connected();
    first.page.show("hidden");
    first.page.fire("freeze");
    await beside(first, new Map(first.page.stored)).connected();
    expect(hello(first, 1)).toBeUndefined();
    first.page.fire("resume");
    first.page.fire("online");
    await first.clock.advance(2_000);
    expect(first.server.connections).toHaveLength(2);
    first.page.show("visible");
    await first.clock.advance(2_000);
    expect(hello(first, 2)).toBe("r1");
  });

  test("a page that comes back to life takes over what the page after it left", async () => {
    const first = await new Bench().connected();
    first.page.fire("pagehide");
    const next = await beside(first, first.page.stored).connected();
    next.page.fire("pagehide");
    first.page.fire("pageshow");
    await first.clock.advance(2_000);
    expect(hello(first, 2)).toBe("r2");
    expect(first.page.stored.size).toBe(0);
  });

  test("two people in one page keep theirs apart by a key", async () => {
    const first = await new Bench({ resumeKey: "ana" }).connected();
    const second = await beside(first, first.page.stored, { resumeKey: "bo" }).connected();
    first.page.fire("pagehide");
    second.page.fire("pagehide");
    await beside(first, first.page.stored, { resumeKey: "ana" }).connected();
    await beside(first, first.page.stored, { resumeKey: "bo" }).connected();
    expect([hello(first, 2), hello(first, 3)]).toEqual(["r1", "r2"]);
  });

  test("who has signed out leaves nothing, and storage that is forbidden is done without", async () => {
    const first = await new Bench().connected();
    first.client.signOut();
    first.page.fire("pagehide");
    expect(first.page.stored.size).toBe(0);

    const page = new FakePage();
    Object.defineProperty(page, "sessionStorage", {
      get: () => {
        throw new Error("SecurityError");
      },
    });
    const second = new Bench({}, 3, { clock: first.clock, server: first.server, page });
    await second.connected();
    page.fire("pagehide");
    page.fire("pageshow");
    await second.clock.advance(2_000);
    expect(second.client.connection.state).toBe("ready");
  });
});

test("FO-108: where there are no workers the worker's clock is the system's", async () => {
  const clock = workerClock();
  const fired = await new Promise((resolve) => clock.setTimer(() => resolve(true), 1));
  expect(fired).toBe(true);
  clock.stop();
});
