import type { PresenceClient, RoomView, Signal } from "@presenced/client";
import { h, placeInOrder, said, setText } from "../../common/dom.js";
import { Avatar } from "./avatar.js";
import type { Roster } from "./roster.js";
import { STATUS_WORDS } from "./words.js";

const ROOMS: readonly string[] = ["lobby", "kitchen", "stadium"];
const SAY = "say";
const MOST_BUBBLES = 20;
const MOST_CHARACTERS = 200;

const numbers = new Intl.NumberFormat();
const names = new Intl.ListFormat(undefined, { type: "conjunction" });

/** One room: who is in it, who is typing, and words that nobody keeps. */
export class RoomPanel {
  readonly element: HTMLElement;
  readonly #client: PresenceClient;
  readonly #roster: Roster;
  readonly #count = h("span", { class: "count" });
  readonly #members = h("ul", { class: "members", "aria-label": "In the room" });
  readonly #hint = h("p", { class: "hint" });
  readonly #bubbles = h("ol", { class: "bubbles", role: "log", "aria-label": "Said", tabindex: "0" });
  readonly #typing = h("p", { class: "typing", role: "status" });
  readonly #input = h("input", {
    id: "say",
    autocomplete: "off",
    dir: "auto",
    maxlength: String(MOST_CHARACTERS),
    placeholder: "Say something",
  });
  readonly #select: HTMLSelectElement;
  readonly #rows = new Map<string, { element: HTMLElement; avatar: Avatar; spoken: HTMLElement }>();
  readonly #onFail: (error: Error) => void;
  #ends: (() => void)[] = [];

  constructor(client: PresenceClient, roster: Roster, onFail: (error: Error) => void) {
    this.#client = client;
    this.#roster = roster;
    this.#onFail = onFail;
    this.#select = h(
      "select",
      { id: "room", onchange: () => this.enter() },
      ...ROOMS.map((room) => h("option", { value: room, text: `# ${room}` })),
    );
    this.#input.addEventListener("input", () => client.setTyping(this.#target, this.#input.value !== ""));
    client.on("signal", (signal) => this.#heard(signal));
    this.element = h(
      "section",
      { class: "card room", "aria-labelledby": "room-title" },
      h(
        "div",
        { class: "room-head" },
        h("h2", { id: "room-title" }, "Room ", this.#count, h("span", { class: "spoken", text: " are there" })),
        h("label", { class: "spoken", for: "room", text: "Which room" }),
        this.#select,
      ),
      this.#members,
      this.#hint,
      this.#bubbles,
      this.#typing,
      h(
        "form",
        {
          class: "add",
          onsubmit: (event) => {
            event.preventDefault();
            this.#say();
          },
        },
        h("label", { class: "spoken", for: "say", text: "Say something" }),
        this.#input,
        h("button", { type: "submit", text: "Say" }),
      ),
    );
  }

  get #target() {
    return { room: this.#select.value };
  }

  /** Goes into the room that is chosen, and out of the one before. */
  enter(): void {
    this.leave();
    const room = this.#select.value;
    this.#ends = [
      this.#client.join(room),
      this.#client.subscribeRoom(room, () => this.show()),
      this.#client.subscribeTyping({ room }, () => this.show()),
    ];
    this.#bubbles.replaceChildren();
    this.show();
  }

  leave(): void {
    this.#ends.forEach((end) => end());
    this.#ends = [];
  }

  show(): void {
    const room = this.#client.room(this.#select.value);
    const exactly = room.exact ? "" : "about ";
    setText(this.#count, room.count === undefined ? "" : exactly + numbers.format(room.count));
    this.element.classList.toggle("stale", room.stale);
    this.#showMembers(room);
    const typing = this.#client.typing(this.#target).map((userId) => this.#name(userId));
    const verb = typing.length > 1 ? "are" : "is";
    setText(this.#typing, typing.length === 0 ? "" : `${names.format(typing)} ${verb} typing …`);
  }

  #showMembers({ count, members }: RoomView): void {
    const seen = new Map<string, HTMLElement>();
    for (const { userId, status } of members ?? []) {
      const row = this.#row(userId);
      seen.set(userId, row.element);
      row.avatar.show(status, false);
      setText(row.spoken, `${this.#name(userId)}, ${STATUS_WORDS[status]}`);
      row.element.title = `${this.#name(userId)}: ${STATUS_WORDS[status]}`;
    }
    for (const [userId, { element }] of this.#rows) {
      if (!seen.has(userId)) {
        element.remove();
        this.#rows.delete(userId);
      }
    }
    placeInOrder(this.#members, [...seen.values()]);
    this.#members.hidden = seen.size === 0;
    const isLarge = count !== undefined && members === undefined;
    const text = isLarge ? "So many that they are counted and not listed." : "Nobody is known to be here.";
    setText(this.#hint, seen.size > 0 ? "" : text);
    this.#hint.hidden = seen.size > 0;
  }

  #row(userId: string) {
    let row = this.#rows.get(userId);
    if (row === undefined) {
      const avatar = new Avatar(userId, this.#name(userId));
      const spoken = h("span", { class: "spoken" });
      row = { avatar, spoken, element: h("li", {}, avatar.element, spoken) };
      this.#rows.set(userId, row);
    }
    return row;
  }

  #say(): void {
    const text = this.#input.value.trim();
    if (text === "") {
      return;
    }
    this.#input.value = "";
    this.#client.setTyping(this.#target, false);
    this.#client
      .signal({ to: this.#target, kind: SAY, active: true, data: { text } })
      .then(
        () => this.#bubble(this.#roster.me, text),
        (error: Error) => {
          this.#input.value ||= text;
          this.#onFail(error);
        },
      );
  }

  #heard({ kind, room, from, data }: Signal): void {
    const { text } = (data ?? {}) as { text?: unknown };
    if (kind === SAY && room === this.#select.value && typeof text === "string") {
      this.#bubble(from, text.slice(0, MOST_CHARACTERS));
    }
  }

  #bubble(userId: string, text: string): void {
    const isMine = userId === this.#roster.me;
    const who = h("span", { class: "by" }, isMine ? "You" : said(this.#name(userId)));
    this.#bubbles.append(h("li", { class: isMine ? "mine" : "" }, who, h("span", { text, dir: "auto" })));
    while (this.#bubbles.children.length > MOST_BUBBLES) {
      this.#bubbles.firstElementChild?.remove();
    }
    this.#bubbles.scrollTop = this.#bubbles.scrollHeight;
  }

  #name(userId: string): string {
    return this.#roster.name(userId);
  }
}
