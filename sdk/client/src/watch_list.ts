import { utf8Bytes } from "./bounds.js";
import { Timer, type Clock } from "./clock.js";
import { PresenceError } from "./codes.js";
import type { ClientRequest, Limits } from "./protocol.js";
import type { AnswerHandler } from "./requests.js";

/** Room in a message for what is not a user: type, id, mode and brackets. */
const ENVELOPE_BYTES = 256;
/** Bytes beside an id in the list: quotes and comma; in `known` also a colon and the version. */
const PER_ID_BYTES = 3;
const PER_KNOWN_BYTES = 24;
const LEAST_RETRY_MS = 1_000;

export interface WatchListOptions {
  clock: Clock;
  /** An unwatch waits so long, as a page that changes often asks for the same user again. */
  lingerMs: number;
  /** Version held of a user, to be named as known. */
  knownVersion: (userId: string) => number | undefined;
  ask: (request: ClientRequest, handler: AnswerHandler) => void;
  /** The whole answer to one watch, with the users whom it named. `mark` is what `mark()` gave. */
  onSnapshot: (
    message: Parameters<AnswerHandler["answered"]>[0],
    users: readonly string[],
    mark: number,
  ) => void;
  /** Taken when a watch is sent and handed back with its answer. */
  mark: () => number;
  onForget: (users: readonly string[]) => void;
  onError: (error: PresenceError) => void;
}

/**
 * Who is watched. The app counts up and down per user; the server is told differences only, and
 * everything again after a reconnect.
 *
 * What does not fit into the server's limit waits until a place is free; the app hears of it once.
 * What the server refused for good is not asked again on the same connection.
 */
export class WatchList {
  readonly #options: WatchListOptions;
  readonly #counts = new Map<string, number>();
  /** What the server watches for this connection, or was asked to. */
  readonly #told = new Set<string>();
  readonly #refused = new Set<string>();
  /** Users whose count came down to zero since the last flush. */
  readonly #released = new Set<string>();
  readonly #addTimer: Timer;
  readonly #removeTimer: Timer;
  readonly #retryTimer: Timer;
  #limits: Limits | undefined;
  #connection = 0;
  #generation = 0;
  #isOverLimit = false;

  constructor(options: WatchListOptions) {
    this.#options = options;
    this.#addTimer = new Timer(options.clock);
    this.#removeTimer = new Timer(options.clock);
    this.#retryTimer = new Timer(options.clock);
  }

  isWatched(userId: string): boolean {
    return this.#counts.has(userId);
  }

  /** One more reason to watch each; the returned function takes it back, once. */
  add(userIds: Iterable<string>): () => void {
    const own = new Set(userIds);
    const generation = this.#generation;
    for (const userId of own) {
      this.#counts.set(userId, (this.#counts.get(userId) ?? 0) + 1);
    }
    if (!this.#addTimer.isRunning) {
      this.#addTimer.start(0, () => this.#flush());
    }
    return () => {
      for (const userId of generation === this.#generation ? own : []) {
        this.#release(userId);
      }
      own.clear();
    };
  }

  /** A new connection: everything is asked for, with the versions that are held. */
  connected(limits: Limits): void {
    this.disconnected();
    this.#limits = limits;
    this.#sendWatch(this.#takeAdded(), "set");
  }

  disconnected(): void {
    this.#connection++;
    this.#limits = undefined;
    this.#told.clear();
    this.#refused.clear();
    this.#isOverLimit = false;
    this.#addTimer.stop();
    this.#retryTimer.stop();
  }

  /** Forgets all watchers: another user, or none. */
  clear(): void {
    this.disconnected();
    this.#removeTimer.stop();
    this.#generation++;
    this.#counts.clear();
    this.#released.clear();
  }

  #release(userId: string): void {
    const count = this.#counts.get(userId) ?? 0;
    if (count > 1) {
      this.#counts.set(userId, count - 1);
    } else if (count === 1) {
      this.#counts.delete(userId);
      this.#released.add(userId);
      if (!this.#removeTimer.isRunning) {
        this.#removeTimer.start(this.#options.lingerMs, () => this.#flush());
      }
    }
  }

  #flush(): void {
    this.#options.onForget(this.#takeUnwanted());
    if (this.#limits !== undefined) {
      this.#sendWatch(this.#takeAdded(), "add");
    }
  }

  /** Users nobody wants any more; the server is told of those that it knows. */
  #takeUnwanted(): string[] {
    this.#removeTimer.stop();
    const unwanted = [...this.#released].filter((userId) => !this.#counts.has(userId));
    this.#released.clear();
    const told = unwanted.filter((userId) => this.#told.delete(userId));
    for (const chunk of this.#chunks(told, false)) {
      this.#options.ask(
        { type: "unwatch", users: chunk },
        { answered: () => {}, failed: (error) => this.#report(error) },
      );
    }
    return unwanted;
  }

  /** Users to ask for now, as far as the limit goes. */
  #takeAdded(): string[] {
    const limit = this.#limits?.watch ?? 0;
    const added: string[] = [];
    let waiting = 0;
    for (const userId of this.#counts.keys()) {
      if (this.#told.has(userId) || this.#refused.has(userId)) {
        continue;
      }
      if (this.#told.size < limit) {
        this.#told.add(userId);
        added.push(userId);
      } else {
        waiting++;
      }
    }
    if (waiting > 0 && !this.#isOverLimit) {
      const text = `${this.#counts.size} users to watch, at most ${limit}; ${waiting} wait`;
      this.#options.onError(new PresenceError("limitExceeded", text, { limit }));
    }
    this.#isOverLimit = waiting > 0;
    return added;
  }

  #sendWatch(userIds: readonly string[], firstMode: "set" | "add"): void {
    let mode = firstMode;
    for (const chunk of this.#chunks(userIds, true)) {
      this.#sendChunk(chunk, mode);
      mode = "add";
    }
  }

  #sendChunk(users: readonly string[], mode: "set" | "add"): void {
    const connection = this.#connection;
    const mark = this.#options.mark();
    const known = new Map<string, number>();
    for (const userId of users) {
      const version = this.#options.knownVersion(userId);
      if (version !== undefined) {
        known.set(userId, version);
      }
    }
    const request = {
      type: "watch",
      users,
      ...(mode === "set" ? { mode } : {}),
      // Made from a map, so that an id such as __proto__ becomes a member like any other.
      ...(known.size > 0 ? { known: Object.fromEntries(known) } : {}),
    };
    this.#options.ask(request, {
      answered: (message) => this.#options.onSnapshot(message, users, mark),
      failed: (error) => {
        if (connection === this.#connection && error.code !== "disconnected") {
          this.#chunkFailed(users, error);
        }
      },
    });
  }

  #chunkFailed(users: readonly string[], error: PresenceError): void {
    for (const userId of users) {
      this.#told.delete(userId);
      if (!error.temporary) {
        this.#refused.add(userId);
      }
    }
    this.#report(error);
    if (error.temporary && !this.#retryTimer.isRunning) {
      const delayMs = Math.max(LEAST_RETRY_MS, error.retryAfterMs ?? 0);
      this.#retryTimer.start(delayMs, () => this.#flush());
    }
  }

  #report(error: PresenceError): void {
    if (error.code !== "disconnected") {
      this.#options.onError(error);
    }
  }

  /** Cuts a list so that each message stays within the server's bounds. */
  *#chunks(userIds: readonly string[], withKnown: boolean): Generator<string[]> {
    const mostUsers = this.#limits?.watch ?? userIds.length;
    const mostBytes = (this.#limits?.messageBytes ?? Infinity) - ENVELOPE_BYTES;
    let chunk: string[] = [];
    let bytes = 0;
    for (const userId of userIds) {
      const size = jsonBytes(userId) * (withKnown ? 2 : 1) + PER_ID_BYTES;
      const withRest = size + (withKnown ? PER_KNOWN_BYTES : 0);
      if (chunk.length > 0 && (chunk.length >= mostUsers || bytes + withRest > mostBytes)) {
        yield chunk;
        chunk = [];
        bytes = 0;
      }
      chunk.push(userId);
      bytes += withRest;
    }
    if (chunk.length > 0) {
      yield chunk;
    }
  }
}

function jsonBytes(text: string): number {
  return utf8Bytes(JSON.stringify(text));
}
