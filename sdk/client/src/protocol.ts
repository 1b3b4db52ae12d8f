/** The messages of protocol version 1, as far as this library speaks it, and what it gives away. */

export const SUBPROTOCOL = "presence.v1";

export type Status = "online" | "away" | "busy" | "dnd" | "offline" | "unknown";
/** What one sees of oneself. */
export type OwnStatus = Status | "invisible";
export type DeclaredStatus = "auto" | "online" | "away" | "busy" | "dnd" | "invisible";
export type DeviceType = "desktop" | "mobile" | "tablet" | "web" | "bot" | "other";
export type Activity = "active" | "idle";
export type StoreHealth = "ok" | "degraded" | "down";
export type Granularity = "exact" | "recent" | "today" | "thisWeek" | "thisMonth" | "longAgo";
export type PrivacyMode = "everyone" | "contacts" | "contactsExcept" | "only" | "nobody";

export interface CustomStatus {
  readonly text?: string;
  readonly emoji?: string;
  /** Milliseconds since the Unix epoch, server clock. */
  readonly expiresAt?: number;
}

export interface LastSeen {
  readonly granularity: Granularity;
  readonly at?: number;
}

export interface Declared {
  readonly status: DeclaredStatus;
  readonly scope: "user" | "session";
  readonly expiresAt?: number;
}

/** One user as the server tells it to one viewer. */
export interface WirePresence {
  readonly userId: string;
  readonly status: OwnStatus;
  readonly version: number;
  readonly since?: number;
  readonly customStatus?: CustomStatus;
  readonly devices?: readonly string[];
  readonly lastSeen?: LastSeen;
  readonly declared?: Declared;
}

/** One user as the app sees it: frozen, and the same object while nothing in it changes. */
export interface UserPresence {
  readonly userId: string;
  /** `unknown` where it cannot be told; never show that as offline. */
  readonly status: OwnStatus;
  /** True while this is what was known before the connection was lost. */
  readonly stale: boolean;
  readonly since?: number;
  readonly customStatus?: CustomStatus;
  /** Kinds of device now present, sorted. */
  readonly devices?: readonly string[];
  readonly lastSeen?: LastSeen;
  /** Only in one's own presence: what was said, beside what it amounts to. */
  readonly declared?: Declared;
}

export interface RoomMember {
  readonly userId: string;
  readonly status: OwnStatus;
  /** What the member gave with the latest join. */
  readonly meta?: Readonly<Record<string, unknown>>;
}

/** A room as the app sees it: frozen, and the same object while nothing in it changes. */
export interface RoomView {
  readonly room: string;
  /** How many are there, oneself included; undefined while it cannot be told. */
  readonly count?: number;
  /** False: the count of a large room, put together from several servers. */
  readonly exact: boolean;
  /** Only of rooms that are small enough; members keep their identity too. */
  readonly members?: readonly RoomMember[];
  /** True while this is what was known before the connection was lost. */
  readonly stale: boolean;
}

export interface JoinOptions {
  /** Shown to the other members; at most 1 KiB of JSON. */
  readonly meta?: Readonly<Record<string, unknown>>;
  /** True: sees the room and is not in it. */
  readonly observe?: boolean;
  /** False: is in it and hears nothing of it. */
  readonly updates?: boolean;
}

/** To whom a signal goes. */
export type Target = { readonly userId: string } | { readonly room: string };

export interface SignalRequest {
  readonly to: Target;
  /** Such as `typing`, or a word of the app's own. */
  readonly kind: string;
  readonly active: boolean;
  /** At most 1 KiB of JSON. */
  readonly data?: unknown;
}

/** What somebody does for a moment; never stored, and over after `expiresInMs` by itself. */
export interface Signal {
  readonly from: string;
  /** Undefined where it is for this user alone. */
  readonly room?: string;
  readonly kind: string;
  readonly active: boolean;
  readonly data?: unknown;
  readonly expiresInMs: number;
}

export interface PrivacyRule {
  readonly mode: PrivacyMode;
  /** With `contactsExcept` and `only`. */
  readonly users?: readonly string[];
}

export interface PrivacyRules {
  readonly online: PrivacyRule;
  readonly lastSeen: PrivacyRule;
}

export interface Device {
  readonly type: DeviceType;
  readonly name?: string;
}

export interface CustomStatusChange {
  readonly text?: string;
  readonly emoji?: string;
  readonly expiresAt?: number;
  readonly expiresInMs?: number;
}

/** What is not named stays as it is. */
export interface StatusChange {
  readonly status?: DeclaredStatus;
  /** Null takes it away. */
  readonly customStatus?: CustomStatusChange | null;
  /** When `status` falls back to `auto`; one of the two. */
  readonly expiresAt?: number;
  readonly expiresInMs?: number;
  /** `user` (default): all devices, kept by the server. `session`: this device only. */
  readonly scope?: "user" | "session";
}

export interface Limits {
  readonly watch: number;
  readonly messageBytes: number;
  readonly customStatusText: number;
  readonly sessions?: number;
  readonly roomMembers?: number;
}

export interface Health {
  readonly store: StoreHealth;
  readonly since: number;
}

export interface Welcome {
  readonly type: "welcome";
  readonly userId: string;
  readonly sessionId: string;
  readonly resume: string;
  readonly resumed: boolean;
  readonly serverTime: number;
  readonly heartbeat: { readonly intervalMs: number; readonly ttlMs: number };
  readonly graceMs: number;
  readonly limits: Limits;
  readonly health: Health;
  readonly expiresAt?: number;
}

export type ServerMessage = { readonly id?: number; readonly more?: boolean } & (
  | Welcome
  | { readonly type: "heartbeatAck"; readonly serverTime: number }
  | ({ readonly type: "health" } & Health)
  | {
      readonly type: "snapshot";
      readonly users: readonly WirePresence[];
      readonly unchanged?: number;
      readonly asOf: number;
    }
  | { readonly type: "update"; readonly users: readonly WirePresence[] }
  | {
      readonly type: "room";
      readonly room: string;
      readonly count: number;
      readonly exact: boolean;
      readonly members?: readonly RoomMember[];
    }
  | {
      readonly type: "roomUpdate";
      readonly room: string;
      readonly count: number;
      readonly exact: boolean;
      readonly joined?: readonly RoomMember[];
      readonly changed?: readonly RoomMember[];
      readonly left?: readonly string[];
    }
  | ({ readonly type: "signal" } & Signal)
  | ({ readonly type: "privacy" } & PrivacyRules)
  | { readonly type: "ack"; readonly expiresAt?: number; readonly appliedInMs?: number }
  | {
      readonly type: "error";
      readonly code: string;
      readonly message: string;
      readonly temporary?: boolean;
      readonly retryAfterMs?: number;
      readonly limit?: number;
    }
  | { readonly type: "tokenExpiring"; readonly inMs: number }
  | { readonly type: "reconnect"; readonly afterMs: number; readonly reason?: string }
);

/** A request without its id. */
export interface ClientRequest {
  readonly type: string;
  readonly [field: string]: unknown;
}

/** The message in a text frame, or nothing where it is none. Unknown types come through. */
export function readServerMessage(text: string): ServerMessage | undefined {
  try {
    const parsed = JSON.parse(text) as { type?: unknown } | null;
    return typeof parsed?.type === "string" ? (parsed as ServerMessage) : undefined;
  } catch {
    return undefined;
  }
}
