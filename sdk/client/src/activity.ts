import { Timer, type Clock } from "./clock.js";
import type { Channel } from "./environment.js";
import type { Activity } from "./protocol.js";

const INPUT_EVENTS = "mousemove mousedown keydown click scroll touchstart wheel".split(" ");
const LISTEN_OPTIONS = { passive: true, capture: true };
/** Other tabs hear of input at most so often. */
const SHARE_EVERY_MS = 10_000;

export interface ActivityOptions {
  /** So long without input counts as idle. */
  idleAfterMs: number;
  target: EventTarget;
  onChange: (state: Activity) => void;
}

/**
 * Tells from input whether a person is there.
 *
 * An event only notes the time; one timer, armed anew when it finds that there was input, looks at
 * it, so a moving mouse costs nothing. Input in one tab counts for all tabs of the same user.
 */
export class ActivityTracker {
  readonly #clock: Clock;
  readonly #options: ActivityOptions;
  readonly #timer: Timer;
  readonly #heard = () => this.#noteInput(true);
  #channel: Channel | undefined;
  #lastInput: number;
  #sharedAt = -Infinity;
  #state: Activity = "active";

  constructor(clock: Clock, options: ActivityOptions) {
    this.#clock = clock;
    this.#options = options;
    this.#timer = new Timer(clock);
    this.#lastInput = clock.now();
    for (const name of INPUT_EVENTS) {
      options.target.addEventListener(name, this.#heard, LISTEN_OPTIONS);
    }
    this.#look();
  }

  /** How long ago the last input was. */
  idleMs(): number {
    return Math.max(0, this.#clock.now() - this.#lastInput);
  }

  /** Shares input with the other tabs; `open` gives the way to them, nothing ends it. */
  share(open?: (heard: () => void) => Channel | undefined): void {
    this.#channel?.close();
    this.#channel = open?.(() => this.#noteInput(false));
    this.#sharedAt = -Infinity;
  }

  /** Idle from now until the next input, e.g. when a phone is put away. */
  becomeIdle(): void {
    this.#timer.stop();
    this.#become("idle");
  }

  stop(): void {
    this.share();
    this.#timer.stop();
    for (const name of INPUT_EVENTS) {
      this.#options.target.removeEventListener(name, this.#heard, LISTEN_OPTIONS);
    }
  }

  #noteInput(isOwn: boolean): void {
    const now = this.#clock.now();
    this.#lastInput = now;
    if (isOwn && this.#channel && now - this.#sharedAt >= SHARE_EVERY_MS) {
      this.#sharedAt = now;
      this.#channel.post();
    }
    if (this.#state === "idle") {
      this.#become("active");
      this.#look();
    }
  }

  #look(): void {
    const remaining = this.#options.idleAfterMs - this.idleMs();
    if (remaining > 0) {
      this.#timer.start(remaining, () => this.#look());
    } else {
      this.#become("idle");
    }
  }

  #become(state: Activity): void {
    if (this.#state !== state) {
      this.#state = state;
      this.#options.onChange(state);
    }
  }
}
