import type { PresenceClient } from "@presenced/client";
import { h, setText } from "../../common/dom.js";
import type { Lab } from "./lab.js";
import { seconds } from "./words.js";

/** Name of the page, state of the connection, health of the server. */
export class Header {
  readonly element: HTMLElement;
  readonly #client: PresenceClient;
  readonly #lab: Lab;
  readonly #state = h("span", { role: "status" });
  /** Not read out: it changes several times a second. */
  readonly #countdown = h("span", { "aria-hidden": "true" });
  readonly #connection = h("span", { class: "pill" }, this.#state, this.#countdown);
  readonly #health = h("span", { class: "pill" });

  constructor(
    client: PresenceClient,
    lab: Lab,
    besideButton: HTMLButtonElement,
    onSwitch: () => void,
  ) {
    this.#client = client;
    this.#lab = lab;
    this.element = h(
      "header",
      {},
      h("h1", {}, h("span", { class: "logo", "aria-hidden": "true" }), "presenced"),
      h("div", { class: "pills" }, this.#connection, this.#health),
      h(
        "div",
        { class: "ways" },
        besideButton,
        h("button", { type: "button", class: "quiet", text: "Switch person", onclick: onSwitch }),
      ),
    );
  }

  show(): void {
    const [text, tone, countdown = ""] = this.#connectionText();
    setText(this.#state, text);
    setText(this.#countdown, countdown);
    this.#connection.dataset["tone"] = tone;
    // What was told on a connection that is gone may be over.
    const isReady = this.#client.connection.state === "ready";
    const store = isReady ? this.#client.health?.store : undefined;
    setText(this.#health, store === undefined ? "Server: ?" : `Server: ${store}`);
    this.#health.dataset["tone"] = store === "ok" ? "good" : store === "down" ? "bad" : "warn";
  }

  #connectionText(): [text: string, tone: string, countdown?: string] {
    const { state, retryAt } = this.#client.connection;
    if (this.#lab.leaving === "dropped") {
      return ["Network dropped", "bad"];
    }
    if (this.#lab.leaving === "asleep") {
      return ["Asleep", "warn"];
    }
    if (this.#lab.leaving === "lost") {
      return ["No network", "warn"];
    }
    if (this.#lab.leaving === "signedOut") {
      return ["Signed out", "warn"];
    }
    if (state === "ready") {
      return ["Connected", "good"];
    }
    if (state === "disconnected") {
      return ["Not connected", "bad"];
    }
    const waitMs = (retryAt ?? 0) - Date.now();
    return waitMs > 0 ? ["Trying again", "warn", ` in ${seconds(waitMs)}`] : ["Connecting …", "warn"];
  }
}
