/** One line of the Prometheus text format. */
export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const LINE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})?\s+(\S+)/;
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g;

/** Reads the text format; comments and what cannot be read are left out. */
export function readMetrics(text: string): Sample[] {
  const samples: Sample[] = [];
  for (const line of text.split("\n")) {
    const found = line.startsWith("#") ? null : LINE.exec(line);
    const value = number(found?.[3] ?? "");
    if (found?.[1] !== undefined && !Number.isNaN(value)) {
      const labels = new Map<string, string>();
      for (const [, name, text] of (found[2] ?? "").matchAll(LABEL)) {
        labels.set(name as string, (text as string).replace(/\\(.)/g, "$1"));
      }
      samples.push({ name: found[1], labels: Object.fromEntries(labels), value });
    }
  }
  return samples;
}

function number(text: string): number {
  return text === "+Inf" ? Infinity : text === "-Inf" ? -Infinity : text === "" ? NaN : Number(text);
}

/** The sum over all samples of that name that have these labels; undefined where there is none. */
export function sumOf(
  samples: readonly Sample[],
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number | undefined {
  const wanted = Object.entries(labels);
  const fitting = samples.filter(
    (sample) => sample.name === name && wanted.every(([label, value]) => sample.labels[label] === value),
  );
  return fitting.length === 0 ? undefined : fitting.reduce((sum, { value }) => sum + value, 0);
}

/** Growth of a counter a second; undefined where there is nothing to compare, or after a restart. */
export function rate(
  before: number | undefined,
  now: number | undefined,
  seconds: number,
): number | undefined {
  return before === undefined || now === undefined || now < before || seconds <= 0
    ? undefined
    : (now - before) / seconds;
}

/** Buckets of a histogram by their upper bound, summed over all labels. */
export function bucketsOf(samples: readonly Sample[], histogram: string): Map<number, number> {
  const buckets = new Map<number, number>();
  for (const { name, labels, value } of samples) {
    if (name === `${histogram}_bucket`) {
      const bound = number(labels["le"] ?? "");
      buckets.set(bound, (buckets.get(bound) ?? 0) + value);
    }
  }
  return buckets;
}

/**
 * A quantile of what was counted between two looks, by the straight line within its bucket;
 * undefined where nothing was counted.
 */
export function quantile(
  before: ReadonlyMap<number, number>,
  now: ReadonlyMap<number, number>,
  share: number,
): number | undefined {
  const bounds = [...now.keys()].sort((a, b) => a - b);
  const counts = bounds.map((bound) => (now.get(bound) ?? 0) - (before.get(bound) ?? 0));
  const all = counts.at(-1) ?? 0;
  if (all <= 0) {
    return undefined;
  }
  const index = counts.findIndex((count) => count >= share * all);
  const low = index > 0 ? (bounds[index - 1] as number) : 0;
  const high = bounds[index] as number;
  if (high === Infinity) {
    return low;
  }
  const below = index > 0 ? (counts[index - 1] as number) : 0;
  const inside = (counts[index] as number) - below;
  return inside <= 0 ? high : low + ((share * all - below) / inside) * (high - low);
}

/** Indices of the values that stand between gaps. */
export function alone(values: ArrayLike<number | null | undefined>): number[] {
  const isGap = (index: number) => (values[index] ?? null) === null;
  return Array.from(values, (_, index) => index).filter(
    (index) => !isGap(index) && isGap(index - 1) && isGap(index + 1),
  );
}
