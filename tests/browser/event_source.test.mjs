// A browser's own EventSource in front of the real server: with the token in a cookie, as it can send no header.

import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { openBrowser } from "./lib/browser.mjs";
import { startServer } from "./lib/server.mjs";

const COOKIE = "presence_token";
const encode = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");

/** An HS256 token by the secret of --dev. */
function tokenFor(user, claims = {}) {
  const now = Math.floor(Date.now() / 1000);
  const text = `${encode({ alg: "HS256", typ: "JWT" })}.${encode({ sub: user, iat: now, exp: now + 600, ...claims })}`;
  return `${text}.${createHmac("sha256", "dev").update(text).digest("base64url")}`;
}

/** A page of another origin, with nothing on it. */
async function startPage() {
  const server = createServer((request, response) => {
    response.setHeader("content-type", "text/html");
    response.end("<!doctype html><title>a page</title>");
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { origin: `http://127.0.0.1:${server.address().port}`, close: () => server.close() };
}

/** In the page: opens an EventSource and keeps what comes in window.heard. */
function listen([url, withCredentials]) {
  const source = new EventSource(url, { withCredentials });
  window.heard = { events: [], opens: 0, errors: 0, source };
  source.onopen = () => ++window.heard.opens;
  source.onerror = () => ++window.heard.errors;
  for (const name of ["snapshot", "update"]) {
    source.addEventListener(name, (event) =>
      window.heard.events.push([name, event.lastEventId, JSON.parse(event.data).users]),
    );
  }
}

const heardOf = (page, user, status) =>
  page.waitForFunction(
    ([wanted, as]) =>
      window.heard.events
        .flatMap(([, , users]) => users)
        .filter((one) => one.userId === wanted)
        .at(-1)?.status === as,
    [user, status],
    { timeout: 8_000 },
  );

const declare = (user, status) =>
  fetch(`${server.url}/v1/users/${user}/status`, {
    method: "PUT",
    headers: { authorization: "Bearer dev" },
    body: JSON.stringify({ status }),
  });
const beat = (user) =>
  fetch(`${server.url}/v1/heartbeat`, {
    method: "POST",
    headers: { authorization: `Bearer ${tokenFor(user)}` },
    body: JSON.stringify({ deviceId: "a" }),
  });

let server;
let friend;
let stranger;
let browser;

before(async () => {
  friend = await startPage();
  stranger = await startPage();
  server = await startServer([`auth.cookie=${COOKIE}`, `auth.allowed_origins=${friend.origin}`], {
    page: false,
  });
  browser = await openBrowser();
  await browser.context.addCookies([
    { name: COOKIE, value: tokenFor("viewer"), domain: "127.0.0.1", path: "/", httpOnly: true, sameSite: "Lax" },
  ]);
});

after(async () => {
  await browser?.close();
  await server?.close();
  friend?.close();
  stranger?.close();
});

test("on the server's own page, live, and again by itself after the link broke", async () => {
  const page = await browser.context.newPage();
  await page.goto(`${server.url}/healthz`);
  await page.evaluate(listen, ["/v1/stream?users=bea,%2e%2e", false]);
  await heardOf(page, "bea", "offline");
  const beating = setInterval(() => beat("bea"), 700);
  try {
    await beat("bea");
    await heardOf(page, "bea", "online");
    await declare("bea", "dnd");
    await heardOf(page, "bea", "dnd");
    const ids = await page.evaluate(() => window.heard.events.map(([, id]) => Number(id)));
    assert.deepEqual(ids, ids.map((_, i) => i + 1));
    // A revocation ends the stream; with a newer token the browser comes back by itself.
    await fetch(`${server.url}/v1/users/viewer/revoke`, {
      method: "POST",
      headers: { authorization: "Bearer dev" },
      body: JSON.stringify({ before: Date.now() - 500 }),
    });
    await page.waitForFunction(() => window.heard.errors > 0);
    await new Promise((resolve) => setTimeout(resolve, 600));
    await browser.context.addCookies([
      { name: COOKIE, value: tokenFor("viewer"), domain: "127.0.0.1", path: "/", httpOnly: true, sameSite: "Lax" },
    ]);
    await page.waitForFunction(() => window.heard.opens === 2, undefined, { timeout: 8_000 });
    await page.waitForFunction(() => window.heard.events.filter(([name]) => name === "snapshot").length === 2);
    const [, id] = await page.evaluate(() => window.heard.events.at(-1));
    assert.ok(Number(id) > ids.at(-1), "ids go on growing after a reconnect");
    await declare("bea", "busy");
    await heardOf(page, "bea", "busy");
  } finally {
    clearInterval(beating);
    await page.close();
  }
});

test("from an allowed page of another origin, with credentials", async () => {
  const page = await browser.context.newPage();
  await page.goto(friend.origin);
  await page.evaluate(listen, [`${server.url}/v1/stream?users=bea`, true]);
  await page.waitForFunction(() => window.heard.events.length > 0, undefined, { timeout: 8_000 });
  const polled = await page.evaluate(async (url) => {
    const answer = await fetch(`${url}/v1/poll`, {
      method: "POST",
      credentials: "include",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ users: ["bea"] }),
    });
    return answer.json();
  }, server.url);
  assert.equal(polled.users[0].userId, "bea");
  await page.close();
});

test("from no other page", async () => {
  const page = await browser.context.newPage();
  await page.goto(stranger.origin);
  await page.evaluate(listen, [`${server.url}/v1/stream?users=bea`, true]);
  await page.waitForFunction(() => window.heard.errors > 0, undefined, { timeout: 8_000 });
  assert.deepEqual(await page.evaluate(() => [window.heard.events, window.heard.source.readyState]), [[], 2]);
  await page.close();
});
