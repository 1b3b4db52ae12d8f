import type { Clock } from "./clock.js";
import type { PresenceError } from "./codes.js";
import type { Environment } from "./environment.js";
import type { ConnectionStatus } from "./link.js";
import type { Device, Health, Signal, Welcome } from "./protocol.js";
import type { GetToken } from "./token_source.js";
import type { Transport } from "./transport.js";

export interface ClientOptions {
  /** Of the WebSocket, such as `wss://presence.example.com/v1/connect`. Holds no token. */
  url: string;
  /** Gives a JWT of the user. Asked again when one is refused or about to run out. */
  getToken: GetToken;
  device?: Device;
  /** True: may watch but does not count as present. */
  observe?: boolean;
  /** Without input for so long the person counts as idle; false: the app calls `setActivity`. */
  idleAfterMs?: number | false;
  /** Listeners hear of changes at most so often. */
  batchMs?: number;
  backoff?: { firstMs?: number; capMs?: number };
  /**
   * Under this name the session is kept over a reload of the page; by default the url. Needed where
   * one page holds clients of several people.
   */
  resumeKey?: string;
  transport?: Transport;
  clock?: Clock;
  random?: () => number;
  environment?: Environment;
}

export interface ClientEvents {
  connection: ConnectionStatus;
  /** A session was begun or resumed. */
  session: Welcome;
  health: Health;
  /** Users whose visible presence has changed, once a batch. */
  presence: ReadonlySet<string>;
  /** Rooms in which something has changed, once a batch. */
  room: ReadonlySet<string>;
  /** Each signal as it comes, those about typing too. */
  signal: Signal;
  /** What no promise of the app's tells: a refused watch or join, a failing token, an end for good. */
  error: PresenceError;
}
