import { Timer, type Clock } from "./clock.js";
import { callSafely } from "./emitter.js";
import type { ServerClock } from "./server_clock.js";
import type { UserPresence, WirePresence } from "./protocol.js";

/** What is held about one user. */
interface Held {
  wire: WirePresence | undefined;
  /** True once this connection told, or confirmed, what is held. */
  isConfirmed: boolean;
  /** Not confirmed for longer than the ttl: shown as `unknown` until the server tells anew. */
  isTooOld: boolean;
  /** Number of the update that brought it; 0 if a snapshot did. */
  updateNumber: number;
  /** What the app was last given; kept while nothing in it changes. */
  view: UserPresence | undefined;
}

export type MapListener = (changed: ReadonlySet<string>) => void;
export type UserListener = (presence: UserPresence) => void;

const STATUSES = new Set(["online", "away", "busy", "dnd", "offline", "unknown", "invisible"]);

/**
 * Newest known presence of each watched user.
 *
 * Changes take effect at once but listeners hear of them in batches, at most one each `batchMs`,
 * and only of users whose visible value has changed. While the link is down values are stale; after
 * the ttl they are `unknown`, never `offline`.
 */
export class PresenceMap {
  readonly #clock: Clock;
  readonly #serverClock: ServerClock;
  readonly #batchMs: number;
  readonly #held = new Map<string, Held>();
  readonly #dirty = new Set<string>();
  readonly #listeners = new Set<MapListener>();
  readonly #userListeners = new Map<string, Set<UserListener>>();
  readonly #flushTimer: Timer;
  readonly #ttlTimer: Timer;
  readonly #expiryTimer: Timer;
  #nextExpiry = Infinity;
  #lastFlushAt = -Infinity;
  #updateCount = 0;
  #isDoubted = false;

  constructor(clock: Clock, serverClock: ServerClock, batchMs: number) {
    this.#clock = clock;
    this.#serverClock = serverClock;
    this.#batchMs = batchMs;
    this.#flushTimer = new Timer(clock);
    this.#ttlTimer = new Timer(clock);
    this.#expiryTimer = new Timer(clock);
  }

  /** Frozen, and the same object until something in it changes. `unknown` if nothing is held. */
  get(userId: string): UserPresence {
    const held = this.#hold(userId);
    held.view ??= this.#look(userId, held);
    return held.view;
  }

  /** Hears of all changes, one call a batch. */
  subscribe(listener: MapListener): () => void {
    const own: MapListener = (changed) => listener(changed);
    this.#listeners.add(own);
    return () => this.#listeners.delete(own);
  }

  subscribeUser(userId: string, listener: UserListener): () => void {
    const own: UserListener = (presence) => listener(presence);
    // What the listener has seen so far, so that it is called only for what differs.
    this.get(userId);
    const set = this.#userListeners.get(userId) ?? new Set();
    this.#userListeners.set(userId, set.add(own));
    return () => {
      set.delete(own);
      if (set.size === 0 && this.#userListeners.get(userId) === set) {
        this.#userListeners.delete(userId);
      }
    };
  }

  /** Counts updates; a request notes it, to know which updates came before its answer. */
  get updateCount(): number {
    return this.#updateCount;
  }

  /** The version to name as known, if what is held is worth naming. */
  knownVersion(userId: string): number | undefined {
    const wire = this.#held.get(userId)?.wire;
    return wire === undefined || wire.status === "unknown" || wire.version === 0
      ? undefined
      : wire.version;
  }

  /** Takes users that are watched from a message without request; equal or newer replaces. */
  applyUpdate(users: readonly WirePresence[], isWatched: (userId: string) => boolean): void {
    this.#updateCount++;
    for (const user of users) {
      const held = isWatched(user.userId) ? this.#hold(user.userId) : undefined;
      const heldVersion = held?.wire?.version ?? 0;
      if (held && (user.version === 0 || user.version >= heldVersion || !held.isConfirmed)) {
        this.#take(user, held, this.#updateCount);
      }
    }
    this.#scheduleFlush();
  }

  /**
   * Takes the answer to a watch. It replaces what is held, but for what a newer update told after
   * the request was sent: that update overtook it. Users asked for and not in it are as known.
   */
  applySnapshot(
    users: readonly WirePresence[],
    asked: readonly string[],
    askedAtUpdate: number,
    isWatched: (userId: string) => boolean,
  ): void {
    for (const user of users) {
      const held = isWatched(user.userId) ? this.#hold(user.userId) : undefined;
      if (held === undefined) {
        continue;
      }
      const overtaken =
        held.updateNumber > askedAtUpdate &&
        user.version !== 0 &&
        (held.wire?.version ?? 0) > user.version;
      if (!overtaken) {
        this.#take(user, held, 0);
      }
    }
    for (const userId of asked) {
      const held = this.#held.get(userId);
      if (held?.wire !== undefined && !held.isConfirmed) {
        held.isConfirmed = true;
        held.isTooOld = false;
        this.#dirty.add(userId);
      }
    }
    this.#scheduleFlush();
  }

  linkUp(): void {
    this.#ttlTimer.stop();
    this.doubt(false);
  }

  /** From now on all is stale; after `ttlMs` it is unknown. */
  linkDown(ttlMs: number): void {
    this.#isDoubted = false;
    for (const held of this.#held.values()) {
      held.isConfirmed = false;
      held.updateNumber = 0;
    }
    this.#ttlTimer.start(ttlMs, () => {
      for (const held of this.#held.values()) {
        held.isTooOld = held.wire !== undefined && !held.isConfirmed;
      }
      this.#touchAll();
    });
    this.#touchAll();
  }

  /** The page slept: stale until the server has answered. */
  doubt(isDoubted: boolean): void {
    if (this.#isDoubted !== isDoubted) {
      this.#isDoubted = isDoubted;
      this.#touchAll();
    }
  }

  /** Drops what is held of users who are no longer watched. */
  forget(userIds: Iterable<string>): void {
    for (const userId of userIds) {
      const held = this.#held.get(userId);
      if (held !== undefined) {
        held.wire = undefined;
        held.isConfirmed = false;
        held.isTooOld = false;
        this.#dirty.add(userId);
      }
    }
    this.#scheduleFlush();
  }

  /** Drops everything, as for another user. */
  clear(): void {
    this.#ttlTimer.stop();
    this.#expiryTimer.stop();
    this.#nextExpiry = Infinity;
    this.#isDoubted = false;
    this.forget([...this.#held.keys()]);
  }

  /** No timer runs and no listener is called any more. */
  stop(): void {
    this.#flushTimer.stop();
    this.#ttlTimer.stop();
    this.#expiryTimer.stop();
    this.#listeners.clear();
    this.#userListeners.clear();
  }

  #hold(userId: string): Held {
    let held = this.#held.get(userId);
    if (held === undefined) {
      held = {
        wire: undefined,
        isConfirmed: false,
        isTooOld: false,
        updateNumber: 0,
        view: undefined,
      };
      this.#held.set(userId, held);
    }
    return held;
  }

  #take(user: WirePresence, held: Held, updateNumber: number): void {
    held.wire = user;
    held.isConfirmed = true;
    held.isTooOld = false;
    held.updateNumber = updateNumber;
    this.#dirty.add(user.userId);
  }

  #touchAll(): void {
    for (const userId of this.#held.keys()) {
      this.#dirty.add(userId);
    }
    this.#scheduleFlush();
  }

  #scheduleFlush(): void {
    if (this.#dirty.size > 0 && !this.#flushTimer.isRunning) {
      const sinceMs = Math.max(0, this.#clock.now() - this.#lastFlushAt);
      this.#flushTimer.start(Math.max(0, this.#batchMs - sinceMs), () => this.#flush());
    }
  }

  #flush(): void {
    this.#lastFlushAt = this.#clock.now();
    const changed = new Set<string>();
    for (const userId of this.#dirty) {
      const held = this.#held.get(userId);
      if (held !== undefined && this.#renew(userId, held)) {
        changed.add(userId);
      }
    }
    this.#dirty.clear();
    this.#armExpiry();
    if (changed.size === 0) {
      return;
    }
    for (const userId of changed) {
      for (const listener of [...(this.#userListeners.get(userId) ?? [])]) {
        callSafely(() => listener(this.get(userId)));
      }
    }
    for (const listener of [...this.#listeners]) {
      callSafely(() => listener(changed));
    }
  }

  /** Makes the view anew; true if it differs from the one that the app has. */
  #renew(userId: string, held: Held): boolean {
    const before = held.view;
    const view = this.#look(userId, held);
    if (held.wire === undefined && !this.#userListeners.has(userId)) {
      this.#held.delete(userId);
    }
    if (before !== undefined && JSON.stringify(before) === JSON.stringify(view)) {
      return false;
    }
    held.view = view;
    return true;
  }

  #look(userId: string, held: Held): UserPresence {
    const wire = held.wire;
    if (wire === undefined || held.isTooOld) {
      return Object.freeze({ userId, status: "unknown", stale: held.isTooOld });
    }
    const { since, customStatus, devices, lastSeen, declared } = wire;
    return Object.freeze({
      userId,
      status: STATUSES.has(wire.status) ? wire.status : "unknown",
      stale: this.#isDoubted || !held.isConfirmed,
      ...(since === undefined ? {} : { since }),
      ...(customStatus === undefined || this.#hasEnded(customStatus.expiresAt)
        ? {}
        : { customStatus: Object.freeze({ ...customStatus }) }),
      ...(devices === undefined ? {} : { devices: Object.freeze([...devices]) }),
      ...(lastSeen === undefined ? {} : { lastSeen: Object.freeze({ ...lastSeen }) }),
      ...(declared === undefined ? {} : { declared: Object.freeze({ ...declared }) }),
    });
  }

  /** Notes the end of a custom status that is still to come, so that it ends on the screen too. */
  #hasEnded(expiresAt: number | undefined): boolean {
    if (expiresAt === undefined) {
      return false;
    }
    const hasEnded = expiresAt <= this.#serverClock.now();
    if (!hasEnded) {
      this.#nextExpiry = Math.min(this.#nextExpiry, expiresAt);
    }
    return hasEnded;
  }

  #armExpiry(): void {
    if (this.#nextExpiry === Infinity) {
      this.#expiryTimer.stop();
      return;
    }
    this.#expiryTimer.start(this.#nextExpiry - this.#serverClock.now(), () => {
      this.#nextExpiry = Infinity;
      this.#touchAll();
    });
  }
}
