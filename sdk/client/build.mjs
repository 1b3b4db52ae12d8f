// Makes dist/: ES modules with their types, and the same as CommonJS in dist/cjs.

import { execFileSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { bundle, ENTRIES } from "./bundle.mjs";

const typesInto = (folder) =>
  execFileSync("npx", ["--no-install", "tsc", "-p", "tsconfig.build.json", "--outDir", folder], {
    stdio: "inherit",
  });

rmSync("dist", { recursive: true, force: true });
typesInto("dist");
typesInto("dist/cjs");
for (const entry of ENTRIES) {
  await bundle(entry, "es");
  await bundle(entry, "cjs");
}
writeFileSync("dist/cjs/package.json", '{ "type": "commonjs" }\n');
