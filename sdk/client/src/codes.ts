/** Error words of the server, and those that the client makes up itself. */
export type ErrorCode =
  | "badRequest"
  | "unauthorized"
  | "forbidden"
  | "notFound"
  | "tooLarge"
  | "limitExceeded"
  | "rateLimited"
  | "conflict"
  | "unavailable"
  | "internal"
  /** The connection ended before the answer came, or there was none to send over. */
  | "disconnected"
  /** No answer in time. */
  | "timeout"
  /** `getToken` failed or did not answer. */
  | "tokenFailed"
  /** The server ended it for good; see `message`. */
  | "stopped";

export interface ErrorDetails {
  /** The same call may succeed later. */
  temporary?: boolean;
  retryAfterMs?: number;
  /** The bound that was exceeded. */
  limit?: number;
  /** Close code of the WebSocket, if it was closed. */
  closeCode?: number;
  cause?: unknown;
}

/** Every error that this library gives away. `code` is for programs, `message` for people. */
export class PresenceError extends Error {
  override readonly name = "PresenceError";
  readonly code: ErrorCode;
  readonly temporary: boolean;
  readonly retryAfterMs: number | undefined;
  readonly limit: number | undefined;
  readonly closeCode: number | undefined;

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.temporary = details.temporary ?? false;
    this.retryAfterMs = details.retryAfterMs;
    this.limit = details.limit;
    this.closeCode = details.closeCode;
  }
}

/**
 * What to do when the server has closed: give up, come back with growing delays, come back after
 * the server's hint, or fetch a new token first.
 */
export type CloseAction = "stop" | "reconnect" | "reconnectAfterHint" | "refreshToken";

const ACTIONS = new Map<number, CloseAction>([
  [1000, "stop"],
  // Something that we sent was wrong; it would be refused again.
  [1002, "stop"],
  [1003, "stop"],
  [1007, "stop"],
  [1008, "stop"],
  [1009, "stop"],
  [1012, "reconnectAfterHint"],
  [1013, "reconnectAfterHint"],
  [4400, "stop"],
  [4401, "refreshToken"],
  [4403, "stop"],
  [4408, "reconnect"],
  [4409, "stop"],
  [4429, "reconnectAfterHint"],
]);

export function closeAction(code: number): CloseAction {
  const known = ACTIONS.get(code);
  if (known !== undefined) {
    return known;
  }
  return code >= 4400 && code <= 4499 ? "stop" : "reconnect";
}

/** A code that a browser accepts in `close()`: anything else throws there. */
export function sendableCloseCode(code: number | undefined): number {
  const isAllowed = code !== undefined && Number.isInteger(code) && code >= 3000 && code <= 4999;
  return isAllowed ? code : 1000;
}
