import { checkIds } from "./bounds.js";
import { systemClock, type Clock } from "./clock.js";
import { PresenceError } from "./codes.js";
import { Emitter } from "./emitter.js";
import { pageEnvironment, type Environment } from "./environment.js";
import { freeze, isSame } from "./frozen.js";
import { Known } from "./known.js";
import { Link, type ConnectionStatus } from "./link.js";
import type { ClientEvents, ClientOptions } from "./options.js";
import { OwnState } from "./own_state.js";
import type { UserListener } from "./presence_map.js";
import type {
  Activity,
  ClientRequest,
  Health,
  JoinOptions,
  PrivacyRules,
  RoomView,
  ServerMessage,
  SignalRequest,
  StatusChange,
  Target,
  UserPresence,
  Welcome,
  WirePresence,
} from "./protocol.js";
import { errorOf } from "./requests.js";
import { makeServerClock, type ServerClock } from "./server_clock.js";
import { settled } from "./settled.js";
import { makeTokenSource } from "./token_source.js";
import { webSocketTransport } from "./web_socket_transport.js";

const BATCH_MS = 200;

/** A client of one presence server, for one user at a time. */
export class PresenceClient {
  readonly #options: ClientOptions;
  readonly #clock: Clock;
  readonly #environment: Environment;
  readonly #emitter = new Emitter<ClientEvents>();
  readonly #link: Link;
  readonly #known: Known;
  readonly #serverClock: ServerClock;
  readonly #own: OwnState;
  readonly #unlisten: () => void;
  #session: Welcome | undefined;
  #health: Health | undefined;
  #wasReady = false;
  #isDestroyed = false;

  /** Starts nothing but listeners for input and page visibility; `connect` does. */
  constructor(options: ClientOptions) {
    const { clock = systemClock, environment = pageEnvironment(), batchMs = BATCH_MS } = options;
    this.#options = options;
    this.#clock = clock;
    this.#environment = environment;
    this.#serverClock = makeServerClock(clock);
    this.#link = this.#makeLink();
    this.#known = new Known(
      {
        clock,
        ask: (...question) => this.#link.ask(...question),
        tell: (request) => this.#link.tell(request),
        report: (error) => this.#report(error),
      },
      this.#serverClock,
      batchMs,
      this.#emitter,
    );
    this.#own = new OwnState(options, clock, environment, this.#serverClock, (request) =>
      this.#link.tell(request),
    );
    this.#unlisten = environment.listen({
      woke: () => this.#link.wake(),
      wentOffline: () => this.#link.probe(),
      hidden: () => this.#own.pageHidden(),
      putAway: (isLeaving) => this.#link.stow(isLeaving),
    });
  }

  // --- Connection ---

  get connection(): ConnectionStatus {
    return this.#link.status;
  }

  /** Of the latest session; undefined before the first and after signing out. */
  get session(): Welcome | undefined {
    return this.#session;
  }

  get health(): Health | undefined {
    return this.#health;
  }

  /** Connects and stays connected. */
  connect(): void {
    this.#checkAlive();
    this.#link.start();
  }

  /** Tries now, whatever the backoff says. */
  reconnectNow(): void {
    this.#checkAlive();
    this.#link.retryNow();
  }

  /** Closes without goodbye: the session stays in grace and `connect` resumes it. */
  disconnect(): void {
    this.#link.stop("disconnected");
  }

  /** Ends this device's session now. Forgets token, session, watches, rooms and what was seen. */
  signOut(): void {
    this.#link.signOut();
    this.#known.reset();
    this.#own.reset();
    this.#session = undefined;
  }

  /** Ends everything, without goodbye: no timer, listener or socket is left. Twice is fine. */
  destroy(): void {
    if (!this.#isDestroyed) {
      this.#isDestroyed = true;
      this.#unlisten();
      this.#own.stop();
      this.#link.stop("destroyed");
      this.#known.stop();
      this.#emitter.reset();
    }
  }

  on<Name extends keyof ClientEvents>(
    name: Name,
    listener: (value: ClientEvents[Name]) => void,
  ): () => void {
    return this.#emitter.on(name, listener);
  }

  /** The server's time in milliseconds, for ages of what it tells. */
  serverNow(): number {
    return this.#serverClock.now();
  }

  /** `paused`: no news until `live`, which brings what changed. Others see no difference. */
  setDelivery(mode: "live" | "paused"): void {
    this.#own.deliver(mode);
  }

  // --- Others ---

  /** Watches users until the returned function is called. Calls add up per user. */
  watch(userIds: string | Iterable<string>): () => void {
    this.#checkAlive();
    const ids = typeof userIds === "string" ? [userIds] : [...userIds];
    checkIds(ids);
    return this.#known.watches.add(ids, undefined);
  }

  /** What is known of a user now: frozen, and the same object until something in it changes. */
  presence(userId: string): UserPresence {
    return this.#known.userStore.views.get(userId);
  }

  /** Hears of one user. Does not watch. */
  subscribeUser(userId: string, listener: UserListener): () => void {
    return this.#known.userStore.views.subscribe(userId, listener);
  }

  /** One look without a watch. */
  async get(userIds: readonly string[]): Promise<readonly WirePresence[]> {
    const answer = await this.#ask({ type: "get", users: userIds });
    return (answer as ServerMessage & { type: "snapshot" }).users;
  }

  // --- Rooms ---

  /**
   * Joins a room until the returned function is called. Calls add up; one that takes part outweighs
   * those that only observe, and of several the latest decides about `meta`.
   */
  join(room: string, options: JoinOptions = {}): () => void {
    this.#checkAlive();
    return this.#known.joins.add([room], { ...options });
  }

  /** What is known of a joined room: frozen, and the same object until something in it changes. */
  room(room: string): RoomView {
    return this.#known.roomStore.views.get(room);
  }

  /** Hears of one room. Does not join. */
  subscribeRoom(room: string, listener: (room: RoomView) => void): () => void {
    return this.#known.roomStore.views.subscribe(room, listener);
  }

  // --- Signals ---

  /** Who is typing in a room, or to this user: `{ userId }` names who types. */
  typing(to: Target): readonly string[] {
    return this.#known.typists.get(to);
  }

  subscribeTyping(to: Target, listener: (userIds: readonly string[]) => void): () => void {
    return this.#known.typists.subscribe(to, listener);
  }

  /**
   * Call it with each key. The server is told at most every 3 s; 5 s after the last call it is over
   * by itself, and with false at once.
   */
  setTyping(to: Target, isTyping = true): void {
    if (this.#link.isReady) {
      this.#known.typists.set(to, isTyping);
    }
  }

  /** Any signal; resolves once the server has taken it. */
  async signal(request: SignalRequest): Promise<void> {
    await this.#ask({ type: "signal", ...request });
  }

  // --- Oneself ---

  /** `appliedInMs`: the server has kept it, and applies it when its rate limit allows. */
  async setStatus(change: StatusChange): Promise<{ appliedInMs?: number }> {
    const answer = await this.#ask({ type: "status", ...change });
    this.#own.took(change);
    const { appliedInMs } = answer as { appliedInMs?: number };
    return appliedInMs ? { appliedInMs } : {};
  }

  /** Kept over reconnects. With the tracker on, input decides anew. */
  setActivity(state: Activity): void {
    this.#own.act(state);
  }

  getPrivacy(): Promise<PrivacyRules> {
    return this.setPrivacy({});
  }

  /** Gives the rules in force afterwards. */
  async setPrivacy(rules: Partial<PrivacyRules>): Promise<PrivacyRules> {
    const { online, lastSeen } = (await this.#ask({ type: "privacy", ...rules })) as ServerMessage &
      PrivacyRules;
    return freeze({ online, lastSeen });
  }

  async block(users: readonly string[]): Promise<void> {
    await this.#ask({ type: "block", users });
  }

  async unblock(users: readonly string[]): Promise<void> {
    await this.#ask({ type: "unblock", users });
  }

  // --- Inside ---

  #makeLink(): Link {
    const clock = this.#clock;
    const {
      url,
      getToken,
      backoff,
      transport = webSocketTransport(),
      random = Math.random,
      resumeKey = url,
    } = this.#options;
    return new Link(
      {
        url,
        transport,
        clock,
        random,
        environment: this.#environment,
        backoff: { firstMs: 5_000, capMs: 60_000, ...backoff },
        tokens: makeTokenSource(getToken, clock),
        serverClock: this.#serverClock,
        resumeKey: `presenced ${resumeKey}`,
        helloFields: () => this.#own.helloFields(),
        beatFields: () => this.#own.beatFields(),
      },
      {
        status: (status) => this.#statusChanged(status),
        connected: (welcome) => this.#welcomed(welcome),
        hear: (message) => this.#received(message),
        doubt: (isDoubted) => this.#known.doubt(isDoubted),
        report: (error) => this.#report(error),
      },
    );
  }

  #welcomed(welcome: Welcome): void {
    if (this.#session?.userId !== welcome.userId) {
      this.#known.forgetSeen();
      this.#own.reset();
    }
    this.#session = welcome;
    this.#own.connected(welcome);
    this.#known.connected(welcome.limits);
    this.#emitter.emit("session", welcome);
    this.#setHealth(welcome.health);
  }

  #statusChanged(status: ConnectionStatus): void {
    const isReady = status.state === "ready";
    if (!isReady) {
      this.#known.disconnected();
      if (this.#wasReady) {
        this.#own.disconnected();
        this.#known.linkDown((this.#session as Welcome).heartbeat.ttlMs);
      }
    }
    this.#wasReady = isReady;
    this.#emitter.emit("connection", status);
  }

  #received(message: ServerMessage): void {
    this.#known.hear(message, this.#session?.userId);
    switch (message.type) {
      case "health":
        this.#setHealth({ store: message.store, since: message.since });
        break;
      case "heartbeatAck":
        this.#serverClock.set(message.serverTime);
        break;
      case "tokenExpiring":
        this.#link.refreshToken();
        break;
      case "reconnect":
        this.#link.drain(message.afterMs);
        break;
      case "error":
        this.#report(errorOf(message));
        break;
      default:
        // Messages of later versions are ignored.
        break;
    }
  }

  #setHealth(health: Health): void {
    if (!isSame(health, this.#health)) {
      this.#health = freeze(health);
      this.#emitter.emit("health", health);
    }
  }

  /** Waits for a connection that is on its way, up to 15 s, and then for the answer. */
  async #ask(request: ClientRequest): Promise<ServerMessage> {
    this.#checkAlive();
    if (this.#link.status.state === "connecting") {
      await settled(this.#clock, this.#emitter);
    }
    return new Promise((answered, failed) => this.#link.ask(request, answered, failed));
  }

  /** A lost connection is told by its state, not as an error of each request on it. */
  #report(error: PresenceError): void {
    if (error.code !== "disconnected") {
      this.#emitter.emit("error", error);
    }
  }

  #checkAlive(): void {
    if (this.#isDestroyed) {
      throw new PresenceError("stopped", "destroyed");
    }
  }
}
