import { h, setText } from "../../common/dom.js";
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
  readonly #members = h("section", { class: "card", hidden: true, "aria-live": "polite" });

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
            h("span", { text: room.room }),
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
    try {
      const page = await this.#api.get<RoomPage>(`v1/rooms/${encode(room)}`);
      this.#members.hidden = false;
      this.#members.replaceChildren(
        h("h2", {}, `${page.room} `, h("span", { class: "count", text: String(page.count) })),
        h(
          "ul",
          { class: "members" },
          ...page.members.map(({ userId, status }) =>
            h("li", {}, h("span", { text: userId }), h("span", { class: "hint", text: status })),
          ),
        ),
        ...(page.next === undefined ? [] : [h("p", { class: "hint", text: "… and more" })]),
      );
    } catch (error) {
      setText(this.#error, (error as Error).message);
    }
  }
}
