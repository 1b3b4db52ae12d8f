import type { CustomStatusChange, PresenceClient } from "@presenced/client";
import { h, setText } from "../../common/dom.js";
import { EndPicker } from "./end_picker.js";

const EMOJI: readonly [string, string][] = [
  ["💬", "speech balloon"],
  ["🍜", "noodles"],
  ["☕️", "coffee"],
  ["🎧", "headphones"],
  ["🚆", "train"],
  ["🌴", "palm tree"],
  ["🤒", "ill"],
  ["🎉", "party"],
];
const MOST_CODE_POINTS = 100;

/** The dialog for text, emoji and end of the custom status. */
export class CustomStatusDialog {
  readonly element: HTMLDialogElement;
  readonly #client: PresenceClient;
  readonly #userId: string;
  readonly #emoji = h("input", { id: "custom-emoji", class: "emoji", autocomplete: "off" });
  readonly #text = h("input", { id: "custom-text", autocomplete: "off", dir: "auto" });
  readonly #left = h("span", { class: "hint", role: "status" });
  readonly #error = h("p", { class: "error", role: "alert" });
  readonly #end = new EndPicker("Clear it", "custom-end");

  constructor(
    client: PresenceClient,
    userId: string,
    onSave: (change: CustomStatusChange | null) => Promise<void>,
  ) {
    this.#client = client;
    this.#userId = userId;
    const save = (change: CustomStatusChange | null) => {
      setText(this.#error, "");
      onSave(change).then(
        () => this.element.close(),
        (error: Error) => setText(this.#error, error.message),
      );
    };
    this.#text.addEventListener("input", () => this.#count());
    this.element = h(
      "dialog",
      { "aria-labelledby": "custom-title" },
      h(
        "form",
        {
          onsubmit: (event) => {
            event.preventDefault();
            save(this.#value());
          },
        },
        h("h2", { id: "custom-title", text: "Your status text" }),
        h(
          "div",
          { class: "pair" },
          h(
            "div",
            { class: "field narrow" },
            h("label", { for: "custom-emoji", text: "Emoji" }),
            this.#emoji,
          ),
          h(
            "div",
            { class: "field" },
            h("label", { for: "custom-text", text: "Text" }),
            this.#text,
          ),
        ),
        h(
          "div",
          { class: "emoji-row", role: "group", "aria-label": "Pick an emoji" },
          ...EMOJI.map(([emoji, name]) =>
            h("button", {
              type: "button",
              text: emoji,
              "aria-label": name,
              onclick: () => (this.#emoji.value = emoji),
            }),
          ),
        ),
        this.#left,
        this.#end.element,
        this.#error,
        h(
          "div",
          { class: "actions" },
          h("button", { type: "button", text: "Clear", onclick: () => save(null) }),
          h("button", { type: "button", text: "Cancel", onclick: () => this.element.close() }),
          h("button", { type: "submit", class: "primary", text: "Save" }),
        ),
      ),
    );
  }

  open(): void {
    const { customStatus } = this.#client.presence(this.#userId);
    this.#emoji.value = customStatus?.emoji ?? "";
    this.#text.value = customStatus?.text ?? "";
    this.#end.reset();
    setText(this.#error, "");
    this.#count();
    this.element.showModal();
    this.#text.focus();
  }

  #value(): CustomStatusChange | null {
    const text = this.#text.value.trim();
    const emoji = this.#emoji.value.trim();
    if (text === "" && emoji === "") {
      return null;
    }
    return {
      ...(text === "" ? {} : { text }),
      ...(emoji === "" ? {} : { emoji }),
      ...this.#end.value(Date.now()),
    };
  }

  #count(): void {
    const left = MOST_CODE_POINTS - [...this.#text.value].length;
    setText(this.#left, `${left} of ${MOST_CODE_POINTS} characters left`);
    this.#left.hidden = left >= 20;
  }
}
