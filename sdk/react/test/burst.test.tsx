// @vitest-environment happy-dom
import { Profiler } from "react";
import { afterEach, expect, test, vi } from "vitest";
import { Bench } from "../../client/test/harness.js";
import { usePresence } from "../src/index.js";
import { Page } from "./render.js";

afterEach(() => void vi.useRealTimers());

test("FO-041: 1,000 rows, 200 updates in a burst: each changed row renders once, no other, in one pass", async () => {
  const page = new Page(false, new Bench());
  page.bench.server.limits = { ...page.bench.server.limits, watch: 1_000 };
  const users = Array.from({ length: 1_000 }, (_, index) => `u${index}`);
  users.forEach((userId) => page.bench.server.set(userId, "online", 1));
  const renders = new Map<string, number>();
  let commits = 0;
  function Row({ userId }: { userId: string }) {
    renders.set(userId, (renders.get(userId) ?? 0) + 1);
    return <li>{usePresence(userId).status}</li>;
  }
  await page.show(
    <Profiler id="list" onRender={() => commits++}>
      {users.map((userId) => (
        <Row key={userId} userId={userId} />
      ))}
    </Profiler>,
  );
  await page.pass(500);
  expect(page.text).toBe("online".repeat(1_000));
  renders.clear();
  commits = 0;

  const started = performance.now();
  for (let update = 0; update < 200; update++) {
    // Some change twice in the burst.
    page.bench.server.update(`u${update % 150}`, "busy", 2 + update);
  }
  await page.pass(300);
  const tookMs = performance.now() - started;
  console.log(`200 updates, ${renders.size} rows, ${commits} commit: ${tookMs.toFixed(1)} ms scripted`);
  expect([...renders.keys()].sort()).toEqual(users.slice(0, 150).sort());
  expect(new Set(renders.values())).toEqual(new Set([1]));
  expect(commits).toBe(1);
});
