import { Timer, type Clock } from "./clock.js";
import { PresenceError, type ErrorCode } from "./codes.js";
import type { ClientRequest, ServerMessage, WirePresence } from "./protocol.js";

const ANSWER_WITHIN_MS = 15_000;

/**
 * Called with the answer before the next message is looked at: a snapshot and the update behind it
 * must take effect in their order, which promises would not keep.
 */
export interface AnswerHandler {
  answered(message: ServerMessage): void;
  failed(error: PresenceError): void;
}

interface Pending {
  readonly timer: Timer;
  readonly parts: WirePresence[];
  readonly handler: AnswerHandler;
}

export function errorOf(message: ServerMessage & { type: "error" }): PresenceError {
  return new PresenceError(message.code as ErrorCode, message.message, {
    temporary: message.temporary ?? false,
    ...(message.retryAfterMs === undefined ? {} : { retryAfterMs: message.retryAfterMs }),
    ...(message.limit === undefined ? {} : { limit: message.limit }),
  });
}

/** Requests of one connection that wait for their answer. Ends with the connection. */
export class Requests {
  readonly #clock: Clock;
  readonly #send: (text: string) => void;
  readonly #pending = new Map<number, Pending>();
  #lastId = 0;

  constructor(clock: Clock, send: (text: string) => void) {
    this.#clock = clock;
    this.#send = send;
  }

  /** Sends it with a new id; the answer comes whole, its parts put together. */
  ask(request: ClientRequest, handler: AnswerHandler): void {
    const id = ++this.#lastId;
    const timer = new Timer(this.#clock);
    this.#pending.set(id, { timer, parts: [], handler });
    timer.start(ANSWER_WITHIN_MS, () => {
      this.#pending.delete(id);
      const message = `no answer to ${request.type}`;
      handler.failed(new PresenceError("timeout", message, { temporary: true }));
    });
    this.#send(JSON.stringify({ ...request, id }));
  }

  /** True if the message was an answer to one of ours. */
  answer(message: ServerMessage): boolean {
    const pending = message.id === undefined ? undefined : this.#pending.get(message.id);
    if (pending === undefined) {
      return false;
    }
    if (message.type === "snapshot") {
      for (const user of message.users) {
        pending.parts.push(user);
      }
      if (message.more) {
        return true;
      }
    }
    this.#pending.delete(message.id as number);
    pending.timer.stop();
    if (message.type === "error") {
      pending.handler.failed(errorOf(message));
    } else if (message.type === "snapshot") {
      pending.handler.answered({ ...message, users: pending.parts });
    } else {
      pending.handler.answered(message);
    }
    return true;
  }

  end(error: PresenceError): void {
    const waiting = [...this.#pending.values()];
    this.#pending.clear();
    for (const pending of waiting) {
      pending.timer.stop();
      pending.handler.failed(error);
    }
  }
}
