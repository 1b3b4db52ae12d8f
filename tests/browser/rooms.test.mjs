// Rooms on the demo page, in front of the real server: who is here, how many, who is typing, what is said.

import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { openBrowser, openPerson } from "./lib/browser.mjs";
import { startServer } from "./lib/server.mjs";

// A minute, so that a busy machine ends nobody's session by itself.
const CALM = ["heartbeat.interval=20s", "heartbeat.ttl=60s"];
const LISTED = 60;
const PICTURES = fileURLToPath(
  new URL(process.env.RENEW_PICTURES ? "../../docs/images/" : "../../build/browser/", import.meta.url),
);

let server;
let browser;
let alice;
let bob;

/** The panel of the room that a person looks at. */
class Room {
  constructor({ page }) {
    this.page = page;
    this.panel = page.locator("section.room");
    this.members = this.panel.locator("ul.members > li");
    this.typing = this.panel.locator(".typing");
    this.field = this.panel.getByLabel("Say something");
  }

  async enter(name) {
    await this.panel.getByLabel("Which room").selectOption(name);
  }

  async lists(text) {
    await this.panel.locator(`ul.members > li[title="${text}"]`).waitFor({ timeout: 15_000 });
  }

  async says(text) {
    await this.panel.locator(".bubbles > li", { hasText: text }).waitFor({ timeout: 15_000 });
  }
}

before(async () => {
  mkdirSync(PICTURES, { recursive: true });
  server = await startServer([...CALM, `limits.room_members=${LISTED}`]);
  browser = await openBrowser();
  alice = new Room(await openPerson(browser.context, server.url, "alice"));
  bob = new Room(await openPerson(browser.context, server.url, "bob"));
});

after(async () => {
  await browser?.close();
  await server?.close();
});

describe("a small room", () => {
  test("lists who is in it, with the status of each", async () => {
    await alice.lists("Alice: Online");
    await alice.lists("Bob: Online");
    await bob.page.getByRole("radio", { name: /^Busy/ }).check();
    await alice.lists("Bob: Busy");
    await bob.enter("kitchen");
    await alice.panel.locator('li[title^="Bob"]').waitFor({ state: "detached", timeout: 15_000 });
    assert.equal(await alice.panel.locator(".count").innerText(), "1");
    await bob.enter("lobby");
    await alice.lists("Bob: Busy");
  });

  test("tells who is typing until the words are said, and what they are", async () => {
    await bob.field.pressSequentially("Hello");
    await alice.typing.getByText("Bob is typing …").waitFor({ timeout: 15_000 });
    assert.equal(await bob.typing.innerText(), "", "one's own typing is no news");
    await bob.page.keyboard.press("Enter");
    await alice.says("Hello");
    await bob.says("Hello");
    await alice.page.waitForFunction(() => document.querySelector(".typing").textContent === "");
  });

  test("tells that somebody types no more who has only stopped", async () => {
    await bob.field.pressSequentially("Well");
    await alice.typing.getByText("Bob is typing …").waitFor({ timeout: 15_000 });
    const start = Date.now();
    await alice.page.waitForFunction(() => document.querySelector(".typing").textContent === "");
    assert.ok(Date.now() - start > 2_000, "not at once");
  });
});

describe("a large room", () => {
  test("shows how many are there in the place of a list, and the number moves", async () => {
    await alice.enter("stadium");
    await alice.panel.getByText("So many that they are counted and not listed.").waitFor({ timeout: 30_000 });
    await alice.page.waitForFunction(
      (least) => Number(document.querySelector(".room .count").textContent) > least,
      LISTED,
    );
    assert.equal(await alice.members.count(), 0);
    await bob.enter("stadium");
    await bob.field.pressSequentially("Go");
    await alice.typing.getByText("Bob is typing …").waitFor({ timeout: 15_000 });
    await alice.page.screenshot({ path: `${PICTURES}demo-room.png` });
    const count = await alice.panel.locator(".count").innerText();
    await alice.page.waitForFunction(
      (before) => document.querySelector(".room .count").textContent !== before,
      count,
      { timeout: 60_000 },
    );
  });

  test("is left for a small one, which lists again", async () => {
    await alice.enter("lobby");
    await alice.lists("Alice: Online");
    assert.ok((await alice.members.count()) < LISTED);
  });
});
