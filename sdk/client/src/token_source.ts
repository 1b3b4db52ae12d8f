import { Timer, type Clock } from "./clock.js";
import { PresenceError } from "./codes.js";

/** Why a token is asked for: to connect, as the last one was refused, or as it runs out. */
export type TokenReason = "connect" | "refused" | "expiring";

export type GetToken = (reason: TokenReason) => string | Promise<string>;

const PROVIDER_WITHIN_MS = 10_000;
/** A token is used again only if it lives so much longer. */
const SPARE_MS = 30_000;

/** The app's tokens: at most one question at a time, no old one where a fresh one is needed. */
export interface TokenSource {
  /** The token to say hello with. `serverNow` in the server's time. */
  current(serverNow: number): Promise<string>;
  /** A new one from the app. Rejects with `tokenFailed` if that throws or takes over 10 s. */
  ask(reason: TokenReason): Promise<string>;
  /** The server told how long the token lives; only such a token is used again. */
  accepted(token: string, expiresAt?: number): void;
  refused(): void;
  /** Forgets all; an answer that is still on its way is for nobody. */
  reset(): void;
}

export function makeTokenSource(getToken: GetToken, clock: Clock): TokenSource {
  const timer = new Timer(clock);
  let held: { token: string; expiresAt: number } | undefined;
  let wasRefused = false;
  let asking: Promise<string> | undefined;

  const endQuestion = () => {
    timer.stop();
    asking = undefined;
  };
  const question = async (reason: TokenReason): Promise<string> => {
    let cause: unknown;
    try {
      const token = await Promise.race([
        getToken(reason),
        new Promise<void>((late) => timer.start(PROVIDER_WITHIN_MS, late)),
      ]);
      if (typeof token === "string" && token) {
        return token;
      }
    } catch (error) {
      cause = error;
    }
    throw new PresenceError("tokenFailed", "no token within 10 s", {
      temporary: true,
      cause,
    });
  };
  const ask = (reason: TokenReason): Promise<string> => {
    held = undefined;
    if (!asking) {
      const mine = question(reason).finally(() => asking === mine && endQuestion());
      asking = mine;
    }
    return asking;
  };
  return {
    current: async (serverNow) =>
      held && held.expiresAt - serverNow > SPARE_MS
        ? held.token
        : ask(wasRefused ? "refused" : "connect"),
    ask,
    accepted(token, expiresAt = 0) {
      wasRefused = false;
      held = { token, expiresAt };
    },
    refused() {
      wasRefused = true;
      held = undefined;
    },
    reset() {
      endQuestion();
      wasRefused = false;
      held = undefined;
    },
  };
}
