// What the server's HTTP calls take and give: api/openapi.yaml in words of TypeScript. Times are milliseconds since the
// Unix epoch by the server's clock.

export type Status = "online" | "away" | "busy" | "dnd" | "invisible" | "offline" | "unknown";
export type DeclaredWord = "auto" | "online" | "away" | "busy" | "dnd" | "invisible";
export type DeviceType = "desktop" | "mobile" | "tablet" | "web" | "bot" | "other";

export interface CustomStatus {
  text?: string;
  emoji?: string;
  expiresAt?: number;
}

export interface LastSeen {
  granularity: "exact" | "recent" | "today" | "thisWeek" | "thisMonth" | "longAgo";
  at?: number;
}

export interface Presence {
  userId: string;
  status: Status;
  version: number;
  since?: number;
  customStatus?: CustomStatus;
  devices?: DeviceType[];
  lastSeen?: LastSeen;
  declared?: { status: DeclaredWord; scope: "user" | "session"; expiresAt?: number };
}

export interface DeclaredStatus {
  status: DeclaredWord;
  expiresAt?: number;
  customStatus?: CustomStatus;
}

/** At least `status` or `customStatus`; what is not named stays. */
export interface StatusChange {
  status?: DeclaredWord;
  expiresAt?: number;
  expiresInMs?: number;
  customStatus?: (CustomStatus & { expiresInMs?: number }) | null;
}

export interface Rule {
  mode: "everyone" | "contacts" | "contactsExcept" | "only" | "nobody";
  /** With `contactsExcept` and `only`. */
  users?: string[];
}

export interface Privacy {
  online: Rule;
  lastSeen: Rule;
}

export interface UserSet {
  users: string[];
}

export interface UserSetChange {
  add?: string[];
  remove?: string[];
}

export interface Session {
  sessionId: string;
  device: { type: DeviceType; name?: string };
  status?: DeclaredWord;
  statusExpiresAt?: number;
  customStatus?: CustomStatus;
  activity: "active" | "idle";
  observing: boolean;
  road: "webSocket" | "http";
  state: "live" | "grace";
  connectedAt: number;
  lastHeartbeatAt?: number;
  graceUntil?: number;
  node?: string;
}

export interface Explanation {
  viewer: string;
  subject: string;
  view: Presence;
  sessions: Session[];
  merge: { policy: string; declared: DeclaredStatus; result: Status };
  rules: { attribute: "online" | "lastSeen"; check: string; passes: boolean; why: string }[];
  /** With `at`: what stood at that moment, if `known`. */
  then?: {
    at: number;
    known: boolean;
    status?: Status;
    shown?: Status;
    seen?: Status;
    rulesChanged: boolean;
    because?: PastTransition;
  };
  past?: { since: number; complete: boolean; transitions: PastTransition[] };
}

export interface PastTransition {
  at: number;
  cause: string;
  node?: string;
  sessionId?: string;
  before?: { status: Status; shown: Status };
  after?: { status: Status; shown: Status };
  version?: number;
  changed: ("status" | "devices" | "customStatus" | "rules")[];
}

export interface Stats {
  asOf: number;
  exact: boolean;
  users: { online: number; byStatus: Record<string, number>; byDevice: Record<DeviceType, number> };
  sessions: { live: number; grace: number; observing: number; byHttp: number };
  connections: { webSocket: number; stream: number; poll: number };
  nodes: number;
}

export interface RoomCount {
  room: string;
  count: number;
  publicCount?: number;
  exact: boolean;
}

export interface RoomMember {
  userId: string;
  status: Status;
  meta?: Record<string, unknown>;
}

export interface WebhookView {
  status: Status;
  since?: number;
  customStatus?: CustomStatus;
  devices?: DeviceType[];
}

export interface WebhookEvent {
  /** The same whenever it is sent again: drop what you have had. */
  id: string;
  type:
    | "presence.changed"
    | "user.online"
    | "user.offline"
    | "room.occupied"
    | "room.vacated"
    | "room.joined"
    | "room.left"
    | "test";
  userId?: string;
  room?: string;
  at: number;
  version: number;
  before?: WebhookView;
  after?: WebhookView;
  lastSeenAt?: number;
}

export interface Webhooks {
  receivers: {
    url: string;
    stopped: boolean;
    delivered: number;
    failed: number;
    lastError?: string;
  }[];
  waiting: number;
  deadLetters: number;
}

export interface DeadLetter {
  id: string;
  url: string;
  attempts: number;
  at: number;
  error: string;
  events: WebhookEvent[];
}

export interface TestResult {
  url: string;
  delivered: boolean;
  status?: number;
  error?: string;
}

export interface News {
  users: Presence[];
  cursor: string;
  asOf: number;
}

export interface Beat {
  sessionId: string;
  intervalMs: number;
  ttlMs: number;
  serverTime: number;
}

export interface StreamEvent {
  id?: string;
  type: "snapshot" | "update";
  users: Presence[];
  asOf?: number;
}

export interface Readiness {
  status: "ready" | "starting" | "draining" | "degraded" | "storeDown";
  store?: "ok" | "degraded" | "down";
  database?: "ok" | "degraded" | "down";
}
