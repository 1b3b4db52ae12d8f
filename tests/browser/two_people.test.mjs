// Two people in two browsers, in front of the real server: what each does and the other sees.

import assert from "node:assert/strict";
import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { after, before, beforeEach, describe, test } from "node:test";
import { openBrowser, openPerson } from "./lib/browser.mjs";
import { layCable } from "./lib/cable.mjs";
import { Person } from "./lib/person.mjs";
import { startServer, TIMES } from "./lib/server.mjs";

// RENEW_PICTURES=1 renews the pictures of the documentation.
const PICTURES = fileURLToPath(
  new URL(
    process.env.RENEW_PICTURES ? "../../docs/images/" : "../../build/browser/",
    import.meta.url,
  ),
);
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const PHONE = {
  viewport: { width: 390, height: 844 },
  hasTouch: true,
  isMobile: true,
  deviceScaleFactor: 2,
};
/** A change has to be on the other's screen by then: the server's second and the page's batch. */
const SOON_MS = 2_500;

let server;
let browsers;
let cable;
let alice;
let bob;

async function enter(userId, url = server.url, options = {}, query = "") {
  const browser = await openBrowser(options);
  browsers.push(browser);
  return new Person(await openPerson(browser.context, url, userId, query));
}

before(async () => {
  mkdirSync(PICTURES, { recursive: true });
  server = await startServer();
  browsers = [];
  cable = await layCable(server.url);
  alice = await enter("alice");
  bob = await enter("bob", cable.url);
});

after(async () => {
  cable?.close();
  await Promise.all((browsers ?? []).map((browser) => browser.close()));
  await server?.close();
});

describe("two people", () => {
  beforeEach(async () => {
    await bob.beHere();
    await alice.sees("bob", "online");
    await bob.sees("alice", "online");
  });

  test("see each other come online, and the simulated people", async () => {
    await alice.timelineSays("Connected: a new session");
    assert.ok((await alice.page.locator(".person").count()) >= 6);
    await alice.seesText("bob", "Online");
    assert.equal(await alice.row("bob").locator(".devices").getAttribute("title"), "browser");
  });

  for (const [label, status, text] of [
    ["Away", "away", "Away since"],
    ["Busy", "busy", "Busy since"],
    ["Do not disturb", "dnd", "Do not disturb since"],
  ]) {
    test(`one sees the other ${status}`, async () => {
      await bob.choose(label);
      await alice.sees("bob", status, SOON_MS);
      await alice.seesText("bob", text);
      await bob.isMyStatus(label);
      await bob.choose("Online");
      await alice.sees("bob", "online", SOON_MS);
    });
  }

  test("an invisible person is offline to the other, and sees everybody", async () => {
    await bob.choose("Invisible");
    await alice.sees("bob", "offline", SOON_MS);
    assert.equal(await alice.row("bob").locator(".devices svg").count(), 0);
    await bob.isMyStatus("Invisible");
    await bob.sees("alice", "online");
    await bob.choose("Online");
    await alice.sees("bob", "online", SOON_MS);
  });

  test("a status ends by itself when its time has come", async () => {
    await bob.choose("Busy");
    await bob.page.getByLabel("How long").selectOption({ label: "For 30 minutes" });
    await bob.isMyStatus(/Busy until \d\d:\d\d/);
    await bob.choose("Online");
    await alice.sees("bob", "online", SOON_MS);
  });

  test("a custom status with emoji and end is shown and taken away", async () => {
    await bob.setCustomStatus({ emoji: "noodles", text: "Lunch", end: "For 30 minutes" });
    await alice.seesText("bob", "🍜 Lunch");
    const end = await alice.row("bob").locator(".custom").getAttribute("title");
    assert.match(end, /^until \d\d:\d\d$/);
    await bob.clearCustomStatus();
    await alice.row("bob").getByText("Lunch").waitFor({ state: "hidden", timeout: SOON_MS });
  });

  test("a change of who may see takes effect at once, both ways", async () => {
    await bob.setPrivacy({ online: "Nobody" });
    await alice.sees("bob", "offline", SOON_MS);
    await bob.sees("alice", "offline", SOON_MS); // who hides loses sight
    await bob.setPrivacy({ online: "Only …", only: ["alice"] });
    await alice.sees("bob", "online", SOON_MS);
    await bob.setPrivacy({ online: "Only …", only: ["carol"] });
    await alice.sees("bob", "offline", SOON_MS);
    await bob.setPrivacy({ online: "Everyone" });
    await alice.sees("bob", "online", SOON_MS);
    await bob.sees("alice", "online", SOON_MS);
  });

  test("a block hides both from each other until it is taken back", async () => {
    await alice.block("bob", "Bob");
    await alice.sees("bob", "offline", SOON_MS);
    await bob.sees("alice", "offline", SOON_MS);
    await alice.unblock("Bob");
    await alice.sees("bob", "online", SOON_MS);
    await bob.sees("alice", "online", SOON_MS);
  });

  test("an idle person is away and comes back with the first input", async () => {
    const carol = await enter("carol", server.url, {}, "&idle=2");
    await alice.sees("carol", "online", 4_000);
    await alice.sees("carol", "away", 6_000);
    await carol.page.mouse.move(200, 200);
    await alice.sees("carol", "online", SOON_MS);
    await carol.press("Sign out");
  });

  test("a second device shows, and leaves without the person leaving", async () => {
    const phone = await enter("bob", server.url, PHONE);
    await alice
      .row("bob")
      .locator('.devices[data-devices="mobile web"]')
      .waitFor({ timeout: SOON_MS });
    await phone.press("Sign out");
    await alice.row("bob").locator('.devices[data-devices="web"]').waitFor({ timeout: SOON_MS });
    await alice.sees("bob", "online");
  });

  test("who closes abruptly and is back within the grace was never gone", async () => {
    const before = (await alice.timeline()).length;
    await bob.press(/Close abruptly/);
    await new Promise((resolve) => setTimeout(resolve, TIMES.graceMs / 4));
    await alice.sees("bob", "online", 300);
    await bob.press(/Reconnect/);
    await bob.timelineSays("your session goes on");
    await new Promise((resolve) => setTimeout(resolve, 2 * TIMES.graceMs));
    const news = (await alice.timeline()).slice(0, -before || undefined);
    assert.deepEqual(
      news.filter((line) => line.includes("Bob")),
      [],
    );
  });

  test("who closes abruptly is offline after the grace, with a last seen", async () => {
    await bob.press(/Close abruptly/);
    const tookMs = await alice.timeUntil("bob", "offline", TIMES.graceMs + 3_000);
    assert.ok(tookMs > TIMES.graceMs - 200, `offline after ${tookMs} ms`);
    await alice.seesText("bob", /Last seen (just now|1 minute ago)/);
    await bob.timelineSays("others now see you offline");
    await bob.press(/Reconnect/);
    await alice.sees("bob", "online", SOON_MS);
  });

  test("who signs out is offline at once", async () => {
    await bob.press(/Sign out/);
    await alice.sees("bob", "offline", 1_500);
    await bob.press(/Reconnect/);
    await alice.sees("bob", "online", SOON_MS);
  });

  test("hidden last seen is not told", async () => {
    await bob.setPrivacy({ lastSeen: "Nobody" });
    await bob.press(/Sign out/);
    await alice.sees("bob", "offline", 1_500);
    await alice.seesText("bob", "Offline");
    await bob.press(/Reconnect/);
    await alice.sees("bob", "online", SOON_MS);
    await bob.setPrivacy({ lastSeen: "Everyone" });
  });

  test("a silent death by the button is seen after the ttl, not before", async () => {
    await bob.press(/Drop the network/);
    const tookMs = await alice.timeUntil("bob", "offline", TIMES.ttlMs + 3_000);
    assert.ok(tookMs > TIMES.ttlMs - TIMES.intervalMs - 200, `offline after ${tookMs} ms`);
    await alice.seesText("bob", /Last seen (just now|1 minute ago)/);
    await bob.timelineSays("others now see you offline");
    await picture(bob, "demo-dropped");
    await bob.press(/Reconnect/);
    await alice.sees("bob", "online", SOON_MS);
    await bob.sees("alice", "online", SOON_MS);
  });

  test("a cut cable: offline after the ttl for the other, stale and then unknown for oneself", async () => {
    cable.cut();
    const tookMs = await alice.timeUntil("bob", "offline", TIMES.ttlMs + 3_000);
    assert.ok(tookMs > TIMES.ttlMs - TIMES.intervalMs - 200, `offline after ${tookMs} ms`);
    await bob.page.getByText("as last known").waitFor({ timeout: 2_000 });
    await bob.sees("alice", "unknown", TIMES.ttlMs + 3_000);
    cable.mend();
    await bob.page.evaluate(() => dispatchEvent(new Event("online")));
    await alice.sees("bob", "online", 12_000);
    await bob.sees("alice", "online", SOON_MS);
  });
});

async function picture(person, name) {
  await person.page.screenshot({ path: `${PICTURES}${name}.png` });
}

describe("the page", () => {
  for (const [size, options] of [
    ["desktop", {}],
    ["phone", PHONE],
  ]) {
    for (const colorScheme of ["light", "dark"]) {
      test(`is readable on a ${size} in ${colorScheme} and has no fault that axe finds`, async () => {
        await bob.choose("Busy");
        await bob.setCustomStatus({ emoji: "headphones", text: "Writing, back at three" });
        const guest = await enter("alice", server.url, { ...options, colorScheme });
        await guest.sees("bob", "busy", SOON_MS);
        await picture(guest, `demo-${size}-${colorScheme}`);
        await noFaults(guest);
        await guest.press("Who may see me …");
        await noFaults(guest);
        await guest.page.keyboard.press("Escape");
        await guest.page.locator(".custom-button").click();
        await noFaults(guest);
        await guest.page.keyboard.press("Escape");
        const width = await guest.page.evaluate(
          // Of a phone `innerWidth` grows with the page.
          () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
        );
        assert.ok(width <= 0, `the page is ${width} px too wide`);
        assert.deepEqual(guest.errors, []);
        await guest.page.close();
      });
    }
  }

  test("asks who one is, and is left by keyboard alone", async () => {
    const browser = await openBrowser();
    browsers.push(browser);
    const page = await browser.context.newPage();
    await page.goto(server.url);
    await page.keyboard.type("dora");
    await page.keyboard.press("Enter");
    await page.getByText("Connected", { exact: true }).waitFor();
    assert.equal(new URL(page.url()).searchParams.get("user"), "dora");
    await page.reload();
    await page.getByText("Connected", { exact: true }).waitFor();
    await page.getByPlaceholder("Add a user id").fill("erin");
    await page.keyboard.press("Enter");
    await page.locator('[data-user="erin"]').waitFor();
    await page.getByRole("button", { name: "Switch person" }).press("Enter");
    await page.getByLabel("Who are you?").waitFor();
  });

  test("wrote no error on the console", () => {
    assert.deepEqual(alice.errors, []);
  });
});

async function noFaults({ page }) {
  // Past the page's own policy, which lets no foreign script in.
  await page.evaluate(AXE);
  const result = await page.evaluate(() => globalThis.axe.run());
  const faults = result.violations.map(({ id, nodes }) => `${id}: ${nodes[0].html}`);
  assert.deepEqual(faults, []);
}
