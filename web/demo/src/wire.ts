import { webSocketTransport, type Transport, type TransportConnection } from "@presenced/client";

/** What goes over the wire, as far as the page tells of it. */
export interface WireEvents {
  sent(type: string): void;
  received(type: string): void;
}

/**
 * The WebSocket with a switch. Dropped, it is like a cable that was cut: nothing goes out, nothing
 * comes in, no close is sent, and a new connection does not come about. (The browser still answers
 * Pings: the page asks the server to be deaf to them.) The server notices nothing until it has missed
 * the heartbeats.
 */
export class Wire {
  readonly #open = webSocketTransport();
  readonly #events: WireEvents;
  /** Sockets that the client has given up while the wire was cut; they stay open and mute. */
  readonly #orphans = new Set<TransportConnection>();
  #isCut = false;
  /** What waits while the wire is held, in both directions. */
  #held: (() => void)[] | undefined;

  /** The session that the last `welcome` named. */
  #session: string | undefined;

  constructor(events: WireEvents) {
    this.#events = events;
  }

  get isCut(): boolean {
    return this.#isCut;
  }

  get session(): string | undefined {
    return this.#session;
  }

  cut(): void {
    this.#isCut = true;
  }

  /** Nothing passes for a while, and nothing is lost: a machine that sleeps, a dead spot. */
  hold(): void {
    this.#held ??= [];
  }

  mend(): void {
    this.#isCut = false;
    const held = this.#held ?? [];
    this.#held = undefined;
    held.forEach((pass) => pass());
    for (const orphan of this.#orphans) {
      orphan.close();
    }
    this.#orphans.clear();
  }

  readonly transport: Transport = (url, subprotocol, handlers) => {
    if (this.#isCut) {
      return { send: () => {}, close: () => {} };
    }
    const connection = this.#open(url, subprotocol, {
      opened: () => this.#pass(() => handlers.opened()),
      received: (text) =>
        this.#pass(() => {
          const message = JSON.parse(text) as { type: string; sessionId?: string };
          this.#session = message.sessionId ?? this.#session;
          this.#events.received(message.type);
          handlers.received(text);
        }),
      closed: (code, reason) => this.#pass(() => handlers.closed(code, reason)),
    });
    return {
      send: (text) =>
        this.#pass(() => {
          this.#events.sent(typeOf(text));
          connection.send(text);
        }),
      close: () => {
        if (this.#isCut) {
          this.#orphans.add(connection);
        } else {
          connection.close();
        }
      },
    };
  };

  #pass(deliver: () => void): void {
    if (this.#held !== undefined) {
      this.#held.push(deliver);
    } else if (!this.#isCut) {
      deliver();
    }
  }
}

function typeOf(text: string): string {
  return (JSON.parse(text) as { type: string }).type;
}
