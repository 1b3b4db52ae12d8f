// The client library in Node, with the `ws` package, against the real server.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { WebSocket } from "ws";
import { PresenceClient, webSocketTransport } from "../../sdk/client/dist/index.js";
import { startServer, TIMES } from "./lib/server.mjs";

let server;
const clients = [];

before(async () => {
  server = await startServer();
});

after(async () => {
  clients.forEach((client) => client.destroy());
  await server?.close();
});

function connect(userId) {
  const client = new PresenceClient({
    url: `${server.url.replace("http", "ws")}/v1/connect`,
    getToken: async () => {
      const answer = await fetch(`${server.url}/demo/token?user=${userId}`);
      return (await answer.json()).token;
    },
    device: { type: "desktop", name: "test" },
    transport: webSocketTransport(WebSocket),
    batchMs: 20,
  });
  clients.push(client);
  client.errors = [];
  client.on("error", (error) => client.errors.push(error));
  client.connect();
  return client;
}

/** Waits until the client sees the user so; an object of the fields that count. */
function sees(client, userId, expected, withinMs = 3_000) {
  return new Promise((resolve, reject) => {
    const look = () => {
      const presence = client.presence(userId);
      if (Object.entries(expected).every(([name, value]) => presence[name] === value)) {
        stop();
        clearTimeout(timer);
        resolve(presence);
      }
    };
    const stop = client.on("presence", look);
    const timer = setTimeout(() => {
      stop();
      reject(new Error(`${userId} is ${JSON.stringify(client.presence(userId))}`));
    }, withinMs);
    look();
  });
}

test("two clients see each other's status, text and end", async () => {
  const ana = connect("ana");
  const bo = connect("bo");
  ana.watch(["bo", "nobody-of-that-name"]);
  bo.watch("bo");
  await sees(ana, "bo", { status: "online", stale: false });
  assert.deepEqual(ana.presence("bo").devices, ["desktop"]);
  assert.equal(ana.presence("nobody-of-that-name").status, "offline");

  const change = { status: "dnd", customStatus: { text: "Dentist", emoji: "🦷" } };
  assert.deepEqual(await bo.setStatus(change), {});
  const seen = await sees(ana, "bo", { status: "dnd" });
  assert.deepEqual(seen.customStatus, { text: "Dentist", emoji: "🦷" });
  await sees(bo, "bo", { status: "dnd" });
  assert.equal(bo.presence("bo").declared.status, "dnd");

  await bo.setPrivacy({ online: { mode: "only", users: ["someone"] } });
  await sees(ana, "bo", { status: "offline" });
  await bo.setPrivacy({ online: { mode: "everyone" } });
  await sees(ana, "bo", { status: "dnd" });

  bo.signOut();
  const gone = await sees(ana, "bo", { status: "offline" }, 1_500);
  assert.equal(gone.lastSeen.granularity, "exact");
  assert.deepEqual([...ana.errors, ...bo.errors], []);
});

test("a lost connection within the grace is resumed and noticed by nobody", async () => {
  const ana = connect("ana2");
  const bo = connect("bo2");
  ana.watch("bo2");
  await sees(ana, "bo2", { status: "online" });
  const heard = [];
  ana.subscribeUser("bo2", (presence) => heard.push(presence.status));
  const session = bo.session.sessionId;
  bo.disconnect();
  await new Promise((resolve) => setTimeout(resolve, TIMES.graceMs / 2));
  bo.connect();
  await new Promise((resolve) => setTimeout(resolve, 2 * TIMES.graceMs));
  assert.equal(bo.session.resumed, true);
  assert.equal(bo.session.sessionId, session);
  assert.deepEqual(heard, []);
});

test("beats keep a session alive for many times the ttl", async () => {
  const ana = connect("ana3");
  ana.watch("ana3");
  await sees(ana, "ana3", { status: "online" });
  const heard = [];
  ana.on("connection", ({ state }) => heard.push(state));
  await new Promise((resolve) => setTimeout(resolve, 3 * TIMES.ttlMs));
  assert.deepEqual(heard, []);
});

test("a token that is refused ends it with an error, not with attempts", async () => {
  const attempts = [];
  const client = new PresenceClient({
    url: `${server.url.replace("http", "ws")}/v1/connect`,
    getToken: () => {
      attempts.push(performance.now());
      return "no.good.token";
    },
    transport: webSocketTransport(WebSocket),
  });
  clients.push(client);
  client.connect();
  await new Promise((resolve) => setTimeout(resolve, 2_000));
  assert.equal(attempts.length, 2);
  assert.equal(client.connection.closeCode, 4401);
});
