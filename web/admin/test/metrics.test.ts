import { expect, test } from "vitest";
import { bucketsOf, quantile, rate, readMetrics, sumOf } from "../src/metrics.js";

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
  expect(sumOf(samples, /_connections$/)).toBe(7);
  expect(sumOf(samples, /nothing/)).toBeUndefined();
});

test("a counter grows a second; after a restart there is nothing to compare", () => {
  expect(rate(10, 30, 2)).toBe(10);
  expect(rate(undefined, 30, 2)).toBeUndefined();
  expect(rate(30, 2, 2)).toBeUndefined();
});

test("a quantile lies in its bucket, of what was counted between the two looks", () => {
  const now = bucketsOf(readMetrics(TEXT), /^settle/);
  expect(quantile(new Map(), now, 0.5)).toBeCloseTo(0.001 + 0.009 * 0.5);
  expect(quantile(new Map(), now, 0.99)).toBe(0.01);
  expect(quantile(now, now, 0.5)).toBeUndefined();
});
