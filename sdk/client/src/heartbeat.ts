import { Timer, type Clock } from "./clock.js";

const JITTER = 0.1;
const LONGEST_WAIT_MS = 10_000;
/** After a wake the app wants to know soon whether it may believe what it shows. */
const WAKE_WAIT_MS = 4_000;

export interface HeartbeatOptions {
  intervalMs: number;
  ttlMs: number;
  clock: Clock;
  random: () => number;
  send: () => void;
  /** No answer in time, or so long without code running that the session must be over. */
  dead: () => void;
}

/**
 * Beats of one connection, and the watch over their answers.
 *
 * The first beat falls at a random point of the interval, later ones come up to 10 % early. A beat
 * that is not answered within 10 s, or a third of the interval if that is less, means a dead link.
 * The wait begins with the oldest unanswered beat and is never extended by a newer one.
 */
export class Heartbeat {
  readonly #options: HeartbeatOptions;
  readonly #beatTimer: Timer;
  readonly #answerTimer: Timer;
  #answerDue = Infinity;
  #lastReceived: number;

  constructor(options: HeartbeatOptions) {
    this.#options = options;
    this.#beatTimer = new Timer(options.clock);
    this.#answerTimer = new Timer(options.clock);
    this.#lastReceived = options.clock.now();
    this.#startBeat(options.random() * options.intervalMs);
  }

  /** Any frame shows that the link lived a moment ago. */
  received(): void {
    this.#lastReceived = this.#options.clock.now();
  }

  /** A heartbeat was answered. */
  answered(): void {
    this.#answerDue = Infinity;
    this.#answerTimer.stop();
  }

  /** True if more time went by without a frame than a running page lets go by. */
  get hasSlept(): boolean {
    return this.silenceMs() > this.#options.intervalMs + this.#waitMs();
  }

  silenceMs(): number {
    return this.#options.clock.now() - this.#lastReceived;
  }

  /** Beats at once: the page woke, or the network changed. A socket that lies is found out soon. */
  probe(): void {
    this.#beat(Math.min(WAKE_WAIT_MS, this.#waitMs()));
  }

  stop(): void {
    this.#beatTimer.stop();
    this.#answerTimer.stop();
  }

  #waitMs(): number {
    return Math.min(LONGEST_WAIT_MS, this.#options.intervalMs / 3);
  }

  #die(): void {
    this.stop();
    this.#options.dead();
  }

  #beat(waitMs: number): void {
    const { clock, random, intervalMs, ttlMs, send } = this.#options;
    // Timers of a page that slept come late; then the session may be over already.
    if (this.silenceMs() > ttlMs) {
      this.#die();
      return;
    }
    const due = clock.now() + waitMs;
    if (due < this.#answerDue) {
      this.#answerDue = due;
      this.#answerTimer.start(waitMs, () => this.#die());
    }
    this.#startBeat(intervalMs * (1 - JITTER * random()));
    send();
  }

  #startBeat(delayMs: number): void {
    this.#beatTimer.start(delayMs, () => this.#beat(this.#waitMs()));
  }
}
