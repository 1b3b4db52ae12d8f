import type { Clock } from "./clock.js";

/** The server's time, by what it told last. This machine's clock may be wrong by years. */
export class ServerClock {
  readonly #clock: Clock;
  #offsetMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  set(serverTime: number): void {
    this.#offsetMs = serverTime - this.#clock.now();
  }

  now(): number {
    return this.#clock.now() + this.#offsetMs;
  }
}
