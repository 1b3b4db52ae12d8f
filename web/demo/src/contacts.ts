import type { OwnStatus, PresenceClient, UserPresence } from "@presenced/client";
import { Avatar, showDevices } from "./avatar.js";
import { h, placeInOrder, said, setText } from "../../common/dom.js";
import type { Roster } from "./roster.js";
import { nameFromId, statusText, STATUS_WORDS, untilText } from "./words.js";

export interface ContactActions {
  block(userId: string): void;
  add(userId: string): void;
  remove(userId: string): void;
}

const GROUPS: readonly { title: string; statuses: readonly OwnStatus[] }[] = [
  { title: "Here", statuses: ["online", "busy", "dnd"] },
  { title: "Away", statuses: ["away"] },
  { title: "Not here", statuses: ["offline", "invisible"] },
  { title: "Not known", statuses: ["unknown"] },
];

/** As a reader expects it: "User 9" before "User 10". */
const byName = new Intl.Collator(undefined, { numeric: true });

/** One person of the list. Kept for as long as the person is on it, so that the focus stays. */
class Row {
  readonly element: HTMLLIElement;
  readonly #avatar: Avatar;
  readonly #status = h("span", { class: "status" });
  readonly #custom = said("", "custom");
  readonly #devices = h("span", { class: "devices" });
  readonly #spoken = h("span", { class: "spoken" });

  constructor(
    readonly userId: string,
    readonly name: string,
    actions: ContactActions,
  ) {
    this.#avatar = new Avatar(userId, name);
    const summary = h("summary", { "aria-label": `More about ${name}`, text: "⋯" });
    const menu = h(
      "details",
      { class: "menu" },
      summary,
      h(
        "div",
        { class: "menu-items" },
        h("button", {
          type: "button",
          text: `Block ${name}`,
          onclick: () => actions.block(userId),
        }),
        h("button", {
          type: "button",
          text: "Take off the list",
          onclick: () => actions.remove(userId),
        }),
      ),
    );
    menu.addEventListener("focusout", (event) => {
      if (!menu.contains(event.relatedTarget as Node | null)) {
        menu.open = false;
      }
    });
    menu.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && menu.open) {
        menu.open = false;
        summary.focus();
      }
    });
    menu.addEventListener("click", (event) => {
      if ((event.target as Element).closest("button")) {
        menu.open = false;
      }
    });
    this.element = h(
      "li",
      { class: "person" },
      this.#avatar.element,
      h(
        "div",
        { class: "who" },
        h("span", { class: "name", dir: "auto", title: name }, name, this.#spoken),
        this.#custom,
        h("span", { class: "line" }, this.#status, this.#devices),
      ),
      menu,
    );
    this.element.dataset["user"] = userId;
  }

  show(presence: UserPresence, serverNow: number): void {
    this.#avatar.show(presence.status, presence.stale);
    this.element.dataset["status"] = presence.status;
    this.element.classList.toggle("stale", presence.stale);
    setText(this.#spoken, `, ${STATUS_WORDS[presence.status]}`);
    setText(this.#status, statusText(presence, serverNow));
    const { customStatus } = presence;
    const text = [customStatus?.emoji, customStatus?.text].filter(Boolean).join(" ");
    setText(this.#custom, text);
    this.#custom.hidden = text === "";
    this.#custom.title =
      customStatus?.expiresAt === undefined
        ? ""
        : untilText(customStatus.expiresAt - serverNow + Date.now(), Date.now());
    showDevices(this.#devices, presence.devices ?? []);
  }
}

/** The list of people, in three groups. */
export class Contacts {
  readonly element: HTMLElement;
  readonly #client: PresenceClient;
  readonly #roster: Roster;
  readonly #actions: ContactActions;
  readonly #rows = new Map<string, Row>();
  readonly #stale = h("span", { class: "hint", text: " · as last known", hidden: true });
  readonly #groups = GROUPS.map(({ title, statuses }) => ({
    statuses,
    count: h("span", { class: "count" }),
    list: h("ul", { class: "people", "aria-label": title }),
    title,
    heading: h("h3"),
  }));

  constructor(client: PresenceClient, roster: Roster, actions: ContactActions) {
    this.#client = client;
    this.#roster = roster;
    this.#actions = actions;
    const input = h("input", {
      id: "add-person",
      name: "person",
      placeholder: "Add a user id",
      autocomplete: "off",
      maxlength: "128",
      required: true,
    });
    const form = h(
      "form",
      {
        class: "add",
        onsubmit: (event) => {
          event.preventDefault();
          actions.add(input.value.trim());
          input.value = "";
        },
      },
      h("label", { class: "spoken", for: "add-person", text: "User id to add" }),
      input,
      h("button", { type: "submit", text: "Add" }),
    );
    this.element = h(
      "section",
      { class: "card contacts", "aria-labelledby": "people-title" },
      h("h2", { id: "people-title" }, "People", this.#stale),
      ...this.#groups.flatMap(({ title, heading, count, list }) => {
        heading.append(`${title} `, count);
        return [heading, list];
      }),
      form,
    );
  }

  /** Draws who is on the list, each where the status puts them. Rows move only when they must. */
  show(): void {
    const now = this.#client.serverNow();
    const wanted = new Set(this.#roster.ids);
    for (const [userId, row] of this.#rows) {
      if (!wanted.has(userId)) {
        row.element.remove();
        this.#rows.delete(userId);
      }
    }
    const ordered = [...wanted].sort((a, b) =>
      byName.compare(this.#roster.name(a), this.#roster.name(b)),
    );
    const places = new Map<HTMLElement, HTMLElement[]>(
      this.#groups.map((group) => [group.list, []]),
    );
    this.#stale.hidden = !ordered.some((userId) => this.#client.presence(userId).stale);
    for (const userId of ordered) {
      const presence = this.#client.presence(userId);
      const row = this.#row(userId);
      row.show(presence, now);
      const group = this.#groups.find(({ statuses }) => statuses.includes(presence.status));
      places.get((group ?? this.#groups.at(-1)!).list)?.push(row.element);
    }
    for (const group of this.#groups) {
      const rows = places.get(group.list) ?? [];
      placeInOrder(group.list, rows);
      setText(group.count, String(rows.length));
      group.heading.hidden = rows.length === 0 && group.title === "Not known";
    }
  }

  #row(userId: string): Row {
    let row = this.#rows.get(userId);
    if (row === undefined) {
      row = new Row(userId, this.#roster.name(userId) ?? nameFromId(userId), this.#actions);
      this.#rows.set(userId, row);
    }
    return row;
  }
}
