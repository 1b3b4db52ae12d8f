import { Backoff, type BackoffOptions } from "./backoff.js";
import { Timer, type Clock } from "./clock.js";
import { isFinal, notConnected, PresenceError, TOKEN_REFUSED } from "./codes.js";
import { Connection } from "./connection.js";
import type { Environment } from "./environment.js";
import { freeze, isSame } from "./frozen.js";
import type { ClientRequest, ServerMessage, Welcome } from "./protocol.js";
import type { Ask } from "./requests.js";
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
  /** Under this name the resume secret is kept over a reload of the page. */
  resumeKey: string;
  /** What hello says beside token and resume. */
  helloFields: () => Record<string, unknown>;
  beatFields: () => Record<string, unknown>;
}

export interface LinkEvents {
  status(status: ConnectionStatus): void;
  connected(welcome: Welcome): void;
  hear(message: ServerMessage): void;
  doubt(isDoubted: boolean): void;
  report(error: PresenceError): void;
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
 *
 * The resume secret lies in the tab's storage only while no page of it lives: it is put there when
 * the page leaves and taken out by the next one. So a reload keeps its session, and a duplicated
 * tab, which copies the storage of a page that lives, finds nothing to steal.
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
  #status: ConnectionStatus = freeze({ state: "disconnected" });
  #resume: string | undefined;
  #readyAt = Infinity;
  #steadyAfterMs = 0;
  #drainDueAt = 0;
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
      this.retryNow();
    }
  }

  /** An attempt now, whatever the backoff says; a running connection is replaced. */
  retryNow(): void {
    this.#isWanted = true;
    this.#isPutAway = false;
    this.#resetCounts();
    this.#connect();
  }

  /** Closes without goodbye: the server keeps the session for the grace, and `start` resumes it. */
  stop(reason: string): void {
    this.#isWanted = false;
    this.#stoppedForToken = false;
    this.#drop();
    this.#become({ state: "disconnected", reason });
  }

  /** Says goodbye, if it can, and forgets the session. */
  signOut(): void {
    this.tell({ type: "bye" });
    this.#resume = undefined;
    this.#options.tokens.reset();
    this.stop("signedOut");
  }

  /** A page on its way out or frozen: closes without goodbye, and comes back once when shown. */
  stow(isLeaving = false): void {
    const { environment, resumeKey } = this.#options;
    if (this.#isWanted && !this.#isPutAway) {
      this.#isPutAway = true;
      this.#drop();
      this.#become({ state: "disconnected", reason: "putAway" });
    }
    if (isLeaving && this.#isWanted && this.#resume) {
      environment.stash?.(resumeKey, this.#resume);
    }
  }

  /** The network is back or the page is shown. Any number of calls makes one attempt a second. */
  wake(): void {
    if (this.#isPutAway && !this.#options.environment.isVisible()) {
      return;
    }
    const isWaiting = this.#isPutAway || this.#retryTimer.isRunning || this.#stoppedForToken;
    if (this.#stoppedForToken) {
      this.#isWanted = true;
      this.#resetCounts();
    }
    this.#isPutAway = false;
    if (this.#isWanted && isWaiting) {
      this.#hasten();
    } else {
      this.probe();
    }
  }

  /** Finds out now whether the link lives. */
  probe(): void {
    if (this.isReady) {
      this.#connection?.probe();
    }
  }

  get isReady(): boolean {
    return this.#connection?.isReady ?? false;
  }

  /** The answer comes from this connection or not at all. */
  ask(...question: Parameters<Ask>): void {
    if (this.isReady) {
      this.#connection?.ask(...question);
    } else {
      question[2](notConnected());
    }
  }

  tell(request: ClientRequest): void {
    if (this.isReady) {
      this.#connection?.tell(request);
    }
  }

  /** A new token over the open connection, ahead of the end of the old one. */
  refreshToken(): void {
    const { tokens } = this.#options;
    const attempt = this.#attempt;
    const failed = (error: PresenceError) =>
      attempt === this.#attempt && this.#events.report(error);
    tokens.ask("expiring").then((token) => {
      if (attempt === this.#attempt) {
        this.ask(
          { type: "auth", token },
          (message) => tokens.accepted(token, (message as { expiresAt?: number }).expiresAt),
          failed,
        );
      }
    }, failed);
  }

  /** The server drains: stays until then, and comes back when told. */
  drain(afterMs: number): void {
    this.#drainDueAt = this.#options.clock.now() + afterMs;
    this.#drainTimer.start(afterMs, () => this.#connect());
  }

  #connect(): void {
    this.#drop();
    const attempt = this.#attempt;
    const { clock, tokens, serverClock } = this.#options;
    this.#lastAttemptAt = clock.now();
    this.#become({ state: "connecting" });
    tokens.current(serverClock.now()).then(
      (token) => attempt === this.#attempt && this.#open(token),
      (error: PresenceError) => attempt === this.#attempt && this.#tokenFailed(error),
    );
  }

  #open(token: string): void {
    this.#tokenFailures = 0;
    const { environment, resumeKey, helloFields } = this.#options;
    // What another page of this tab left is newer than what this one remembers.
    this.#resume = environment.stash?.(resumeKey) ?? this.#resume;
    const hello = { type: "hello", token, resume: this.#resume, ...helloFields() };
    this.#connection = new Connection(
      { ...this.#options, hello },
      {
        ...this.#events,
        connected: (welcome) => this.#welcomed(welcome, token),
        lost: (code, reason, error) => this.#lost(code, reason, error),
      },
    );
    this.#connection.start();
  }

  #welcomed(welcome: Welcome, token: string): void {
    const { clock, tokens, serverClock } = this.#options;
    this.#resume = welcome.resume;
    this.#readyAt = clock.now();
    this.#steadyAfterMs = welcome.heartbeat.intervalMs;
    this.#backoff.limitFirst(welcome.graceMs / 2);
    serverClock.set(welcome.serverTime);
    tokens.accepted(token, welcome.expiresAt);
    this.#events.connected(welcome);
    // The app may have ended it as it heard of the session.
    if (this.isReady) {
      this.#become({ state: "ready" });
    }
  }

  #lost(closeCode: number, reason: string, error: PresenceError | undefined): void {
    const { clock, random, tokens } = this.#options;
    const now = clock.now();
    const drainDueAt = this.#drainDueAt;
    // Only a connection that lasted shows that all is well; a server that accepts and closes at
    // once must not be hammered.
    const hasLasted = now - this.#readyAt >= this.#steadyAfterMs;
    if (hasLasted) {
      this.#backoff.reset();
      this.#refusals = 0;
    }
    this.#drop();
    const why = { reason: reason || error?.code || "connectionLost", closeCode };
    if (isFinal(closeCode)) {
      // The session is over or another's; to resume it would only take it back.
      this.#resume = undefined;
      this.#stopFor("stopped", why);
    } else if (closeCode === TOKEN_REFUSED) {
      tokens.refused();
      this.#refusals++;
      if (this.#refusals >= MOST_REFUSALS) {
        this.#stopFor("unauthorized", why);
      } else {
        // A first refusal is mostly a token that ran out: a new one, at once.
        this.#retry(this.#refusals === 1 ? 0 : this.#authDelayMs(), why);
      }
    } else if (drainDueAt > 0) {
      this.#retry(Math.max(drainDueAt - now, hasLasted ? 0 : this.#backoff.nextMs()), why);
    } else {
      const hintMs = error?.retryAfterMs ?? 0;
      this.#notBefore = now + hintMs;
      const spreadMs = random() * Math.min(hintMs, HINT_SPREAD_MS);
      this.#retry(Math.max(hintMs + spreadMs, this.#backoff.nextMs()), why);
    }
  }

  #tokenFailed(error: PresenceError): void {
    const why = { reason: "tokenFailed" };
    if (!this.#options.environment.isOnline()) {
      this.#retry(this.#backoff.nextMs(), why);
      return;
    }
    this.#tokenFailures++;
    this.#events.report(error);
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
    const { clock, random } = this.#options;
    const now = clock.now();
    const sinceLastMs = Math.max(0, now - this.#lastAttemptAt);
    const leastMs = Math.max(0, WAKE_WINDOW_MS - sinceLastMs, this.#notBefore - now);
    const delayMs = leastMs + (random() * WAKE_WINDOW_MS) / 2;
    if (!this.#retryTimer.isRunning || now + delayMs < (this.#status.retryAt ?? 0)) {
      this.#retry(delayMs, { reason: this.#status.reason ?? "woke" });
    }
  }

  #stopFor(
    code: "stopped" | "unauthorized" | "tokenFailed",
    why: { reason: string; closeCode?: number },
  ): void {
    this.#isWanted = false;
    this.#become({ state: "disconnected", ...why });
    this.#events.report(new PresenceError(code, `ended: ${why.reason}`, why));
  }

  /** Ends the connection and everything that belongs to it. */
  #drop(): void {
    this.#attempt++;
    this.#retryTimer.stop();
    this.#drainTimer.stop();
    this.#drainDueAt = 0;
    this.#readyAt = Infinity;
    const connection = this.#connection;
    this.#connection = undefined;
    connection?.stop();
  }

  #resetCounts(): void {
    this.#backoff.reset();
    this.#refusals = 0;
    this.#tokenFailures = 0;
    this.#notBefore = 0;
    this.#stoppedForToken = false;
  }

  #become(status: ConnectionStatus): void {
    if (!isSame(status, this.#status)) {
      this.#status = freeze(status);
      this.#events.status(this.#status);
    }
  }
}
