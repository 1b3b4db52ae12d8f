import type {
  ConnectionStatus,
  JoinOptions,
  PresenceClient,
  RoomView,
  StatusChange,
  Target,
  UserPresence,
} from "@presenced/client";
import { useCallback, useEffect, useMemo, useSyncExternalStore } from "react";
import { usePresenceClient } from "./provider.js";

const NOBODY: readonly string[] = Object.freeze([]);
const DISCONNECTED: ConnectionStatus = Object.freeze({ state: "disconnected" });

/** Starts something and listens; the returned functions end it. */
type Start = (client: PresenceClient, onChange: () => void) => readonly (() => void)[];

/**
 * One value out of the client. `key` says what it depends on beside the client; while it stays the
 * same nothing is started anew. Without a client, as on a server, the value is `without`, which is
 * also what the first render in the browser shows.
 */
function useClientValue<Value>(
  key: string,
  start: Start,
  read: (client: PresenceClient) => Value,
  without: Value,
): Value {
  const client = usePresenceClient();
  const subscribe = useCallback(
    (onChange: () => void) => {
      const ends = client ? start(client, onChange) : [];
      return () => ends.forEach((end) => end());
    },
    [client, key],
  );
  return useSyncExternalStore(
    subscribe,
    () => (client ? read(client) : without),
    () => without,
  );
}

/** The object that the first of equal ones was. */
function useSame<Value>(value: Value): readonly [Value, string] {
  const key = JSON.stringify(value) ?? "";
  return useMemo(() => [value, key], [key]);
}

function unknown(userId: string): UserPresence {
  return Object.freeze({ userId, status: "unknown", stale: false });
}

/** One user, watched while the component is mounted. Undefined: nobody, always unknown. */
export function usePresence(userId: string | undefined): UserPresence {
  const without = useMemo(() => unknown(userId ?? ""), [userId]);
  return useClientValue(
    userId ?? "",
    (client, onChange) =>
      userId === undefined ? [] : [client.watch(userId), client.subscribeUser(userId, onChange)],
    (client) => (userId === undefined ? without : client.presence(userId)),
    without,
  );
}

/** Several users, in the order asked for; the same array until one of them changes. */
export function usePresences(userIds: readonly string[]): readonly UserPresence[] {
  const [ids, key] = useSame(userIds);
  const [read, without] = useMemo(() => {
    const none = Object.freeze(ids.map(unknown));
    let last: readonly UserPresence[] = none;
    const look = (client: PresenceClient) => {
      const now = ids.map((userId) => client.presence(userId));
      if (now.some((presence, index) => presence !== last[index])) {
        last = Object.freeze(now);
      }
      return last;
    };
    return [look, none] as const;
  }, [ids]);
  const start: Start = (client, onChange) => [
    client.watch(ids),
    client.on("presence", (changed) => ids.some((userId) => changed.has(userId)) && onChange()),
  ];
  return useClientValue(key, start, read, without);
}

/** A room, joined while the component is mounted; with `observe` only looked at. */
export function useRoom(room: string, options?: JoinOptions): RoomView {
  const [join, key] = useSame(options);
  const without = useMemo(() => Object.freeze({ room, exact: false, stale: false }), [room]);
  return useClientValue<RoomView>(
    JSON.stringify([room, key]),
    (client, onChange) => [client.join(room, join), client.subscribeRoom(room, onChange)],
    (client) => client.room(room),
    without,
  );
}

/**
 * Who is typing there, without oneself, and a function to call with each key, or with false when the
 * message is sent. Does not join the room.
 */
export function useTyping(to: Target): [readonly string[], (isTyping?: boolean) => void] {
  const client = usePresenceClient();
  const [target, key] = useSame(to);
  const typing = useClientValue(
    key,
    (one, onChange) => [one.subscribeTyping(target, onChange)],
    (one) => one.typing(target),
    NOBODY,
  );
  const setTyping = useCallback(
    (isTyping?: boolean) => client?.setTyping(target, isTyping),
    [client, target],
  );
  useEffect(() => () => setTyping(false), [setTyping]);
  return [typing, setTyping];
}

export interface MyStatus {
  /** As one's own devices see it: `invisible` too, and with what was `declared`. */
  readonly presence: UserPresence;
  readonly setStatus: (change: StatusChange) => Promise<{ appliedInMs?: number }>;
}

/** One's own presence, and how to change it. */
export function useMyStatus(): MyStatus {
  const client = usePresenceClient();
  const userId = useClientValue<string | undefined>(
    "",
    (one, onChange) => [one.on("session", onChange), one.on("connection", onChange)],
    (one) => one.session?.userId,
    undefined,
  );
  const presence = usePresence(userId);
  return useMemo(
    () => ({
      presence,
      setStatus: (change) =>
        client ? client.setStatus(change) : Promise.reject(new Error("there is no client yet")),
    }),
    [client, presence],
  );
}

/** State of the connection. */
export function useConnection(): ConnectionStatus {
  return useClientValue(
    "",
    (client, onChange) => [client.on("connection", onChange)],
    (client) => client.connection,
    DISCONNECTED,
  );
}
