import type { DeclaredStatus, PresenceClient } from "@presenced/client";
import { Avatar } from "./avatar.js";
import { h, setText } from "../../common/dom.js";
import { EndPicker } from "./end_picker.js";
import { DEVICE_WORDS, nameFromId, STATUS_WORDS, untilText } from "./words.js";

export interface MeActions {
  setStatus(status: DeclaredStatus, end: { expiresInMs?: number }): void;
  editCustomStatus(): void;
  editPrivacy(): void;
}

const CHOICES: readonly { status: DeclaredStatus; dot: string; text: string; hint: string }[] = [
  { status: "auto", dot: "online", text: "Online", hint: "away when idle" },
  { status: "away", dot: "away", text: "Away", hint: "" },
  { status: "busy", dot: "busy", text: "Busy", hint: "" },
  { status: "dnd", dot: "dnd", text: "Do not disturb", hint: "" },
  { status: "invisible", dot: "invisible", text: "Invisible", hint: "seen as offline" },
];

/** The user's own card: how the user stands, and what to change. */
export class Me {
  readonly element: HTMLElement;
  readonly #client: PresenceClient;
  readonly #userId: string;
  readonly #avatar: Avatar;
  readonly #status = h("p", { class: "my-status" });
  readonly #custom = h("span", { class: "my-custom" });
  readonly #devices = h("p", { class: "my-devices" });
  readonly #radios = new Map<DeclaredStatus, HTMLInputElement>();
  readonly #end = new EndPicker("How long", "status-end");

  constructor(client: PresenceClient, userId: string, actions: MeActions) {
    this.#client = client;
    this.#userId = userId;
    const name = nameFromId(userId);
    this.#avatar = new Avatar(userId, name);
    const tell = () => {
      const chosen = [...this.#radios].find(([, radio]) => radio.checked)?.[0];
      if (chosen !== undefined) {
        this.#end.element.hidden = chosen === "auto";
        actions.setStatus(chosen, chosen === "auto" ? {} : this.#end.value(Date.now()));
      }
    };
    this.#end.element.hidden = true;
    this.#end.onChange(tell);
    this.element = h(
      "section",
      { class: "card me", "aria-labelledby": "me-title" },
      h(
        "div",
        { class: "me-head" },
        this.#avatar.element,
        h("div", {}, h("h2", { id: "me-title", dir: "auto", title: name, text: name }), this.#status),
      ),
      h(
        "button",
        { type: "button", class: "custom-button", dir: "auto", onclick: actions.editCustomStatus },
        this.#custom,
      ),
      h(
        "fieldset",
        { class: "choices" },
        h("legend", { text: "Your status" }),
        ...CHOICES.map((choice) => this.#choice(choice, tell)),
      ),
      this.#end.element,
      this.#devices,
      h("button", {
        type: "button",
        class: "wide",
        text: "Who may see me …",
        onclick: actions.editPrivacy,
      }),
    );
  }

  show(): void {
    const presence = this.#client.presence(this.#userId);
    const now = this.#client.serverNow();
    this.#avatar.show(presence.status, presence.stale);
    const declared = presence.declared;
    const until =
      declared?.expiresAt === undefined
        ? ""
        : ` ${untilText(declared.expiresAt - now + Date.now(), Date.now())}`;
    setText(this.#status, STATUS_WORDS[presence.status] + until);
    this.element.dataset["status"] = presence.status;
    const { customStatus } = presence;
    const text = [customStatus?.emoji, customStatus?.text].filter(Boolean).join(" ");
    const ends =
      customStatus?.expiresAt === undefined
        ? ""
        : ` · ${untilText(customStatus.expiresAt - now + Date.now(), Date.now())}`;
    setText(this.#custom, text === "" ? "Set a status text" : text + ends);
    this.#custom.parentElement?.classList.toggle("empty", text === "");
    const devices = (presence.devices ?? []).map((device) => DEVICE_WORDS[device] ?? device);
    setText(this.#devices, devices.length === 0 ? "" : `You are here on: ${devices.join(", ")}`);
    this.#devices.hidden = devices.length === 0;
  }

  /** What is declared: another device of the user changed it, or what was chosen here was refused. */
  showDeclared(status: DeclaredStatus): void {
    const radio = this.#radios.get(status);
    if (radio !== undefined && !radio.checked) {
      radio.checked = true;
      this.#end.reset();
    }
    this.#end.element.hidden = status === "auto";
  }

  #choice(choice: (typeof CHOICES)[number], tell: () => void): HTMLElement {
    const radio = h("input", {
      type: "radio",
      name: "my-status",
      value: choice.status,
      checked: choice.status === "auto",
      onchange: () => {
        this.#end.reset();
        tell();
      },
    });
    this.#radios.set(choice.status, radio);
    const dot = h("span", { class: "dot", "aria-hidden": "true" });
    dot.dataset["status"] = choice.dot;
    return h(
      "label",
      { class: "choice" },
      radio,
      dot,
      h("span", { class: "choice-text", text: choice.text }),
      h("span", { class: "hint", text: choice.hint }),
    );
  }
}
