import { Timer, type Clock } from "./clock.js";
import { PresenceError } from "./codes.js";

/** Why a token is asked for: to connect, as the last one was refused, or as it runs out. */
export type TokenReason = "connect" | "refused" | "expiring";

export type GetToken = (reason: TokenReason) => string | Promise<string>;

const PROVIDER_WITHIN_MS = 10_000;
/** A token is used again only if it lives so much longer. */
const SPARE_MS = 30_000;

/** The app's tokens: at most one question at a time, no old one where a fresh one is needed. */
export class TokenSource {
  readonly #getToken: GetToken;
  readonly #clock: Clock;
  #held: { token: string; expiresAt: number } | undefined;
  #wasRefused = false;
  #asking: Promise<string> | undefined;
  #stopAsking = (): void => {};

  constructor(getToken: GetToken, clock: Clock) {
    this.#getToken = getToken;
    this.#clock = clock;
  }

  /** The token to say hello with. `serverNow` in the server's time. */
  current(serverNow: number): Promise<string> {
    const held = this.#held;
    return held && held.expiresAt - serverNow > SPARE_MS
      ? Promise.resolve(held.token)
      : this.fetch(this.#wasRefused ? "refused" : "connect");
  }

  /** A new one from the app. Rejects with `tokenFailed` if that throws or takes over 10 s. */
  fetch(reason: TokenReason): Promise<string> {
    this.#held = undefined;
    this.#asking ??= this.#ask(reason);
    return this.#asking;
  }

  /** The server told how long the token lives; only such a token is used again. */
  accepted(token: string, expiresAt = 0): void {
    this.#wasRefused = false;
    this.#held = { token, expiresAt };
  }

  refused(): void {
    this.#wasRefused = true;
    this.#held = undefined;
  }

  /** Forgets all; an answer that is still on its way is dropped. */
  forget(): void {
    this.#stopAsking();
    this.#held = undefined;
    this.#wasRefused = false;
  }

  #ask(reason: TokenReason): Promise<string> {
    return new Promise((resolve, reject) => {
      const timer = new Timer(this.#clock);
      const stop = () => {
        timer.stop();
        if (this.#stopAsking === stop) {
          this.#asking = undefined;
        }
      };
      this.#stopAsking = stop;
      const fail = (text: string, cause?: unknown) => {
        stop();
        reject(new PresenceError("tokenFailed", text, { temporary: true, cause }));
      };
      timer.start(PROVIDER_WITHIN_MS, () => fail("getToken took over 10 s"));
      new Promise<string>((take) => take(this.#getToken(reason))).then(
        (token) => {
          if (typeof token === "string" && token !== "") {
            stop();
            resolve(token);
          } else {
            fail("getToken gave no token");
          }
        },
        (error: unknown) => fail("getToken failed", error),
      );
    });
  }
}
