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
  declare readonly code: ErrorCode;
  declare readonly temporary: boolean;
  declare readonly retryAfterMs: number | undefined;
  declare readonly limit: number | undefined;
  declare readonly closeCode: number | undefined;

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, details);
    const { temporary = false, retryAfterMs, limit, closeCode } = details;
    Object.assign(this, { code, temporary, retryAfterMs, limit, closeCode });
  }
}

/** Temporary, and not the fault of the request: there is no connection, or it ended. */
export function notConnected(): PresenceError {
  return new PresenceError("disconnected", "not connected", { temporary: true });
}

/** The server refuses the token; with another one it may go on. */
export const TOKEN_REFUSED = 4401;
/** The link is dead: nothing was heard for too long. */
export const LINK_DEAD = 4408;

// Something that we sent was wrong and would be refused again, or all was said.
const STOPS = [1000, 1002, 1003, 1007, 1008, 1009];
const COMES_BACK = [TOKEN_REFUSED, LINK_DEAD, 4429];

/** Whether a close with this code is the end: to connect again would be refused again. */
export function isFinal(code: number): boolean {
  return code >= 4400 && code <= 4499 ? !COMES_BACK.includes(code) : STOPS.includes(code);
}
