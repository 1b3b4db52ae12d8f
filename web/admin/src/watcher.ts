import type { Api, Stats } from "./api.js";
import { bucketsOf, quantile, rate, readMetrics, sumOf, type Sample } from "./metrics.js";

const EVERY_MS = 2_000;
/** For each of these calls all nodes compare all their users with the store. */
const STATS_EVERY_MS = 30_000;
/** Ten minutes. */
const MOST_LOOKS = 300;

export interface Look {
  /** Seconds since the epoch. */
  readonly at: number;
  readonly stats: Stats | undefined;
  readonly metrics: readonly Sample[] | undefined;
  readonly readiness: Readonly<Record<string, unknown>> | undefined;
}

/**
 * Looks at the server every 2 s while the page is shown, at the totals of all nodes every 30 s, and keeps what it saw
 * for ten minutes.
 */
export class Watcher {
  readonly looks: Look[] = [];
  readonly #api: Api;
  readonly #onLook: (error: Error | undefined) => void;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isEnded = false;
  #stats: Stats | undefined;
  #statsAt = Number.NEGATIVE_INFINITY;

  constructor(api: Api, onLook: (error: Error | undefined) => void) {
    this.#api = api;
    this.#onLook = onLook;
  }

  async start(): Promise<void> {
    if (document.visibilityState === "visible") {
      await this.#look();
    }
    if (!this.#isEnded) {
      this.#timer = setTimeout(() => void this.start(), EVERY_MS);
    }
  }

  end(): void {
    this.#isEnded = true;
    clearTimeout(this.#timer);
  }

  get last(): Look | undefined {
    return this.looks.at(-1);
  }

  async #look(): Promise<void> {
    try {
      if (this.looks.length === 0) {
        // A server may lack what is asked for below; this call every server has, for good keys alone.
        await this.#api.get("v1/users/nobody/sessions");
      }
      const [stats, text, readiness] = await Promise.all([
        this.#lookAtStats(),
        this.#api.find(this.#api.text("metrics")),
        this.#api.find(this.#api.get<Record<string, unknown>>("readyz")),
      ]);
      const metrics = text === undefined ? undefined : readMetrics(text);
      this.looks.push({ at: Date.now() / 1000, stats, metrics, readiness });
      this.looks.splice(0, this.looks.length - MOST_LOOKS);
      this.#onLook(undefined);
    } catch (error) {
      this.#onLook(error as Error);
    }
  }

  async #lookAtStats(): Promise<Stats | undefined> {
    const now = Date.now();
    if (now - this.#statsAt >= STATS_EVERY_MS) {
      this.#stats = await this.#api.find(this.#api.get<Stats>("v1/stats"));
      this.#statsAt = now;
    }
    return this.#stats;
  }
}

/** A line of a chart: what it shows at a look, knowing the one before. */
export interface Line {
  readonly label: string;
  readonly read: (look: Look, before: Look | undefined) => number | undefined;
  /** A variable of the style; without one the chart chooses. */
  readonly colour?: string;
}

/** From `/v1/stats`. */
export function counted(label: string, read: (stats: Stats) => number | undefined, colour?: string): Line {
  return { label, read: ({ stats }) => stats && read(stats), ...(colour && { colour }) };
}

/** The value of a gauge, summed over the labels that are not named. */
export function gauge(label: string, name: string, labels?: Readonly<Record<string, string>>): Line {
  return { label, read: ({ metrics }) => metrics && sumOf(metrics, name, labels) };
}

/** The growth of a counter a second. */
export function perSecond(label: string, name: string, labels?: Readonly<Record<string, string>>): Line {
  return {
    label,
    read: (look, before) =>
      before?.metrics &&
      look.metrics &&
      rate(sumOf(before.metrics, name, labels), sumOf(look.metrics, name, labels), look.at - before.at),
  };
}

/** A quantile of a histogram in seconds, in milliseconds. */
export function quantileMs(label: string, histogram: string, share: number): Line {
  return {
    label,
    read(look, before) {
      if (!before?.metrics || !look.metrics) {
        return undefined;
      }
      const [old, now] = [before.metrics, look.metrics].map((samples) => bucketsOf(samples, histogram));
      const seconds = quantile(old as Map<number, number>, now as Map<number, number>, share);
      return seconds === undefined ? undefined : seconds * 1_000;
    },
  };
}
