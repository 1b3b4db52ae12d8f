import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { bundle } from "../bundle.mjs";
import { MANGLED } from "../mangled.mjs";

const MOST_BYTES = 8 * 1024;

test("the client has at most 8 KB, gzipped", async () => {
  const code = await bundle("index", "es", false);
  const bytes = gzipSync(`${code}\n//# sourceMappingURL=index.js.map\n`, { level: 9 }).length;
  console.log(`@presenced/client: ${bytes} of ${MOST_BYTES} bytes, gzipped`);
  expect(bytes).toBeLessThanOrEqual(MOST_BYTES);
});

test("no name that is shortened is known outside", () => {
  const read = (name: string) => readFileSync(new URL(`../src/${name}.ts`, import.meta.url), "utf8");
  const known = new Set<string>();
  for (const name of ["protocol", "options", "environment", "transport", "codes", "clock"]) {
    for (const [, member] of read(name).matchAll(/^ +(?:readonly |get |\| \{ )*(\w+)[?]?[:(]/gm)) {
      known.add(member as string);
    }
  }
  for (const [, member] of read("client").matchAll(/^ {2}(?:get |async )?([a-z]\w+)[(<]/gm)) {
    known.add(member as string);
  }
  // Of a class inside the library that happens to stand in one of these files.
  const inside = new Set(["start", "stop", "isRunning"]);
  expect(known.size).toBeGreaterThan(80);
  expect(MANGLED.filter((name) => known.has(name) && !inside.has(name))).toEqual([]);
});
