// @vitest-environment happy-dom
import { act } from "react";
import { hydrateRoot } from "react-dom/client";
import { renderToString } from "react-dom/server";
import { expect, test, vi } from "vitest";
import { Bench } from "../../client/test/harness.js";
import { LastSeen, PresenceDot, PresenceProvider, usePresence } from "../src/index.js";

(globalThis as { IS_REACT_ACT_ENVIRONMENT?: boolean }).IS_REACT_ACT_ENVIRONMENT = true;

function Row() {
  return (
    <p>
      {usePresence("ana").status} <PresenceDot userId="ana" />
      <LastSeen userId="bo" />
    </p>
  );
}

test("FO-108: the first render in the browser is the server's, then comes what is known; no warning", async () => {
  const said = vi.spyOn(console, "error");
  const bench = await new Bench().connected();
  bench.server.set("ana", "online", 1);
  // A client that knows already, as after a change of pages.
  bench.client.watch("ana");
  await bench.clock.advance(300);
  const page = (
    <PresenceProvider client={bench.client}>
      <Row />
    </PresenceProvider>
  );
  const container = document.createElement("div");
  container.innerHTML = renderToString(page);
  expect(container.textContent).toBe("unknown ");
  const recoverable: unknown[] = [];
  await act(async () => {
    hydrateRoot(container, page, { onRecoverableError: (error) => recoverable.push(error) });
  });
  expect(container.textContent).toBe("online ");
  expect([recoverable, said.mock.calls]).toEqual([[], []]);
});
