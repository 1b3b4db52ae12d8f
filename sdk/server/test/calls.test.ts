// Each operation of api/openapi.yaml is a method, and asks for what the contract has.
import { readFileSync } from "node:fs";
import http, { type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { PresenceError, PresenceServer } from "../src/index.js";

interface Operation {
  operationId: string;
  method: string;
  path: string;
  query: string[];
  security: string[];
}

const contract = parse(readFileSync(new URL("../../../api/openapi.yaml", import.meta.url), "utf8"));
const resolved = (one: { $ref?: string }) =>
  one.$ref === undefined ? one : contract.components.parameters[one.$ref.split("/").at(-1) as string];
const operations: Operation[] = Object.entries<Record<string, never>>(contract.paths).flatMap(([path, item]) =>
  Object.entries<Record<string, never>>(item)
    .filter(([method]) => ["get", "put", "post", "delete"].includes(method))
    .map(([method, { operationId, parameters, security }]) => ({
      operationId: String(operationId),
      method: method.toUpperCase(),
      path,
      query: [...((item["parameters"] ?? []) as never[]), ...((parameters ?? []) as never[])]
        .map(resolved)
        .filter((one) => one.in === "query")
        .map((one) => one.name),
      security: ((security ?? contract.security) as object[]).flatMap((one) => Object.keys(one)),
    })),
);

interface Seen {
  method: string;
  url: string;
  authorization: string | undefined;
  body: string;
}

let seen: Seen[];
let answers: { status: number; body: string }[];
let fake: http.Server;
let server: PresenceServer;

beforeEach(async () => {
  seen = [];
  answers = [];
  fake = http.createServer((request, response) => {
    let body = "";
    request.on("data", (part) => (body += part));
    request.on("end", () => {
      const { method, url, headers } = request;
      seen.push({ method: method ?? "", url: url ?? "", authorization: headers.authorization, body });
      const { status, body: text } = answers.shift() ?? { status: 200, body: "{}" };
      response.writeHead(status).end(text);
    });
  });
  await new Promise<void>((resolve) => fake.listen(0, "127.0.0.1", resolve));
  const { port } = fake.address() as AddressInfo;
  server = new PresenceServer({ url: `http://127.0.0.1:${port}`, apiKey: "key" });
});

afterEach(() => {
  server.close();
  fake.closeAllConnections();
  fake.close();
});

const page = { limit: 10, cursor: "c" };
// What each method is called with: everything that it takes.
const samples: Record<string, unknown[]> = {
  getPresence: ["a", { viewer: "b" }],
  queryPresence: [["a"], { viewer: "b" }],
  putStatus: ["a", { status: "busy" }],
  putPrivacy: ["a", { online: { mode: "nobody" } }],
  putContacts: ["a", ["b"]],
  changeContacts: ["a", { add: ["b"] }],
  putBlocks: ["a", ["b"]],
  changeBlocks: ["a", { add: ["b"] }],
  endSession: ["a", "s"],
  revokeTokens: ["a", 1],
  explainView: ["a", "b", { at: 1 }],
  listDeadLetters: [{ cursor: "c" }],
  listRooms: [{ prefix: "p", ...page }],
  getRoom: ["r", { viewer: "b", ...page }],
  poll: [["a"], { cursor: "c", waitMs: 1 }],
  postPoll: [["a"], { cursor: "c", waitMs: 1 }],
  beat: [{ deviceId: "d" }],
  signOut: ["d"],
  openStream: [["a"], { lastEventId: "1" }],
};

test.each(operations)("$operationId", async ({ operationId, method, path, query, security }) => {
  const byUser = security.includes("userToken") && !security.includes("apiKey");
  const target = (byUser ? server.as("token") : server) as unknown as Record<
    string,
    (...values: unknown[]) => unknown
  >;
  expect(target[operationId]).toBeTypeOf("function");
  const outcome = target[operationId]?.(...(samples[operationId] ?? ["a"]));
  if (operationId === "openStream") {
    for await (const event of outcome as AsyncIterable<unknown>) {
      expect(event).toBeUndefined(); // The fake one has none.
    }
  } else {
    await outcome;
  }
  const [call] = seen;
  const [asked, values] = (call?.url ?? "").split("?");
  expect(call?.method).toBe(method);
  expect(asked).toMatch(new RegExp(`^${path.replaceAll(".", "\\.").replace(/\{\w+\}/g, "[^/]+")}$`));
  expect([...new URLSearchParams(values).keys()].sort()).toEqual([...query].sort());
  const bearer = byUser ? "Bearer token" : "Bearer key";
  expect([bearer, ...(security.length === 0 ? [undefined] : [])]).toContain(call?.authorization);
});

test("ids are encoded, and `.` and `..` are not taken for ways up", async () => {
  for (const id of ["..", ".", "a/b", "a,b", "ü?#%", "a b+c"]) {
    await server.getPresence(id);
  }
  expect(seen.map(({ url }) => url.slice("/v1/users/".length, -"/presence".length))).toEqual([
    "%2E%2E",
    "%2E",
    "a%2Fb",
    "a%2Cb",
    "%C3%BC%3F%23%25",
    "a%20b%2Bc",
  ]);
  await server.as("token").poll(["a,b", "c"]);
  expect(seen.at(-1)?.url).toBe("/v1/poll?users=a%2Cb,c");
});

const refusal = (code: string, temporary: boolean, more = {}) =>
  JSON.stringify({ error: { code, message: "why", temporary, ...more } });

test("what failed for the moment is tried again, what is wrong is not", async () => {
  answers = [
    { status: 503, body: refusal("unavailable", true, { retryAfterMs: 1 }) },
    { status: 502, body: "<html>a proxy's page</html>" },
    { status: 200, body: '{"users":["b"]}' },
  ];
  expect(await server.changeContacts("a", { add: ["b"] })).toEqual({ users: ["b"] });
  expect(seen.map(({ body }) => body)).toEqual(Array(3).fill('{"add":["b"]}'));

  answers = [{ status: 400, body: refusal("badRequest", false, { limit: 3 }) }];
  const error = await server.getPresence("a").catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(PresenceError);
  expect(error).toMatchObject({ code: "badRequest", status: 400, temporary: false, limit: 3, message: "why" });
  expect(seen).toHaveLength(4);

  answers = Array(9).fill({ status: 503, body: refusal("unavailable", true, { retryAfterMs: 1 }) });
  await expect(server.getPresence("a")).rejects.toMatchObject({ code: "unavailable", status: 503 });
  expect(seen).toHaveLength(7); // Once, and two more.
  answers = Array(9).fill({ status: 503, body: refusal("unavailable", true, { retryAfterMs: 60_000 }) });
  await expect(server.getPresence("a")).rejects.toMatchObject({ retryAfterMs: 60_000 });
  expect(seen).toHaveLength(8); // The caller may wait that long; this does not.
  answers = [{ status: 503, body: refusal("unavailable", true, { retryAfterMs: 1 }) }];
  await expect(server.testWebhooks()).rejects.toMatchObject({ code: "unavailable" });
  expect(seen).toHaveLength(9); // Sends something each time, so it is not repeated.
});

describe("a stream", () => {
  const event = 'id: 1\ndata: {"type":"snapshot","users":[],"asOf":1}\n\n';

  /** What a loop over a stream gets, and what ends it; `after` decides how the server goes on. */
  async function hear(after: (response: ServerResponse) => void) {
    fake.removeAllListeners("request");
    fake.on("request", (_request, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(event, () => after(response));
    });
    const { port } = fake.address() as AddressInfo;
    const one = new PresenceServer({ url: `http://127.0.0.1:${port}`, apiKey: "key", silenceMs: 200 });
    const heard: unknown[] = [];
    try {
      for await (const told of one.as("token").openStream(["a"])) {
        heard.push(told.type);
      }
    } catch (error) {
      heard.push(error);
    }
    one.close();
    return heard;
  }

  test("that falls silent is a dead link, and no loop waits for ever", async () => {
    const [first, error] = await hear(() => {});
    expect(first).toBe("snapshot");
    expect(error).toBeInstanceOf(PresenceError);
    expect(error).toMatchObject({ code: "network", temporary: true, message: "nothing heard for 200 ms" });
  });

  test("that breaks is an error of the same kind", async () => {
    const [, error] = await hear((response) => response.socket?.destroy());
    expect(error).toBeInstanceOf(PresenceError);
    expect(error).toMatchObject({ code: "network", status: 0, temporary: true });
  });

  test("that the server ends is over without an error", async () => {
    expect(await hear((response) => response.end())).toEqual(["snapshot"]);
  });
});

test("no answer is an error of its own", async () => {
  const nobody = new PresenceServer({ url: "http://127.0.0.1:1", apiKey: "key", retries: 0 });
  await expect(nobody.getVersion()).rejects.toMatchObject({ code: "network", status: 0, temporary: true });
  fake.removeAllListeners("request"); // Takes calls and says nothing.
  const slow = new PresenceServer({
    url: `http://127.0.0.1:${(fake.address() as AddressInfo).port}`,
    apiKey: "key",
    timeoutMs: 50,
    retries: 0,
  });
  await expect(slow.getVersion()).rejects.toMatchObject({ code: "network", message: "no answer within 50 ms" });
  expect(() => new PresenceServer({ url: "ws://a", apiKey: "key" })).toThrow(TypeError);
});
