import type { RoomMember, WirePresence } from "../src/protocol.js";
import type { Transport, TransportHandlers } from "../src/transport.js";
import type { VirtualClock } from "./virtual_clock.js";

export interface Frame {
  readonly type: string;
  readonly id?: number;
  readonly [field: string]: unknown;
}

/** The server's end of one connection. */
export class FakeConnection {
  readonly frames: Frame[] = [];
  readonly watched = new Set<string>();
  readonly joined = new Set<string>();
  isOpen = true;
  isClosedByClient = false;

  constructor(
    readonly openedAt: number,
    readonly handlers: TransportHandlers,
  ) {}

  send(message: object): void {
    if (this.isOpen) {
      this.handlers.received(JSON.stringify(message));
    }
  }

  close(code: number, reason = ""): void {
    if (this.isOpen) {
      this.isOpen = false;
      this.handlers.closed(code, reason);
    }
  }

  of(type: string): Frame[] {
    return this.frames.filter((frame) => frame.type === type);
  }
}

type Script = (connection: FakeConnection, frame: Frame) => boolean | void;

/** A server in the same thread: answers as told by its fields, or by a script for what is odd. */
export class FakeServer {
  readonly connections: FakeConnection[] = [];
  readonly presences = new Map<string, WirePresence>();
  readonly rooms = new Map<string, RoomMember[]>();
  readonly clock: VirtualClock;
  /** False: no network at all, every attempt fails. */
  isReachable = true;
  /** True: takes everything and says nothing. */
  isMute = false;
  /** Runs first; true means that it has dealt with the frame. */
  script: Script | undefined;
  welcome: Record<string, unknown> = {};
  limits = {
    watch: 500,
    messageBytes: 131_072,
    customStatusText: 100,
    sessions: 20,
    roomMembers: 500,
  };
  userId = "me";
  #sessions = 0;

  constructor(clock: VirtualClock) {
    this.clock = clock;
  }

  readonly transport: Transport = (_url, _subprotocol, handlers) => {
    const connection = new FakeConnection(this.clock.now(), handlers);
    this.connections.push(connection);
    queueMicrotask(() => {
      if (this.isReachable && connection.isOpen) {
        handlers.opened();
      } else {
        connection.close(1006);
      }
    });
    return {
      send: (text) => this.#received(connection, JSON.parse(text) as Frame),
      close: () => {
        connection.isOpen = false;
        connection.isClosedByClient = true;
      },
    };
  };

  get last(): FakeConnection {
    const last = this.connections.at(-1);
    if (last === undefined) {
      throw new Error("nobody has connected");
    }
    return last;
  }

  set(userId: string, status: WirePresence["status"], version: number, more: object = {}): void {
    this.presences.set(userId, { userId, status, version, ...more });
  }

  /** Sets it and tells it to the newest connection. */
  update(userId: string, status: WirePresence["status"], version: number, more: object = {}): void {
    this.set(userId, status, version, more);
    this.last.send({ type: "update", users: [this.of(userId)] });
  }

  of(userId: string): WirePresence {
    return this.presences.get(userId) ?? { userId, status: "offline", version: 0 };
  }

  room(room: string): object {
    const members = this.rooms.get(room) ?? [];
    return { type: "room", room, count: members.length, exact: true, members };
  }

  #received(connection: FakeConnection, frame: Frame): void {
    connection.frames.push(frame);
    // Like a real one it answers later, never from inside `send`.
    queueMicrotask(() => {
      if (connection.isOpen && !this.isMute && !this.script?.(connection, frame)) {
        this.#answer(connection, frame);
      }
    });
  }

  #answer(connection: FakeConnection, frame: Frame): void {
    const { id } = frame;
    const users = (frame["users"] ?? []) as string[];
    switch (frame.type) {
      case "hello":
        connection.send({ ...this.#welcome(frame), id });
        break;
      case "heartbeat":
        connection.send({ type: "heartbeatAck", id, serverTime: this.clock.now() });
        break;
      case "watch":
        if (frame["mode"] === "set") {
          connection.watched.clear();
        }
        users.forEach((user) => connection.watched.add(user));
        this.#snapshot(connection, id, users, (frame["known"] ?? {}) as Record<string, number>);
        break;
      case "get":
        this.#snapshot(connection, id, users, {});
        break;
      case "unwatch":
        users.forEach((user) => connection.watched.delete(user));
        connection.send({ type: "ack", id });
        break;
      case "join":
        connection.joined.add(frame["room"] as string);
        connection.send({ id, ...this.room(frame["room"] as string) });
        break;
      case "leave":
        connection.joined.delete(frame["room"] as string);
        connection.send({ type: "ack", id });
        break;
      case "signal":
      case "delivery":
        if (id !== undefined) {
          connection.send({ type: "ack", id });
        }
        break;
      case "privacy": {
        const everyone = { mode: "everyone" };
        connection.send({ online: everyone, lastSeen: everyone, ...frame });
        break;
      }
      case "activity":
        break;
      case "bye":
        connection.close(1000, "bye");
        break;
      default:
        connection.send({ type: "ack", id });
    }
  }

  #welcome(hello: Frame): object {
    return {
      type: "welcome",
      userId: this.userId,
      sessionId: `s${++this.#sessions}`,
      resume: `r${this.#sessions}`,
      resumed: hello["resume"] !== undefined,
      serverTime: this.clock.now(),
      heartbeat: { intervalMs: 30_000, ttlMs: 100_000 },
      graceMs: 10_000,
      limits: this.limits,
      health: { store: "ok", since: 1 },
      ...this.welcome,
    };
  }

  #snapshot(
    connection: FakeConnection,
    id: number | undefined,
    users: string[],
    known: Record<string, number>,
  ): void {
    const told = users
      .map((user) => this.of(user))
      .filter((user) => !Object.hasOwn(known, user.userId) || known[user.userId] !== user.version);
    const unchanged = users.length - told.length;
    connection.send({ type: "snapshot", id, users: told, unchanged, asOf: this.clock.now() });
  }
}
