import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { PresenceClient } from "../src/client.js";

const read = (path: string) => readFileSync(new URL(`../${path}`, import.meta.url), "utf8");

test("the reference names every option, call, event and code of an error", () => {
  const prose = read("README.md").replaceAll(/```[^]*?```/g, "");
  const named = new Set(
    [...prose.matchAll(/`([^`]+)`/g)].map(([, text]) => /\w*/.exec(text as string)?.[0]),
  );
  const options = read("src/options.ts");
  const [clientOptions, clientEvents] = options.split("export interface ClientEvents") as [string, string];
  const members = (text: string) => [...text.matchAll(/^ {2}(\w+)\??:/gm)].map(([, name]) => name as string);
  const codes = [...read("src/codes.ts").matchAll(/^ {2}\| "(\w+)"/gm)].map(([, code]) => code as string);
  const calls = Object.getOwnPropertyNames(PresenceClient.prototype).filter((name) => name !== "constructor");
  const all = [...members(clientOptions), ...members(clientEvents), ...codes, ...calls];
  expect(all.length).toBeGreaterThan(50);
  expect(all.filter((name) => !named.has(name))).toEqual([]);
});

test("each test that docs/sdk.md names is there", () => {
  const folders: Record<string, string[]> = {
    client: ["test/", ".test.ts"],
    react: ["../react/test/", ".test.tsx", ".test.ts"],
    browser: ["../../tests/browser/", ".test.mjs"],
  };
  const missing: string[] = [];
  let count = 0;
  for (const [, folder, name, titles] of read("../../docs/sdk.md").matchAll(/`(\w+)\/(\w+)` ((?:(?:, )?"[^"]+")+)/g)) {
    const [path, ...ends] = folders[folder as string] as [string, ...string[]];
    const paths = ends.map((end) => `${path}${name}${end}`);
    const found = paths.find((one) => existsSync(new URL(`../${one}`, import.meta.url)));
    for (const [, title] of (titles as string).matchAll(/"([^"]+)"/g)) {
      count++;
      if (!found || !read(found).includes(title as string)) {
        missing.push(`${folder}/${name}: ${title}`);
      }
    }
  }
  expect(count).toBeGreaterThan(90);
  expect(missing).toEqual([]);
});
