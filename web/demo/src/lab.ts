import type { PresenceClient } from "@presenced/client";
import { h, isAvailable, setAvailable, setText } from "../../common/dom.js";
import { seconds } from "./words.js";

export interface LabActions {
  drop(): void;
  sleep(): void;
  lose(): void;
  close(): void;
  signOut(): void;
  reconnect(): void;
  /** The time ran out: from now on others see the user offline. */
  gone(text: string): void;
}

/** How the user left, where the user did. */
export type Leaving = "dropped" | "asleep" | "lost" | "closed" | "signedOut";

/** Buttons that lose the connection in each way, and what others see meanwhile. */
export class Lab {
  readonly element: HTMLElement;
  readonly #client: PresenceClient;
  readonly #bar = h("meter", { min: "0", max: "1", "aria-label": "Time left until offline" });
  readonly #text = h("p", { class: "lease-text", id: "lease" });
  readonly #buttons: Record<
    "drop" | "sleep" | "lose" | "close" | "signOut" | "reconnect",
    HTMLButtonElement
  >;
  readonly #actions: LabActions;
  #lastBeatAt = 0;
  #answeredMs: number | undefined;
  #leaving: { how: Leaving; at: number; isGone: boolean } | undefined;

  constructor(client: PresenceClient, actions: LabActions) {
    this.#client = client;
    this.#actions = actions;
    const button = (text: string, hint: string, act: () => void) => {
      const onclick = () => isAvailable(made) && act();
      const made = h("button", { type: "button", onclick }, text, h("span", { class: "hint", text: hint }));
      return made;
    };
    this.#buttons = {
      drop: button("Drop the network without goodbye", "a silent death", actions.drop),
      sleep: button("Sleep for 10 s", "then the page wakes and asks", actions.sleep),
      lose: button("Lose the network for 5 s", "a dead spot", actions.lose),
      close: button("Close abruptly", "no bye: the grace begins", actions.close),
      signOut: button("Sign out", "bye: offline at once", actions.signOut),
      reconnect: button("Reconnect", "resumes the session if it lives", actions.reconnect),
    };
    this.#buttons.reconnect.classList.add("primary");
    this.element = h(
      "section",
      { class: "card lab", "aria-labelledby": "lab-title" },
      h("h2", { id: "lab-title", text: "Your connection" }),
      this.#bar,
      this.#text,
      h("div", { class: "lab-buttons" }, ...Object.values(this.#buttons)),
    );
  }

  get leaving(): Leaving | undefined {
    return this.#leaving?.how;
  }

  /** Any frame that went out is a sign of life. */
  beat(): void {
    this.#lastBeatAt = Date.now();
  }

  answered(): void {
    this.#answeredMs = Date.now() - this.#lastBeatAt;
  }

  leave(how: Leaving | undefined): void {
    this.#leaving = how === undefined ? undefined : { how, at: Date.now(), isGone: false };
    this.show();
  }

  /** Draws the time that is left; called several times a second. */
  show(): void {
    const session = this.#client.session;
    const isReady = this.#client.connection.state === "ready";
    const isHere = isReady && this.#leaving === undefined;
    const { reconnect, ...ways } = this.#buttons;
    Object.values(ways).forEach((button) => setAvailable(button, isHere));
    setAvailable(reconnect, !isHere);
    const ttlMs = session?.heartbeat.ttlMs ?? 0;
    const silentMs = Date.now() - this.#lastBeatAt;
    switch (this.#leaving?.how) {
      case "dropped":
        this.#tell(silentMs, ttlMs, `No heartbeat for ${seconds(silentMs)}`);
        break;
      case "asleep":
        this.#tell(silentMs, ttlMs, `Asleep, silent for ${seconds(silentMs)}`);
        break;
      case "lost":
        this.#tell(silentMs, ttlMs, `In a dead spot, silent for ${seconds(silentMs)}`);
        break;
      case "closed": {
        const goneMs = Date.now() - this.#leaving.at;
        this.#tell(goneMs, session?.graceMs ?? 0, `Closed ${seconds(goneMs)} ago`);
        break;
      }
      case "signedOut":
        this.#set(0, "Signed out: others saw you go offline at once.");
        break;
      default:
        if (isReady) {
          const answer =
            this.#answeredMs === undefined ? "" : `, answered in ${this.#answeredMs} ms`;
          this.#set(left(silentMs, ttlMs), `Last heartbeat ${seconds(silentMs)} ago${answer}`);
        } else if (session !== undefined) {
          this.#tell(silentMs, ttlMs, `No connection, silent for ${seconds(silentMs)}`);
        } else {
          this.#set(0, "Not connected yet");
        }
    }
  }

  #tell(goneMs: number, allowedMs: number, what: string): void {
    const leftMs = allowedMs - goneMs;
    const outcome =
      leftMs > 0
        ? `, offline in ${seconds(leftMs)}. Others still see you.`
        : `. For ${seconds(-leftMs)} others have seen you offline.`;
    this.#set(left(goneMs, allowedMs), what + outcome);
    if (leftMs <= 0 && this.#leaving?.isGone === false) {
      this.#leaving.isGone = true;
      this.#actions.gone(`${what}: others now see you offline`);
    }
  }

  #set(value: number, text: string): void {
    this.#bar.value = value;
    this.#bar.dataset["level"] = value > 0.4 ? "good" : value > 0 ? "low" : "none";
    setText(this.#text, text);
  }
}

function left(goneMs: number, allowedMs: number): number {
  return allowedMs === 0 ? 0 : Math.min(1, Math.max(0, 1 - goneMs / allowedMs));
}
