// Makes dist/: an ES module with its types, and the same as CommonJS in dist/cjs.

import { execFileSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { bundle } from "./bundle.mjs";

const typesInto = (folder) =>
  execFileSync("npx", ["--no-install", "tsc", "-p", "tsconfig.build.json", "--outDir", folder], {
    stdio: "inherit",
  });

rmSync("dist", { recursive: true, force: true });
typesInto("dist");
typesInto("dist/cjs");
await bundle("es");
await bundle("cjs");
writeFileSync("dist/cjs/package.json", '{ "type": "commonjs" }\n');
