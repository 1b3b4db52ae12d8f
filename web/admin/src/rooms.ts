import { h, said, setText } from "../../common/dom.js";
import type { Api, RoomPage } from "./api.js";
import { encode } from "./users.js";

interface RoomCount {
  readonly room: string;
  readonly count: number;
  readonly publicCount?: number;
  readonly exact: boolean;
}

/** Which rooms there are, and who is in one. */
export class Rooms {
  readonly element: HTMLElement;
  readonly #api: Api;
  readonly #prefix = h("input", { id: "prefix", maxlength: "128", autocomplete: "off" });
  readonly #error = h("p", { class: "error", role: "alert" });
  readonly #list = h("ul", { class: "rooms" });
  readonly #members = h("section", { class: "card", hidden: true });

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
            void this.show();
          },
        },
        h("div", { class: "field" }, h("label", { for: "prefix", text: "Rooms that begin with" }), this.#prefix),
        h("button", { type: "submit", class: "primary", text: "Look" }),
      ),
      this.#error,
      h("section", { class: "card" }, h("h2", { text: "Rooms" }), this.#list),
      this.#members,
    );
  }

  async show(): Promise<void> {
    setText(this.#error, "");
    try {
      const prefix = encodeURIComponent(this.#prefix.value);
      const page = await this.#api.find(this.#api.get<{ rooms: RoomCount[] }>(`v1/rooms?prefix=${prefix}`));
      const rows = (page?.rooms ?? []).map((room) =>
        h(
          "li",
          {},
          h("button", { type: "button", class: "wide", onclick: () => void this.#open(room.room) },
            said(room.room),
            h("span", { class: "count", text: `${room.exact ? "" : "about "}${room.count}` })),
        ),
      );
      const nothing = page === undefined ? "This server has no list of rooms." : "No room has members.";
      this.#list.replaceChildren(...(rows.length > 0 ? rows : [h("li", { class: "hint", text: nothing })]));
    } catch (error) {
      setText(this.#error, (error as Error).message);
    }
  }

  async #open(room: string): Promise<void> {
    setText(this.#error, "");
    try {
      const page = await this.#api.get<RoomPage>(`v1/rooms/${encode(room)}`);
      const list = h("ul", { class: "members", "aria-label": `In ${page.room}` });
      this.#members.hidden = false;
      this.#members.replaceChildren(
        h("h2", {}, said(page.room), " ", h("span", { class: "count", text: String(page.count) })),
        list,
      );
      this.#append(list, page);
    } catch (error) {
      setText(this.#error, (error as Error).message);
    }
  }

  /** Adds a page of members, and gives the button for the next one. */
  #append(list: HTMLElement, { room, members, next }: RoomPage): HTMLElement | undefined {
    const rows = members.map(({ userId, status }) =>
      h("li", {}, said(userId), h("span", { class: "hint", text: status })),
    );
    list.append(...rows);
    if (next === undefined) {
      return undefined;
    }
    const more = h("button", {
      type: "button",
      class: "wide",
      text: "Show more",
      onclick: () => {
        const path = `v1/rooms/${encode(room)}?cursor=${encodeURIComponent(next)}`;
        this.#api.get<RoomPage>(path).then(
          (page) => {
            more.remove();
            this.#append(list, page)?.focus();
          },
          (error: Error) => setText(this.#error, error.message),
        );
      },
    });
    list.after(more);
    return more;
  }
}
