import { utf8Bytes } from "./bounds.js";
import { Timer, type Clock } from "./clock.js";
import { PresenceError, type ErrorCode } from "./codes.js";
import type { ClientRequest, ServerMessage } from "./protocol.js";

const ANSWER_WITHIN_MS = 15_000;

/**
 * Sends a request; one of the two functions is called, once. With the answer that is before the next
 * message is looked at: a snapshot and the update behind it must take effect in their order, which
 * promises would not keep.
 */
export type Ask = (
  request: ClientRequest,
  answered: (message: ServerMessage) => void,
  failed: (error: PresenceError) => void,
) => void;

export function errorOf(message: ServerMessage & { type: "error" }): PresenceError {
  return new PresenceError(message.code as ErrorCode, message.message, message);
}

/** Requests of one connection that wait for their answer. Ends with the connection. */
export class Requests {
  readonly #clock: Clock;
  readonly #send: (text: string) => void;
  readonly #pending = new Map<
    number,
    { answered: Parameters<Ask>[1]; failed: Parameters<Ask>[2]; timer: Timer }
  >();
  /** The server's bound in bytes, once it is known. */
  most = Infinity;
  #lastId = 0;

  constructor(clock: Clock, send: (text: string) => void) {
    this.#clock = clock;
    this.#send = send;
  }

  /** Sends it with a new id. What is too long is not sent: the server would end the connection. */
  ask(...[request, answered, failed]: Parameters<Ask>): void {
    const id = ++this.#lastId;
    const text = JSON.stringify({ ...request, id });
    const limit = this.most;
    if (utf8Bytes(text) > limit) {
      failed(new PresenceError("tooLarge", "over the limit", { limit }));
      return;
    }
    const timer = new Timer(this.#clock);
    this.#pending.set(id, { answered, failed, timer });
    timer.start(ANSWER_WITHIN_MS, () => {
      this.#pending.delete(id);
      failed(new PresenceError("timeout", `no answer to ${request.type}`, { temporary: true }));
    });
    this.#send(text);
  }

  /** True if the message was an answer to one of ours. */
  take(message: ServerMessage): boolean {
    const id = message.id as number;
    const pending = this.#pending.get(id);
    if (!pending) {
      return false;
    }
    this.#pending.delete(id);
    pending.timer.stop();
    if (message.type === "error") {
      pending.failed(errorOf(message));
    } else {
      pending.answered(message);
    }
    return true;
  }

  stop(error: PresenceError): void {
    const waiting = [...this.#pending.values()];
    this.#pending.clear();
    for (const { timer, failed } of waiting) {
      timer.stop();
      failed(error);
    }
  }
}

/** Puts the parts of long messages together, so that they take effect at once. */
export class Parts {
  readonly #held = new Map<number | string, object>();

  /** The whole message, once its last part is there. Lists are joined; the rest is of the last. */
  add(message: ServerMessage): ServerMessage | undefined {
    // Parts of what has no id follow each other directly.
    const key = message.id ?? message.type;
    const before = this.#held.get(key);
    const whole: Record<string, unknown> = { ...message };
    for (const [name, list] of Object.entries(before ?? {})) {
      if (Array.isArray(list)) {
        whole[name] = list.concat(whole[name] ?? []);
      }
    }
    if (message.more) {
      this.#held.set(key, whole);
      return undefined;
    }
    this.#held.delete(key);
    return whole as ServerMessage;
  }
}
