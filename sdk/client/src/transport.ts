/** What a transport tells about its one connection. Nothing is called after `closed`. */
export interface TransportHandlers {
  opened(): void;
  received(text: string): void;
  /** 1006 where the connection broke or never came about. */
  closed(code: number, reason: string): void;
}

export interface TransportConnection {
  send(text: string): void;
  /** Starts to close. No handler is called from then on. */
  close(): void;
}

/** Opens one connection that carries text messages in order. */
export type Transport = (
  url: string,
  subprotocol: string,
  handlers: TransportHandlers,
) => TransportConnection;
