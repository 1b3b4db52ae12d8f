import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { bundle } from "../bundle.mjs";

const MOST_BYTES = 2.5 * 1024;

test("the React binding has at most 2.5 KB, gzipped", async () => {
  const code = await bundle("es", false);
  const bytes = gzipSync(code, { level: 9 }).length;
  console.log(`@presenced/react: ${bytes} of ${MOST_BYTES} bytes, gzipped`);
  expect(bytes).toBeLessThanOrEqual(MOST_BYTES);
});
