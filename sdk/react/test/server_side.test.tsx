// @vitest-environment node
import { renderToString } from "react-dom/server";
import { expect, test, vi } from "vitest";
import { PresenceClient } from "@presenced/client";
import {
  LastSeen,
  PresenceDot,
  PresenceProvider,
  useConnection,
  useMyStatus,
  usePresence,
  usePresences,
  useRoom,
  useTyping,
} from "../src/index.js";
import { Bench } from "../../client/test/harness.js";

function Everything() {
  const said = [
    usePresence("ana").status,
    usePresences(["ana", "bo"]).map(({ status }) => status),
    useRoom("doc").count ?? "?",
    useTyping({ room: "doc" })[0].length,
    useMyStatus().presence.status,
    useConnection().state,
  ];
  return (
    <p>
      {said.join()} <PresenceDot userId="ana" />
      <LastSeen userId="ana" />
    </p>
  );
}

test("FO-108: 1,000 renders on a server: all unknown, and no socket, timer or listener", () => {
  expect(typeof document).toBe("undefined");
  const timers = vi.spyOn(globalThis, "setTimeout");
  const said = vi.spyOn(console, "error");
  const { clock, server, client } = new Bench({ idleAfterMs: false });
  const options = { url: "ws://server", getToken: () => "token" };
  const clients = [client, new PresenceClient(options)];
  for (let render = 0; render < 1_000; render++) {
    const given = render % 3 === 2 ? { options } : { client: clients[render % 3] as PresenceClient };
    const html = renderToString(
      <PresenceProvider {...given}>
        <Everything />
      </PresenceProvider>,
    );
    expect(html).toContain("unknown,unknown,unknown,?,0,unknown,disconnected");
    expect(html).toContain('aria-label="Unknown"');
  }
  expect([server.connections.length, clock.timers]).toEqual([0, 0]);
  expect(timers).not.toHaveBeenCalled();
  expect(said).not.toHaveBeenCalled();
});
