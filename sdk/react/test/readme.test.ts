import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";

const packages = new URL("../..", import.meta.url);

/** What the snippets take from the app around them. */
const SURROUNDINGS = `
declare function show(presence: unknown): void;
declare function draw(count: number | undefined, members: unknown): void;
declare function drawTyping(userIds: readonly string[]): void;
declare const client: import("@presenced/client").PresenceClient;
declare const input: HTMLInputElement;
declare const AppState: {
  currentState: string;
  addEventListener(name: string, listener: (state: string) => void): { remove(): void };
};
`;

const CONFIG = {
  extends: "../../tsconfig.json",
  compilerOptions: {
    noUnusedLocals: false,
    paths: {
      "@presenced/client": ["../../../client/src/index.ts"],
      "@presenced/client/words": ["../../../client/src/words.ts"],
      "@presenced/react": ["../../src/index.ts"],
    },
  },
  include: ["*.ts", "*.tsx"],
};

test("the examples of both packages' READMEs compile as they stand", () => {
  const folder = new URL("react/test/.readme/", packages);
  const write = (name: string, text: string) => writeFileSync(new URL(name, folder), text);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  write("surroundings.d.ts", SURROUNDINGS);
  write("tsconfig.json", JSON.stringify(CONFIG));
  let count = 0;
  for (const path of ["client/README.md", "react/README.md"]) {
    const readme = readFileSync(new URL(path, packages), "utf8");
    for (const [, kind, code = ""] of readme.matchAll(/^ *```(tsx?)\n([^]*?)^ *```/gm)) {
      // A property alone is one of the options.
      const isOption = /^\s*environment:/.test(code);
      const options = `const options: Partial<import("@presenced/client").ClientOptions> = {${code}};`;
      write(`${++count}.${kind}`, `${isOption ? options : code}\nexport {};\n`);
    }
  }
  // Prints what is wrong and throws.
  execFileSync("npx", ["--no-install", "tsc", "-p", folder.pathname], {
    cwd: new URL("react", packages),
    stdio: "inherit",
  });
  rmSync(folder, { recursive: true });
  expect(count).toBe(4);
});
