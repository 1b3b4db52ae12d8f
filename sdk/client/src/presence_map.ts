import { Timer, type Clock } from "./clock.js";
import { freeze } from "./frozen.js";
import type { UserPresence, WirePresence } from "./protocol.js";
import type { ServerClock } from "./server_clock.js";
import { Store } from "./store.js";
import type { Batch } from "./views.js";

/** What is held about one user. */
interface Held {
  readonly wire: WirePresence;
  /** Number of the update that brought it; 0 if a snapshot did. */
  readonly updateNumber: number;
}

export type MapListener = (changed: ReadonlySet<string>) => void;
export type UserListener = (presence: UserPresence) => void;

const STATUSES = ["online", "away", "busy", "dnd", "offline", "invisible"];

/**
 * Newest known presence of each watched user. While the link is down values are stale; after the
 * ttl they are `unknown`, never `offline`.
 */
export class PresenceMap extends Store<Held, UserPresence> {
  readonly #serverClock: ServerClock;
  readonly #expiryTimer: Timer;
  #nextExpiry = Infinity;
  #updateCount = 0;

  constructor(
    clock: Clock,
    serverClock: ServerClock,
    batch: Batch,
    isWatched: (userId: string) => boolean,
    onChanged: MapListener,
  ) {
    super(batch, isWatched, (userId, held, stale) => this.#look(userId, held, stale), onChanged);
    this.#serverClock = serverClock;
    this.#expiryTimer = new Timer(clock);
  }

  /** Counts updates; a request notes it, to know which updates came before its answer. */
  get updateCount(): number {
    return this.#updateCount;
  }

  /** The version to name as known; 0 if what is held is not worth naming. */
  knownVersion(userId: string): number {
    const wire = this.get(userId)?.wire;
    return wire?.status === "unknown" ? 0 : (wire?.version ?? 0);
  }

  /** Takes a message without request; equal or newer replaces. */
  applyUpdate(users: readonly WirePresence[]): void {
    const updateNumber = ++this.#updateCount;
    for (const wire of users) {
      const { userId, version } = wire;
      const held = this.get(userId);
      if (!held || version === 0 || version >= held.wire.version || !this.isConfirmed(userId)) {
        this.#take(wire, updateNumber);
      }
    }
  }

  /**
   * Takes the answer to a watch. It replaces what is held, but for what a newer update told after
   * the request was sent: that update overtook it. Users asked for and not in it are as known.
   */
  applySnapshot(
    users: readonly WirePresence[],
    asked: readonly string[],
    askedAtUpdate: number,
  ): void {
    for (const wire of users) {
      const held = this.get(wire.userId);
      const isOvertaken =
        held &&
        held.updateNumber > askedAtUpdate &&
        wire.version !== 0 &&
        held.wire.version > wire.version;
      if (!isOvertaken) {
        this.#take(wire, 0);
      }
    }
    for (const userId of asked) {
      const held = this.get(userId);
      if (held && !this.isConfirmed(userId)) {
        this.put(userId, held);
      }
    }
  }

  override reset(): void {
    this.#expiryTimer.stop();
    this.#nextExpiry = Infinity;
    super.reset();
  }

  #take(wire: WirePresence, updateNumber: number): void {
    this.put(wire.userId, { wire: freeze(wire), updateNumber });
  }

  #look(userId: string, held: Held | undefined, stale: boolean): UserPresence {
    if (!held) {
      return freeze({ userId, status: "unknown", stale });
    }
    const { version: _, status, customStatus, ...rest } = held.wire;
    return freeze({
      ...rest,
      status: STATUSES.includes(status) ? status : "unknown",
      stale,
      ...(customStatus && !this.#hasEnded(customStatus.expiresAt) && { customStatus }),
    });
  }

  /** Notes an end that is still to come, so that a custom status ends on the screen too. */
  #hasEnded(expiresAt = Infinity): boolean {
    const inMs = expiresAt - this.#serverClock.now();
    if (inMs > 0 && expiresAt < this.#nextExpiry) {
      this.#nextExpiry = expiresAt;
      this.#expiryTimer.start(inMs, () => {
        this.#nextExpiry = Infinity;
        this.touchAll();
      });
    }
    return inMs <= 0;
  }
}
