import { Backoff, type BackoffOptions } from "./backoff.js";
import { Timer, type Clock } from "./clock.js";
import { closeAction, PresenceError } from "./codes.js";
import { Connection } from "./connection.js";
import type { Environment } from "./environment.js";
import type { ClientRequest, ServerMessage, Welcome } from "./protocol.js";
import type { AnswerHandler } from "./requests.js";
import type { ServerClock } from "./server_clock.js";
import type { TokenSource } from "./token_source.js";
import type { Transport } from "./transport.js";

export type LinkState = "disconnected" | "connecting" | "ready";

/** State of the connection, frozen. */
export interface ConnectionStatus {
  readonly state: LinkState;
  /** Why it is not ready: a close reason, or a word of this library. */
  readonly reason?: string;
  readonly closeCode?: number;
  /** When the next attempt is due, by this machine's clock. */
  readonly retryAt?: number;
}

export interface LinkOptions {
  url: string;
  transport: Transport;
  clock: Clock;
  random: () => number;
  environment: Environment;
  backoff: BackoffOptions;
  tokens: TokenSource;
  serverClock: ServerClock;
  /** What hello says beside token and resume. */
  helloFields: () => Record<string, unknown>;
  beatFields: () => Record<string, unknown>;
}

export interface LinkEvents {
  status(status: ConnectionStatus): void;
  ready(welcome: Welcome): void;
  message(message: ServerMessage): void;
  doubted(): void;
  answered(): void;
  error(error: PresenceError): void;
}

/** So many refused tokens in a row end it; the second retry waits. */
const MOST_REFUSALS = 3;
const MOST_TOKEN_FAILURES = 4;
const AUTH_RETRY_MS = 30_000;
const WAKE_WINDOW_MS = 1_000;
const HINT_SPREAD_MS = 5_000;

/**
 * Keeps one connection alive: token, hello with resume, reconnects.
 *
 * Each attempt has a number. What was begun under another number (a token, a timer, a socket) is
 * ignored when it comes back.
 */
export class Link {
  readonly #options: LinkOptions;
  readonly #events: LinkEvents;
  readonly #backoff: Backoff;
  readonly #retryTimer: Timer;
  readonly #drainTimer: Timer;
  #connection: Connection | undefined;
  #attempt = 0;
  #isWanted = false;
  #isPutAway = false;
  #status: ConnectionStatus = Object.freeze({ state: "disconnected" });
  #resume: string | undefined;
  #token = "";
  #readyAt: number | undefined;
  #steadyAfterMs = 0;
  #drainDueAt: number | undefined;
  #notBefore = 0;
  #lastAttemptAt = -Infinity;
  #refusals = 0;
  #tokenFailures = 0;
  #stoppedForToken = false;

  constructor(options: LinkOptions, events: LinkEvents) {
    this.#options = options;
    this.#events = events;
    this.#backoff = new Backoff(options.backoff, options.random);
    this.#retryTimer = new Timer(options.clock);
    this.#drainTimer = new Timer(options.clock);
  }

  get status(): ConnectionStatus {
    return this.#status;
  }

  /** Connects, and reconnects from then on. Does nothing where that is already so. */
  start(): void {
    if (!this.#isWanted) {
      this.#isWanted = true;
      this.#isPutAway = false;
      this.#resetCounts();
      this.#connect();
    }
  }

  /** An attempt now, whatever the backoff says; a running connection is replaced. */
  reconnectNow(): void {
    this.#isWanted = true;
    this.#isPutAway = false;
    this.#resetCounts();
    this.#connect();
  }

  /** Closes without goodbye: the server keeps the session for the grace, and `start` resumes it. */
  stop(reason: string): void {
    this.#isWanted = false;
    this.#drop();
    this.#become({ state: "disconnected", reason });
  }

  /** Says goodbye, if it can, and forgets the session. */
  signOut(): void {
    if (this.#connection?.isReady) {
      this.#connection.tell({ type: "bye" });
    }
    this.#resume = undefined;
    this.#options.tokens.forget();
    this.stop("signedOut");
  }

  /** A page on its way out or frozen: closes without goodbye, and comes back once when shown. */
  putAway(): void {
    if (this.#isWanted && !this.#isPutAway) {
      this.#isPutAway = true;
      this.#drop();
      this.#become({ state: "disconnected", reason: "putAway" });
    }
  }

  /** The network is back or the page is shown. Any number of calls makes one attempt a second. */
  wake(): void {
    if (this.#stoppedForToken) {
      this.#isWanted = true;
      this.#resetCounts();
    }
    if (!this.#isWanted) {
      return;
    }
    if (this.#connection?.isReady) {
      this.#connection.probe();
      return;
    }
    const isWaiting = this.#isPutAway || this.#retryTimer.isRunning || this.#stoppedForToken;
    this.#isPutAway = false;
    this.#stoppedForToken = false;
    if (isWaiting) {
      this.#hasten();
    }
  }

  /** Finds out now whether the link lives. */
  probe(): void {
    this.#connection?.probe();
  }

  get isReady(): boolean {
    return this.#connection?.isReady ?? false;
  }

  /** The answer comes from this connection or not at all. */
  ask(request: ClientRequest, handler: AnswerHandler): void {
    if (this.#connection?.isReady) {
      this.#connection.ask(request, handler);
    } else {
      handler.failed(new PresenceError("disconnected", "not connected", { temporary: true }));
    }
  }

  tell(request: ClientRequest): void {
    if (this.#connection?.isReady) {
      this.#connection.tell(request);
    }
  }

  /** A new token over the open connection, ahead of the end of the old one. */
  refreshToken(): void {
    const connection = this.#connection;
    this.#options.tokens.fetch("expiring").then(
      (token) => {
        if (connection !== this.#connection || !connection?.isReady) {
          return;
        }
        connection.ask(
          { type: "auth", token },
          {
            answered: (message) =>
              this.#options.tokens.accepted(token, (message as { expiresAt?: number }).expiresAt),
            failed: (error) => this.#events.error(error),
          },
        );
      },
      (error: PresenceError) => {
        if (connection === this.#connection) {
          this.#events.error(error);
        }
      },
    );
  }

  /** The server drains: stays until then, and comes back when told. */
  drain(afterMs: number): void {
    this.#drainDueAt = this.#options.clock.now() + afterMs;
    this.#drainTimer.start(afterMs, () => this.#connect());
  }

  #connect(): void {
    this.#drop();
    const attempt = ++this.#attempt;
    this.#lastAttemptAt = this.#options.clock.now();
    this.#become({ state: "connecting" });
    this.#options.tokens.current(this.#options.serverClock.now()).then(
      (token) => {
        if (attempt === this.#attempt) {
          this.#open(token);
        }
      },
      (error: PresenceError) => {
        if (attempt === this.#attempt) {
          this.#tokenFailed(error);
        }
      },
    );
  }

  #open(token: string): void {
    const { url, transport, clock, random, helloFields, beatFields } = this.#options;
    this.#token = token;
    this.#tokenFailures = 0;
    const hello = {
      type: "hello",
      token,
      ...(this.#resume === undefined ? {} : { resume: this.#resume }),
      ...helloFields(),
    };
    const connection = new Connection(
      { url, transport, clock, random, hello, beatFields },
      {
        ready: (welcome) => this.#welcomed(welcome),
        message: (message) => this.#events.message(message),
        doubted: () => this.#events.doubted(),
        answered: () => this.#events.answered(),
        lost: (code, reason, error) => this.#lost(code, reason, error),
      },
    );
    this.#connection = connection;
    connection.open();
  }

  #welcomed(welcome: Welcome): void {
    const { clock, tokens, serverClock } = this.#options;
    this.#resume = welcome.resume;
    this.#readyAt = clock.now();
    this.#steadyAfterMs = welcome.heartbeat.intervalMs;
    this.#backoff.limitFirst(welcome.graceMs / 2);
    serverClock.set(welcome.serverTime);
    tokens.accepted(this.#token, welcome.expiresAt);
    this.#events.ready(welcome);
    this.#become({ state: "ready" });
  }

  #lost(closeCode: number, reason: string, error: PresenceError | undefined): void {
    const now = this.#options.clock.now();
    const drainDueAt = this.#drainDueAt;
    // Only a connection that lasted shows that all is well; a server that accepts and closes at
    // once must not be hammered.
    const lasted = this.#readyAt !== undefined && now - this.#readyAt >= this.#steadyAfterMs;
    if (lasted) {
      this.#backoff.reset();
      this.#refusals = 0;
    }
    this.#drop();
    const why = { reason: reason || error?.code || "connectionLost", closeCode };
    const action = closeAction(closeCode);
    if (action === "stop") {
      // The session is over or another's; to resume it would only take it back.
      this.#resume = undefined;
      this.#stopFor("stopped", why);
    } else if (action === "refreshToken") {
      this.#tokenRefused(why);
    } else if (drainDueAt !== undefined) {
      const least = lasted ? 0 : this.#backoff.nextMs();
      this.#retry(Math.max(least, drainDueAt - now), why);
    } else if (action === "reconnectAfterHint" && error?.retryAfterMs !== undefined) {
      const hint = error.retryAfterMs;
      this.#notBefore = now + hint;
      const spread = this.#options.random() * Math.min(hint, HINT_SPREAD_MS);
      this.#retry(Math.max(hint + spread, this.#backoff.nextMs()), why);
    } else {
      this.#retry(this.#backoff.nextMs(), why);
    }
  }

  #tokenRefused(why: { reason: string; closeCode: number }): void {
    this.#options.tokens.refused();
    this.#refusals++;
    if (this.#refusals >= MOST_REFUSALS) {
      this.#stopFor("unauthorized", why);
    } else {
      // A first refusal is mostly a token that ran out: a new one, at once.
      this.#retry(this.#refusals === 1 ? 0 : this.#authDelayMs(), why);
    }
  }

  #tokenFailed(error: PresenceError): void {
    const why = { reason: "tokenFailed" };
    if (!this.#options.environment.isOnline()) {
      this.#retry(this.#backoff.nextMs(), why);
      return;
    }
    this.#tokenFailures++;
    this.#events.error(error);
    if (this.#tokenFailures >= MOST_TOKEN_FAILURES) {
      this.#stopFor("tokenFailed", why);
      // The app's endpoint may have been out of reach; a wake makes one more round.
      this.#stoppedForToken = true;
    } else {
      this.#retry(this.#authDelayMs(), why);
    }
  }

  #authDelayMs(): number {
    return AUTH_RETRY_MS * (1 + 0.5 * this.#options.random());
  }

  #retry(delayMs: number, why: { reason: string; closeCode?: number }): void {
    const retryAt = this.#options.clock.now() + delayMs;
    this.#retryTimer.start(delayMs, () => this.#connect());
    this.#become({ state: "connecting", ...why, retryAt });
  }

  /** Brings the waiting attempt forward, but not before what the server asked for. */
  #hasten(): void {
    const now = this.#options.clock.now();
    const sinceLastMs = Math.max(0, now - this.#lastAttemptAt);
    const least = Math.max(0, WAKE_WINDOW_MS - sinceLastMs, this.#notBefore - now);
    const delay = least + (this.#options.random() * WAKE_WINDOW_MS) / 2;
    const retryAt = now + delay;
    if (this.#retryTimer.isRunning && (this.#status.retryAt ?? Infinity) <= retryAt) {
      return;
    }
    this.#retry(delay, { reason: this.#status.reason ?? "woke" });
  }

  #stopFor(
    code: "stopped" | "unauthorized" | "tokenFailed",
    why: { reason: string; closeCode?: number },
  ): void {
    this.#isWanted = false;
    this.#become({ state: "disconnected", ...why });
    const details = why.closeCode === undefined ? {} : { closeCode: why.closeCode };
    this.#events.error(new PresenceError(code, `will not reconnect: ${why.reason}`, details));
  }

  /** Ends the connection and everything that belongs to it. */
  #drop(): void {
    this.#attempt++;
    this.#retryTimer.stop();
    this.#drainTimer.stop();
    this.#drainDueAt = undefined;
    this.#readyAt = undefined;
    const connection = this.#connection;
    this.#connection = undefined;
    connection?.close();
  }

  #resetCounts(): void {
    this.#backoff.reset();
    this.#refusals = 0;
    this.#tokenFailures = 0;
    this.#notBefore = 0;
    this.#stoppedForToken = false;
  }

  #become(status: ConnectionStatus): void {
    const same =
      status.state === this.#status.state &&
      status.reason === this.#status.reason &&
      status.retryAt === this.#status.retryAt &&
      status.closeCode === this.#status.closeCode;
    if (!same) {
      this.#status = Object.freeze(status);
      this.#events.status(this.#status);
    }
  }
}
