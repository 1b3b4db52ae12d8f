import { Timer, type Clock } from "./clock.js";
import type { Activity } from "./protocol.js";

const INPUT_EVENTS = [
  "mousemove",
  "mousedown",
  "keydown",
  "click",
  "scroll",
  "touchstart",
  "wheel",
] as const;
const LISTEN_OPTIONS = { passive: true, capture: true } as const;

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
 * it, so a moving mouse costs nothing.
 */
export class ActivityTracker {
  readonly #clock: Clock;
  readonly #options: ActivityOptions;
  readonly #timer: Timer;
  readonly #heard = () => this.noteInput();
  #lastInput: number;
  #state: Activity = "active";

  constructor(clock: Clock, options: ActivityOptions) {
    this.#clock = clock;
    this.#options = options;
    this.#timer = new Timer(clock);
    this.#lastInput = clock.now();
    for (const name of INPUT_EVENTS) {
      options.target.addEventListener(name, this.#heard, LISTEN_OPTIONS);
    }
    this.#timer.start(options.idleAfterMs, () => this.#look());
  }

  get state(): Activity {
    return this.#state;
  }

  /** How long ago the last input was. */
  idleMs(): number {
    return Math.max(0, this.#clock.now() - this.#lastInput);
  }

  noteInput(): void {
    this.#lastInput = this.#clock.now();
    if (this.#state === "idle") {
      this.#become("active");
      this.#timer.start(this.#options.idleAfterMs, () => this.#look());
    }
  }

  /** Idle from now until the next input, e.g. when a phone is put away. */
  becomeIdle(): void {
    this.#timer.stop();
    this.#become("idle");
  }

  stop(): void {
    this.#timer.stop();
    for (const name of INPUT_EVENTS) {
      this.#options.target.removeEventListener(name, this.#heard, LISTEN_OPTIONS);
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
