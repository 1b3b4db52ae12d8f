import { execFileSync } from "node:child_process";
import { expect, expectTypeOf, test } from "vitest";
import type {
  ConnectionStatus,
  Health,
  PresenceClient,
  PresenceError,
  RoomView,
  Signal,
  UserPresence,
  Welcome,
} from "../src/index.js";

/** Never called: the compiler reads it. */
export function events(client: PresenceClient): void {
  client.on("connection", (status) => expectTypeOf(status).toEqualTypeOf<ConnectionStatus>());
  client.on("session", (welcome) => expectTypeOf(welcome).toEqualTypeOf<Welcome>());
  client.on("health", (health) => expectTypeOf(health).toEqualTypeOf<Health>());
  client.on("presence", (users) => expectTypeOf(users).toEqualTypeOf<ReadonlySet<string>>());
  client.on("room", (rooms) => expectTypeOf(rooms).toEqualTypeOf<ReadonlySet<string>>());
  client.on("signal", (signal) => expectTypeOf(signal).toEqualTypeOf<Signal>());
  client.on("error", (error) => expectTypeOf(error).toEqualTypeOf<PresenceError>());
  // @ts-expect-error: there is no such event.
  client.on("presences", () => {});
}

export function values(client: PresenceClient, error: PresenceError): void {
  expectTypeOf(client.presence("ana")).toEqualTypeOf<UserPresence>();
  expectTypeOf(client.room("doc")).toEqualTypeOf<RoomView>();
  // @ts-expect-error: what the app is shown is read-only.
  client.presence("ana").status = "online";
  // @ts-expect-error: `offline` is shown and not declared.
  void client.setStatus({ status: "offline" });
  // @ts-expect-error: a signal goes to a user or to a room.
  client.setTyping({ group: "x" });
  // @ts-expect-error: not a code of the server or of the library.
  expect(error.code === "rateLimitted").toBe(false);
  if (error.code === "rateLimited") {
    expectTypeOf(error.retryAfterMs).toEqualTypeOf<number | undefined>();
  }
}

test("events, values and errors have the types that these files say", () => {
  const folder = new URL("..", import.meta.url);
  // Prints what is wrong and throws.
  execFileSync("npx", ["--no-install", "tsc", "-p", "tsconfig.json"], { cwd: folder, stdio: "inherit" });
});
