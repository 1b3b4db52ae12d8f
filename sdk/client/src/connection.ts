import { Timer, type Clock } from "./clock.js";
import { LINK_DEAD, notConnected, type PresenceError } from "./codes.js";
import { startHeartbeat, type Heartbeat } from "./heartbeat.js";
import {
  readServerMessage,
  SUBPROTOCOL,
  type ClientRequest,
  type ServerMessage,
  type Welcome,
} from "./protocol.js";
import { errorOf, Parts, Requests, type Ask } from "./requests.js";
import type { Transport, TransportConnection } from "./transport.js";

const WELCOME_WITHIN_MS = 10_000;
const NO_CODE = 1006;

export interface ConnectionOptions {
  url: string;
  transport: Transport;
  clock: Clock;
  random: () => number;
  /** The first message; its id is added. */
  hello: ClientRequest;
  /** Extra fields of each heartbeat. */
  beatFields: () => Record<string, unknown>;
}

export interface ConnectionEvents {
  connected(welcome: Welcome): void;
  hear(message: ServerMessage): void;
  /** True: the page slept on this connection, and what is shown may be old. False: it has answered. */
  doubt(isDoubted: boolean): void;
  /** Over, and not by `stop`. `error` is what the server said before, if anything. */
  lost(code: number, reason: string, error: PresenceError | undefined): void;
}

/** One connection from its opening to its end. After the end no event comes and no timer runs. */
export class Connection {
  readonly #options: ConnectionOptions;
  readonly #events: ConnectionEvents;
  readonly #requests: Requests;
  readonly #parts = new Parts();
  readonly #welcomeTimer: Timer;
  #socket: TransportConnection | undefined;
  #heartbeat: Heartbeat | undefined;
  #helloError: PresenceError | undefined;
  #isOver = false;

  constructor(options: ConnectionOptions, events: ConnectionEvents) {
    this.#options = options;
    this.#events = events;
    this.#requests = new Requests(options.clock, (text) => this.#send(text));
    this.#welcomeTimer = new Timer(options.clock);
  }

  /** Not part of the constructor, since a transport may fail while it is called. */
  start(): void {
    const { url, transport } = this.#options;
    this.#welcomeTimer.start(WELCOME_WITHIN_MS, this.#dead);
    try {
      this.#socket = transport(url, SUBPROTOCOL, {
        opened: () => this.#sayHello(),
        received: (text) => this.#received(text),
        closed: (code, reason) => this.#lose(code, reason),
      });
    } catch (error) {
      this.#lose(NO_CODE, String(error));
    }
  }

  get isReady(): boolean {
    return !!this.#heartbeat && !this.#isOver;
  }

  ask(...question: Parameters<Ask>): void {
    this.#requests.ask(...question);
  }

  /** Sends without an id; there is no answer. */
  tell(request: ClientRequest): void {
    this.#send(JSON.stringify(request));
  }

  /** Finds out now whether the link lives. */
  probe(): void {
    if (this.#heartbeat?.hasSlept()) {
      this.#events.doubt(true);
    }
    this.#heartbeat?.probe();
  }

  /** Ends it from this side; no event comes any more. */
  stop(): void {
    if (!this.#isOver) {
      this.#isOver = true;
      this.#welcomeTimer.stop();
      this.#heartbeat?.stop();
      this.#requests.stop(notConnected());
      this.#socket?.close();
    }
  }

  #sayHello(): void {
    if (!this.#isOver) {
      this.ask(
        this.#options.hello,
        (message) => this.#welcomed(message),
        // A refused hello is followed by a close; the close decides what to do.
        (error) => (this.#helloError = error),
      );
    }
  }

  #welcomed(message: ServerMessage): void {
    if (this.#isOver || message.type !== "welcome") {
      return;
    }
    const { clock, random } = this.#options;
    this.#welcomeTimer.stop();
    this.#requests.most = message.limits.messageBytes;
    this.#heartbeat = startHeartbeat({
      ...message.heartbeat,
      clock,
      random,
      send: () => this.#beat(),
      dead: this.#dead,
    });
    this.#events.connected(message);
  }

  #beat(): void {
    const beat = { type: "heartbeat", ...this.#options.beatFields() };
    const answered = () => {
      this.#heartbeat?.answered();
      this.#events.doubt(false);
    };
    this.ask(beat, answered, ({ code }) => {
      // What the server says is an answer too, such as an error about rates.
      if (code !== "disconnected" && code !== "timeout") {
        answered();
      }
    });
  }

  #received(text: string): void {
    const part = this.#isOver ? undefined : readServerMessage(text);
    this.#heartbeat?.heard();
    const message = part && this.#parts.add(part);
    if (!message) {
      return;
    }
    const isAnswer = this.#requests.take(message);
    if (message.type === "error" && !isAnswer && !this.#heartbeat) {
      this.#helloError = errorOf(message);
    } else if (!isAnswer || message.type === "heartbeatAck") {
      this.#events.hear(message);
    }
  }

  #send(text: string): void {
    try {
      this.#socket?.send(text);
    } catch {
      // The socket is closing; its close event follows.
    }
  }

  readonly #dead = (): void => this.#lose(LINK_DEAD, "no answer");

  #lose(code: number, reason: string): void {
    if (!this.#isOver) {
      this.stop();
      this.#events.lost(code, reason, this.#helloError);
    }
  }
}
