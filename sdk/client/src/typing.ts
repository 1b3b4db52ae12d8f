import { Timer, type Clock } from "./clock.js";
import { freeze } from "./frozen.js";
import type { ClientRequest, Signal, Target } from "./protocol.js";
import { Views, type Batch } from "./views.js";

const KIND = "typing";
/** The server forgets a signal after 6 s; half of that leaves time for one that is lost. */
const REPEAT_MS = 3_000;
/** So long without a key the person has stopped. */
const STOP_AFTER_MS = 5_000;

function keyOf(to: Target): string {
  return "room" in to ? `room ${to.room}` : `user ${to.userId}`;
}

/** Who is typing where, and whom the server was told about this person's own typing. */
export class Typing {
  readonly #clock: Clock;
  readonly #send: (request: ClientRequest) => void;
  /** By target: who is typing there, each with the timer that ends it. */
  readonly #typers = new Map<string, Map<string, Timer>>();
  /** By target: when it was last told that this person types, and the timer that takes it back. */
  readonly #own = new Map<string, { toldAt: number; timer: Timer }>();
  readonly #views: Views<readonly string[]>;

  constructor(clock: Clock, batch: Batch, send: (request: ClientRequest) => void) {
    this.#clock = clock;
    this.#send = send;
    this.#views = new Views(
      batch,
      (key) => freeze<readonly string[]>([...(this.#typers.get(key)?.keys() ?? [])]),
      (key) => this.#typers.has(key),
    );
  }

  get(to: Target): readonly string[] {
    return this.#views.get(keyOf(to));
  }

  subscribe(to: Target, listener: (typing: readonly string[]) => void): () => void {
    return this.#views.subscribe(keyOf(to), listener);
  }

  /** Called with each key, it tells the server at most every 3 s, and after 5 s that it is over. */
  set(to: Target, isTyping: boolean): void {
    const key = keyOf(to);
    const own = this.#own.get(key) ?? { toldAt: -Infinity, timer: new Timer(this.#clock) };
    const now = this.#clock.now();
    const tell = (active: boolean) => this.#send({ type: "signal", to, kind: KIND, active });
    if (isTyping) {
      own.timer.start(STOP_AFTER_MS, () => this.set(to, false));
      if (now - own.toldAt >= REPEAT_MS) {
        own.toldAt = now;
        this.#own.set(key, own);
        tell(true);
      }
    } else if (this.#own.delete(key)) {
      own.timer.stop();
      tell(false);
    }
  }

  hear({ from, room, kind, active, expiresInMs }: Signal): void {
    if (kind === KIND) {
      const key = keyOf(room ? { room } : { userId: from });
      if (active) {
        const typers = this.#typers.get(key) ?? new Map<string, Timer>();
        const timer = typers.get(from) ?? new Timer(this.#clock);
        timer.start(expiresInMs, () => this.#end(key, from));
        this.#typers.set(key, typers.set(from, timer));
        this.#views.touch(key);
      } else {
        this.#end(key, from);
      }
    }
  }

  /** Who has left a room types there no more. */
  left(room: string, userIds: readonly string[] = []): void {
    userIds.forEach((userId) => this.#end(keyOf({ room }), userId));
  }

  /** The connection ended: nothing more is heard of anybody, and the server forgets by itself. */
  reset(): void {
    this.#own.forEach(({ timer }) => timer.stop());
    this.#own.clear();
    for (const [key, typers] of this.#typers) {
      [...typers.keys()].forEach((userId) => this.#end(key, userId));
    }
  }

  stop(): void {
    this.reset();
    this.#views.stop();
  }

  #end(key: string, userId: string): void {
    const typers = this.#typers.get(key);
    typers?.get(userId)?.stop();
    if (typers?.delete(userId)) {
      this.#views.touch(key);
      if (typers.size === 0) {
        this.#typers.delete(key);
      }
    }
  }
}
