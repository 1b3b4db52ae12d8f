// What the pages' policy lets browsers do: all that the pages need, and nothing that a stranger would
// want of them.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, before, describe, test } from "node:test";
import { openBrowser } from "./lib/browser.mjs";
import { startServer } from "./lib/server.mjs";

let server;
let browser;
let stranger;

before(async () => {
  server = await startServer(["heartbeat.interval=20s", "heartbeat.ttl=60s"]);
  browser = await openBrowser();
  // Another origin, with a page that would like to frame ours, and that tells who asked it for anything.
  const asked = [];
  const http = createServer((request, response) => {
    asked.push(request.url);
    response.setHeader("content-type", "text/html");
    response.setHeader("access-control-allow-origin", "*");
    response.end("<!doctype html><title>elsewhere</title>");
  });
  await new Promise((resolve) => http.listen(0, "127.0.0.1", resolve));
  stranger = { url: `http://127.0.0.1:${http.address().port}`, asked, close: () => http.close() };
});

after(async () => {
  await browser?.close();
  await server?.close();
  stranger?.close();
});

/** A tab that notes each breach of a policy, in its frames, too, and each error on the console. */
async function watched() {
  const page = await browser.context.newPage();
  page.complaints = [];
  await page.exposeBinding("noteBreach", (_, breach) => page.complaints.push(breach));
  await page.addInitScript(() =>
    addEventListener("securitypolicyviolation", ({ violatedDirective, blockedURI }) =>
      globalThis.noteBreach(`${violatedDirective} ${blockedURI}`),
    ),
  );
  page.on("console", (message) => message.type() === "error" && page.complaints.push(message.text()));
  page.on("pageerror", (error) => page.complaints.push(String(error)));
  return page;
}

async function openDemo() {
  const page = await watched();
  await page.goto(`${server.url}/?user=alice`);
  await page.getByText("Connected", { exact: true }).waitFor();
  return page;
}

async function openAdmin() {
  const page = await watched();
  await page.goto(`${server.url}/admin/`);
  await page.getByLabel("API key").fill("dev");
  await page.keyboard.press("Enter");
  await page.getByRole("tab", { name: "Users" }).click();
  await page.getByLabel("User id").fill("alice");
  await page.getByRole("button", { name: "Look" }).click();
  await page.getByText("alice").first().waitFor();
  return page;
}

describe("the pages' own policy", () => {
  test("is in nobody's way on the demo page, a second person beside included", async () => {
    const page = await openDemo();
    await page.getByRole("button", { name: "Second person beside" }).click();
    await page.frameLocator("iframe.beside").getByText("Connected", { exact: true }).waitFor();
    assert.deepEqual(page.complaints, []);
    await page.close();
  });

  test("is in nobody's way on the operator page", async () => {
    const page = await openAdmin();
    for (const name of ["Rooms", "Users"]) {
      await page.getByRole("tab", { name }).click();
    }
    assert.deepEqual(page.complaints, []);
    await page.close();
  });

  for (const [name, open] of [["demo", openDemo], ["operator", openAdmin]]) {
    test(`lets no script in that was put into the ${name} page, and nothing out`, async () => {
      const page = await open();
      const before = stranger.asked.length;
      const reached = await page.evaluate(async (url) => {
        const element = document.createElement("div");
        element.innerHTML = `<img src="data:," onerror="globalThis.taken = 'handler'">`;
        document.body.append(element);
        const script = document.createElement("script");
        script.textContent = "globalThis.taken = 'script'";
        document.body.append(script);
        const foreign = document.createElement("script");
        foreign.src = `${url}/script.js`;
        document.body.append(foreign);
        new Image().src = `${url}/image?secret`;
        const frame = document.createElement("iframe");
        frame.src = `${url}/frame`;
        document.body.append(frame);
        const out = [];
        await fetch(`${url}/fetch?secret`).then(() => out.push("fetch"), () => {});
        try {
          // Some browsers say no at once, others with an error later.
          const socket = new WebSocket(url.replace("http", "ws"));
          await new Promise((resolve) => { socket.onerror = resolve; socket.onopen = () => { out.push("socket"); resolve(); }; });
        } catch {
          // As it should be.
        }
        await new Promise((resolve) => setTimeout(resolve, 300));
        return { out, taken: globalThis.taken };
      }, stranger.url);
      assert.deepEqual(reached, { out: [], taken: undefined });
      assert.deepEqual(stranger.asked.slice(before), []);
      const breached = new Set(page.complaints.map((one) => one.split(" ")[0]));
      for (const directive of ["script-src-attr", "script-src-elem", "img-src", "connect-src", "frame-src"]) {
        assert.ok(breached.has(directive), `${directive} was not what stopped it: ${[...breached]}`);
      }
      await page.close();
    });

    test(`lets no page of another origin frame the ${name} page`, async () => {
      const page = await watched();
      await page.goto(stranger.url);
      const path = name === "demo" ? "/?user=alice" : "/admin/";
      await page.evaluate((url) => {
        const frame = document.createElement("iframe");
        frame.src = url;
        document.body.append(frame);
        return new Promise((resolve) => (frame.onload = resolve));
      }, server.url + path);
      const [, framed] = page.frames();
      assert.equal(await framed.locator("#app").count(), 0);
      assert.match(page.complaints.join(), /frame-ancestors/);
      await page.close();
    });
  }
});
