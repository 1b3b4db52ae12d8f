import { ActivityTracker } from "./activity.js";
import type { Clock } from "./clock.js";
import type { Environment } from "./environment.js";
import type { ClientOptions } from "./options.js";
import type { Activity, ClientRequest, StatusChange, Welcome } from "./protocol.js";
import type { ServerClock } from "./server_clock.js";

const IDLE_AFTER_MS = 5 * 60_000;

/**
 * What this device says of itself. It goes through connections, and each new one is told what the
 * server does not keep.
 */
export class OwnState {
  readonly #options: ClientOptions;
  readonly #environment: Environment;
  readonly #serverClock: ServerClock;
  readonly #tell: (request: ClientRequest) => void;
  readonly #tracker: ActivityTracker | undefined;
  #activity: Activity | undefined;
  #delivery: "live" | "paused" = "live";
  /** Of this session alone, so that it is lost with it. */
  #status: (ClientRequest & { expiresAt: number | undefined }) | undefined;

  constructor(
    options: ClientOptions,
    clock: Clock,
    environment: Environment,
    serverClock: ServerClock,
    tell: (request: ClientRequest) => void,
  ) {
    const { idleAfterMs = IDLE_AFTER_MS } = options;
    const target = environment.inputTarget;
    this.#options = options;
    this.#environment = environment;
    this.#serverClock = serverClock;
    this.#tell = tell;
    if (idleAfterMs !== false && target) {
      this.#activity = "active";
      const onChange = (state: Activity) => this.act(state);
      this.#tracker = new ActivityTracker(clock, { idleAfterMs, target, onChange });
    }
  }

  helloFields(): Record<string, unknown> {
    const { device, observe } = this.#options;
    return { device, observe, activity: this.#activity };
  }

  /** The server takes a person without a recent report for idle, so beats repeat it. */
  beatFields(): Record<string, unknown> {
    return this.#activity === "active" ? { idleMs: this.#tracker?.idleMs() ?? 0 } : {};
  }

  act(state: Activity): void {
    if (this.#activity !== state) {
      this.#activity = state;
      this.#tell({ type: "activity", state });
    }
  }

  deliver(mode: "live" | "paused"): void {
    if (this.#delivery !== mode) {
      this.#delivery = mode;
      this.#tell({ type: "delivery", mode });
    }
  }

  /** The server took a change. Custom status it keeps itself, whatever the scope. */
  took({ status, scope, expiresAt, expiresInMs }: StatusChange): void {
    if (scope === "session" && status) {
      const end = expiresInMs === undefined ? expiresAt : this.#serverClock.now() + expiresInMs;
      this.#status =
        status === "auto" ? undefined : { type: "status", status, scope, expiresAt: end };
    }
  }

  connected({ resumed, userId }: Welcome): void {
    const status = this.#status;
    if (!resumed && status && (status.expiresAt ?? Infinity) > this.#serverClock.now()) {
      this.#tell(status);
    }
    if (this.#delivery === "paused") {
      this.#tell({ type: "delivery", mode: "paused" });
    }
    // All tabs of a user are active while one is.
    const channel = `presenced ${this.#options.url} ${userId}`;
    this.#tracker?.share((heard) => this.#environment.openChannel?.(channel, heard));
  }

  disconnected(): void {
    this.#tracker?.share();
  }

  /** The page is hidden. A phone that is locked or put away gives no other sign. */
  pageHidden(): void {
    const type = this.#options.device?.type;
    if (type === "mobile" || type === "tablet") {
      this.#tracker?.becomeIdle();
    }
  }

  /** Another user, or none. */
  reset(): void {
    this.#status = undefined;
  }

  stop(): void {
    this.#tracker?.stop();
  }
}
