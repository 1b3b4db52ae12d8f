// The demo page with names of any length and direction, by keyboard alone, and without a connection.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { openBrowser, openPerson } from "./lib/browser.mjs";
import { startServer } from "./lib/server.mjs";

// A minute, so that a busy machine ends nobody's session by itself.
const CALM = ["heartbeat.interval=20s", "heartbeat.ttl=60s"];
const LONG = "maximiliane-von-und-zu-hohenlohe-schillingsfürst-the-third-of-her-name-and-the-last";
const RIGHT_TO_LEFT = "محمد بن عبد الله";
const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };
/** As wide as a desktop at a zoom of 400 %. */
const NARROWEST = { viewport: { width: 320, height: 256 } };

let server;
let browser;

before(async () => {
  server = await startServer(CALM);
  browser = await openBrowser();
});

after(async () => {
  await browser?.close();
  await server?.close();
});

async function add(page, userId) {
  await page.getByPlaceholder("Add a user id").fill(userId);
  await page.keyboard.press("Enter");
  await page.locator(`[data-user="${userId}"]`).waitFor();
}

describe("names", () => {
  for (const [size, options] of Object.entries({ desktop: {}, phone: PHONE, narrowest: NARROWEST })) {
    test(`long ones and those from right to left make no ${size} page too wide`, async () => {
      const own = await openBrowser(options);
      try {
        const { page, errors } = await openPerson(own.context, server.url, LONG);
        await add(page, `${LONG}-too`);
        await add(page, RIGHT_TO_LEFT);
        // Of a phone `innerWidth` grows with the page.
        const tooWide = await page.evaluate(() => {
          const { scrollWidth, clientWidth } = document.documentElement;
          return scrollWidth - clientWidth;
        });
        assert.equal(tooWide, 0);
        const direction = (userId) =>
          page.locator(`[data-user="${userId}"] .name`).evaluate((name) => getComputedStyle(name).direction);
        assert.equal(await direction(RIGHT_TO_LEFT), "rtl");
        assert.equal(await direction(`${LONG}-too`), "ltr");
        assert.deepEqual(errors, []);
      } finally {
        await own.close();
      }
    });
  }

  test("one that cannot be an id is refused in words, and another may be given", async () => {
    const page = await browser.context.newPage();
    await page.goto(`${server.url}/?user=${encodeURIComponent("😀".repeat(40))}`);
    await page.getByRole("alert").getByText("at most 128 bytes").waitFor();
    await page.getByLabel("Who are you?").fill("erin");
    await page.keyboard.press("Enter");
    await page.getByText("Connected", { exact: true }).waitFor();
    await page.close();
  });
});

describe("by keyboard", () => {
  test("the focus stays on a button that has done its work, and it does nothing twice", async () => {
    const { page } = await openPerson(browser.context, server.url, "kim");
    const close = page.getByRole("button", { name: /^Close abruptly/ });
    await close.focus();
    await page.keyboard.press("Enter");
    await page.getByText("Not connected", { exact: true }).waitFor();
    assert.ok(await close.evaluate((button) => button === document.activeElement));
    assert.ok(await close.isDisabled());
    await page.keyboard.press("Enter");
    assert.equal(await page.locator(".events li", { hasText: "Closed without goodbye" }).count(), 1);
    await page.close();
  });

  test("the menu of a person is closed by Escape", async () => {
    const { page } = await openPerson(browser.context, server.url, "kim");
    const menu = page.locator('[data-user="bob"] summary');
    await menu.press("Enter");
    await page.getByRole("button", { name: "Block Bob" }).focus();
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Block Bob" }).waitFor({ state: "hidden" });
    assert.ok(await menu.evaluate((summary) => summary === document.activeElement));
    await page.close();
  });
});

test("while there is no connection nothing is shown as certain, and what was not done is said and taken back", async () => {
  const { page } = await openPerson(browser.context, server.url, "lou");
  await page.getByRole("button", { name: /^Close abruptly/ }).click();
  await page.getByText("Server: ?", { exact: true }).waitFor();
  await page.getByRole("radio", { name: /^Busy/ }).click();
  await page.locator(".events li", { hasText: "Your status was not set: not connected" }).waitFor();
  assert.ok(await page.getByRole("radio", { name: /^Online/ }).isChecked());
  await page.getByPlaceholder("Say something").fill("hello");
  await page.keyboard.press("Enter");
  await page.locator(".events li", { hasText: "It was not said: not connected" }).waitFor();
  assert.equal(await page.getByPlaceholder("Say something").inputValue(), "hello");
  await page.close();
});

test("whose presence is not known stands among nobody who is not here", async () => {
  const page = await browser.context.newPage();
  // No connection comes about, so nothing is ever told.
  await page.routeWebSocket(/\/v1\/connect$/, (socket) => socket.close());
  await page.goto(`${server.url}/?user=max`);
  const group = (title) => page.locator(`ul.people[aria-label="${title}"] > li`);
  await group("Not known").first().waitFor();
  assert.equal(await group("Not here").count(), 0);
  await page.close();
});
