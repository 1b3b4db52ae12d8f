import { h, setText } from "../../common/dom.js";
import type { Api, Explanation, Session } from "./api.js";

/** Search of a user: presence, sessions with a way to end one, and why a viewer sees what. */
export class Users {
  readonly element: HTMLElement;
  readonly #api: Api;
  readonly #user = h("input", { id: "user", required: true, maxlength: "128", autocomplete: "off" });
  readonly #viewer = h("input", { id: "viewer", maxlength: "128", autocomplete: "off" });
  readonly #error = h("p", { class: "error", role: "alert" });
  readonly #result = h("div", { class: "result", "aria-live": "polite" });

  constructor(api: Api) {
    this.#api = api;
    this.element = h(
      "div",
      {},
      h(
        "form",
        {
          class: "card search",
          onsubmit: (event) => {
            event.preventDefault();
            void this.#search();
          },
        },
        h("div", { class: "field" }, h("label", { for: "user", text: "User id" }), this.#user),
        h("div", { class: "field" }, h("label", { for: "viewer", text: "As seen by (optional)" }), this.#viewer),
        h("button", { type: "submit", class: "primary", text: "Look" }),
      ),
      this.#error,
      this.#result,
    );
  }

  async #search(): Promise<void> {
    const user = encode(this.#user.value);
    const viewer = this.#viewer.value.trim();
    setText(this.#error, "");
    try {
      const [presence, sessions, explanation] = await Promise.all([
        this.#api.get<object>(`v1/users/${user}/presence`),
        this.#api.get<{ sessions: Session[] }>(`v1/users/${user}/sessions`),
        viewer === ""
          ? undefined
          : this.#api.find(
              this.#api.get<Explanation>(`v1/users/${user}/explain?viewer=${encodeURIComponent(viewer)}`),
            ),
      ]);
      this.#result.replaceChildren(
        facts("What a back end sees", presence),
        this.#sessionsCard(user, sessions.sessions),
        ...(explanation ? [explained(viewer, explanation)] : []),
      );
    } catch (error) {
      this.#result.replaceChildren();
      setText(this.#error, (error as Error).message);
    }
  }

  #sessionsCard(user: string, sessions: readonly Session[]): HTMLElement {
    const columns = ["Device", "State", "Activity", "Connected", "Last heartbeat", ""];
    const rows = sessions.map((session) =>
      h(
        "tr",
        {},
        h("td", { text: [session.device.type, session.device.name].filter(Boolean).join(" · ") }),
        h("td", { text: session.observing ? `${session.state}, observing` : session.state }),
        h("td", { text: [session.activity, session.status].filter(Boolean).join(" · ") }),
        h("td", { text: time(session.connectedAt) }),
        h("td", { text: time(session.lastHeartbeatAt ?? session.graceUntil) }),
        h("td", {}, this.#kickButton(user, session.sessionId)),
      ),
    );
    const table = h(
      "table",
      {},
      h("thead", {}, h("tr", {}, ...columns.map((text) => text ? h("th", { scope: "col", text }) : h("td")))),
      h("tbody", {}, ...rows),
    );
    return h(
      "section",
      { class: "card" },
      h("h2", { text: `Sessions (${sessions.length})` }),
      sessions.length === 0
        ? h("p", { class: "hint", text: "No session: this user is not here." })
        : h("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "Sessions" }, table),
    );
  }

  /** Asks once more before it ends the session. */
  #kickButton(user: string, sessionId: string): HTMLButtonElement {
    let isAsked = false;
    const button = h("button", {
      type: "button",
      class: "danger",
      text: "End",
      onclick: () => {
        if (!isAsked) {
          isAsked = true;
          setText(button, "Really end it?");
          return;
        }
        button.disabled = true;
        this.#api.delete(`v1/users/${user}/sessions/${encodeURIComponent(sessionId)}`).then(
          () => this.#search(),
          (error: Error) => setText(this.#error, error.message),
        );
      },
    });
    button.addEventListener("blur", () => {
      isAsked = false;
      setText(button, "End");
    });
    return button;
  }
}

function explained(viewer: string, { view, merge, rules }: Explanation): HTMLElement {
  return h(
    "section",
    { class: "card" },
    h("h2", { text: `Why ${viewer} sees this` }),
    h("p", {}, `The sessions come to `, h("strong", { text: merge.result }), ` (${merge.policy}).`),
    h(
      "ol",
      { class: "rules" },
      ...rules.map(({ attribute, check, passes, why }) =>
        h(
          "li",
          { class: passes ? "good" : "bad" },
          h("span", { class: "mark", "aria-hidden": "true", text: passes ? "✓" : "✗" }),
          h("span", { class: "spoken", text: passes ? "passes: " : "fails: " }),
          h("span", {}, h("strong", { text: attribute }), ` ${check}: ${why}`),
        ),
      ),
    ),
    h("h3", { text: `So ${viewer} gets` }),
    h("pre", { tabindex: "0", text: JSON.stringify(view, null, 2) }),
  );
}

function facts(title: string, value: object): HTMLElement {
  return h(
    "section",
    { class: "card" },
    h("h2", { text: title }),
    h("pre", { tabindex: "0", text: JSON.stringify(value, null, 2) }),
  );
}

/** An id as a piece of a path; `.` and `..` would be taken for folders. */
export function encode(id: string): string {
  return encodeURIComponent(id.trim()).replace(/^\.+$/, (dots) => dots.replaceAll(".", "%2E"));
}

const clock = new Intl.DateTimeFormat(undefined, { dateStyle: "short", timeStyle: "medium" });

export function time(at: number | undefined): string {
  return at === undefined ? "" : clock.format(at);
}
