export interface BackoffOptions {
  /** Width of the window in which the first attempt falls. */
  firstMs: number;
  /** No delay is longer. */
  capMs: number;
}

/**
 * Growing, random delays between attempts to connect.
 *
 * The window doubles up to the cap and chance is applied after the cap, so that after a long outage
 * clients do not come in step. The first delay may be anything in its window: when a server with
 * many clients goes away, they return evenly spread. Later ones leave out the lowest fifth, so that
 * a server which accepts and closes at once is left alone.
 */
export class Backoff {
  readonly #options: BackoffOptions;
  readonly #random: () => number;
  #attempts = 0;
  #firstMs: number;

  constructor(options: BackoffOptions, random: () => number) {
    this.#options = options;
    this.#random = random;
    this.#firstMs = options.firstMs;
  }

  /** Narrows the first window, e.g. to half the grace of the server. */
  limitFirst(mostMs: number): void {
    this.#firstMs = Math.min(this.#options.firstMs, mostMs);
  }

  nextMs(): number {
    const first = this.#attempts ? this.#options.firstMs : this.#firstMs;
    const window = Math.min(this.#options.capMs, first * 2 ** this.#attempts);
    const least = this.#attempts ? window / 5 : 0;
    this.#attempts = Math.min(this.#attempts + 1, 30);
    return least + this.#random() * (window - least);
  }

  reset(): void {
    this.#attempts = 0;
  }
}
