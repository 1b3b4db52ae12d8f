// @vitest-environment happy-dom
import { afterEach, expect, test, vi } from "vitest";
import { LastSeen, PresenceDot } from "../src/index.js";
import { Page } from "./render.js";

afterEach(() => void vi.useRealTimers());

const MINUTE = 60_000;

test("a dot is read out as the status, in words of the reader's language where they are given", async () => {
  const page = new Page();
  await page.show(<PresenceDot userId="ana" className="dot" words={{ unknown: "unbekannt" }} />);
  const dot = page.container.querySelector(".dot") as HTMLElement;
  expect(dot.getAttribute("role")).toBe("img");
  await page.pass(300);
  page.bench.server.update("ana", "unknown", 1);
  await page.pass(300);
  expect(dot.getAttribute("aria-label")).toBe("unbekannt");
  page.bench.server.update("ana", "dnd", 1);
  await page.pass(300);
  expect([dot.dataset["status"], dot.dataset["stale"]]).toEqual(["dnd", undefined]);
  expect(dot.getAttribute("aria-label")).toBe("Do not disturb");
  page.bench.server.isReachable = false;
  await page.happens(() => page.bench.server.last.close(1006));
  await page.pass(300);
  expect(dot.dataset["stale"]).toBe("true");
});

test("last seen speaks the reader's language and goes on by itself, at the right times", async () => {
  const page = new Page();
  const at = page.bench.clock.now() - 90_000;
  page.bench.server.set("ana", "offline", 1, { lastSeen: { granularity: "recent", at } });
  let renders = 0;
  function Counted() {
    renders++;
    return <LastSeen userId="ana" locale="de" />;
  }
  await page.show(<Counted />);
  await page.pass(300);
  expect(page.text).toBe("vor 1 Minute");
  await page.pass(29_000);
  expect(page.text).toBe("vor 1 Minute");
  await page.pass(1_000);
  expect(page.text).toBe("vor 2 Minuten");
  await page.pass(58 * MINUTE);
  expect(page.text).toBe("vor 1 Stunde");
  const time = page.container.querySelector("time");
  expect(time?.getAttribute("datetime")).toBe(new Date(at).toISOString());
  expect(renders).toBe(1);
  await page.leave();
  expect(vi.getTimerCount()).toBe(0);
});

test("there is no last seen of who is here, nor of who does not tell it", async () => {
  const page = new Page();
  page.bench.server.set("ana", "online", 1);
  await page.show(
    <>
      <LastSeen userId="ana" fallback="here" />
      <LastSeen userId="nobody" />
    </>,
  );
  await page.pass(300);
  expect(page.text).toBe("here");
});
