// @vitest-environment happy-dom
import { act } from "react";
import { afterEach, expect, test, vi } from "vitest";
import {
  useConnection,
  useMyStatus,
  usePresence,
  usePresences,
  usePresenceClient,
  useRoom,
  useTyping,
} from "../src/index.js";
import { Page } from "./render.js";

afterEach(() => void vi.useRealTimers());

function Row({ userId }: { userId: string | undefined }) {
  const { status, stale } = usePresence(userId);
  return <i>{`${userId} ${status}${stale ? " (stale)" : ""};`}</i>;
}

test("a row is unknown, then as the server tells, and stale without a connection", async () => {
  const page = new Page();
  page.bench.server.set("ana", "online", 1);
  page.bench.server.isMute = true;
  await page.show(<Row userId="ana" />);
  await page.pass(300);
  expect(page.text).toBe("ana unknown;");
  page.bench.server.isMute = false;
  await page.happens(() => page.bench.client.reconnectNow());
  await page.pass(300);
  expect(page.text).toBe("ana online;");
  page.bench.server.update("ana", "busy", 2);
  await page.pass(300);
  expect(page.text).toBe("ana busy;");
  page.bench.server.isReachable = false;
  await page.happens(() => page.bench.server.last.close(1006));
  await page.pass(300);
  expect(page.text).toBe("ana busy (stale);");
});

test("another user in the same place is watched instead; nobody is nobody", async () => {
  const page = new Page();
  await page.show(<Row userId="ana" />);
  await page.pass(300);
  await page.show(<Row userId="bo" />);
  await page.pass(300);
  expect(page.watched).toEqual(["bo"]);
  await page.show(<Row userId={undefined} />);
  await page.pass(300);
  expect(page.watched).toEqual([]);
  expect(page.text).toBe("undefined unknown;");
});

test("several users are one array, the same until one of them changes", async () => {
  const page = new Page();
  const seen: unknown[] = [];
  function List() {
    // A new array with each render, as people write it.
    const all = usePresences(["ana", "bo"]);
    seen.push(all);
    return <>{all.map(({ userId, status }) => `${userId} ${status};`)}</>;
  }
  page.bench.server.set("ana", "online", 1);
  await page.show(<List />);
  await page.pass(300);
  expect(page.text).toBe("ana online;bo offline;");
  const renders = seen.length;
  await page.show(<List />);
  expect(seen.at(-1)).toBe(seen[renders - 1]);
  const rendersBefore = seen.length;
  page.bench.client.watch("cy");
  await page.pass(300);
  page.bench.server.update("cy", "busy", 5);
  await page.pass(300);
  expect(seen).toHaveLength(rendersBefore);
  page.bench.server.update("bo", "busy", 5);
  await page.pass(300);
  expect(page.text).toBe("ana online;bo busy;");
  expect(page.watched).toEqual(["ana", "bo", "cy"]);
});

test("a room is joined while it is on screen, and its options may be written in place", async () => {
  const page = new Page();
  function Room({ at }: { at: number }) {
    const { count, members } = useRoom("doc", { meta: { at } });
    return <>{`${count ?? "?"}: ${members?.map(({ userId }) => userId)}`}</>;
  }
  page.bench.server.rooms.set("doc", [{ userId: "ana", status: "online" }]);
  await page.show(<Room at={1} />);
  await page.pass(300);
  expect(page.text).toBe("1: ana");
  await page.show(<Room at={1} />);
  await page.show(<Room at={2} />);
  await page.pass(300);
  const metas = page.bench.server.last.of("join").map(({ meta }) => meta);
  expect(metas).toEqual([{ at: 1 }, { at: 2 }]);
  expect(page.bench.server.last.of("leave")).toHaveLength(0);
  await page.show(null);
  await page.pass(300);
  expect(page.bench.server.last.joined.size).toBe(0);
});

test("typing is told and shown, and taken back when the field goes away", async () => {
  const page = new Page();
  let type: (isTyping?: boolean) => void = () => {};
  function Field() {
    const [who, setTyping] = useTyping({ room: "doc" });
    type = setTyping;
    return <>{who.join()}</>;
  }
  await page.show(<Field />);
  await page.pass(300);
  const { last } = page.bench.server;
  last.send({ type: "signal", from: "ana", room: "doc", kind: "typing", active: true, expiresInMs: 6_000 });
  await page.pass(300);
  expect(page.text).toBe("ana");
  act(() => type());
  await page.show(null);
  expect(last.of("signal").map(({ active }) => active)).toEqual([true, false]);
});

test("one's own status follows the session, and can be changed", async () => {
  const page = new Page();
  let set: ReturnType<typeof useMyStatus>["setStatus"] | undefined;
  function Me() {
    const { presence, setStatus } = useMyStatus();
    set = setStatus;
    return <>{`${presence.userId} ${presence.status}`}</>;
  }
  page.bench.server.set("me", "invisible", 1);
  await page.show(<Me />);
  await page.pass(300);
  expect(page.text).toBe("me invisible");
  await act(async () => void (await set?.({ status: "busy" })));
  expect(page.bench.server.last.of("status")).toMatchObject([{ status: "busy" }]);
});

test("the connection is told with its reason", async () => {
  const page = new Page();
  function State() {
    const { state, reason } = useConnection();
    return <>{`${state} ${reason ?? ""}`}</>;
  }
  await page.show(<State />);
  await page.pass(0);
  expect(page.text).toBe("ready ");
  await page.happens(() => page.bench.server.last.close(4403, "kicked"));
  await page.pass(0);
  expect(page.text).toBe("disconnected kicked");
});

test("a hook without a provider says so", async () => {
  const page = new Page();
  const said = vi.spyOn(console, "error").mockImplementation(() => {});
  function Lost() {
    usePresenceClient();
    return null;
  }
  await expect(page.render(<Lost />)).rejects.toThrow("<PresenceProvider>");
  said.mockRestore();
});
