// The examples, as they stand in their README, against the real server.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { openBrowser } from "./lib/browser.mjs";
import { serveFiles } from "./lib/files.mjs";
import { startServer } from "./lib/server.mjs";

const EXAMPLES = fileURLToPath(new URL("../../examples/", import.meta.url));

let server;
let files;
let browser;
let socketUrl;

async function token(userId) {
  const answer = await fetch(`${server.url}/demo/token?user=${userId}`);
  return (await answer.json()).token;
}

before(async () => {
  server = await startServer();
  socketUrl = `${server.url.replace("http", "ws")}/v1/connect`;
  files = await serveFiles();
  browser = await openBrowser();
});

after(async () => {
  await browser?.close();
  files?.close();
  await server?.close();
});

async function open(path, userId, people = "ana,bo") {
  const page = await browser.context.newPage();
  const query = new URLSearchParams({ server: socketUrl, token: await token(userId), people });
  await page.goto(`${files.url}${path}?${query}`);
  return page;
}

for (const [heading, file] of [
  ["A page without a framework", "vanilla/index.html"],
  ["A React app", "react/src/main.jsx"],
  ["A Node script", "node/watch.mjs"],
]) {
  test(`the README shows ${file} as it is`, () => {
    const readme = readFileSync(`${EXAMPLES}README.md`, "utf8");
    const section = readme.split(`## ${heading}\n`)[1];
    const [, code] = /```\w+\n([^]*?)```/.exec(section);
    assert.equal(code, readFileSync(EXAMPLES + file, "utf8"));
  });
}

test("the page without a framework has 30 lines at most", () => {
  const lines = readFileSync(`${EXAMPLES}vanilla/index.html`, "utf8").trimEnd().split("\n");
  assert.ok(lines.length <= 32, `${lines.length} lines`);
});

// Each pair is people of its own: that one is busy is kept.
for (const [name, path, people] of [
  ["the page without a framework", "/examples/vanilla/", ["ann", "bob"]],
  ["the React app", "/examples/react/dist/", ["rea", "ben"]],
]) {
  describe(name, () => {
    test("shows who is here, and what they say of themselves", async () => {
      const [one, other] = people;
      const here = await open(path, one, people.join());
      const there = await open(path, other, people.join());
      await here.getByText(`${other}: online`).waitFor({ timeout: 15_000 });
      await there.getByRole("button", { name: "I am" }).click();
      await here.getByText(`${other}: busy`).waitFor({ timeout: 15_000 });
      await there.close();
      await here.getByText(`${other}: offline`).waitFor({ timeout: 15_000 });
      await here.close();
    });
  });
}

test("the Node script tells when somebody comes and goes", async () => {
  const watcher = spawn(process.execPath, ["watch.mjs", await token("eve"), "ana", "eve"], {
    cwd: `${EXAMPLES}node`,
    env: { ...process.env, PRESENCED_URL: socketUrl },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let said = "";
  watcher.stdout.on("data", (text) => (said += text));
  const ended = once(watcher, "exit").then(([code]) => {
    throw new Error(`watch.mjs ended with ${code}; it had said: ${said}`);
  });
  ended.catch(() => {}); // At the end it is to end.
  const says = async (text) => {
    while (!said.includes(text)) {
      await Promise.race([once(watcher.stdout, "data"), ended]);
    }
  };
  await says("ana: offline");
  const ana = await open("/examples/vanilla/", "ana");
  await says("ana: online");
  said = "";
  await ana.close();
  await says("ana: offline");
  assert.doesNotMatch(said, /eve: online/);
  watcher.kill("SIGINT");
  const [code] = await once(watcher, "exit");
  assert.equal(code, 0);
});
