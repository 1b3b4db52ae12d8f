import { Timer, type Clock } from "./clock.js";
import { PresenceError } from "./codes.js";
import type { LinkState } from "./link.js";
import type { ClientRequest, ServerMessage } from "./protocol.js";
import type { AnswerHandler } from "./requests.js";

const WAIT_MS = 15_000;

interface Waiting {
  readonly timer: Timer;
  readonly request: ClientRequest;
  readonly handler: AnswerHandler;
}

/** The app's requests, as promises. One made while connecting waits for it, up to 15 s. */
export class WaitingRoom {
  readonly #clock: Clock;
  readonly #send: (request: ClientRequest, handler: AnswerHandler) => void;
  readonly #waiting = new Set<Waiting>();

  constructor(clock: Clock, send: (request: ClientRequest, handler: AnswerHandler) => void) {
    this.#clock = clock;
    this.#send = send;
  }

  ask(request: ClientRequest, state: LinkState): Promise<ServerMessage> {
    return new Promise((resolve, reject) => {
      const handler = { answered: resolve, failed: reject };
      if (state !== "connecting") {
        this.#send(request, handler);
        return;
      }
      const waiting: Waiting = { timer: new Timer(this.#clock), request, handler };
      this.#waiting.add(waiting);
      waiting.timer.start(WAIT_MS, () => {
        this.#waiting.delete(waiting);
        reject(new PresenceError("disconnected", "no connection in time", { temporary: true }));
      });
    });
  }

  /** The connection stands. */
  open(): void {
    for (const { timer, request, handler } of this.#take()) {
      timer.stop();
      this.#send(request, handler);
    }
  }

  /** There will be no connection. */
  refuse(): void {
    for (const { timer, handler } of this.#take()) {
      timer.stop();
      handler.failed(new PresenceError("disconnected", "not connected", { temporary: true }));
    }
  }

  #take(): Waiting[] {
    const taken = [...this.#waiting];
    this.#waiting.clear();
    return taken;
  }
}
