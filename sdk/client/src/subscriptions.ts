import { Timer, type Clock } from "./clock.js";
import { PresenceError } from "./codes.js";
import type { ClientRequest, Limits } from "./protocol.js";
import type { Ask } from "./requests.js";

/** What is let go is told so much later, as a page that changes often asks for it again. */
const LINGER_MS = 200;
const LEAST_RETRY_MS = 1_000;

/** The way to the server for those who ask on the app's behalf. */
export interface Asker {
  clock: Clock;
  ask: Ask;
  /** Without an answer. */
  tell: (request: ClientRequest) => void;
  report: (error: PresenceError) => void;
}

export interface SubscriptionOptions<Terms> {
  /** How many the server allows. */
  most: (limits: Limits) => number;
  /** Asks the server; `failed` is called with those that it refused. */
  ask: (
    keys: readonly string[],
    mode: "set" | "add",
    limits: Limits,
    failed: (keys: readonly string[], error: PresenceError) => void,
  ) => void;
  /** Requests that tell the server of the end. */
  ends: (keys: readonly string[], limits: Limits) => readonly ClientRequest[];
  /** Something is no longer wanted. */
  onReleased: () => void;
  /** Of several terms for one key, those that are asked for. */
  choose?: (terms: readonly Terms[]) => Terms | undefined;
}

/**
 * What the app wants of the server: users to watch, rooms to be in. The app counts up and down per
 * key; the server is told differences only, and everything again after a reconnect.
 *
 * What does not fit into the server's limit waits until a place is free; the app hears of it once.
 * What the server refused for good is not asked again on the same connection.
 */
export class Subscriptions<Terms = undefined> {
  readonly #asker: Asker;
  readonly #options: SubscriptionOptions<Terms>;
  /** One entry for each reason to want a key. */
  #wanted = new Map<string, Terms[]>();
  /** What the server was asked for on this connection, and on which terms. */
  readonly #told = new Map<string, string>();
  readonly #refused = new Set<string>();
  readonly #addTimer: Timer;
  readonly #removeTimer: Timer;
  readonly #retryTimer: Timer;
  #limits: Limits | undefined;
  #connection = 0;
  #isOverLimit = false;

  constructor(asker: Asker, options: SubscriptionOptions<Terms>) {
    this.#asker = asker;
    this.#options = options;
    this.#addTimer = new Timer(asker.clock);
    this.#removeTimer = new Timer(asker.clock);
    this.#retryTimer = new Timer(asker.clock);
  }

  isWanted(key: string): boolean {
    return this.#wanted.has(key);
  }

  /** On what terms a key is wanted. */
  terms(key: string): Terms | undefined {
    const all = this.#wanted.get(key) ?? [];
    return this.#options.choose?.(all) ?? all.at(-1);
  }

  /** One more reason to want each; the returned function takes it back, once. */
  add(keys: Iterable<string>, terms: Terms): () => void {
    // After a reset it is another map, which this reason does not stand in.
    const wanted = this.#wanted;
    const own = new Set(keys);
    own.forEach((key) => wanted.set(key, [...(wanted.get(key) ?? []), terms]));
    this.#flushIn(this.#addTimer, 0);
    return () => {
      for (const key of own) {
        const reasons = wanted.get(key) as Terms[];
        reasons.splice(reasons.indexOf(terms), 1);
        if (reasons.length === 0) {
          wanted.delete(key);
        }
      }
      if (own.size > 0) {
        this.#flushIn(this.#removeTimer, LINGER_MS, () => {
          this.#endReleased();
          this.#askMissing("add");
        });
      }
      own.clear();
    };
  }

  /** A new connection: everything is asked for. */
  connected(limits: Limits): void {
    this.disconnected();
    this.#limits = limits;
    this.#askMissing("set");
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

  /** Forgets all: another user, or none. */
  reset(): void {
    this.disconnected();
    this.#removeTimer.stop();
    this.#wanted = new Map();
  }

  #flushIn(timer: Timer, delayMs: number, flush = () => this.#askMissing("add")): void {
    if (!timer.isRunning) {
      timer.start(delayMs, flush);
    }
  }

  #endReleased(): void {
    this.#removeTimer.stop();
    const ended = [...this.#told.keys()].filter((key) => !this.#wanted.has(key));
    ended.forEach((key) => this.#told.delete(key));
    if (this.#limits && ended.length > 0) {
      for (const request of this.#options.ends(ended, this.#limits)) {
        this.#asker.ask(request, () => {}, this.#asker.report);
      }
    }
    this.#options.onReleased();
  }

  /** Asks for what the server was not asked for on these terms, as far as its limit goes. */
  #askMissing(mode: "set" | "add"): void {
    if (!this.#limits) {
      return;
    }
    const termsOf = (key: string) => JSON.stringify(this.terms(key)) ?? "";
    const missing = [...this.#wanted.keys()].filter(
      (key) => !this.#refused.has(key) && this.#told.get(key) !== termsOf(key),
    );
    const limit = this.#options.most(this.#limits);
    if (this.#told.size + missing.length > limit) {
      // What was let go and lingers makes room.
      this.#endReleased();
    }
    const added: string[] = [];
    for (const key of missing) {
      if (this.#told.has(key) || this.#told.size < limit) {
        this.#told.set(key, termsOf(key));
        added.push(key);
      }
    }
    const waiting = missing.length - added.length;
    if (waiting > 0 && !this.#isOverLimit) {
      const text = `${waiting} over the limit wait`;
      this.#asker.report(new PresenceError("limitExceeded", text, { limit }));
    }
    this.#isOverLimit = waiting > 0;
    if (added.length > 0) {
      const connection = this.#connection;
      this.#options.ask(added, mode, this.#limits, (keys, error) => {
        if (connection === this.#connection) {
          this.#failed(keys, error);
        }
      });
    }
  }

  #failed(keys: readonly string[], error: PresenceError): void {
    for (const key of keys) {
      this.#told.delete(key);
      if (!error.temporary) {
        this.#refused.add(key);
      }
    }
    this.#asker.report(error);
    if (error.temporary) {
      this.#flushIn(this.#retryTimer, Math.max(LEAST_RETRY_MS, error.retryAfterMs ?? 0));
    }
  }
}
