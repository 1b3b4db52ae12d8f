// The calls of a back end. Each method bears the operationId of api/openapi.yaml.

import { Transport, asPresenceError, encoded, query } from "./transport.js";
import type {
  Beat,
  DeadLetter,
  DeclaredStatus,
  DeviceType,
  Explanation,
  News,
  Presence,
  Privacy,
  Readiness,
  RoomCount,
  RoomMember,
  Session,
  Stats,
  StatusChange,
  StreamEvent,
  TestResult,
  UserSet,
  UserSetChange,
  Webhooks,
} from "./types.js";
import { heardWithin, readEvents } from "./stream.js";

export interface PresenceServerOptions {
  /** "https://presence.example.com" */
  url: string;
  /** One of `auth.api_keys`. */
  apiKey: string;
  /** For one answer; 10,000 by default. */
  timeoutMs?: number;
  /** How often what failed for the moment is tried again; 2 by default. */
  retries?: number;
  /** A stream of which nothing is heard for so long is dead; 45,000 by default, as the server speaks every 15 s. */
  silenceMs?: number;
}

export interface Page {
  limit?: number;
  /** `next` of the page before. */
  cursor?: string;
}

const user = (userId: string, rest = "") => `/v1/users/${encoded(userId)}${rest}`;

/** For back ends: sees everything, and with `viewer` what that user would. */
export class PresenceServer {
  readonly #transport: Transport;
  readonly #apiKey: string;

  constructor(options: PresenceServerOptions) {
    const { url, apiKey, timeoutMs = 10_000, retries = 2, silenceMs = 45_000 } = options;
    this.#transport = new Transport({ url, timeoutMs, retries, silenceMs });
    this.#apiKey = apiKey;
  }

  /** Lets go of idle connections. */
  close(): void {
    this.#transport.close();
  }

  /** The calls of a user, by their token: for bots, and for what has no WebSocket. */
  as(token: string): UserCalls {
    return new UserCalls(this.#transport, token);
  }

  // -- What a viewer may see ---------------------------------------------------------------

  getPresence(userId: string, { viewer }: { viewer?: string } = {}): Promise<Presence> {
    return this.#get(user(userId, `/presence${query({ viewer })}`));
  }

  /** Up to `limits.query_users` (1,000), in the order asked, each once. */
  queryPresence(
    users: string[],
    { viewer }: { viewer?: string } = {},
  ): Promise<{ users: Presence[]; asOf: number }> {
    return this.#send("POST", `/v1/presence/query${query({ viewer })}`, { users });
  }

  getRoom(
    room: string,
    { viewer, limit, cursor }: Page & { viewer?: string } = {},
  ): Promise<RoomCount & { members: RoomMember[]; next?: string }> {
    return this.#get(`/v1/rooms/${encoded(room)}${query({ viewer, limit, cursor })}`);
  }

  listRooms({ prefix, limit, cursor }: Page & { prefix?: string } = {}): Promise<{
    rooms: RoomCount[];
    next?: string;
  }> {
    return this.#get(`/v1/rooms${query({ prefix, limit, cursor })}`);
  }

  // -- What a user says, and who may see it ------------------------------------------------

  getStatus(userId: string): Promise<DeclaredStatus> {
    return this.#get(user(userId, "/status"));
  }

  putStatus(userId: string, change: StatusChange): Promise<DeclaredStatus> {
    return this.#send("PUT", user(userId, "/status"), change);
  }

  deleteStatus(userId: string): Promise<void> {
    return this.#send("DELETE", user(userId, "/status"));
  }

  getPrivacy(userId: string): Promise<Privacy> {
    return this.#get(user(userId, "/privacy"));
  }

  putPrivacy(userId: string, rules: Partial<Privacy>): Promise<Privacy> {
    return this.#send("PUT", user(userId, "/privacy"), rules);
  }

  getContacts(userId: string): Promise<UserSet> {
    return this.#get(user(userId, "/contacts"));
  }

  putContacts(userId: string, users: string[]): Promise<UserSet> {
    return this.#send("PUT", user(userId, "/contacts"), { users });
  }

  changeContacts(userId: string, change: UserSetChange): Promise<UserSet> {
    return this.#send("POST", user(userId, "/contacts"), change);
  }

  getBlocks(userId: string): Promise<UserSet> {
    return this.#get(user(userId, "/blocks"));
  }

  putBlocks(userId: string, users: string[]): Promise<UserSet> {
    return this.#send("PUT", user(userId, "/blocks"), { users });
  }

  changeBlocks(userId: string, change: UserSetChange): Promise<UserSet> {
    return this.#send("POST", user(userId, "/blocks"), change);
  }

  // -- Administration ----------------------------------------------------------------------

  listSessions(userId: string): Promise<{ sessions: Session[] }> {
    return this.#get(user(userId, "/sessions"));
  }

  endSession(userId: string, sessionId: string): Promise<void> {
    return this.#send("DELETE", user(userId, `/sessions/${encoded(sessionId)}`));
  }

  /** Tokens issued before that moment are refused, and the sessions that live by one end. */
  revokeTokens(userId: string, before: number | Date): Promise<{ before: number }> {
    return this.#send("POST", user(userId, "/revoke"), { before: Number(before) });
  }

  /** Ends all sessions and erases all that is stored. */
  eraseUser(userId: string): Promise<void> {
    return this.#send("DELETE", user(userId));
  }

  /** With `at`, a moment of the last hour, also what was seen then, and why. */
  explainView(userId: string, viewer: string, { at }: { at?: number | Date } = {}): Promise<Explanation> {
    return this.#get(user(userId, `/explain${query({ viewer, at: at === undefined ? undefined : Number(at) })}`));
  }

  getStats(): Promise<Stats> {
    return this.#get("/v1/stats");
  }

  getWebhooks(): Promise<Webhooks> {
    return this.#get("/v1/webhooks");
  }

  listDeadLetters({ cursor }: { cursor?: string } = {}): Promise<{
    deadLetters: DeadLetter[];
    cursor?: string;
  }> {
    return this.#get(`/v1/webhooks/dead-letters${query({ cursor })}`);
  }

  testWebhooks(): Promise<{ results: TestResult[] }> {
    const call = { method: "POST", path: "/v1/webhooks/test", repeatable: false } as const;
    return this.#transport.json({ ...call, bearer: this.#apiKey });
  }

  // -- About the server --------------------------------------------------------------------

  getProtocol(): Promise<Record<string, unknown>> {
    return this.#get("/v1/protocol.json");
  }

  getOpenapi(): Promise<string> {
    return this.#text("/v1/openapi.yaml");
  }

  getMetrics(): Promise<string> {
    return this.#text("/metrics");
  }

  getVersion(): Promise<{ name: string; version: string; protocol: number }> {
    return this.#get("/version");
  }

  getHealth(): Promise<Record<string, unknown>> {
    return this.#get("/healthz");
  }

  /** Fails with `unavailable` where new clients are not welcome. */
  getReadiness(): Promise<Readiness> {
    return this.#transport.json({ method: "GET", path: "/readyz", repeatable: false });
  }

  #get<T>(path: string): Promise<T> {
    return this.#transport.json({ method: "GET", path, bearer: this.#apiKey });
  }

  #text(path: string): Promise<string> {
    return this.#transport.text({ method: "GET", path, bearer: this.#apiKey });
  }

  #send<T>(method: "PUT" | "POST" | "DELETE", path: string, body?: unknown): Promise<T> {
    return this.#transport.json({ method, path, body, bearer: this.#apiKey });
  }
}

/** What a user may do, and the server's eyes are those of the user. */
export class UserCalls {
  readonly #transport: Transport;
  readonly #token: string;

  constructor(transport: Transport, token: string) {
    this.#transport = transport;
    this.#token = token;
  }

  /** Is present without a WebSocket; again about every `intervalMs`. */
  beat(session: {
    deviceId: string;
    device?: { type: DeviceType; name?: string };
    activity?: "active" | "idle";
  }): Promise<Beat> {
    return this.#send("POST", "/v1/heartbeat", session);
  }

  signOut(deviceId: string): Promise<void> {
    return this.#send("DELETE", `/v1/heartbeat${query({ deviceId })}`);
  }

  /** Up to 100 users; `waitMs` well below the time-out of a call. */
  poll(users: string[], { cursor, waitMs }: { cursor?: string; waitMs?: number } = {}): Promise<News> {
    const rest = query({ cursor, waitMs }).replace("?", "&");
    return this.#send("GET", `/v1/poll?users=${users.map(encoded).join(",")}${rest}`);
  }

  /** The same for up to `limits.watch` users. */
  postPoll(
    users: string[],
    { cursor, waitMs }: { cursor?: string; waitMs?: number } = {},
  ): Promise<News> {
    return this.#send("POST", "/v1/poll", { users, cursor, waitMs });
  }

  /**
   * Snapshot and updates as they come, until the server ends it or the loop is left. Throws a PresenceError `network` where
   * the connection breaks or falls silent: open it again, with the `id` of the last event as `lastEventId`.
   */
  async *openStream(
    users: string[],
    { lastEventId }: { lastEventId?: string } = {},
  ): AsyncGenerator<StreamEvent, void> {
    const headers = lastEventId === undefined ? {} : { "last-event-id": lastEventId };
    const path = `/v1/stream?users=${users.map(encoded).join(",")}`;
    const response = await this.#transport.stream({ method: "GET", path, bearer: this.#token, headers });
    try {
      yield* readEvents(heardWithin(this.#transport.silenceMs, response));
    } catch (error) {
      throw asPresenceError(error);
    } finally {
      response.destroy();
    }
  }

  #send<T>(method: "GET" | "POST" | "DELETE", path: string, body?: unknown): Promise<T> {
    return this.#transport.json({ method, path, body, bearer: this.#token });
  }
}
