import { ActivityTracker } from "./activity.js";
import { checkIds, checkStatusChange } from "./bounds.js";
import { systemClock, type Clock } from "./clock.js";
import { PresenceError } from "./codes.js";
import { Emitter } from "./emitter.js";
import { pageEnvironment, type Environment } from "./environment.js";
import { Link, type ConnectionStatus } from "./link.js";
import type { ClientEvents, ClientOptions } from "./options.js";
import { PresenceMap, type MapListener, type UserListener } from "./presence_map.js";
import type {
  Activity,
  ClientRequest,
  Health,
  PrivacyRules,
  ServerMessage,
  StatusChange,
  UserPresence,
  Welcome,
  WirePresence,
} from "./protocol.js";
import { errorOf } from "./requests.js";
import { ServerClock } from "./server_clock.js";
import { TokenSource } from "./token_source.js";
import { WaitingRoom } from "./waiting_room.js";
import { WatchList } from "./watch_list.js";
import { webSocketTransport } from "./web_socket_transport.js";

const IDLE_AFTER_MS = 5 * 60_000;
const BATCH_MS = 200;
const UNWATCH_LINGER_MS = 200;
const DEFAULT_TEXT_LIMIT = 100;
const DEFAULT_TTL_MS = 100_000;

/** A client of one presence server, for one user at a time. */
export class PresenceClient {
  readonly #options: ClientOptions;
  readonly #emitter = new Emitter<ClientEvents>();
  readonly #link: Link;
  readonly #map: PresenceMap;
  readonly #watches: WatchList;
  readonly #waiting: WaitingRoom;
  readonly #serverClock: ServerClock;
  readonly #tracker: ActivityTracker | undefined;
  readonly #unlisten: () => void;
  #activity: Activity | undefined;
  #session: Welcome | undefined;
  #health: Health | undefined;
  #sessionStatus: StatusChange | undefined;
  #wasReady = false;
  #isDestroyed = false;

  /** Starts nothing but listeners for input and page visibility; `connect` does. */
  constructor(options: ClientOptions) {
    const clock = options.clock ?? systemClock;
    const environment = options.environment ?? pageEnvironment();
    this.#options = options;
    this.#serverClock = new ServerClock(clock);
    this.#map = new PresenceMap(clock, this.#serverClock, options.batchMs ?? BATCH_MS);
    this.#map.subscribe((changed) => this.#emitter.emit("presence", changed));
    this.#link = this.#makeLink(clock, environment);
    this.#waiting = new WaitingRoom(clock, (request, handler) => this.#link.ask(request, handler));
    this.#watches = new WatchList({
      clock,
      lingerMs: UNWATCH_LINGER_MS,
      knownVersion: (userId) => this.#map.knownVersion(userId),
      ask: (request, handler) => this.#link.ask(request, handler),
      mark: () => this.#map.updateCount,
      onSnapshot: (message, users, mark) => this.#takeSnapshot(message, users, mark),
      onForget: (users) => this.#map.forget(users),
      onError: (error) => this.#emitter.emit("error", error),
    });
    if (options.idleAfterMs !== false && environment.inputTarget) {
      this.#activity = "active";
      this.#tracker = new ActivityTracker(clock, {
        idleAfterMs: options.idleAfterMs ?? IDLE_AFTER_MS,
        target: environment.inputTarget,
        onChange: (state) => this.setActivity(state),
      });
    }
    this.#unlisten = environment.listen({
      woke: () => this.#link.wake(),
      wentOffline: () => this.#link.probe(),
      hidden: () => this.#hidden(),
      putAway: () => this.#link.putAway(),
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
    this.#link.reconnectNow();
  }

  /** Closes without goodbye: the session stays in grace and `connect` resumes it. */
  disconnect(): void {
    this.#link.stop("disconnected");
  }

  /** Ends this device's session now. Forgets token, session, watches and what was seen. */
  signOut(): void {
    this.#link.signOut();
    this.#forgetUser();
    this.#session = undefined;
  }

  /** Ends everything, without goodbye: no timer, listener or socket is left. Twice is fine. */
  destroy(): void {
    if (!this.#isDestroyed) {
      this.#isDestroyed = true;
      this.#unlisten();
      this.#tracker?.stop();
      this.#link.stop("destroyed");
      this.#forgetUser();
      this.#map.stop();
      this.#emitter.clear();
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

  // --- Others ---

  /** Watches users until the returned function is called. Calls add up per user. */
  watch(userIds: string | Iterable<string>): () => void {
    this.#checkAlive();
    const ids = typeof userIds === "string" ? [userIds] : [...userIds];
    checkIds(ids);
    return this.#watches.add(ids);
  }

  /** What is known of a user now: frozen, and the same object until something in it changes. */
  presence(userId: string): UserPresence {
    return this.#map.get(userId);
  }

  /** Hears of all changes, one call a batch. Does not watch. */
  subscribe(listener: MapListener): () => void {
    return this.#map.subscribe(listener);
  }

  /** Hears of one user. Does not watch. */
  subscribeUser(userId: string, listener: UserListener): () => void {
    return this.#map.subscribeUser(userId, listener);
  }

  /** One look without a watch. */
  async get(userIds: readonly string[]): Promise<readonly WirePresence[]> {
    checkIds(userIds);
    const answer = await this.#ask({ type: "get", users: userIds });
    return answer.type === "snapshot" ? answer.users : [];
  }

  // --- Oneself ---

  /** `appliedInMs`: the server has kept it, and applies it when its rate limit allows. */
  async setStatus(change: StatusChange): Promise<{ appliedInMs?: number }> {
    checkStatusChange(change, this.#session?.limits.customStatusText ?? DEFAULT_TEXT_LIMIT);
    const answer = await this.#ask({ type: "status", ...change });
    if (change.scope === "session") {
      this.#sessionStatus = change.status === "auto" ? undefined : change;
    }
    return answer.type === "ack" && answer.appliedInMs !== undefined
      ? { appliedInMs: answer.appliedInMs }
      : {};
  }

  /** Kept over reconnects. With the tracker on, input decides anew. */
  setActivity(state: Activity): void {
    if (this.#activity !== state) {
      this.#activity = state;
      this.#link.tell({ type: "activity", state });
    }
  }

  getPrivacy(): Promise<PrivacyRules> {
    return this.#askPrivacy({});
  }

  /** Gives the rules in force afterwards. */
  setPrivacy(rules: Partial<PrivacyRules>): Promise<PrivacyRules> {
    return this.#askPrivacy(rules);
  }

  async block(userIds: readonly string[]): Promise<void> {
    checkIds(userIds);
    await this.#ask({ type: "block", users: userIds });
  }

  async unblock(userIds: readonly string[]): Promise<void> {
    checkIds(userIds);
    await this.#ask({ type: "unblock", users: userIds });
  }

  // --- Inside ---

  #makeLink(clock: Clock, environment: Environment): Link {
    const { url, getToken, transport, random, backoff } = this.#options;
    return new Link(
      {
        url,
        transport: transport ?? webSocketTransport(),
        clock,
        random: random ?? Math.random,
        environment,
        backoff: { firstMs: backoff?.firstMs ?? 5_000, capMs: backoff?.capMs ?? 60_000 },
        tokens: new TokenSource(getToken, clock),
        serverClock: this.#serverClock,
        helloFields: () => this.#helloFields(),
        beatFields: () => this.#beatFields(),
      },
      {
        status: (status) => this.#statusChanged(status),
        ready: (welcome) => this.#welcomed(welcome),
        message: (message) => this.#received(message),
        doubted: () => this.#map.doubt(true),
        answered: () => this.#map.doubt(false),
        error: (error) => this.#emitter.emit("error", error),
      },
    );
  }

  #helloFields(): Record<string, unknown> {
    const { device, observe } = this.#options;
    return {
      ...(device === undefined ? {} : { device }),
      ...(this.#activity === undefined ? {} : { activity: this.#activity }),
      ...(observe === undefined ? {} : { observe }),
    };
  }

  /** The server takes a person without a recent report for idle, so beats repeat it. */
  #beatFields(): Record<string, unknown> {
    return this.#activity === "active" ? { idleMs: this.#tracker?.idleMs() ?? 0 } : {};
  }

  #welcomed(welcome: Welcome): void {
    if (this.#session !== undefined && this.#session.userId !== welcome.userId) {
      // Another user's token: nothing of what the former one saw may be shown.
      this.#map.clear();
      this.#sessionStatus = undefined;
    }
    this.#session = welcome;
    this.#map.linkUp();
    if (!welcome.resumed && this.#sessionStatus !== undefined) {
      this.#link.tell({ type: "status", ...this.#sessionStatus });
    }
    this.#watches.connected(welcome.limits);
    this.#emitter.emit("session", welcome);
    this.#setHealth(welcome.health);
  }

  #statusChanged(status: ConnectionStatus): void {
    if (status.state !== "ready") {
      this.#watches.disconnected();
    }
    if (status.state === "ready") {
      this.#waiting.open();
    } else if (this.#wasReady) {
      this.#map.linkDown(this.#session?.heartbeat.ttlMs ?? DEFAULT_TTL_MS);
    }
    if (status.state === "disconnected") {
      this.#waiting.refuse();
    }
    this.#wasReady = status.state === "ready";
    this.#emitter.emit("connection", status);
  }

  #received(message: ServerMessage): void {
    switch (message.type) {
      case "update":
        this.#map.applyUpdate(message.users, (userId) => this.#watches.isWatched(userId));
        break;
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
        this.#emitter.emit("error", errorOf(message));
        break;
      default:
        // Messages of later versions are ignored.
        break;
    }
  }

  #setHealth(health: Health): void {
    if (health.store !== this.#health?.store || health.since !== this.#health.since) {
      this.#health = Object.freeze({ ...health });
      this.#emitter.emit("health", this.#health);
    }
  }

  #takeSnapshot(message: ServerMessage, asked: readonly string[], mark: number): void {
    if (message.type === "snapshot") {
      const isWatched = (userId: string) => this.#watches.isWatched(userId);
      this.#map.applySnapshot(message.users, asked, mark, isWatched);
    }
  }

  /** Waits for the connection if there is none, and then for the answer. */
  #ask(request: ClientRequest): Promise<ServerMessage> {
    this.#checkAlive();
    return this.#waiting.ask(request, this.#link.status.state);
  }

  async #askPrivacy(rules: Partial<PrivacyRules>): Promise<PrivacyRules> {
    const answer = await this.#ask({ type: "privacy", ...rules });
    if (answer.type !== "privacy") {
      throw new PresenceError("internal", "the server answered something else");
    }
    return Object.freeze({ online: answer.online, lastSeen: answer.lastSeen });
  }

  #hidden(): void {
    const type = this.#options.device?.type;
    if (type === "mobile" || type === "tablet") {
      // A phone that is locked or put away gives no other sign.
      this.#tracker?.becomeIdle();
    }
  }

  #forgetUser(): void {
    this.#watches.clear();
    this.#map.clear();
    this.#sessionStatus = undefined;
  }

  #checkAlive(): void {
    if (this.#isDestroyed) {
      throw new PresenceError("stopped", "the client was destroyed");
    }
  }
}
