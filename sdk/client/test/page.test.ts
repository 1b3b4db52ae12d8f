import { afterEach, describe, expect, test, vi } from "vitest";
import { pageEnvironment } from "../src/environment.js";
import { workerClock } from "../src/worker_clock.js";
import { Bench, CountedTarget } from "./harness.js";

const MINUTE = 60_000;
const INPUT = ["mousemove", "mousedown", "keydown", "click", "scroll", "touchstart", "wheel"];

afterEach(() => {
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

describe("what the page tells", () => {
  for (const signal of ["online", "offline", "pageshow", "resume", "visibilitychange"]) {
    test(`${signal} makes a ready client beat at once, and leave a link that says nothing within 4 s`, async () => {
      const bench = await new Bench({ random: () => 0.99 }).connected();
      await bench.clock.advance(5_000);
      expect(bench.server.last.of("heartbeat")).toHaveLength(0);
      bench.page.fire(signal);
      expect(bench.server.last.of("heartbeat")).toHaveLength(1);
      await bench.clock.advance(10_000);
      expect(bench.server.connections).toHaveLength(1);

      bench.server.isMute = true;
      bench.page.fire(signal);
      await bench.clock.advance(3_999);
      expect(bench.client.connection.state).toBe("ready");
      await bench.clock.advance(1);
      expect(bench.client.connection).toMatchObject({ state: "connecting", closeCode: 4408 });
    });
  }

  test("a hidden page that hears of nothing but its hiding does not beat for it", async () => {
    const bench = await new Bench({ random: () => 0.99 }).connected();
    bench.page.show("hidden");
    bench.page.fire("pageshow");
    await bench.clock.advance(1_000);
    expect(bench.server.last.of("heartbeat")).toHaveLength(0);
  });

  for (const name of INPUT) {
    test(`${name} is input: for 5 minutes from it a person is here`, async () => {
      const bench = await new Bench().connected();
      await bench.clock.advance(4 * MINUTE);
      bench.page.fire(name);
      await bench.clock.advance(5 * MINUTE - 1);
      expect(bench.server.last.of("activity")).toHaveLength(0);
      await bench.clock.advance(1);
      expect(bench.server.last.of("activity")).toEqual([{ type: "activity", state: "idle" }]);
    });
  }

  test("the time after which a person is idle can be chosen, and whether it is looked for at all", async () => {
    const soon = await new Bench({ idleAfterMs: MINUTE }).connected();
    const never = await new Bench({ idleAfterMs: false }).connected();
    await soon.clock.advance(MINUTE);
    await never.clock.advance(60 * MINUTE);
    expect(soon.server.last.of("activity")).toEqual([{ type: "activity", state: "idle" }]);
    expect(never.server.last.of("hello")[0]).not.toHaveProperty("activity");
    expect(never.server.last.of("activity")).toHaveLength(0);
  });
});

describe("where there is no page", () => {
  /** Connects, hears of a change, and comes back after a loss. */
  async function works(bench: Bench): Promise<void> {
    bench.server.set("ana", "online", 1);
    bench.client.watch("ana");
    await bench.connected();
    await bench.clock.advance(500);
    bench.server.update("ana", "busy", 2);
    await bench.clock.advance(500);
    expect(bench.status("ana")).toBe("busy");
    expect(bench.server.last.of("hello")[0]).not.toHaveProperty("activity");
    bench.server.last.close(1006);
    await bench.clock.advance(MINUTE);
    expect(bench.status("ana")).toBe("busy");
    bench.client.destroy();
    expect(bench.clock.timers).toBe(0);
  }

  test("as in React Native, which has no events of a window, the client works", async () => {
    await works(new Bench({ environment: pageEnvironment({ navigator: {} } as never) }));
  });

  test("as in a worker, which hears of the network alone, the client works and wakes by that", async () => {
    const worker = Object.assign(new CountedTarget(), { navigator: { onLine: true } });
    const environment = pageEnvironment(worker as never);
    await works(new Bench({ environment }));
    expect(worker.listeners).toBe(0);

    const bench = new Bench({ environment });
    bench.server.isReachable = false;
    await bench.connected();
    await bench.clock.advance(10 * MINUTE);
    bench.server.isReachable = true;
    worker.dispatchEvent(new Event("online"));
    await bench.clock.advance(1_000);
    expect(bench.client.connection.state).toBe("ready");
    bench.client.destroy();
  });
});

test("news comes in batches as long as the app wants them, the first after a pause at once", async () => {
  for (const batchMs of [50, 1_000]) {
    const bench = await new Bench({ batchMs }).connected();
    bench.server.set("ana", "online", 1);
    bench.client.watch("ana");
    await bench.clock.advance(5_000);
    const start = bench.clock.now();
    const told: number[] = [];
    bench.client.subscribeUser("ana", () => told.push(bench.clock.now() - start));
    for (let i = 0; i < 10; i++) {
      bench.server.update("ana", ["busy", "away", "dnd"][i % 3] as "busy", 2 + i);
      await bench.clock.advance(batchMs / 5);
    }
    await bench.clock.advance(batchMs);
    expect(told).toEqual([0, batchMs, 2 * batchMs]);
    bench.client.destroy();
  }
});

test("names that objects have from birth are names like any other", async () => {
  const bench = await new Bench().connected();
  for (const name of ["__proto__", "constructor", "toString"]) {
    bench.server.set(name, "away", 1);
    bench.server.rooms.set(name, [{ userId: name, status: "away" }]);
    expect(bench.client.presence(name).status).toBe("unknown");
    expect(bench.client.room(name).members).toBeUndefined();
    expect(bench.client.typing({ room: name })).toEqual([]);
    bench.client.watch(name);
    bench.client.join(name);
    await bench.clock.advance(500);
    const typing = { type: "signal", from: name, room: name, kind: "typing", active: true };
    bench.server.last.send({ ...typing, expiresInMs: 6_000 });
    await bench.clock.advance(500);
    expect(bench.client.presence(name)).toMatchObject({ userId: name, status: "away" });
    expect(bench.client.room(name).members).toMatchObject([{ userId: name, status: "away" }]);
    expect(bench.client.typing({ room: name })).toEqual([name]);
  }
  expect({}).not.toHaveProperty("status");
});

describe("the worker's clock", () => {
  /** Runs the worker's source in this thread, with timers of its own. */
  class FakeWorker {
    static readonly running = new Set<FakeWorker>();
    onmessage: ((event: { data: unknown }) => void) | undefined;
    readonly #scope: { onmessage?: (event: { data: unknown }) => void } = {};

    constructor(readonly source: string) {
      FakeWorker.running.add(this);
      const post = (data: unknown) => FakeWorker.running.has(this) && this.onmessage?.({ data });
      new Function("self", "postMessage", `with (self) { var onmessage; ${source}; self.take = onmessage; }`)(
        this.#scope,
        post,
      );
    }

    postMessage(data: unknown): void {
      (this.#scope as { take(event: { data: unknown }): void }).take({ data });
    }

    terminate(): void {
      FakeWorker.running.delete(this);
    }
  }

  function make() {
    vi.useFakeTimers();
    let source = "";
    vi.stubGlobal("Blob", class { constructor([text]: string[]) { source = text as string; } });
    vi.stubGlobal("URL", { createObjectURL: () => "blob:x", revokeObjectURL: () => {} });
    vi.stubGlobal("Worker", class extends FakeWorker { constructor() { super(source); } });
    return workerClock();
  }

  test("runs what is due, once, and not what was taken back", () => {
    const clock = make();
    const ran: string[] = [];
    clock.setTimer(() => ran.push("late"), 300);
    clock.setTimer(() => ran.push("early"), 100);
    const gone = clock.setTimer(() => ran.push("never"), 200);
    clock.clearTimer(gone);
    vi.advanceTimersByTime(250);
    expect(ran).toEqual(["early"]);
    vi.advanceTimersByTime(10_000);
    expect(ran).toEqual(["early", "late"]);
    clock.stop();
  });

  test("stopped, it runs nothing more and leaves no worker", () => {
    const clock = make();
    const ran: string[] = [];
    clock.setTimer(() => ran.push("after the end"), 100);
    clock.stop();
    vi.advanceTimersByTime(1_000);
    expect(ran).toEqual([]);
    expect(FakeWorker.running.size).toBe(0);
  });
});
