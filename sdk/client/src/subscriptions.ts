import { Timer, type Clock } from "./clock.js";
import { PresenceError } from "./codes.js";
import type { Limits } from "./protocol.js";

/** What is let go is told so much later, as a page that changes often asks for it again. */
const LINGER_MS = 200;
const LEAST_RETRY_MS = 1_000;

export interface SubscriptionOptions<Terms> {
  clock: Clock;
  /** How many the server allows. */
  most: (limits: Limits) => number;
  /** Asks the server; `failed` is called with those that it refused. */
  ask: (
    keys: readonly string[],
    mode: "set" | "add",
    failed: (keys: readonly string[], error: PresenceError) => void,
  ) => void;
  tellEnd: (keys: readonly string[]) => void;
  /** Something is no longer wanted. */
  onReleased: () => void;
  onError: (error: PresenceError) => void;
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
  readonly #options: SubscriptionOptions<Terms>;
  /** One entry for each reason to want a key. */
  readonly #wanted = new Map<string, Terms[]>();
  /** What the server was asked for on this connection, and on which terms. */
  readonly #told = new Map<string, string | undefined>();
  readonly #refused = new Set<string>();
  readonly #addTimer: Timer;
  readonly #removeTimer: Timer;
  readonly #retryTimer: Timer;
  #limits: Limits | undefined;
  #connection = 0;
  #isOverLimit = false;

  constructor(options: SubscriptionOptions<Terms>) {
    this.#options = options;
    this.#addTimer = new Timer(options.clock);
    this.#removeTimer = new Timer(options.clock);
    this.#retryTimer = new Timer(options.clock);
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
    const own = new Map<string, Terms[]>();
    for (const key of keys) {
      own.set(key, this.#wanted.get(key) ?? []);
    }
    for (const [key, reasons] of own) {
      reasons.push(terms);
      this.#wanted.set(key, reasons);
    }
    this.#flushIn(this.#addTimer, 0);
    return () => {
      for (const [key, reasons] of own) {
        reasons.splice(reasons.indexOf(terms), 1);
        // A list of before `clear` stands in the map no more.
        if (reasons.length === 0 && this.#wanted.get(key) === reasons) {
          this.#wanted.delete(key);
        }
      }
      if (own.size > 0) {
        this.#flushIn(this.#removeTimer, LINGER_MS);
      }
      own.clear();
    };
  }

  /** A new connection: everything is asked for. */
  connected(limits: Limits): void {
    this.disconnected();
    this.#limits = limits;
    this.#askAdded("set");
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
  clear(): void {
    this.disconnected();
    this.#removeTimer.stop();
    this.#wanted.clear();
  }

  #flushIn(timer: Timer, delayMs: number): void {
    if (!timer.isRunning) {
      timer.start(delayMs, () => this.#flush());
    }
  }

  #flush(): void {
    this.#removeTimer.stop();
    const ended = [...this.#told.keys()].filter((key) => !this.#wanted.has(key));
    ended.forEach((key) => this.#told.delete(key));
    if (ended.length > 0) {
      this.#options.tellEnd(ended);
    }
    this.#options.onReleased();
    this.#askAdded("add");
  }

  /** Asks for what the server was not asked for on these terms, as far as its limit goes. */
  #askAdded(mode: "set" | "add"): void {
    if (this.#limits === undefined) {
      return;
    }
    const limit = this.#options.most(this.#limits);
    const added: string[] = [];
    let waiting = 0;
    for (const key of this.#wanted.keys()) {
      const terms = JSON.stringify(this.terms(key));
      const isTold = this.#told.has(key);
      if (this.#refused.has(key) || (isTold && this.#told.get(key) === terms)) {
        continue;
      }
      if (isTold || this.#told.size < limit) {
        this.#told.set(key, terms);
        added.push(key);
      } else {
        waiting++;
      }
    }
    if (waiting > 0 && !this.#isOverLimit) {
      const text = `${waiting} over the limit of ${limit} wait`;
      this.#options.onError(new PresenceError("limitExceeded", text, { limit }));
    }
    this.#isOverLimit = waiting > 0;
    if (added.length > 0) {
      const connection = this.#connection;
      this.#options.ask(added, mode, (keys, error) => {
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
    this.#options.onError(error);
    if (error.temporary) {
      this.#flushIn(this.#retryTimer, Math.max(LEAST_RETRY_MS, error.retryAfterMs ?? 0));
    }
  }
}
