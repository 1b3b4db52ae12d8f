/** Handle of a pending timer; only the clock that gave it knows what it is. */
export type TimerHandle = unknown;

/** Time, handed in, so that tests run in virtual time. */
export interface Clock {
  /** Wall time in milliseconds since the Unix epoch; may be wrong and may jump. */
  now(): number;
  setTimer(run: () => void, delayMs: number): TimerHandle;
  clearTimer(handle: TimerHandle): void;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  setTimer: (run, delayMs) => setTimeout(run, delayMs),
  clearTimer: (handle) => clearTimeout(handle as ReturnType<typeof setTimeout>),
};

/** A longer delay overflows the 32 bits that browsers keep, and fires at once. */
const LONGEST_DELAY_MS = 2 ** 31 - 1;

/** One timer that can be started, restarted and stopped. A delay may be above 24.8 days. */
export class Timer {
  readonly #clock: Clock;
  #handle: TimerHandle;
  #isRunning = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get isRunning(): boolean {
    return this.#isRunning;
  }

  /** Runs `run` once after `delayMs`; what was started before is stopped. */
  start(delayMs: number, run: () => void): void {
    this.stop();
    this.#isRunning = true;
    this.#arm(Math.max(0, delayMs), run);
  }

  stop(): void {
    if (this.#isRunning) {
      this.#isRunning = false;
      this.#clock.clearTimer(this.#handle);
    }
  }

  #arm(remainingMs: number, run: () => void): void {
    const step = Math.min(remainingMs, LONGEST_DELAY_MS);
    this.#handle = this.#clock.setTimer(() => {
      if (remainingMs > step) {
        this.#arm(remainingMs - step, run);
        return;
      }
      this.#isRunning = false;
      run();
    }, step);
  }
}
