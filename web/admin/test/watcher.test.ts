import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Api } from "../src/api.js";
import { Watcher } from "../src/watcher.js";

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("document", { visibilityState: "visible" });
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

/** Answers every call, and counts them by path. */
function countingApi(calls: Map<string, number>, fails: (path: string) => boolean = () => false): Api {
  const answer = async (path: string, value: unknown) => {
    calls.set(path, (calls.get(path) ?? 0) + 1);
    if (fails(path)) {
      throw new Error("away");
    }
    return value;
  };
  return {
    get: (path: string) => answer(path, { users: { online: 7 } }),
    text: (path: string) => answer(path, ""),
    find: (found: Promise<unknown>) => found,
  } as unknown as Api;
}

test("totals of all nodes are asked for every half minute, all else every two seconds", async () => {
  const calls = new Map<string, number>();
  const watcher = new Watcher(countingApi(calls), () => undefined);
  await watcher.start();
  await vi.advanceTimersByTimeAsync(61_000);
  watcher.end();
  expect(calls.get("v1/stats")).toBe(3);
  expect(calls.get("metrics")).toBe(31);
  expect(watcher.looks.every(({ stats }) => stats?.users?.online === 7)).toBe(true);
});

test("totals that could not be had are asked for with the next look", async () => {
  const calls = new Map<string, number>();
  let away = true;
  const watcher = new Watcher(
    countingApi(calls, (path) => away && path === "v1/stats"),
    () => undefined,
  );
  await watcher.start();
  away = false;
  await vi.advanceTimersByTimeAsync(2_000);
  watcher.end();
  expect(calls.get("v1/stats")).toBe(2);
  expect(watcher.last?.stats?.users?.online).toBe(7);
});
