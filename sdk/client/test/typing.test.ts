import { describe, expect, test } from "vitest";
import { Bench } from "./harness.js";

const room = { room: "doc" };

async function bench(): Promise<Bench> {
  const made = await new Bench().connected();
  made.client.join("doc");
  await made.clock.advance(300);
  return made;
}

function told(one: Bench): boolean[] {
  return one.server.last.of("signal").map(({ active }) => active as boolean);
}

function typing(one: Bench, from: string, active: boolean, more: object = room): void {
  one.server.last.send({ type: "signal", from, kind: "typing", active, expiresInMs: 6_000, ...more });
}

describe("one's own typing", () => {
  test("is told at the first key, then every 3 s, and taken back 5 s after the last", async () => {
    const one = await bench();
    for (let key = 0; key < 100; key++) {
      one.client.setTyping(room);
      await one.clock.advance(100);
    }
    expect(told(one)).toEqual([true, true, true, true]);
    await one.clock.advance(4_800);
    expect(told(one)).toHaveLength(4);
    await one.clock.advance(200);
    expect(told(one)).toEqual([true, true, true, true, false]);
    await one.clock.advance(60_000);
    expect(told(one)).toHaveLength(5);
    const sent = { type: "signal", to: room, kind: "typing", active: true };
    expect(one.server.last.of("signal")[0]).toEqual(sent);
  });

  test("is taken back at once when the message is sent, and only if it was told", async () => {
    const one = await bench();
    one.client.setTyping(room, false);
    one.client.setTyping(room);
    one.client.setTyping({ userId: "bo" });
    one.client.setTyping(room, false);
    one.client.setTyping(room);
    const to = one.server.last.of("signal").map((frame) => [frame["to"], frame["active"]]);
    expect(to).toEqual([
      [room, true],
      [{ userId: "bo" }, true],
      [room, false],
      [room, true],
    ]);
  });

  test("nothing is told without a connection, nor later for what was typed before", async () => {
    const one = await bench();
    one.client.setTyping(room);
    one.server.last.close(1006);
    one.client.setTyping(room);
    await one.clock.advance(20_000);
    expect(one.client.connection.state).toBe("ready");
    expect(told(one)).toEqual([]);
    one.client.setTyping(room);
    expect(told(one)).toEqual([true]);
  });
});

describe("others' typing", () => {
  test("comes, goes, and ends by itself when nothing more is heard", async () => {
    const one = await bench();
    const heard: string[] = [];
    one.client.subscribeTyping(room, (who) => heard.push(who.join()));
    typing(one, "ana", true);
    typing(one, "bo", true);
    await one.clock.advance(3_000);
    typing(one, "bo", true);
    typing(one, "ana", false);
    await one.clock.advance(5_000);
    expect(one.client.typing(room)).toEqual(["bo"]);
    expect(one.client.typing(room)).toBe(one.client.typing(room));
    await one.clock.advance(1_300);
    expect(heard).toEqual(["ana,bo", "bo", ""]);
  });

  test("to oneself is apart from rooms, one's other devices are nobody else, and another kind is a signal and nothing more", async () => {
    const one = await bench();
    const kinds: string[] = [];
    one.client.on("signal", ({ kind, from, data }) => kinds.push(`${from} ${kind} ${data}`));
    typing(one, "me", true, {});
    typing(one, "me", true);
    typing(one, "ana", true, {});
    typing(one, "bo", true, { kind: "waving", data: 3, ...room });
    await one.clock.advance(300);
    expect(one.client.typing({ userId: "ana" })).toEqual(["ana"]);
    expect(one.client.typing(room)).toEqual([]);
    expect(kinds).toEqual([
      "me typing undefined",
      "me typing undefined",
      "ana typing undefined",
      "bo waving 3",
    ]);
  });

  test("who leaves the room types no more, and a lost connection ends all", async () => {
    const one = await bench();
    typing(one, "ana", true);
    typing(one, "bo", true);
    const left = { type: "roomUpdate", room: "doc", count: 1, exact: true, left: ["ana"] };
    one.server.last.send(left);
    await one.clock.advance(300);
    expect(one.client.typing(room)).toEqual(["bo"]);
    one.server.isReachable = false;
    one.server.last.close(1006);
    await one.clock.advance(300);
    expect(one.client.typing(room)).toEqual([]);
  });
});

test("a signal of the app's own is answered", async () => {
  const one = await bench();
  await one.client.signal({ to: room, kind: "hand", active: true, data: { x: 1 } });
  expect(one.server.last.of("signal")[0]).toMatchObject({ kind: "hand", data: { x: 1 }, to: room });
});
