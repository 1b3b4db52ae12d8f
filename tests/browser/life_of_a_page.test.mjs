// What browsers do to a page: reload, copy, freeze, hold timers back, lose the network. In front of
// the real server, whose list of sessions tells what became of the page's session.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { openBrowser, openPerson } from "./lib/browser.mjs";
import { startServer } from "./lib/server.mjs";

// Slow enough that a busy machine ends nobody's session by itself.
const TTL_MS = 9_000;
const TIMES = ["heartbeat.interval=3s", "heartbeat.ttl=9s", "heartbeat.grace=4s"];

let server;
let browser;

async function sessions(userId) {
  const answer = await fetch(`${server.url}/v1/users/${userId}/sessions`, {
    headers: { authorization: "Bearer dev" },
  });
  return (await answer.json()).sessions.map(({ sessionId, state }) => ({ sessionId, state }));
}

/** Waits until the sessions are as wanted, and gives them. */
async function until(userId, isSo, what, withinMs = 15_000) {
  const end = Date.now() + withinMs;
  for (;;) {
    const found = await sessions(userId);
    if (isSo(found)) {
      return found;
    }
    assert.ok(Date.now() < end, `${what}: ${JSON.stringify(found)}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

const isOneLive = (found) => found.length === 1 && found[0].state === "live";
const isConnected = (page) =>
  page.getByText("Connected", { exact: true }).waitFor({ timeout: 15_000 });

before(async () => {
  server = await startServer(TIMES);
  browser = await openBrowser();
});

after(async () => {
  await browser?.close();
  await server?.close();
});

describe("the session of a page", () => {
  test("goes on over a reload", async () => {
    const { page } = await openPerson(browser.context, server.url, "rita");
    const [before] = await until("rita", isOneLive, "one session");
    await page.reload();
    await isConnected(page);
    const [afterwards] = await until("rita", isOneLive, "still one session");
    assert.equal(afterwards.sessionId, before.sessionId);
    await page.close();
  });

  test("is not taken by a copy of the tab", async () => {
    const { page } = await openPerson(browser.context, server.url, "dora");
    const [first] = await until("dora", isOneLive, "one session");
    // A page that is opened by another begins with a copy of its storage, as a duplicated tab does.
    const [copy] = await Promise.all([
      browser.context.waitForEvent("page"),
      page.evaluate(() => void open(location.href)),
    ]);
    await isConnected(copy);
    const both = await until("dora", (found) => found.length === 2, "two sessions");
    assert.ok(both.some(({ sessionId }) => sessionId === first.sessionId));
    await page.waitForTimeout(2_000);
    await isConnected(page);
    await copy.close();
    await page.close();
  });

  test("outlives a frozen page, and is resumed once when the page is shown", async () => {
    const { page } = await openPerson(browser.context, server.url, "fred");
    const [first] = await until("fred", isOneLive, "one session");
    // A browser freezes hidden pages alone, and the driver keeps all of them visible: so the page gets
    // what it would be told.
    await page.evaluate(() => document.dispatchEvent(new Event("freeze")));
    await until("fred", ([one]) => one?.state === "grace", "in grace");
    await page.evaluate(() => document.dispatchEvent(new Event("resume")));
    await isConnected(page);
    const [afterwards] = await until("fred", isOneLive, "live again");
    assert.equal(afterwards.sessionId, first.sessionId);
    await page.close();
  });

  test("lives although the page's timers are held back for longer than the ttl", async () => {
    const page = await browser.context.newPage();
    // As in a tab long in the background, where timers wait for the next full minute.
    await page.addInitScript((everyMs) => {
      const real = globalThis.setTimeout;
      globalThis.setTimeout = (run, delayMs = 0, ...rest) => {
        const due = Date.now() + delayMs;
        const isSlow = globalThis.isHeldBack === true;
        const at = isSlow ? Math.ceil(due / everyMs) * everyMs : due;
        return real(run, at - Date.now(), ...rest);
      };
    }, 2 * TTL_MS);
    await page.goto(`${server.url}/?user=holda`);
    await isConnected(page);
    const [first] = await until("holda", isOneLive, "one session");
    await page.evaluate(() => (globalThis.isHeldBack = true));
    const end = Date.now() + 3 * TTL_MS;
    while (Date.now() < end) {
      assert.deepEqual(await sessions("holda"), [first]);
      await page.waitForTimeout(500);
    }
    await page.close();
  });

  test("is resumed after the network was gone and the browser says that it is back", async () => {
    const { page } = await openPerson(browser.context, server.url, "olaf");
    const [first] = await until("olaf", isOneLive, "one session");
    await page.getByRole("button", { name: /^Lose the network/ }).click();
    await page.getByText("No network", { exact: true }).waitFor();
    await page.getByText("The network is back").waitFor({ timeout: 15_000 });
    await isConnected(page);
    assert.deepEqual(await until("olaf", isOneLive, "live"), [first]);
    await page.close();
  });

  test("is over after a sleep beyond the ttl, and the page that wakes finds out by itself", async () => {
    const { page } = await openPerson(browser.context, server.url, "sleepy");
    await until("sleepy", isOneLive, "one session");
    await page.getByRole("button", { name: /^Sleep/ }).click();
    await until("sleepy", (found) => found.length === 0, "gone while asleep", 2 * TTL_MS);
    await page.getByText("Awake").waitFor({ timeout: 20_000 });
    await until("sleepy", isOneLive, "back", 20_000);
    await isConnected(page);
    await page.close();
  });
});

test("a server that restarts: the page says so, and comes back by itself", async () => {
  const own = await startServer(TIMES);
  const { page } = await openPerson(browser.context, own.url, "rest");
  const { port } = new URL(own.url);
  await own.close();
  await page.getByText(/Trying again in|Connecting/).first().waitFor({ timeout: 15_000 });
  await page.getByText("as last known").waitFor({ timeout: 15_000 });
  const next = await startServer([...TIMES, `listen=127.0.0.1:${port}`]);
  await page.getByText("Connected", { exact: true }).waitFor({ timeout: 40_000 });
  await page.close();
  await next.close();
});

test("two people side by side in one page, each with a session of its own", async () => {
  const { page } = await openPerson(browser.context, server.url, "alice");
  await page.getByRole("button", { name: "Second person beside" }).click();
  const pane = page.frameLocator("iframe.beside");
  await pane.getByText("Connected", { exact: true }).waitFor({ timeout: 15_000 });
  await page.locator('[data-user="bob"][data-status="online"]').waitFor({ timeout: 15_000 });
  const [alice] = await until("alice", isOneLive, "alice");
  const [bob] = await until("bob", isOneLive, "bob");
  await page.reload();
  await isConnected(page);
  assert.deepEqual(await until("alice", isOneLive, "alice again"), [alice]);
  assert.notEqual(bob.sessionId, alice.sessionId);
  await page.close();
});
