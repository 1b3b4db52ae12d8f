import type { OwnStatus } from "@presenced/client";
import { lastSeenText } from "@presenced/client/words";
import { useEffect, useState, type HTMLAttributes, type ReactNode } from "react";
import { usePresence } from "./hooks.js";
import { usePresenceClient } from "./provider.js";

/** A longer delay overflows the 32 bits that browsers keep, and fires at once. */
const LONGEST_DELAY_MS = 2 ** 31 - 1;

const WORDS: Record<OwnStatus, string> = {
  online: "Online",
  away: "Away",
  busy: "Busy",
  dnd: "Do not disturb",
  offline: "Offline",
  unknown: "Unknown",
  invisible: "Invisible",
};

export interface PresenceDotProps extends HTMLAttributes<HTMLSpanElement> {
  userId: string;
  /** Words of the reader's language for what the dot says. */
  words?: Partial<Record<OwnStatus, string>>;
}

/** An empty element for a dot, read out as the status. Style it by `data-status` and `data-stale`. */
export function PresenceDot({ userId, words, ...rest }: PresenceDotProps) {
  const { status, stale } = usePresence(userId);
  return (
    <span
      role="img"
      aria-label={words?.[status] ?? WORDS[status]}
      data-status={status}
      data-stale={stale || undefined}
      {...rest}
    />
  );
}

export interface LastSeenProps extends HTMLAttributes<HTMLTimeElement> {
  userId: string;
  /** Such as `de`; by default the reader's. */
  locale?: string;
  /** Shown where there is nothing to tell: the user is here, or it may not be known. */
  fallback?: ReactNode;
}

/** "5 minutes ago" in the reader's language, kept right while time goes on. */
export function LastSeen({ userId, locale, fallback = null, ...rest }: LastSeenProps) {
  const client = usePresenceClient();
  const { status, lastSeen } = usePresence(userId);
  const [, renew] = useState(0);
  const shown =
    client && status === "offline" ? lastSeenText(lastSeen, client.serverNow(), locale) : undefined;
  const staysMs = shown?.staysMs ?? Infinity;
  useEffect(() => {
    if (staysMs < LONGEST_DELAY_MS) {
      const timer = setTimeout(() => renew((count) => count + 1), staysMs);
      return () => clearTimeout(timer);
    }
    return undefined;
  });
  if (shown === undefined) {
    return fallback;
  }
  const at = lastSeen?.at;
  return (
    <time dateTime={at === undefined ? undefined : new Date(at).toISOString()} {...rest}>
      {shown.text}
    </time>
  );
}
