// A stand-in for the server, for work on the page: enough of the protocol to fill it with life.
// `node lib/fake_server.mjs [PORT]` serves web/demo/dist with two-second heartbeats.

import { createReadStream, existsSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { WebSocketServer } from "ws";

const PAGE = fileURLToPath(new URL("../../../web/demo/dist/", import.meta.url));
const TYPES = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".css": "text/css",
  ".svg": "image/svg+xml",
};
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
  "frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'";
const PEOPLE = [
  { userId: "ada", name: "Ada Lovelace" },
  { userId: "grace", name: "Grace Hopper" },
  { userId: "hedy", name: "Hedy Lamarr" },
  { userId: "emmy", name: "Emmy Noether" },
  { userId: "katherine", name: "Katherine Johnson" },
];

class FakeServer {
  constructor(times) {
    this.times = { intervalMs: 2_000, ttlMs: 6_800, graceMs: 2_000, ...times };
    this.users = new Map();
    this.connections = new Set();
    this.rooms = new Map();
    this.http = createServer((request, response) => this.#answer(request, response));
    this.sockets = new WebSocketServer({ server: this.http, handleProtocols: () => "presence.v1" });
    this.sockets.on("connection", (socket) => this.#connected(socket));
    this.#simulate("ada", { status: "online", devices: ["desktop", "mobile"] });
    this.#simulate("grace", {
      status: "busy",
      devices: ["web"],
      since: minuteAgo(24),
      customStatus: { text: "Compiling", emoji: "⚙️" },
    });
    this.#simulate("hedy", { status: "away", devices: ["mobile"], since: minuteAgo(7) });
    this.#simulate("emmy", {
      status: "dnd",
      devices: ["tablet"],
      customStatus: { text: "Proofs until lunch", emoji: "📐" },
    });
    this.#simulate("katherine", {
      status: "offline",
      lastSeen: { granularity: "recent", at: minuteAgo(12) },
    });
  }

  listen(port = 0) {
    return new Promise((resolve) => {
      this.http.listen(port, "127.0.0.1", () => {
        resolve(`http://127.0.0.1:${this.http.address().port}`);
      });
    });
  }

  close() {
    for (const socket of this.sockets.clients) {
      socket.terminate();
    }
    this.http.close();
  }

  #user(userId) {
    if (!this.users.has(userId)) {
      this.users.set(userId, {
        version: 1,
        status: "auto",
        sessions: 0,
        lastSeenAt: 0,
        visible: true,
      });
    }
    return this.users.get(userId);
  }

  #simulate(userId, fixed) {
    Object.assign(this.#user(userId), { fixed });
  }

  #presence(userId, viewer) {
    const user = this.#user(userId);
    if (user.fixed) {
      return { userId, version: user.version, ...user.fixed };
    }
    const isOwn = viewer === userId;
    if (!isOwn && !user.visible) {
      return { userId, status: "offline", version: 0 };
    }
    const { version } = user;
    if (user.sessions === 0 || (user.status === "invisible" && !isOwn)) {
      const seen = user.lastSeenAt && { lastSeen: { granularity: "exact", at: user.lastSeenAt } };
      return { userId, status: "offline", version, ...seen };
    }
    return {
      userId,
      status: user.status === "auto" ? "online" : user.status,
      version,
      devices: ["web"],
      ...(user.status === "auto" ? {} : { since: minuteAgo(0) }),
      ...(user.customStatus ? { customStatus: user.customStatus } : {}),
      ...(isOwn ? { declared: { status: user.status, scope: "user" } } : {}),
    };
  }

  #changed(userId) {
    this.#user(userId).version++;
    for (const connection of this.connections) {
      if (connection.watched.has(userId)) {
        connection.send({ type: "update", users: [this.#presence(userId, connection.userId)] });
      }
    }
  }

  #connected(socket) {
    const connection = {
      watched: new Set(),
      send: (message) => socket.send(JSON.stringify(message)),
    };
    const end = (graceMs) => {
      if (this.connections.delete(connection)) {
        for (const room of this.rooms.keys()) {
          this.#leave(connection, room);
        }
        setTimeout(() => {
          const user = this.#user(connection.userId);
          user.sessions--;
          user.lastSeenAt = Date.now();
          this.#changed(connection.userId);
        }, graceMs);
      }
    };
    let silence;
    socket.on("message", (data) => {
      clearTimeout(silence);
      silence = setTimeout(() => {
        end(0);
        socket.close(4408, "heartbeat_timeout");
      }, this.times.ttlMs);
      const frame = JSON.parse(data);
      if (frame.type === "bye") {
        end(0);
        socket.close(1000, "bye");
      } else {
        this.#take(connection, frame);
      }
    });
    socket.on("close", () => {
      clearTimeout(silence);
      end(this.times.graceMs);
    });
  }

  #take(connection, frame) {
    const { id } = frame;
    const user = connection.userId && this.#user(connection.userId);
    const answer = (message) => connection.send({ id, ...message });
    const snapshot = () =>
      answer({
        type: "snapshot",
        users: frame.users.map((userId) => this.#presence(userId, connection.userId)),
        asOf: Date.now(),
      });
    switch (frame.type) {
      case "hello":
        connection.userId = frame.token;
        this.connections.add(connection);
        this.#user(frame.token).sessions++;
        answer(this.#welcome(frame));
        this.#changed(frame.token);
        break;
      case "heartbeat":
        answer({ type: "heartbeatAck", serverTime: Date.now() });
        break;
      case "watch":
        frame.users.forEach((userId) => connection.watched.add(userId));
        snapshot();
        break;
      case "get":
        snapshot();
        break;
      case "status":
        user.status = frame.status ?? user.status;
        if (frame.customStatus !== undefined) {
          user.customStatus = frame.customStatus && withEnd(frame.customStatus);
        }
        answer({ type: "ack" });
        this.#changed(connection.userId);
        break;
      case "privacy":
        user.visible = (frame.online?.mode ?? "everyone") !== "nobody";
        answer({
          type: "privacy",
          online: frame.online ?? { mode: "everyone" },
          lastSeen: frame.lastSeen ?? { mode: "everyone" },
        });
        this.#changed(connection.userId);
        break;
      case "join":
        answer(this.#join(connection, frame.room));
        break;
      case "leave":
        this.#leave(connection, frame.room);
        answer({ type: "ack" });
        break;
      case "signal": {
        const { kind, active, data, to } = frame;
        const message = { type: "signal", from: connection.userId, kind, active, data, ...to };
        for (const other of this.rooms.get(to.room) ?? []) {
          if (other !== connection) {
            other.send({ ...message, expiresInMs: 6_000 });
          }
        }
        if (id !== undefined) {
          answer({ type: "ack" });
        }
        break;
      }
      default:
        if (id !== undefined) {
          answer({ type: "ack" });
        }
    }
  }

  #join(connection, room) {
    const there = this.rooms.get(room) ?? new Set();
    this.rooms.set(room, there.add(connection));
    this.#tellRoom(connection, room, { joined: [this.#member(connection.userId)] });
    const members = [...this.#usersOf(room)].map((userId) => this.#member(userId));
    return room === "stadium"
      ? { type: "room", room, count: 12_345, exact: false }
      : { type: "room", room, count: members.length, exact: true, members };
  }

  #leave(connection, room) {
    if (this.rooms.get(room)?.delete(connection)) {
      this.#tellRoom(connection, room, { left: [connection.userId] });
    }
  }

  #tellRoom(connection, room, change) {
    const count = this.#usersOf(room).size;
    for (const other of this.rooms.get(room) ?? []) {
      if (other !== connection) {
        other.send({ type: "roomUpdate", room, count, exact: true, ...change });
      }
    }
  }

  #usersOf(room) {
    const simulated = room === "lobby" ? ["ada", "grace", "hedy"] : [];
    return new Set([...simulated, ...[...(this.rooms.get(room) ?? [])].map((one) => one.userId)]);
  }

  #member(userId) {
    return { userId, status: this.#presence(userId, "").status };
  }

  #welcome(hello) {
    const { intervalMs, ttlMs, graceMs } = this.times;
    return {
      type: "welcome",
      userId: hello.token,
      sessionId: "s-1",
      resume: "r-1",
      resumed: hello.resume !== undefined,
      serverTime: Date.now(),
      heartbeat: { intervalMs, ttlMs },
      graceMs,
      limits: {
        watch: 500,
        messageBytes: 131_072,
        customStatusText: 100,
        sessions: 20,
        roomMembers: 500,
      },
      health: { store: "ok", since: 1 },
    };
  }

  #answer(request, response) {
    const url = new URL(request.url, "http://localhost");
    const json = (value) => {
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify(value));
    };
    if (url.pathname === "/demo/token") {
      json({ token: url.searchParams.get("user") });
    } else if (url.pathname === "/demo/people") {
      json({ people: PEOPLE });
    } else if (url.pathname.endsWith("/blocks")) {
      json({ users: [] });
    } else {
      const file = join(PAGE, normalize(url.pathname === "/" ? "/index.html" : url.pathname));
      if (!file.startsWith(PAGE) || !existsSync(file)) {
        response.writeHead(404).end();
        return;
      }
      response.setHeader("content-type", TYPES[extname(file)] ?? "application/octet-stream");
      response.setHeader("content-security-policy", POLICY);
      createReadStream(file).pipe(response);
    }
  }
}

function minuteAgo(minutes) {
  return Math.floor(Date.now() / 60_000 - minutes) * 60_000;
}

function withEnd({ expiresInMs, ...rest }) {
  return expiresInMs === undefined ? rest : { ...rest, expiresAt: Date.now() + expiresInMs };
}

export async function startFakeServer(times = {}, port = 0) {
  const server = new FakeServer(times);
  return { url: await server.listen(port), close: () => server.close() };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { url } = await startFakeServer({}, Number(process.argv[2] ?? 8099));
  console.log(`ready ${url}`);
}
