import { h } from "../../common/dom.js";
import type { Api } from "./api.js";
import { format } from "./chart.js";
import { rate } from "./metrics.js";
import { time } from "./users.js";
import type { Look } from "./watcher.js";

const TROUBLE = /(error|fail|refus|reject|drop|lost|timeout|expired|overload|denied)\w*$/;
const MOST_ROWS = 200;

/** What went wrong lately, what the parts say of themselves, and every figure there is. */
export class Health {
  readonly element: HTMLElement;
  readonly #api: Api;
  readonly #parts = h("ul", { class: "parts" });
  readonly #trouble = h("ul", { class: "parts" });
  readonly #failures = h("ul", { class: "parts" });
  readonly #filter = h("input", { id: "metric", autocomplete: "off", placeholder: "part of a name" });
  readonly #rows = h("tbody");
  #looks: readonly Look[] = [];

  constructor(api: Api) {
    this.#api = api;
    this.#filter.addEventListener("input", () => this.#drawMetrics());
    const card = (title: string, ...content: HTMLElement[]) =>
      h("section", { class: "card" }, h("h2", { text: title }), ...content);
    this.element = h(
      "div",
      { class: "pairs" },
      card("Parts", this.#parts),
      card("Counters of trouble", this.#trouble),
      card("Calls of this page that failed", this.#failures),
      card(
        "All figures",
        h("div", { class: "field" }, h("label", { for: "metric", text: "Show only" }), this.#filter),
        h("div", { class: "scroll tall", tabindex: "0", role: "group", "aria-label": "Figures" }, h("table", {}, this.#rows)),
      ),
    );
  }

  draw(looks: readonly Look[]): void {
    this.#looks = looks;
    const last = looks.at(-1);
    list(
      this.#parts,
      Object.entries(last?.readiness ?? {}).map(([part, state]) => `${part}: ${words(state)}`),
      "The server says nothing of its parts.",
    );
    list(this.#trouble, this.#troubles(), last?.metrics ? "All of them are zero." : "This server has no /metrics.");
    list(
      this.#failures,
      this.#api.failures.map(({ at, path, message }) => `${time(at)} ${path.split("?")[0]}: ${message}`),
      "None.",
    );
    this.#drawMetrics();
  }

  /** Counters that sound like trouble and are not zero, those that grow first. */
  #troubles(): string[] {
    const [first, last] = [this.#looks[0], this.#looks.at(-1)];
    const found = (last?.metrics ?? [])
      .filter(({ name, value }) => value > 0 && TROUBLE.test(name.replace(/_total$/, "")))
      .map((sample) => {
        const before = first?.metrics?.find((one) => keyOf(one) === keyOf(sample))?.value;
        const grows = rate(before, sample.value, (last?.at ?? 0) - (first?.at ?? 0)) ?? 0;
        return { text: `${keyOf(sample)}: ${format(sample.value)}`, grows };
      });
    return found
      .sort((a, b) => b.grows - a.grows)
      .map(({ text, grows }) => (grows > 0 ? `${text}, ${format(grows * 60)} a minute` : text));
  }

  #drawMetrics(): void {
    const wanted = this.#filter.value.trim().toLowerCase();
    const rows = (this.#looks.at(-1)?.metrics ?? [])
      .filter((sample) => keyOf(sample).toLowerCase().includes(wanted))
      .slice(0, MOST_ROWS)
      .map((sample) => h("tr", {}, h("td", { text: keyOf(sample) }), h("td", { text: format(sample.value) })));
    this.#rows.replaceChildren(...rows);
  }
}

function keyOf({ name, labels }: { name: string; labels: Readonly<Record<string, string>> }): string {
  const all = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
  return all.length === 0 ? name : `${name}{${all.join(", ")}}`;
}

function list(element: HTMLElement, texts: readonly string[], nothing: string): void {
  const items = texts.map((text) => h("li", { text }));
  element.replaceChildren(...(items.length > 0 ? items : [h("li", { class: "hint", text: nothing })]));
}

function words(value: unknown): string {
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
