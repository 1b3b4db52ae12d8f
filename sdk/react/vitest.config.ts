import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

const client = [
  { find: "@presenced/client/words", replacement: here("../client/src/words.ts") },
  { find: "@presenced/client", replacement: here("../client/src/index.ts") },
];
// One React in one run: the tests' own and the one that react-dom takes must be the same.
const react18 = { find: /^(react|react-dom)(\/.*)?$/, replacement: here("react18/node_modules/$1$2") };

/** Everything runs with the React of today and with the oldest that is supported. */
export default defineConfig({
  test: {
    projects: [
      { resolve: { alias: client }, test: { testTimeout: 60_000, name: "React 19", include: ["test/**/*.test.{ts,tsx}"] } },
      {
        resolve: { alias: [...client, react18] },
        test: { testTimeout: 60_000, name: "React 18", include: ["test/**/*.test.tsx"] },
      },
    ],
  },
});
