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

/** The beats of one connection. */
export interface Heartbeat {
  /** Any frame shows that the link lived a moment ago. */
  heard(): void;
  /** A heartbeat was answered. */
  answered(): void;
  /** True if more time went by without a frame than a running page lets go by. */
  hasSlept(): boolean;
  /** Beats at once: the page woke, or the network changed. A socket that lies is found out soon. */
  probe(): void;
  stop(): void;
}

/**
 * Starts the beats of one connection, and the watch over their answers.
 *
 * The first beat falls at a random point of the interval, later ones come up to 10 % early. A beat
 * that is not answered within 10 s, or a third of the interval if that is less, means a dead link.
 * The wait begins with the oldest unanswered beat and is never extended by a newer one.
 */
export function startHeartbeat(options: HeartbeatOptions): Heartbeat {
  const { intervalMs, ttlMs, clock, random, send, dead } = options;
  const beatTimer = new Timer(clock);
  const answerTimer = new Timer(clock);
  const waitMs = Math.min(LONGEST_WAIT_MS, intervalMs / 3);
  let answerDue = Infinity;
  let lastHeard = clock.now();
  const silenceMs = () => clock.now() - lastHeard;
  const stop = () => {
    beatTimer.stop();
    answerTimer.stop();
  };
  const die = () => {
    stop();
    dead();
  };
  const beatIn = (delayMs: number) => beatTimer.start(delayMs, () => beat(waitMs));
  const beat = (answerWithinMs: number) => {
    // Timers of a page that slept come late; then the session may be over already.
    if (silenceMs() > ttlMs) {
      die();
      return;
    }
    const due = clock.now() + answerWithinMs;
    if (due < answerDue) {
      answerDue = due;
      answerTimer.start(answerWithinMs, die);
    }
    beatIn(intervalMs * (1 - JITTER * random()));
    send();
  };
  beatIn(random() * intervalMs);
  return {
    heard: () => (lastHeard = clock.now()),
    answered: () => {
      answerDue = Infinity;
      answerTimer.stop();
    },
    hasSlept: () => silenceMs() > intervalMs + waitMs,
    probe: () => beat(Math.min(WAKE_WAIT_MS, waitMs)),
    stop,
  };
}
