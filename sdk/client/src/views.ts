import { Timer, type Clock } from "./clock.js";
import { Emitter } from "./emitter.js";
import { isSame } from "./frozen.js";

/** From so many on, views that nobody needs are dropped. */
const PRUNE_FROM = 1_000;

/** Brings what several views have to tell into one batch. */
export interface Batch {
  add(flush: () => void): void;
  stop(): void;
}

/** A batch at most each `batchMs`; the first after a pause comes at once. */
export function makeBatch(clock: Clock, batchMs: number): Batch {
  const timer = new Timer(clock);
  const flushes = new Set<() => void>();
  let lastAt = -Infinity;
  return {
    add(flush) {
      flushes.add(flush);
      if (!timer.isRunning) {
        timer.start(batchMs - Math.max(0, clock.now() - lastAt), () => {
          lastAt = clock.now();
          const taken = [...flushes];
          flushes.clear();
          taken.forEach((one) => one());
        });
      }
    },
    stop: () => timer.stop(),
  };
}

/**
 * What the app is shown, by key: frozen, and the same object until something in it changes.
 *
 * Whoever holds the data calls `touch` where something may be different; with the next batch the
 * view is made anew, compared, and listeners hear of it if it differs.
 */
export class Views<View> {
  readonly #batch: Batch;
  readonly #make: (key: string) => View;
  readonly #isHeld: (key: string) => boolean;
  readonly #onChanged: ((changed: ReadonlySet<string>) => void) | undefined;
  readonly #views = new Map<string, View>();
  readonly #touched = new Set<string>();
  readonly #listeners = new Emitter<Record<string, View>>();
  #pruneAt = PRUNE_FROM;

  /** `isHeld`: there is data for the key, so its view is kept even if nobody listens. */
  constructor(
    batch: Batch,
    make: (key: string) => View,
    isHeld: (key: string) => boolean,
    onChanged?: (changed: ReadonlySet<string>) => void,
  ) {
    this.#batch = batch;
    this.#make = make;
    this.#isHeld = isHeld;
    this.#onChanged = onChanged;
  }

  get(key: string): View {
    if (!this.#views.has(key)) {
      this.#prune();
      this.#views.set(key, this.#make(key));
    }
    return this.#views.get(key) as View;
  }

  /** The returned function takes the listener away. */
  subscribe(key: string, listener: (view: View) => void): () => void {
    // What the listener has seen so far, so that it is called only for what differs.
    this.get(key);
    return this.#listeners.on(key, listener);
  }

  touch(key: string): void {
    this.#touched.add(key);
    this.#batch.add(this.#flush);
  }

  /** Nobody is called any more. */
  stop(): void {
    this.#listeners.reset();
    this.#touched.clear();
  }

  readonly #flush = (): void => {
    const changed = new Set<string>();
    for (const key of this.#touched) {
      const view = this.#make(key);
      if (!isSame(this.#views.get(key), view)) {
        this.#views.set(key, view);
        changed.add(key);
      }
    }
    this.#touched.clear();
    for (const key of changed) {
      this.#listeners.emit(key, this.get(key));
    }
    if (changed.size > 0) {
      this.#onChanged?.(changed);
    }
  };

  #prune(): void {
    if (this.#views.size >= this.#pruneAt) {
      for (const key of this.#views.keys()) {
        if (!this.#listeners.hasListener(key) && !this.#isHeld(key)) {
          this.#views.delete(key);
        }
      }
      this.#pruneAt = Math.max(PRUNE_FROM, 2 * this.#views.size);
    }
  }
}
