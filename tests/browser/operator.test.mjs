// The operator page in front of the real server: what an operator looks for, and finds.

import assert from "node:assert/strict";
import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { openBrowser, openPerson } from "./lib/browser.mjs";
import { startServer } from "./lib/server.mjs";

const PICTURES = fileURLToPath(
  new URL(
    process.env.RENEW_PICTURES ? "../../docs/images/" : "../../build/browser/",
    import.meta.url,
  ),
);
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const SIZES = {
  desktop: { width: 1280, height: 860 },
  phone: { width: 390, height: 844 },
};

// A minute, so that a busy machine ends nobody's session by itself.
const CALM = ["heartbeat.interval=20s", "heartbeat.ttl=60s"];

let server;
let browser;
let bob;

/** A tab of its own: the key is kept in the tab alone. */
async function enter(key = "dev") {
  const page = await browser.context.newPage();
  page.errors = [];
  page.on("pageerror", (error) => page.errors.push(String(error)));
  await page.goto(`${server.url}/admin`);
  await page.getByLabel("API key").fill(key);
  await page.keyboard.press("Enter");
  return page;
}

async function search(page, user, viewer = "") {
  await page.getByRole("tab", { name: "Users" }).click();
  await page.getByLabel("User id").fill(user);
  await page.getByLabel("As seen by").fill(viewer);
  await page.getByRole("button", { name: "Look" }).click();
}

before(async () => {
  mkdirSync(PICTURES, { recursive: true });
  server = await startServer(CALM);
  browser = await openBrowser();
  bob = await openPerson(browser.context, server.url, "bob");
  // Whom nobody ends, so that there is life in the pictures.
  await openPerson(browser.context, server.url, "dora");
});

after(async () => {
  await browser?.close();
  await server?.close();
});

describe("an operator", () => {
  test("with a wrong key is told so, and asked again", async () => {
    const page = await enter("wrong");
    await page.getByText("The server refuses this key.").waitFor({ timeout: 15_000 });
    await page.getByLabel("API key").fill("dev");
    await page.keyboard.press("Enter");
    await page.getByText("Live", { exact: true }).waitFor({ timeout: 15_000 });
    assert.equal(new URL(page.url()).pathname, "/admin/");
  });

  // The simulated people come and go by themselves, and Bob's page watches them.
  test("sees what the server does, as it happens", async () => {
    const page = await enter();
    await page.getByText("Live", { exact: true }).waitFor({ timeout: 15_000 });
    const card = (title) => page.locator(".chart", { has: page.getByRole("heading", { name: title }) });
    const drawn = ["People here", "Connections", "Sessions", "Heartbeats", "Transitions", "Deliveries", "Watches",
      "Time to settle", "Time to commit", "Time to read records", "Lag of the threads", "Waiting in queues"];
    for (const title of drawn) {
      await card(title).locator("canvas").first().waitFor({ timeout: 30_000 });
      assert.ok(await card(title).locator(".nothing").isHidden(), title);
    }
    // What a server without Redis does not have is said, not left out.
    await card("Commands to Redis").getByText("This node shares no store.").waitFor();
    const beats = card("Heartbeats").locator(".now > span").filter({ hasText: /^WebSocket (?!0$)/ });
    await beats.waitFor({ timeout: 30_000 });
    const tile = page.locator(".tile", { hasText: "Nodes" }).locator("dd");
    assert.equal(await tile.innerText(), "1");
    assert.deepEqual(page.errors, []);
  });

  test("sees how long it takes to look up a list, while people look", async () => {
    const page = await enter();
    await page.getByText("Live", { exact: true }).waitFor({ timeout: 15_000 });
    const card = page.locator(".chart", { has: page.getByRole("heading", { name: "Time to look up a list" }) });
    const figures = card.locator(".now > span");
    const shown = figures.filter({ hasText: /^half [\d.]+$/ });
    // A list is looked up by whoever opens the page of the people.
    for (let visitor = 0; visitor < 10 && !(await shown.isVisible()); visitor++) {
      const person = await openPerson(browser.context, server.url, `visitor-${visitor}`);
      await page.bringToFront();
      await shown.waitFor({ timeout: 5_000 }).catch(() => {});
      await person.page.close();
    }
    await shown.waitFor({ timeout: 15_000 });
    assert.match(await figures.nth(1).innerText(), /^99 of 100 [\d.]+$/);
    await card.locator("canvas").waitFor();
    assert.ok(await card.locator(".nothing").isHidden());
    const [half, most] = (await figures.allInnerTexts()).map((text) => Number(text.split(" ").at(-1)));
    assert.ok(half > 0 && half <= most && most < 1_000, `${half} and ${most} ms`);
  });

  test("sees how the parts are, what goes wrong while it does, and any figure by a part of its name", async () => {
    const page = await enter();
    await page.getByText("Live", { exact: true }).waitFor({ timeout: 15_000 });
    await page.getByRole("tab", { name: "Health" }).click();
    await page.getByText("session store: ok").waitFor();
    await page.getByText("database: ok").waitFor();
    await page.getByText("None in the last ten minutes.").waitFor();
    const refused = await fetch(`${server.url}/v1/users/bob/presence`, { headers: { authorization: "Bearer wrong" } });
    assert.equal(refused.status, 401);
    const recent = page.getByRole("group", { name: "Recent errors" });
    await recent.getByText('presenced_tokens_refused_total{reason="malformed"} +1').waitFor({ timeout: 15_000 });
    await page.getByLabel("Show only").fill("transitions_total");
    const rows = page.getByRole("group", { name: "Figures" }).locator("tr");
    await rows.filter({ hasText: 'presenced_transitions_total{cause="connect"}' }).waitFor();
    assert.equal(await rows.filter({ hasNotText: "transitions_total" }).count(), 0);
  });

  test("sees which rooms there are, and who is in one", async () => {
    const person = await openPerson(browser.context, server.url, "carol");
    const page = await enter();
    await page.getByRole("tab", { name: "Rooms" }).click();
    const room = page.locator("ul.rooms button").first();
    await room.waitFor({ timeout: 15_000 });
    await room.click();
    await page.locator("ul.members").getByText("carol").waitFor({ timeout: 15_000 });
    await person.page.close();
  });

  test("goes through the list of a full room page by page", async () => {
    const page = await enter();
    await page.getByRole("tab", { name: "Rooms" }).click();
    await page.getByLabel("Rooms that begin with").fill("stadium");
    await page.getByRole("button", { name: "Look" }).last().click();
    await page.locator("ul.rooms button", { hasText: "stadium" }).click();
    const members = page.locator("ul.members > li");
    const more = page.getByRole("button", { name: "Show more" });
    await more.waitFor({ timeout: 15_000 });
    assert.equal(await members.count(), 100);
    await more.press("Enter");
    await members.nth(199).waitFor({ timeout: 15_000 });
    const names = await page.locator("ul.members bdi").allTextContents();
    assert.equal(new Set(names).size, 200);
    assert.ok(await more.evaluate((button) => button === document.activeElement));
  });

  test("finds a user's session, why another sees what, and ends the session", async () => {
    const page = await enter();
    await search(page, "bob", "alice");
    await page.getByText("Sessions (1)").waitFor({ timeout: 15_000 });
    await page.getByText("Why alice sees this").waitFor();
    assert.ok((await page.locator(".rules li").count()) >= 2);
    await page.screenshot({ path: `${PICTURES}admin-user.png` });
    await page.getByRole("button", { name: "End" }).click();
    await page.getByRole("button", { name: "Really end it?" }).click();
    await page.getByText("Sessions (0)").waitFor({ timeout: 15_000 });
    await bob.page.getByText("Not connected", { exact: true }).waitFor({ timeout: 15_000 });
  });

  test("finds nobody where nobody is, and learns what is wrong with an id", async () => {
    const page = await enter();
    await search(page, "no-one");
    await page.getByText("Sessions (0)").waitFor({ timeout: 15_000 });
    await search(page, "\u200b");
    await page.locator(".error", { hasText: /\w/ }).first().waitFor({ timeout: 15_000 });
  });

  test("goes by keyboard alone", async () => {
    const page = await enter();
    await page.getByRole("tab", { name: "Overview" }).focus();
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("ArrowRight");
    await page.getByLabel("Rooms that begin with").waitFor();
    const chosen = page.getByRole("tab", { name: "Rooms" });
    assert.equal(await chosen.getAttribute("aria-selected"), "true");
  });
});

for (const [size, viewport] of Object.entries(SIZES)) {
  for (const colorScheme of ["light", "dark"]) {
    test(`the page is readable on a ${size} in ${colorScheme} and has no fault that axe finds`, async () => {
      const page = await enter();
      await page.setViewportSize(viewport);
      await page.emulateMedia({ colorScheme });
      await page.getByText("Live", { exact: true }).waitFor({ timeout: 15_000 });
      await page.waitForTimeout(20_000);
      await page.screenshot({ path: `${PICTURES}admin-${size}-${colorScheme}.png` });
      for (const tab of ["Overview", "Users", "Rooms", "Health"]) {
        await page.getByRole("tab", { name: tab }).click();
        if (tab === "Users") {
          await search(page, "grace", "alice");
          await page.getByText(/Sessions \(/).waitFor({ timeout: 15_000 });
        }
        await page.evaluate(AXE);
        const { violations } = await page.evaluate(() => globalThis.axe.run());
        assert.deepEqual(
          violations.map(({ id, nodes }) => `${tab} ${id}: ${nodes[0].html}`),
          [],
        );
      }
      const width = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      assert.ok(width <= 0, `the page is ${width} px too wide`);
      await page.close();
    });
  }
}
