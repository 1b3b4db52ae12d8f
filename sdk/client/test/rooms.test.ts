import { describe, expect, test } from "vitest";
import type { RoomView } from "../src/protocol.js";
import { Bench } from "./harness.js";

const ana = { userId: "ana", status: "online" } as const;
const bo = { userId: "bo", status: "away" } as const;
const cy = { userId: "cy", status: "online", meta: { cursor: 3 } } as const;

async function inRoom(): Promise<Bench> {
  const bench = await new Bench().connected();
  bench.server.rooms.set("doc", [ana, bo]);
  bench.client.join("doc");
  await bench.clock.advance(300);
  return bench;
}

async function hears(bench: Bench, message: object): Promise<RoomView> {
  bench.server.last.send({ type: "roomUpdate", room: "doc", exact: true, ...message });
  await bench.clock.advance(300);
  return bench.client.room("doc");
}

function names(room: RoomView): string[] | undefined {
  return room.members?.map(({ userId }) => userId);
}

describe("a room", () => {
  test("is not known before the answer, and then lists its members, frozen", async () => {
    const bench = await new Bench().connected();
    expect(bench.client.room("doc")).toEqual({ room: "doc", exact: false, stale: false });
    bench.server.rooms.set("doc", [ana, cy]);
    bench.client.join("doc", { meta: { cursor: 1 } });
    await bench.clock.advance(300);
    const room = bench.client.room("doc");
    const expected = { room: "doc", count: 2, exact: true, stale: false, members: [ana, cy] };
    expect(room).toEqual(expected);
    expect(bench.client.room("doc")).toBe(room);
    expect(Object.isFrozen(room) && Object.isFrozen(room.members)).toBe(true);
    expect(Object.isFrozen(room.members?.[1]?.meta)).toBe(true);
    expect(bench.server.last.of("join")[0]).toMatchObject({ room: "doc", meta: { cursor: 1 } });
  });

  test("takes who joins, changes and leaves; who stayed the same stays the same object", async () => {
    const bench = await inRoom();
    const before = bench.client.room("doc");
    const joined = await hears(bench, { count: 3, joined: [cy] });
    expect(names(joined)).toEqual(["ana", "bo", "cy"]);
    expect(joined.members?.[0]).toBe(before.members?.[0]);
    const changed = await hears(bench, { count: 3, changed: [{ ...bo, status: "busy" }] });
    expect(changed.members?.[1]?.status).toBe("busy");
    expect(changed.members?.[2]).toBe(joined.members?.[2]);
    expect(names(await hears(bench, { count: 2, left: ["ana"] }))).toEqual(["bo", "cy"]);
  });

  test("FO-032: takes the status of a watched member from the watch, and who is there from the room", async () => {
    const bench = await inRoom();
    const before = bench.client.room("doc");
    bench.server.last.send({ type: "update", users: [{ ...bo, status: "busy", version: 7 }] });
    await bench.clock.advance(300);
    const room = bench.client.room("doc");
    expect(room.members?.[1]).toEqual({ ...bo, status: "busy" });
    expect(room.members?.[0]).toBe(before.members?.[0]);
    expect(names(room)).toEqual(["ana", "bo"]);
  });

  test("FO-030: who leaves and joins in one message is there", async () => {
    const bench = await inRoom();
    const room = await hears(bench, { count: 2, left: ["ana"], joined: [{ ...ana, status: "dnd" }] });
    expect(room.members?.find(({ userId }) => userId === "ana")?.status).toBe("dnd");
    expect(room.members).toHaveLength(2);
  });

  test("FO-031: a late change does not bring back who has left", async () => {
    const bench = await inRoom();
    await hears(bench, { count: 1, left: ["ana"] });
    const room = await hears(bench, { count: 1, changed: [{ ...ana, status: "away" }] });
    expect(names(room)).toEqual(["bo"]);
  });

  test("FO-032, FO-041: a burst is one call, and only for the room in which something changed", async () => {
    const bench = await inRoom();
    bench.client.join("other");
    await bench.clock.advance(300);
    const heard: string[] = [];
    bench.client.on("room", (rooms) => heard.push([...rooms].join()));
    bench.client.subscribeRoom("doc", (room) => heard.push(`doc ${room.count}`));
    bench.client.subscribeRoom("other", () => heard.push("wrong"));
    for (let count = 3; count <= 202; count++) {
      const member = { userId: `u${count}`, status: "online" };
      bench.server.last.send({ type: "roomUpdate", room: "doc", count, exact: true, joined: [member] });
    }
    await bench.clock.advance(300);
    expect(heard).toEqual(["doc 202", "doc"]);
    await hears(bench, { count: 202, changed: [bo] });
    expect(heard).toHaveLength(2);
  });

  test("gives way to a count when it is large, and comes back when it is small", async () => {
    const bench = await inRoom();
    bench.server.last.send({ type: "room", room: "doc", count: 501, exact: true });
    await bench.clock.advance(300);
    const large = { room: "doc", count: 501, exact: true, stale: false };
    expect(bench.client.room("doc")).toEqual(large);
    expect(await hears(bench, { count: 12_345, exact: false })).toEqual({
      ...large,
      count: 12_345,
      exact: false,
    });
    bench.server.last.send({ ...bench.server.room("doc") });
    await bench.clock.advance(300);
    expect(names(bench.client.room("doc"))).toEqual(["ana", "bo"]);
  });

  test("in parts it takes effect at once, with its last part, asked for or not", async () => {
    const bench = await inRoom();
    const parts = { type: "room", room: "doc", count: 2, exact: true };
    bench.server.last.send({ ...parts, members: [ana], more: true });
    await bench.clock.advance(300);
    expect(names(bench.client.room("doc"))).toEqual(["ana", "bo"]);
    bench.server.last.send({ ...parts, members: [cy] });
    await bench.clock.advance(300);
    expect(names(bench.client.room("doc"))).toEqual(["ana", "cy"]);
  });
});

describe("joining", () => {
  test("adds up, and is left a moment after the last has gone", async () => {
    const bench = await new Bench().connected();
    const first = bench.client.join("doc");
    const second = bench.client.join("doc");
    await bench.clock.advance(300);
    expect(bench.server.last.of("join")).toHaveLength(1);
    first();
    first();
    await bench.clock.advance(300);
    expect(bench.server.last.of("leave")).toHaveLength(0);
    second();
    bench.client.join("doc")();
    const last = bench.client.join("doc");
    await bench.clock.advance(300);
    expect(bench.server.last.frames.filter(({ type }) => type === "leave")).toHaveLength(0);
    last();
    await bench.clock.advance(300);
    expect(bench.server.last.of("leave")).toMatchObject([{ room: "doc" }]);
    expect(bench.client.room("doc").count).toBeUndefined();
  });

  test("taking part outweighs observing, and new words about oneself are told", async () => {
    const bench = await new Bench().connected();
    bench.client.join("doc", { observe: true });
    await bench.clock.advance(300);
    const leave = bench.client.join("doc", { meta: { at: 1 } });
    bench.client.join("doc", { observe: true });
    await bench.clock.advance(300);
    leave();
    await bench.clock.advance(300);
    const said = bench.server.last.of("join").map(({ observe, meta }) => observe ?? meta);
    expect(said).toEqual([true, { at: 1 }, true]);
    expect(bench.server.last.of("leave")).toHaveLength(0);
  });

  test("everything is joined again after a reconnect; meanwhile it is stale, and after the ttl not known", async () => {
    const bench = await inRoom();
    bench.client.join("gone")();
    bench.server.isReachable = false;
    bench.server.last.close(1006);
    await bench.clock.advance(300);
    expect(bench.client.room("doc")).toMatchObject({ count: 2, stale: true });
    await bench.clock.advance(100_000);
    expect(bench.client.room("doc")).toEqual({ room: "doc", exact: false, stale: true });
    bench.server.isReachable = true;
    bench.server.rooms.set("doc", [cy]);
    await bench.clock.advance(70_000);
    expect(bench.server.last.of("join").map(({ room }) => room)).toEqual(["doc"]);
    expect(bench.client.room("doc")).toMatchObject({ count: 1, members: [cy], stale: false });
  });

  test("what is refused for good is told once and not asked for again; over the rate it is", async () => {
    const bench = new Bench();
    bench.server.script = (connection, frame) => {
      const isFirst = connection.of("join").length === 1;
      const code = isFirst ? "rateLimited" : "forbidden";
      connection.send({ type: "error", id: frame.id, code, message: "no", temporary: isFirst });
      return true;
    };
    const { script } = bench.server;
    bench.server.script = (connection, frame) =>
      frame.type === "join" && script?.(connection, frame);
    await bench.connected();
    bench.client.join("secret");
    await bench.clock.advance(60_000);
    expect(bench.errors.map(({ code }) => code)).toEqual(["rateLimited", "forbidden"]);
    expect(bench.server.last.of("join")).toHaveLength(2);
  });

  test("a room that was left hears nothing more, and signing out forgets all", async () => {
    const bench = await inRoom();
    bench.client.signOut();
    await bench.clock.advance(300);
    expect(bench.client.room("doc")).toEqual({ room: "doc", exact: false, stale: false });
    bench.client.connect();
    await bench.clock.advance(300);
    expect(bench.server.last.of("join")).toHaveLength(0);
  });
});

describe("delivery", () => {
  test("paused is told, and told again on a new connection, which starts live", async () => {
    const bench = await new Bench().connected();
    bench.client.setDelivery("paused");
    bench.client.setDelivery("paused");
    bench.server.last.close(1006);
    await bench.clock.advance(6_000);
    bench.client.setDelivery("live");
    const modes = bench.server.connections.map((one) => one.of("delivery").map(({ mode }) => mode));
    expect(modes).toEqual([["paused"], ["paused", "live"]]);
  });
});
