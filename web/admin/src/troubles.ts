import { rate, type Sample } from "./metrics.js";
import type { Look } from "./watcher.js";

/** How the names of counters end that grow when something goes wrong. */
const TROUBLE =
  /_(failures|failed|refused|lost|missed|unreadable|timeouts|overflows|gaps|stalls|shed|stale|losses|slow_closes|rate_limited|mistakes|given_up|not_sent)_total$/;
const MOST = 100;

/** A counter of trouble that grew between two looks. */
export interface Trouble {
  /** Seconds since the epoch. */
  readonly at: number;
  readonly name: string;
  readonly by: number;
}

/** A sample as it stands in the text format. */
export function keyOf({ name, labels }: Sample): string {
  const all = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
  return all.length === 0 ? name : `${name}{${all.join(", ")}}`;
}

/** What went wrong between the looks, the newest first. */
export function recentTroubles(looks: readonly Look[]): Trouble[] {
  const found: Trouble[] = [];
  for (let index = looks.length - 1; index > 0 && found.length < MOST; index--) {
    const [before, now] = [looks[index - 1] as Look, looks[index] as Look];
    for (const sample of now.metrics ?? []) {
      if (TROUBLE.test(sample.name) && before.metrics) {
        const old = before.metrics.find((one) => keyOf(one) === keyOf(sample))?.value;
        const by = rate(old, sample.value, 1) ?? 0;
        if (by > 0) {
          found.push({ at: now.at, name: keyOf(sample), by });
        }
      }
    }
  }
  return found.slice(0, MOST);
}

/** All that went wrong since the server started. */
export function allTroubles(samples: readonly Sample[]): Sample[] {
  return samples.filter(({ name, value }) => value > 0 && TROUBLE.test(name));
}
