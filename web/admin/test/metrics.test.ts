import { expect, test } from "vitest";
import { alone, bucketsOf, quantile, rate, readMetrics, sumOf } from "../src/metrics.js";
import list from "../../../docs/metrics.md?raw";
import health from "../src/health.ts?raw";
import overview from "../src/overview.ts?raw";
import { allTroubles, keyOf, recentTroubles } from "../src/troubles.js";

const TEXT = `# HELP presenced_connections Open connections.
# TYPE presenced_connections gauge
presenced_connections{node="a"} 3
presenced_connections{node="b \\"quoted\\", with } and \\\\"} 4 1790000000000

settle_seconds_bucket{le="0.001"} 10
settle_seconds_bucket{le="0.01"} 90
settle_seconds_bucket{le="+Inf"} 100
odd_value NaN
this is no line
`;

test("the text format is read, escapes, stamps and comments too", () => {
  const samples = readMetrics(TEXT);
  expect(samples).toHaveLength(5);
  expect(samples[1]).toEqual({
    name: "presenced_connections",
    labels: { node: 'b "quoted", with } and \\' },
    value: 4,
  });
  expect(sumOf(samples, "presenced_connections")).toBe(7);
  expect(sumOf(samples, "presenced_connections", { node: "a" })).toBe(3);
  expect(sumOf(samples, "presenced_connections", { node: "c" })).toBeUndefined();
  expect(sumOf(samples, "connections")).toBeUndefined();
});

test("a counter grows a second; after a restart there is nothing to compare", () => {
  expect(rate(10, 30, 2)).toBe(10);
  expect(rate(undefined, 30, 2)).toBeUndefined();
  expect(rate(30, 2, 2)).toBeUndefined();
});

test("a quantile lies in its bucket, of what was counted between the two looks", () => {
  const now = bucketsOf(readMetrics(TEXT), "settle_seconds");
  expect(quantile(new Map(), now, 0.5)).toBeCloseTo(0.001 + 0.009 * 0.5);
  expect(quantile(new Map(), now, 0.99)).toBe(0.01);
  expect(quantile(now, now, 0.5)).toBeUndefined();
});

test("a value between gaps is found, as no line would be drawn through it", () => {
  expect(alone([5, null, 7, undefined, 1, 2, null, 0])).toEqual([0, 2, 7]);
  expect(alone([1, 2])).toEqual([]);
  expect(alone([])).toEqual([]);
});

test("what went wrong between two looks is told, the newest first; what only counts is not", () => {
  const look = (at: number, text: string) => ({ at, stats: undefined, readiness: undefined, metrics: readMetrics(text) });
  const looks = [
    look(10, 'presenced_store_failures_total 1\npresenced_deliveries_total 5\n'),
    look(12, 'presenced_store_failures_total 4\npresenced_deliveries_total 9\n'),
    look(14, 'presenced_store_failures_total 4\npresenced_tokens_refused_total{reason="expired"} 2\n'),
    look(16, 'presenced_store_failures_total 4\npresenced_tokens_refused_total{reason="expired"} 3\n'),
    look(18, 'presenced_store_failures_total 0\npresenced_tokens_refused_total{reason="expired"} 3\n'),
  ];
  expect(recentTroubles(looks)).toEqual([
    { at: 16, name: 'presenced_tokens_refused_total{reason="expired"}', by: 1 },
    { at: 12, name: "presenced_store_failures_total", by: 3 },
  ]);
  expect(allTroubles(looks[1]?.metrics ?? []).map(keyOf)).toEqual(["presenced_store_failures_total"]);
});

test("every figure that the page reads is one that docs/metrics.md lists", () => {
  const listed = new Set([...list.matchAll(/^\| `(\w+)`/gm)].map(([, name]) => name));
  const used = [overview, health].flatMap((source) => [...source.matchAll(/"(presenced_\w+)"/g)]);
  expect(used.length).toBeGreaterThan(15);
  expect(used.map(([, name]) => name).filter((name) => !listed.has(name))).toEqual([]);
});
