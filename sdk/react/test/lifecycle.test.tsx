// @vitest-environment happy-dom
import { Component, StrictMode, Suspense, type ReactNode } from "react";
import { afterEach, expect, test, vi } from "vitest";
import { pageEnvironment } from "@presenced/client";
import { Bench, randomFrom } from "../../client/test/harness.js";
import { PresenceProvider, usePresence, useRoom } from "../src/index.js";
import { Page } from "./render.js";

afterEach(() => void vi.useRealTimers());

function Row({ userId }: { userId: string }) {
  return <>{`${userId} ${usePresence(userId).status};`}</>;
}

for (const [how, getToken] of [
  ["constant", () => "token"],
  ["asynchronous", () => Promise.resolve("token")],
] as const) {
  test(`FO-106: mounted twice by Strict Mode: one socket, one watch for each, with a ${how} token`, async () => {
    const said = vi.spyOn(console, "error");
    const page = new Page(true, new Bench({ getToken }));
    page.bench.server.set("ana", "online", 1);
    await page.show(["ana", "bo", "ana"].map((userId, index) => <Row key={index} userId={userId} />));
    await page.pass(1_000);
    expect(page.bench.server.connections).toHaveLength(1);
    expect(page.bench.server.last.frames.map(({ type }) => type)).toEqual(["hello", "watch"]);
    expect(page.watched).toEqual(["ana", "bo"]);
    expect(page.text).toBe("ana online;bo offline;ana online;");
    expect(said).not.toHaveBeenCalled();
    await page.leave();
    expect(page.bench.client.connection.state).toBe("disconnected");
  });
}

test("FO-106: from page to page and back within 5 ms: nothing is told, nobody leaves", async () => {
  const page = new Page(true);
  function Place({ userId }: { userId: string }) {
    useRoom(`with ${userId}`);
    return <Row userId={userId} />;
  }
  await page.show(<Place key="a" userId="ana" />);
  await page.pass(1_000);
  const frames = page.bench.server.last.frames.length;
  for (const userId of ["bo", "ana"]) {
    await page.show(<Place key={userId} userId={userId} />);
    await page.pass(2);
  }
  await page.pass(1_000);
  expect(page.watched).toEqual(["ana"]);
  expect([...page.bench.server.last.joined]).toEqual(["with ana"]);
  const after = page.bench.server.last.frames.slice(frames);
  const about = after.filter(({ users, room }) => JSON.stringify([users, room]).includes("ana"));
  expect(about).toEqual([]);
});

test("FO-106: gone while the socket is still connecting: nothing is left open", async () => {
  for (const isStrict of [true, false]) {
    const page = new Page(isStrict, new Bench({ idleAfterMs: false, getToken: () => new Promise(() => {}) }));
    await page.show(<Row userId="ana" />);
    await page.leave();
    await page.pass(60_000);
    expect(page.bench.client.connection.state).toBe("disconnected");
    expect(page.bench.server.connections).toHaveLength(0);
    expect(page.bench.clock.timers).toBe(0);
  }
});

test("FO-109: a provider that makes its client: 50 mounts leave no timer and no listener", async () => {
  const { clock, server, page: world, client } = new Bench();
  client.destroy();
  const options = {
    url: "ws://server",
    getToken: () => "token",
    transport: server.transport,
    clock,
    environment: pageEnvironment(world as never),
  };
  for (let mount = 0; mount < 50; mount++) {
    const page = new Page(mount % 2 === 0, new Bench({}, 1, { clock, server, page: world }));
    page.bench.client.destroy();
    await page.render(
      <PresenceProvider options={options}>
        <Row userId="ana" />
      </PresenceProvider>,
    );
    await page.pass(500);
    expect(page.text).toBe("ana offline;");
    expect(server.connections.filter(({ isOpen }) => isOpen)).toHaveLength(1);
    await page.leave();
    expect([world.allListeners, clock.timers]).toEqual([0, 0]);
  }
  expect(server.connections.filter(({ isOpen }) => isOpen)).toHaveLength(0);
  expect(server.connections).toHaveLength(50);
});

test("FO-107: 150 components of two users leave in any order; the watches end with the last of each", async () => {
  const page = new Page();
  const random = randomFrom(7);
  const users = Array.from({ length: 150 }, (_, index) => (index < 100 ? "ana" : "bo"));
  let left = users.map((userId, index) => ({ userId, index }));
  const draw = () => page.show(left.map(({ userId, index }) => <Row key={index} userId={userId} />));
  await draw();
  await page.pass(500);
  while (left.length > 0) {
    left = left.filter(() => random() > 0.3);
    await draw();
    await page.pass(500);
    expect(page.watched).toEqual([...new Set(left.map(({ userId }) => userId))].sort());
  }
  expect(page.bench.server.last.of("watch")).toHaveLength(1);
});

test("FO-107: 200 changes of page: the server watches what is on screen, a frame or two for each", async () => {
  const page = new Page();
  const groups = ["a", "b"].map((name) => Array.from({ length: 30 }, (_, i) => `${name}${i}`));
  for (let turn = 0; turn < 200; turn++) {
    const users = groups[turn % 2] as string[];
    await page.show(users.map((userId) => <Row key={userId} userId={userId} />));
    await page.pass(300);
    expect(page.watched).toEqual([...users].sort());
  }
  const frames = page.bench.server.last.frames.filter(({ type }) => type.endsWith("watch"));
  expect(frames.length).toBeLessThanOrEqual(2 * 200);
  await page.show(null);
  await page.pass(300);
  expect(page.watched).toEqual([]);
});

class Boundary extends Component<{ children: ReactNode }, { hasFailed: boolean }> {
  override state = { hasFailed: false };

  static getDerivedStateFromError() {
    return { hasFailed: true };
  }

  override render() {
    return this.state.hasFailed ? "failed" : this.props.children;
  }
}

test("FO-107: a render that never commits watches nothing", async () => {
  const page = new Page();
  vi.spyOn(console, "error").mockImplementation(() => {});
  const never = new Promise<void>(() => {});
  function Throws(): ReactNode {
    usePresence("throws");
    throw new Error("on purpose");
  }
  function Waits(): ReactNode {
    usePresence("waits");
    throw never;
  }
  await page.show(
    <StrictMode>
      <Boundary>
        <Throws />
      </Boundary>
      <Suspense fallback="…">
        <Waits />
      </Suspense>
      <Row userId="ana" />
    </StrictMode>,
  );
  await page.pass(1_000);
  expect(page.watched).toEqual(["ana"]);
  expect(page.text).toContain("failed");
  vi.restoreAllMocks();
});
