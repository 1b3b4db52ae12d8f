import type { OwnStatus, UserPresence } from "@presenced/client";
import { endOfDay, lastSeenText } from "@presenced/client/words";

export const STATUS_WORDS: Record<OwnStatus, string> = {
  online: "Online",
  away: "Away",
  busy: "Busy",
  dnd: "Do not disturb",
  invisible: "Invisible",
  offline: "Offline",
  unknown: "Unknown",
};

export const DEVICE_WORDS: Record<string, string> = {
  desktop: "computer",
  mobile: "phone",
  tablet: "tablet",
  web: "browser",
  bot: "bot",
  other: "other device",
};

const timeOfDay = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const timeWithSeconds = new Intl.DateTimeFormat(undefined, {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
});
const dayAndTime = new Intl.DateTimeFormat(undefined, {
  weekday: "short",
  day: "numeric",
  month: "short",
  hour: "2-digit",
  minute: "2-digit",
});

export function clockTime(at: number): string {
  return timeWithSeconds.format(at);
}

/** "until 14:30", with the day where it is another. */
export function untilText(at: number, now: number): string {
  return `until ${at <= endOfDay(now) ? timeOfDay.format(at) : dayAndTime.format(at)}`;
}

export function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}

/** "Away since 14:05", "Offline, last seen 5 minutes ago", "Online". */
export function statusText(presence: UserPresence, serverNow: number): string {
  const word = STATUS_WORDS[presence.status];
  if (presence.status === "unknown") {
    return presence.stale ? "Unknown: no connection for too long" : "Unknown for now";
  }
  if (presence.status === "offline") {
    // The page around these words is in English too.
    const seen = lastSeenText(presence.lastSeen, serverNow, "en");
    return seen === undefined ? word : `Last seen ${seen.text === "now" ? "just now" : seen.text}`;
  }
  return presence.since === undefined ? word : `${word} since ${timeOfDay.format(presence.since)}`;
}

/** "alice" becomes "Alice"; a name that has been given is kept. */
export function nameFromId(userId: string): string {
  return userId.charAt(0).toLocaleUpperCase() + userId.slice(1);
}
