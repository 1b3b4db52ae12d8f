import type { Clock } from "../src/clock.js";

interface Pending {
  readonly id: number;
  readonly due: number;
  readonly run: () => void;
}

/**
 * Virtual time that can do what real machines do: sleep (time jumps, timers come late) and clamp
 * timers to one wake-up a minute, as browsers do with hidden pages.
 */
export class VirtualClock implements Clock {
  #now: number;
  #lastId = 0;
  readonly #pending = new Map<number, Pending>();
  /** Timers fire only at multiples of this. */
  alignMs = 1;

  constructor(now = 1_790_000_000_000) {
    this.#now = now;
  }

  now(): number {
    return this.#now;
  }

  get timers(): number {
    return this.#pending.size;
  }

  setTimer(run: () => void, delayMs: number): number {
    if (!(delayMs >= 0 && delayMs <= 2 ** 31 - 1)) {
      throw new Error(`a delay of ${delayMs} ms overflows`);
    }
    const id = ++this.#lastId;
    this.#pending.set(id, { id, due: this.#now + delayMs, run });
    return id;
  }

  clearTimer(handle: unknown): void {
    this.#pending.delete(handle as number);
  }

  /** Runs everything that falls into the time, in order; promises settle in between. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    await settle();
    for (;;) {
      const next = this.#next();
      if (next === undefined || this.#firesAt(next) > end) {
        break;
      }
      this.#now = Math.max(this.#now, this.#firesAt(next));
      this.#pending.delete(next.id);
      next.run();
      await settle();
    }
    this.#now = end;
  }

  /** The machine sleeps: time goes on and no code runs. Late timers run with the next `advance`. */
  sleep(ms: number): void {
    this.#now += ms;
  }

  #firesAt(timer: Pending): number {
    return Math.ceil(timer.due / this.alignMs) * this.alignMs;
  }

  #next(): Pending | undefined {
    let next: Pending | undefined;
    for (const timer of this.#pending.values()) {
      if (next === undefined || timer.due < next.due) {
        next = timer;
      }
    }
    return next;
  }
}

/** Lets promises go on as far as they can without time. */
export async function settle(): Promise<void> {
  for (let i = 0; i < 24; i++) {
    await Promise.resolve();
  }
}
