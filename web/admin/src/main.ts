import { h, setText } from "../../common/dom.js";
import { Api, ApiError } from "./api.js";
import { Health } from "./health.js";
import { Overview } from "./overview.js";
import { Rooms } from "./rooms.js";
import { Users } from "./users.js";
import { Watcher } from "./watcher.js";

const STORAGE_KEY = "presenced-admin:key";
const place = document.getElementById("app") as HTMLElement;

/** The page of an operator whose key the server has taken. */
class App {
  readonly #status = h("span", { class: "pill", role: "status", text: "Looking …" });
  readonly #tabs: { name: string; button: HTMLButtonElement; panel: HTMLElement; show?: () => void }[];
  readonly #overview = new Overview();
  readonly #health: Health;
  readonly #watcher: Watcher;

  constructor(api: Api, onLeave: () => void) {
    const users = new Users(api);
    const rooms = new Rooms(api);
    this.#health = new Health(api);
    this.#watcher = new Watcher(api, (error) => this.#looked(error, onLeave));
    this.#tabs = [
      this.#tab("Overview", this.#overview.element, () => this.#draw()),
      this.#tab("Users", users.element),
      this.#tab("Rooms", rooms.element, () => void rooms.show()),
      this.#tab("Health", this.#health.element, () => this.#draw()),
    ];
    const leave = h("button", { type: "button", class: "quiet", text: "Forget the key" });
    leave.addEventListener("click", () => {
      this.#watcher.end();
      onLeave();
    });
    place.replaceChildren(
      h(
        "header",
        {},
        h("h1", {}, h("span", { class: "logo", "aria-hidden": "true" }), "presenced operator"),
        this.#status,
        h(
          "div",
          { role: "tablist", "aria-label": "Pages", onkeydown: (event) => this.#steer(event as KeyboardEvent) },
          ...this.#tabs.map(({ button }) => button),
        ),
        leave,
      ),
      h("main", {}, ...this.#tabs.map(({ panel }) => panel)),
    );
    this.#open(0);
    void this.#watcher.start();
  }

  #tab(name: string, content: HTMLElement, show?: () => void) {
    const id = name.toLowerCase();
    const button = h("button", {
      type: "button",
      role: "tab",
      id: `tab-${id}`,
      "aria-controls": `panel-${id}`,
      text: name,
      onclick: () => this.#open(this.#tabs.findIndex((tab) => tab.name === name)),
    });
    const panel = h("div", { role: "tabpanel", id: `panel-${id}`, "aria-labelledby": `tab-${id}` }, content);
    return { name, button, panel, ...(show && { show }) };
  }

  #open(index: number): void {
    this.#tabs.forEach(({ button, panel }, other) => {
      button.setAttribute("aria-selected", String(other === index));
      button.tabIndex = other === index ? 0 : -1;
      panel.hidden = other !== index;
    });
    this.#tabs[index]?.show?.();
  }

  /** The arrow keys go from tab to tab, Home and End to the first and the last. */
  #steer(event: KeyboardEvent): void {
    const count = this.#tabs.length;
    const now = this.#tabs.findIndex(({ button }) => button === document.activeElement);
    const goals: Record<string, number> = { ArrowRight: now + 1, ArrowLeft: now - 1, Home: 0, End: count - 1 };
    const goal = goals[event.key];
    if (goal !== undefined) {
      const next = (goal + count) % count;
      event.preventDefault();
      this.#open(next);
      this.#tabs[next]?.button.focus();
    }
  }

  #looked(error: Error | undefined, onLeave: () => void): void {
    if (error instanceof ApiError && (error.status === 401 || error.status === 403)) {
      this.#watcher.end();
      onLeave();
      setText(document.getElementById("refused") as HTMLElement, "The server refuses this key.");
      return;
    }
    setText(this.#status, error ? error.message : "Live");
    this.#status.dataset["tone"] = error ? "bad" : "good";
    this.#draw();
    if (error) {
      this.#overview.lost();
    }
  }

  #draw(): void {
    const { looks } = this.#watcher;
    if (!this.#overview.element.parentElement?.hidden) {
      this.#overview.draw(looks);
    }
    if (!this.#health.element.parentElement?.hidden) {
      this.#health.draw(looks);
    }
  }
}

function askKey(): void {
  sessionStorage.removeItem(STORAGE_KEY);
  const key = h("input", { id: "key", type: "password", required: true, autocomplete: "off" });
  place.replaceChildren(
    h(
      "main",
      { class: "sign-in" },
      h(
        "form",
        {
          class: "card",
          onsubmit: (event) => {
            event.preventDefault();
            sessionStorage.setItem(STORAGE_KEY, key.value);
            start(key.value);
          },
        },
        h("h1", {}, h("span", { class: "logo", "aria-hidden": "true" }), "presenced operator"),
        h("div", { class: "field" }, h("label", { for: "key", text: "API key" }), key),
        h("p", { class: "hint", text: "One of auth.api_keys. It is kept in this tab alone." }),
        h("p", { class: "error", role: "alert", id: "refused" }),
        h("button", { type: "submit", class: "primary", text: "Come in" }),
      ),
    ),
  );
  key.focus();
}

function start(key: string): void {
  new App(new Api(key), askKey);
}

const kept = sessionStorage.getItem(STORAGE_KEY);
if (kept) {
  start(kept);
} else {
  askKey();
}
