// Makes dist/: ES modules for Node with their types.

import { execFileSync } from "node:child_process";
import { rmSync } from "node:fs";

rmSync("dist", { recursive: true, force: true });
execFileSync("npx", ["--no-install", "tsc", "-p", "tsconfig.build.json"], { stdio: "inherit" });
