// The real server in the fast profile, on a free port, with the demo page.

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const BINARY =
  process.env.PRESENCED_BIN ??
  fileURLToPath(new URL("../../../build/release/bin/presenced", import.meta.url));

export const TIMES = { intervalMs: 1_000, ttlMs: 3_400, graceMs: 2_000 };

/** Starts it; resolves when it has said that it is ready. `page: false`: the demo page is not needed. */
export async function startServer(settings = [], { page: wantsPage = true } = {}) {
  const data = mkdtempSync(join(tmpdir(), "presenced-data-"));
  const child = spawn(
    BINARY,
    [
      "serve",
      "--dev",
      "--demo",
      ...[
        "listen=127.0.0.1:0",
        `data_dir=${data}`,
        `heartbeat.interval=${TIMES.intervalMs}ms`,
        `heartbeat.ttl=${TIMES.ttlMs}ms`,
        `heartbeat.grace=${TIMES.graceMs}ms`,
        ...settings,
      ].flatMap((setting) => ["--set", setting]),
    ],
    { stdio: ["ignore", "pipe", "pipe"] },
  );
  let log = "";
  child.stderr.on("data", (bytes) => (log = (log + bytes).slice(-20_000)));
  const url = await new Promise((resolve, reject) => {
    let out = "";
    child.stdout.on("data", (bytes) => {
      const ready = /ready (http:\/\/\S+)/.exec((out += bytes));
      if (ready) {
        resolve(ready[1]);
      }
    });
    child.on("error", reject);
    child.on("exit", (code) => reject(new Error(`the server ended with ${code}: ${log}`)));
  });
  let isClosing = false;
  child.on("exit", (code, signal) => {
    if (!isClosing) {
      console.error(`the server ended by itself (${signal ?? code}): ${log}`);
    }
  });
  if (wantsPage && !(await fetch(`${url}/`)).ok) {
    isClosing = true;
    child.kill("SIGKILL");
    throw new Error("the binary has no demo page in it: build web/demo before it");
  }
  return {
    url,
    log: () => log,
    close: async () => {
      isClosing = true;
      const ended = new Promise((resolve) => child.once("exit", resolve));
      child.kill("SIGTERM");
      const timer = setTimeout(() => child.kill("SIGKILL"), 8_000);
      await ended;
      clearTimeout(timer);
      rmSync(data, { recursive: true, force: true });
    },
  };
}
