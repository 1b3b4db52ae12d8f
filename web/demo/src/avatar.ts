import type { OwnStatus } from "@presenced/client";
import { h, icon, setText } from "../../common/dom.js";
import { DEVICE_WORDS } from "./words.js";

const DEVICE_ICONS: Record<string, string> = {
  desktop: "M4 5h16v10H4zM2 17h20v2H2z",
  mobile: "M8 2h8a1 1 0 0 1 1 1v18a1 1 0 0 1-1 1H8a1 1 0 0 1-1-1V3a1 1 0 0 1 1-1zm1 3v12h6V5z",
  tablet: "M5 3h14a1 1 0 0 1 1 1v16a1 1 0 0 1-1 1H5a1 1 0 0 1-1-1V4a1 1 0 0 1 1-1zm1 3v11h12V6z",
  web: "M3 5h18v14H3zm2 4v8h14V9z",
  bot: "M11 3h2v3h5v12H6V6h5zM9 10v3h2v-3zm4 0v3h2v-3z",
};
const OTHER_ICON = "M12 4a8 8 0 1 0 0 16 8 8 0 0 0 0-16z";

/** Initials in a colour of their own, and a dot whose shape tells the status without its colour. */
export class Avatar {
  readonly element: HTMLElement;
  readonly #dot = h("span", { class: "dot" });

  constructor(userId: string, name: string) {
    const initials = h("span", { class: "initials", text: initialsOf(name) });
    initials.style.setProperty("--hue", String(hueOf(userId)));
    this.element = h("span", { class: "avatar", "aria-hidden": "true" }, initials, this.#dot);
  }

  show(status: OwnStatus, isStale: boolean): void {
    this.#dot.dataset["status"] = status;
    this.element.classList.toggle("stale", isStale);
  }
}

/** Small pictures of the kinds of device; read out as one sentence. */
export function showDevices(element: HTMLElement, devices: readonly string[]): void {
  const key = devices.join(" ");
  if (element.dataset["devices"] === key) {
    return;
  }
  element.dataset["devices"] = key;
  const words = devices.map((device) => DEVICE_WORDS[device] ?? device).join(", ");
  element.replaceChildren(...devices.map((device) => icon(DEVICE_ICONS[device] ?? OTHER_ICON)));
  element.title = words;
  if (words !== "") {
    const spoken = h("span", { class: "spoken" });
    setText(spoken, `on ${words}`);
    element.append(spoken);
  }
}

const signs = new Intl.Segmenter();

/** What a reader takes for one character: a letter with its accents, an emoji of several parts. */
function firstSign(word = ""): string {
  return signs.segment(word).containing(0)?.segment ?? "";
}

function initialsOf(name: string): string {
  const words = name.split(/\s+/).filter((word) => word !== "");
  const last = words.length > 1 ? firstSign(words.at(-1)) : "";
  return (firstSign(words[0] ?? "?") + last).toLocaleUpperCase();
}

function hueOf(userId: string): number {
  let hash = 7;
  for (const character of userId) {
    hash = (hash * 31 + (character.codePointAt(0) ?? 0)) % 360;
  }
  return hash;
}
