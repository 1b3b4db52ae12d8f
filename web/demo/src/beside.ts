import { h, setText } from "../../common/dom.js";

const OTHERS: readonly string[] = ["bob", "alice", "carol"];

/** A second person in a pane beside, so that one sees both sides at once. */
export class Beside {
  readonly button: HTMLButtonElement;
  readonly #userId: string;
  #pane: HTMLIFrameElement | undefined;

  constructor(userId: string) {
    this.#userId = userId;
    this.button = h("button", { type: "button", class: "quiet", onclick: () => this.#toggle() });
    // In the pane itself there is no third person, and no room for one.
    this.button.hidden = window.top !== window;
    this.#name();
  }

  close(): void {
    this.#pane?.remove();
    this.#pane = undefined;
    document.body.classList.remove("two");
    this.#name();
  }

  #toggle(): void {
    if (this.#pane !== undefined) {
      this.close();
      return;
    }
    const other = OTHERS.find((name) => name !== this.#userId) as string;
    const url = new URL(location.href);
    url.searchParams.set("user", other);
    this.#pane = h("iframe", { class: "beside", src: url.href, title: `The page of ${other}` });
    document.body.append(this.#pane);
    document.body.classList.add("two");
    this.#name();
  }

  #name(): void {
    setText(this.button, this.#pane === undefined ? "Second person beside" : "Close second person");
  }
}
