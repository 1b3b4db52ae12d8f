import type { LastSeen } from "./protocol.js";

const MINUTE_MS = 60_000;

/** A text, and when to make it anew; `Infinity` where it stays. */
export interface TimedText {
  readonly text: string;
  readonly staysMs: number;
}

/** Whole minutes since a time, by the server's clock. What lies in the future counts as now. */
function minutesSince(at: number, serverNow: number): number {
  return Math.max(0, Math.floor((serverNow - at) / MINUTE_MS));
}

/**
 * Last seen in words of the reader's language, such as "5 minutes ago" or "this week"; undefined
 * where there is nothing to tell. `serverNow` is `client.serverNow()`: the reader's own clock may
 * be wrong.
 */
export function lastSeenText(
  lastSeen: LastSeen | undefined,
  serverNow: number,
  locale?: string,
): TimedText | undefined {
  if (lastSeen === undefined) {
    return undefined;
  }
  const relative = new Intl.RelativeTimeFormat(locale, { numeric: "auto" });
  if (lastSeen.at !== undefined && lastSeen.at > 0) {
    const minutes = minutesSince(lastSeen.at, serverNow);
    if (minutes < 60) {
      const text =
        minutes === 0 ? relative.format(0, "second") : relative.format(-minutes, "minute");
      const aheadMs = Math.max(0, lastSeen.at - serverNow);
      const intoMinute = Math.max(0, serverNow - lastSeen.at) % MINUTE_MS;
      return { text, staysMs: aheadMs + MINUTE_MS - intoMinute };
    }
    // The server told a minute; time has gone on since, without anybody being told.
    return { text: hoursOrDays(relative, minutes), staysMs: 10 * MINUTE_MS };
  }
  switch (lastSeen.granularity) {
    case "today":
      return { text: relative.format(0, "day"), staysMs: Infinity };
    case "thisWeek":
      return { text: relative.format(0, "week"), staysMs: Infinity };
    case "thisMonth":
      return { text: relative.format(0, "month"), staysMs: Infinity };
    default:
      return undefined;
  }
}

function hoursOrDays(relative: Intl.RelativeTimeFormat, minutes: number): string {
  const hours = Math.floor(minutes / 60);
  return hours < 24
    ? relative.format(-hours, "hour")
    : relative.format(-Math.floor(hours / 24), "day");
}

/**
 * The coming midnight in a time zone, as milliseconds since the epoch: when "until today" ends.
 * Days of 23 and 25 hours come out right.
 */
export function endOfDay(now: number, timeZone?: string): number {
  const day = new Intl.DateTimeFormat("en-CA", { timeZone, dateStyle: "short" } as never);
  const today = day.format(now);
  // The first instant of another date, found by halving. No day is longer than 26 hours.
  let before = now;
  let after = now + 26 * 60 * MINUTE_MS;
  while (after - before > 1) {
    const middle = Math.floor((before + after) / 2);
    if (day.format(middle) === today) {
      before = middle;
    } else {
      after = middle;
    }
  }
  return after;
}
