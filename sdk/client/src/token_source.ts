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
  readonly #timer: Timer;
  #held: { token: string; expiresAt: number } | undefined;
  #wasRefused = false;
  #asking: Promise<string> | undefined;
  #generation = 0;

  constructor(getToken: GetToken, clock: Clock) {
    this.#getToken = getToken;
    this.#timer = new Timer(clock);
  }

  /** The token to say hello with. `serverNow` in the server's time. */
  current(serverNow: number): Promise<string> {
    if (this.#held !== undefined && this.#held.expiresAt - serverNow > SPARE_MS) {
      return Promise.resolve(this.#held.token);
    }
    return this.fetch(this.#wasRefused ? "refused" : "connect");
  }

  /** A new one from the app. Rejects with `tokenFailed` if that throws or takes over 10 s. */
  fetch(reason: TokenReason): Promise<string> {
    this.#held = undefined;
    if (this.#asking === undefined) {
      const asking: Promise<string> = this.#ask(reason, this.#generation).finally(() => {
        if (this.#asking === asking) {
          this.#asking = undefined;
        }
      });
      this.#asking = asking;
    }
    return this.#asking;
  }

  /** The server told how long the token lives; only such a token is used again. */
  accepted(token: string, expiresAt: number | undefined): void {
    this.#wasRefused = false;
    this.#held = expiresAt === undefined ? undefined : { token, expiresAt };
  }

  refused(): void {
    this.#wasRefused = true;
    this.#held = undefined;
  }

  /** Forgets all; an answer that is still on its way is dropped. */
  forget(): void {
    this.#generation++;
    this.#held = undefined;
    this.#wasRefused = false;
    this.#asking = undefined;
    this.#timer.stop();
  }

  #ask(reason: TokenReason, generation: number): Promise<string> {
    return new Promise((resolve, reject) => {
      const fail = (message: string, cause?: unknown) => {
        if (generation === this.#generation) {
          this.#timer.stop();
        }
        reject(new PresenceError("tokenFailed", message, { temporary: true, cause }));
      };
      this.#timer.start(PROVIDER_WITHIN_MS, () => fail("getToken did not answer within 10 s"));
      const asked = new Promise<string>((take) => take(this.#getToken(reason)));
      asked.then(
        (token) => {
          if (typeof token !== "string" || token === "") {
            fail("getToken gave no token");
            return;
          }
          if (generation === this.#generation) {
            this.#timer.stop();
          }
          resolve(token);
        },
        (error: unknown) => fail("getToken failed", error),
      );
    });
  }
}
