import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { PresenceClient } from "../src/client.js";
import { readServerMessage } from "../src/protocol.js";
import { webSocketTransport } from "../src/web_socket_transport.js";
import { Bench } from "./harness.js";

const MINUTE = 60_000;

describe("what is started", () => {
  test("FO-109: 200 reconnects leave as many timers and listeners as one connection, and one beat an interval", async () => {
    const bench = await new Bench().connected();
    bench.client.watch("ana");
    await bench.clock.advance(MINUTE);
    const timers = bench.clock.timers;
    const listeners = bench.page.allListeners;
    for (let i = 0; i < 200; i++) {
      bench.server.last.close(1006);
      bench.client.reconnectNow();
      await bench.clock.advance(1_000);
      bench.page.fire("keydown");
    }
    await bench.clock.advance(MINUTE);
    expect(bench.server.connections).toHaveLength(201);
    expect(bench.clock.timers).toBe(timers);
    expect(bench.page.allListeners).toBe(listeners);
    const before = bench.server.last.of("heartbeat").length;
    await bench.clock.advance(10 * MINUTE);
    const beats = bench.server.last.of("heartbeat").length - before;
    expect(beats).toBeGreaterThanOrEqual(20);
    expect(beats).toBeLessThanOrEqual(23);
    const elsewhere = bench.server.connections.slice(0, -1).flatMap((one) => one.of("heartbeat"));
    expect(elsewhere.length).toBeLessThan(20);
  });

  for (const when of ["ready", "connecting", "backoff", "never connected", "signed out"]) {
    test(`FO-109: destroy while ${when} leaves nothing, also the second time`, async () => {
      const bench = new Bench();
      bench.server.isReachable = when !== "backoff";
      bench.server.isMute = when === "connecting";
      if (when !== "never connected") {
        await bench.connected();
      }
      bench.client.watch("ana");
      if (when === "signed out") {
        bench.client.signOut();
      }
      bench.client.setStatus({ status: "busy" }).catch(() => {});
      await bench.clock.advance(500);
      const calls = bench.changes.length;
      bench.client.destroy();
      bench.client.destroy();
      const frames = bench.server.connections.flatMap((one) => one.frames).length;
      expect(bench.clock.timers).toBe(0);
      expect(bench.page.allListeners).toBe(0);
      await bench.clock.advance(60 * MINUTE);
      expect(bench.server.connections.flatMap((one) => one.frames)).toHaveLength(frames);
      expect(bench.changes).toHaveLength(calls);
      expect(() => bench.client.connect()).toThrow("destroyed");
    });
  }

  test("FO-109: what belongs to an attempt that was replaced is ignored", async () => {
    const bench = await new Bench().connected();
    const old = bench.server.last;
    bench.client.watch("ana");
    await bench.clock.advance(1_000);
    bench.client.reconnectNow();
    await bench.clock.advance(1_000);
    old.isOpen = true; // a socket that delivers after it was closed
    old.send({ type: "update", users: [{ userId: "ana", status: "online", version: 99 }] });
    old.close(4403, "kicked");
    await bench.clock.advance(1_000);
    expect(bench.client.connection.state).toBe("ready");
    expect(bench.status("ana")).toBe("offline");
    expect(bench.errors).toHaveLength(0);
  });

  test("FO-109: who leaves on hearing of the session is gone, and not ready all the same", async () => {
    for (const leave of ["disconnect", "signOut", "destroy"] as const) {
      const bench = new Bench();
      bench.client.on("session", () => bench.client[leave]());
      await bench.connected();
      await bench.clock.advance(MINUTE);
      expect(bench.client.connection.state).toBe("disconnected");
      expect(bench.server.last.isOpen).toBe(false);
      expect(bench.server.connections).toHaveLength(1);
      bench.client.destroy();
      expect(bench.clock.timers).toBe(0);
    }
  });

  test("FO-109: what was asked as one user is not answered to the next", async () => {
    const bench = await new Bench().connected();
    bench.server.isMute = true;
    const asked = bench.client.setStatus({ status: "busy", scope: "session" }).catch((error) => error.code);
    const old = bench.server.last;
    bench.client.signOut();
    bench.server.isMute = false;
    bench.server.userId = "someone-else";
    bench.client.connect();
    await bench.clock.advance(1_000);
    old.isOpen = true;
    old.send({ type: "ack", id: old.of("status")[0]?.id });
    bench.server.last.send({ type: "ack", id: old.of("status")[0]?.id });
    await bench.clock.advance(1_000);
    expect(await asked).toBe("disconnected");
    expect(bench.server.last.of("status")).toHaveLength(0);
  });

  test("FO-108: without a page there is nothing to listen to, and making a client starts nothing", () => {
    const client = new PresenceClient({ url: "ws://nowhere", getToken: () => "t" });
    expect(client.presence("ana")).toEqual({ userId: "ana", status: "unknown", stale: false });
    expect(client.connection.state).toBe("disconnected");
  });
});

describe("leaving", () => {
  test("signing out says bye, forgets token, session and values, and tries nothing more", async () => {
    const bench = new Bench();
    bench.server.welcome = { expiresAt: bench.clock.now() + 60 * MINUTE };
    await bench.connected();
    bench.server.set("ana", "online", 3);
    bench.client.watch("ana");
    await bench.clock.advance(1_000);
    bench.client.signOut();
    await bench.clock.advance(1_000);
    expect(bench.server.last.of("bye")).toHaveLength(1);
    expect(bench.status("ana")).toBe("unknown");
    bench.page.fire("online");
    bench.page.show("visible");
    await bench.clock.advance(10 * MINUTE);
    expect(bench.server.connections).toHaveLength(1);
    expect(bench.clock.timers).toBe(0);

    bench.client.connect();
    await bench.clock.advance(1_000);
    expect(bench.server.last.of("hello")[0]).not.toHaveProperty("resume");
    expect(bench.server.last.of("watch")).toHaveLength(0);
    expect(bench.tokens).toBe(2);
    bench.client.watch("ana");
    await bench.clock.advance(1_000);
    expect(bench.server.last.of("watch")[0]).not.toHaveProperty("known");
  });

  test("an unwatch of before the sign-out does not touch the watches after it", async () => {
    const bench = await new Bench().connected();
    const stop = bench.client.watch("ana");
    bench.client.signOut();
    bench.client.connect();
    bench.client.watch("ana");
    stop();
    await bench.clock.advance(1_000);
    expect([...bench.server.last.watched]).toEqual(["ana"]);
  });

  test("another user's token: nothing of what the former saw is shown or named", async () => {
    const bench = await new Bench().connected();
    bench.server.set("ana", "online", 3);
    bench.client.watch("ana");
    await bench.clock.advance(1_000);
    bench.server.userId = "someone-else";
    bench.server.presences.clear();
    bench.server.last.close(1006);
    await bench.clock.advance(6_000);
    expect(bench.server.last.of("watch")[0]).not.toHaveProperty("known");
    expect(bench.status("ana")).toBe("offline");
  });

  test("disconnect closes without bye and connect resumes", async () => {
    const bench = await new Bench().connected();
    bench.client.disconnect();
    await bench.clock.advance(MINUTE);
    expect(bench.server.last.of("bye")).toHaveLength(0);
    expect(bench.server.last.isClosedByClient).toBe(true);
    bench.client.connect();
    await bench.clock.advance(10);
    expect(bench.server.last.of("hello")[0]).toMatchObject({ resume: "r1" });
  });
});

describe("at the socket", () => {
  test("FO-096: a socket is closed with a code that every browser takes, and then calls nobody, whatever it still delivers", () => {
    const made: { onmessage: null | ((event: unknown) => void); closed: number | undefined }[] = [];
    class Socket {
      onopen = null;
      onmessage = null;
      onclose = null;
      onerror = null;
      closed: number | undefined;
      constructor() {
        made.push(this);
      }
      send(): void {}
      close(code: number): void {
        this.closed = code;
      }
    }
    const heard: string[] = [];
    const connection = webSocketTransport(Socket as never)("ws://x", "p", {
      opened: () => heard.push("opened"),
      received: (text) => heard.push(text),
      closed: (code) => heard.push(String(code)),
    });
    made[0]?.onmessage?.({ data: "one" });
    made[0]?.onmessage?.({ data: new ArrayBuffer(4) });
    connection.close();
    expect(made[0]?.onmessage).toBeNull();
    expect(made[0]?.closed).toBe(1000);
    expect(heard).toEqual(["one"]);
  });

  test("FO-066: frames that are no message are ignored", async () => {
    const bench = await new Bench().connected();
    for (const text of [
      "",
      "null",
      "true",
      "1e999",
      '"x"',
      "[]",
      "{}",
      '{"type":[]}',
      "{",
      "\ud83d",
    ]) {
      bench.server.last.handlers.received(text);
      expect(readServerMessage(text)).toBeUndefined();
    }
    bench.server.last.send({ type: "roomUpdate", room: "r" });
    bench.server.last.send({ type: "ack", id: 4711 });
    expect(bench.client.connection.state).toBe("ready");
    expect(bench.errors).toHaveLength(0);
  });

  const examples = new URL("../../../protocol/examples/", import.meta.url);
  for (const name of readdirSync(examples).filter((file) => file.startsWith("server-"))) {
    test(`golden message ${name} is taken`, async () => {
      const { message } = JSON.parse(readFileSync(new URL(name, examples), "utf8"));
      const bench = new Bench();
      if (name === "server-welcome.json") {
        bench.server.welcome = message;
      }
      await bench.connected();
      const users = ((message.users ?? []) as { userId: string }[]).map((user) => user.userId);
      bench.client.watch(["ana", ...users]);
      bench.server.script = (connection, frame) => {
        if (frame.type === "watch") {
          connection.send({ ...message, id: message.type === "update" ? undefined : frame.id });
        }
        return frame.type === "watch";
      };
      await bench.clock.advance(300);
      bench.server.last.send({ ...message, id: undefined });
      await bench.clock.advance(300);
      for (const user of name.includes("part") ? [] : (message.users ?? [])) {
        const { version: _, ...visible } = user;
        expect(bench.client.presence(user.userId)).toEqual({ ...visible, stale: false });
      }
    });
  }
});
