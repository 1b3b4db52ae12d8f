import { endOfDay } from "@presenced/client/words";
import { h } from "../../common/dom.js";

const MINUTE = 60_000;

/** When something ends: never, after a while, tonight, or at a time of one's own. */
export class EndPicker {
  readonly element: HTMLElement;
  readonly #select: HTMLSelectElement;
  readonly #time = h("input", { type: "datetime-local", "aria-label": "End at", hidden: true });

  constructor(label: string, id: string) {
    const choices: [string, string][] = [
      ["never", "Until I change it"],
      [String(30 * MINUTE), "For 30 minutes"],
      [String(60 * MINUTE), "For 1 hour"],
      [String(240 * MINUTE), "For 4 hours"],
      ["today", "For today"],
      ["time", "Until a time …"],
    ];
    this.#select = h(
      "select",
      { id },
      ...choices.map(([value, text]) => h("option", { value, text })),
    );
    this.#select.addEventListener("change", () => this.#changed());
    this.element = h(
      "div",
      { class: "field" },
      h("label", { for: id, text: label }),
      this.#select,
      this.#time,
    );
  }

  /** Hears of each choice that has a meaning. */
  onChange(listener: () => void): void {
    this.#select.addEventListener("change", () => this.#select.value !== "time" && listener());
    this.#time.addEventListener("change", listener);
  }

  reset(): void {
    this.#select.value = "never";
    this.#time.hidden = true;
  }

  /** As a duration, so that a wrong clock of this machine does no harm. */
  value(now: number): { expiresInMs?: number } {
    const chosen = this.#select.value;
    if (chosen === "never") {
      return {};
    }
    if (chosen === "today") {
      return { expiresInMs: endOfDay(now) - now };
    }
    const inMs = chosen === "time" ? new Date(this.#time.value).getTime() - now : Number(chosen);
    return Number.isFinite(inMs) ? { expiresInMs: Math.max(1, Math.round(inMs)) } : {};
  }

  #changed(): void {
    const asksTime = this.#select.value === "time";
    this.#time.hidden = !asksTime;
    if (asksTime) {
      const soon = new Date(Date.now() + 60 * MINUTE);
      soon.setMinutes(soon.getMinutes() - soon.getTimezoneOffset());
      this.#time.value = soon.toISOString().slice(0, 16);
      this.#time.focus();
    }
  }
}
