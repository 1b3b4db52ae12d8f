import { h } from "../../common/dom.js";
import { clockTime } from "./words.js";

export type Tone = "plain" | "good" | "warn" | "bad";

const MOST_ENTRIES = 200;

/** What happened, newest first, with the time of this machine. */
export class Timeline {
  readonly element: HTMLElement;
  readonly #list = h("ol");

  constructor() {
    this.element = h(
      "section",
      { class: "card timeline", "aria-labelledby": "timeline-title" },
      h("h2", { id: "timeline-title", text: "What happened" }),
      h(
        "div",
        { class: "events", role: "log", "aria-labelledby": "timeline-title", tabindex: "0" },
        this.#list,
      ),
    );
  }

  add(text: string, tone: Tone = "plain"): void {
    const now = Date.now();
    const entry = h(
      "li",
      { class: tone },
      h("time", { datetime: new Date(now).toISOString(), text: clockTime(now) }),
      h("span", { text }),
    );
    this.#list.prepend(entry);
    while (this.#list.children.length > MOST_ENTRIES) {
      this.#list.lastElementChild?.remove();
    }
  }
}
