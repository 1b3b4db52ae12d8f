import type { PresenceClient, PrivacyMode, PrivacyRule } from "@presenced/client";
import { h, said, setText } from "../../common/dom.js";
import type { Roster } from "./roster.js";
import { fetchBlocks } from "./server.js";

const MODES: readonly [PrivacyMode, string][] = [
  ["everyone", "Everyone"],
  ["contacts", "My contacts"],
  ["contactsExcept", "My contacts, except …"],
  ["only", "Only …"],
  ["nobody", "Nobody"],
];

/** One rule: a choice, and the people whom it names. */
class RuleField {
  readonly element: HTMLElement;
  readonly #select: HTMLSelectElement;
  readonly #people = h("fieldset", { class: "checks" });
  readonly #roster: Roster;
  #users = new Set<string>();

  constructor(roster: Roster, id: string, label: string) {
    this.#roster = roster;
    this.#select = h(
      "select",
      { id, onchange: () => this.#draw() },
      ...MODES.map(([value, text]) => h("option", { value, text })),
    );
    this.element = h(
      "div",
      { class: "field" },
      h("label", { for: id, text: label }),
      this.#select,
      this.#people,
    );
  }

  show(rule: PrivacyRule): void {
    this.#select.value = rule.mode;
    this.#users = new Set(rule.users ?? []);
    this.#draw();
  }

  value(): PrivacyRule {
    const mode = this.#select.value as PrivacyMode;
    return this.#namesPeople() ? { mode, users: [...this.#users] } : { mode };
  }

  #namesPeople(): boolean {
    return this.#select.value === "only" || this.#select.value === "contactsExcept";
  }

  #draw(): void {
    this.#people.hidden = !this.#namesPeople();
    const legend = this.#select.value === "only" ? "These people" : "Not these people";
    const ids = [...new Set([...this.#roster.ids, ...this.#users])];
    this.#people.replaceChildren(
      h("legend", { text: legend }),
      ...ids.map((userId) => {
        const box = h("input", {
          type: "checkbox",
          value: userId,
          checked: this.#users.has(userId),
          onchange: () => {
            if (box.checked) {
              this.#users.add(userId);
            } else {
              this.#users.delete(userId);
            }
          },
        });
        return h("label", {}, box, said(this.#roster.name(userId)));
      }),
    );
  }
}

/** Who may see the user, and who is blocked. */
export class PrivacyDialog {
  readonly element: HTMLDialogElement;
  readonly #client: PresenceClient;
  readonly #roster: Roster;
  readonly #online: RuleField;
  readonly #lastSeen: RuleField;
  readonly #error = h("p", { class: "error", role: "alert" });
  readonly #blocks = h("ul", { class: "blocks", "aria-label": "Blocked people" });
  readonly #unblock: (userId: string) => Promise<void>;

  constructor(
    client: PresenceClient,
    roster: Roster,
    onSave: (online: PrivacyRule, lastSeen: PrivacyRule) => Promise<void>,
    unblock: (userId: string) => Promise<void>,
  ) {
    this.#client = client;
    this.#roster = roster;
    this.#unblock = unblock;
    this.#online = new RuleField(roster, "privacy-online", "Who sees whether I am here");
    this.#lastSeen = new RuleField(roster, "privacy-last-seen", "Who sees when I last was");
    this.element = h(
      "dialog",
      { "aria-labelledby": "privacy-title" },
      h(
        "form",
        {
          onsubmit: (event) => {
            event.preventDefault();
            onSave(this.#online.value(), this.#lastSeen.value()).then(
              () => this.element.close(),
              (error: Error) => setText(this.#error, error.message),
            );
          },
        },
        h("h2", { id: "privacy-title", text: "Who may see me" }),
        h("p", {
          class: "hint",
          text:
            "It takes effect at once. Whom you hide something from, you cannot see it of either. " +
            "Contacts are set by a back end; in this demo nobody has any.",
        }),
        this.#online.element,
        this.#lastSeen.element,
        h("h3", { text: "Blocked" }),
        this.#blocks,
        this.#error,
        h(
          "div",
          { class: "actions" },
          h("button", { type: "button", text: "Cancel", onclick: () => this.element.close() }),
          h("button", { type: "submit", class: "primary", text: "Save" }),
        ),
      ),
    );
  }

  async open(): Promise<void> {
    setText(this.#error, "");
    const rules = await this.#client.getPrivacy();
    this.#online.show(rules.online);
    this.#lastSeen.show(rules.lastSeen);
    this.element.showModal();
    await this.#showBlocks();
  }

  async #showBlocks(): Promise<void> {
    const blocked = await fetchBlocks(this.#roster.me).catch(() => []);
    const rows = blocked.map((userId) =>
      h(
        "li",
        {},
        said(this.#roster.name(userId)),
        h("button", {
          type: "button",
          text: "Unblock",
          "aria-label": `Unblock ${this.#roster.name(userId)}`,
          onclick: () => void this.#unblock(userId).then(() => this.#showBlocks()),
        }),
      ),
    );
    this.#blocks.replaceChildren(
      ...(rows.length > 0 ? rows : [h("li", { class: "hint", text: "Nobody" })]),
    );
  }
}
