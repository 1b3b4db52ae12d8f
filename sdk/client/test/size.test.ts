import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { bundle } from "../bundle.mjs";
import { MANGLED } from "../mangled.mjs";
import { pageEnvironment } from "../src/environment.js";
import { FakeServer } from "./fake_server.js";
import { FakePage } from "./harness.js";
import { VirtualClock } from "./virtual_clock.js";

const MOST_BYTES = 8 * 1024;

test("the client has at most 8 KB, gzipped", async () => {
  const code = await bundle("index", "es", false);
  const bytes = gzipSync(code, { level: 9 }).length;
  console.log(`@presenced/client: ${bytes} of ${MOST_BYTES} bytes, gzipped`);
  expect(bytes).toBeLessThanOrEqual(MOST_BYTES);
});

test("the bundle does what its sources do", async () => {
  const code = await bundle("index", "es", false);
  const { PresenceClient } = await import(`data:text/javascript,${encodeURIComponent(code)}`);
  const clock = new VirtualClock();
  const server = new FakeServer(clock);
  const { transport } = server;
  const page = new FakePage();
  const client = new PresenceClient({
    url: "ws://server",
    getToken: () => "token",
    transport,
    clock,
    environment: pageEnvironment(page as never),
  });
  server.set("ana", "online", 3, { customStatus: { text: "Hm", expiresAt: clock.now() + 60_000 } });
  server.rooms.set("doc", [{ userId: "ana", status: "online" }]);
  client.watch(["ana", "bo"]);
  client.join("doc", { meta: { x: 1 } });
  client.connect();
  await clock.advance(500);
  expect(client.presence("ana")).toMatchObject({ status: "online", customStatus: { text: "Hm" } });
  expect(client.room("doc")).toMatchObject({ count: 1, members: [{ userId: "ana" }] });
  await client.setStatus({ status: "busy" });
  client.setTyping({ room: "doc" });
  const typing = { type: "signal", from: "ana", room: "doc", kind: "typing", active: true };
  server.last.send({ ...typing, expiresInMs: 6_000 });
  await clock.advance(500);
  expect(client.typing({ room: "doc" })).toEqual(["ana"]);
  server.last.close(1006);
  await clock.advance(100_000);
  expect(client.presence("ana")).toEqual({ userId: "ana", status: "online", stale: false });
  expect(server.last.of("hello")[0]).toMatchObject({ resume: "r1" });
  page.fire("pagehide");
  page.fire("pageshow");
  await clock.advance(400_000);
  expect(server.connections.map((one) => one.of("activity").length)).toEqual([0, 0, 1]);
  client.destroy();
  expect([clock.timers, page.allListeners]).toEqual([0, 0]);
});

test("no name that is shortened is known outside", () => {
  const read = (name: string) => readFileSync(new URL(`../src/${name}.ts`, import.meta.url), "utf8");
  const known = new Set<string>();
  for (const name of ["protocol", "options", "environment", "transport", "codes", "clock"]) {
    for (const [, member] of read(name).matchAll(/^ +(?:readonly |get |\| \{ )*(\w+)[?]?[:(]/gm)) {
      known.add(member as string);
    }
  }
  for (const [, member] of read("client").matchAll(/^ {2}(?:get |async )?([a-z]\w+)[(<]/gm)) {
    known.add(member as string);
  }
  // Of a class inside the library that happens to stand in one of these files.
  const inside = new Set(["start", "stop", "isRunning"]);
  const platform = [String, Array, Map, Set, Promise, RegExp, Function, Date, BroadcastChannel, EventTarget];
  for (const owner of [...platform.map(({ prototype }) => prototype), Object, Math, JSON, Intl]) {
    Object.getOwnPropertyNames(owner).forEach((name) => known.add(name));
  }
  expect(known.size).toBeGreaterThan(200);
  expect(MANGLED.filter((name) => known.has(name) && !inside.has(name))).toEqual([]);
});
