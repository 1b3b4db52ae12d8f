import { h } from "../../common/dom.js";
import type { Api } from "./api.js";
import { format } from "./chart.js";
import { sumOf, type Sample } from "./metrics.js";
import { allTroubles, keyOf, recentTroubles } from "./troubles.js";
import { time } from "./users.js";
import type { Look } from "./watcher.js";

const MOST_ROWS = 400;

/** What went wrong lately, how the parts are, and every figure there is. */
export class Health {
  readonly element: HTMLElement;
  readonly #api: Api;
  readonly #parts = h("ul", { class: "parts" });
  readonly #recent = h("ul", { class: "parts" });
  readonly #troubles = h("ul", { class: "parts" });
  readonly #failures = h("ul", { class: "parts" });
  readonly #filter = h("input", { id: "metric", autocomplete: "off", placeholder: "part of a name" });
  readonly #rows = h("tbody");
  #looks: readonly Look[] = [];

  constructor(api: Api) {
    this.#api = api;
    this.#filter.addEventListener("input", () => this.#drawMetrics());
    const card = (title: string, ...content: HTMLElement[]) =>
      h("section", { class: "card" }, h("h2", { text: title }), ...content);
    const scroll = (label: string, content: HTMLElement) =>
      h("div", { class: "scroll tall", tabindex: "0", role: "group", "aria-label": label }, content);
    this.element = h(
      "div",
      { class: "pairs" },
      card("Store, database, bus", this.#parts),
      card("Recent errors", scroll("Recent errors", this.#recent)),
      card("Errors since the start", scroll("Errors since the start", this.#troubles)),
      card("Calls of this page that failed", this.#failures),
      card(
        "All figures",
        h("div", { class: "field" }, h("label", { for: "metric", text: "Show only" }), this.#filter),
        scroll("Figures", h("table", {}, this.#rows)),
      ),
    );
  }

  draw(looks: readonly Look[]): void {
    this.#looks = looks;
    const last = looks.at(-1);
    list(this.#parts, [...saidOf(last?.readiness), ...partsOf(last?.metrics ?? [])], "The server says nothing of its parts.");
    const none = last?.metrics ? "None in the last ten minutes." : "This server does not give its /metrics.";
    const recent = recentTroubles(looks);
    list(this.#recent, recent.map(({ at, name, by }) => `${time(at * 1_000)}  ${name} +${format(by)}`), none);
    const all = allTroubles(last?.metrics ?? []);
    list(this.#troubles, all.map((sample) => `${keyOf(sample)}: ${format(sample.value)}`), "None.");
    list(
      this.#failures,
      this.#api.failures.map(({ at, path, message }) => `${time(at)} ${path.split("?")[0]}: ${message}`),
      "None.",
    );
    this.#drawMetrics();
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

/** What `/readyz` says. */
function saidOf(readiness: Look["readiness"]): string[] {
  return Object.entries(readiness ?? {}).map(([part, state]) => `${part}: ${String(state)}`);
}

/** How stores and bus are, by their figures. */
function partsOf(samples: readonly Sample[]): string[] {
  const parts: string[] = [];
  for (const { name, labels, value } of samples) {
    if (name === "presenced_store_up") {
      parts.push(`${labels["store"]}: ${value === 1 ? "answers" : "does not answer"}`);
    } else if (name === "presenced_store_health" && value === 1) {
      parts.push(`session store: ${labels["state"]}`);
    } else if (name === "presenced_store_queue_calls") {
      parts.push(`${labels["store"]}: ${format(value)} calls wait`);
    }
  }
  const missed = sumOf(samples, "presenced_bus_probes_missed_total");
  if (missed !== undefined) {
    const gaps = sumOf(samples, "presenced_bus_gaps_total") ?? 0;
    const heard = sumOf(samples, "presenced_bus_subscriptions") ?? 0;
    parts.push(`bus: ${format(heard)} users heard, ${format(missed)} probes missed, ${format(gaps)} gaps healed`);
  }
  return parts;
}

function list(element: HTMLElement, texts: readonly string[], nothing: string): void {
  const items = texts.map((text) => h("li", { text }));
  element.replaceChildren(...(items.length > 0 ? items : [h("li", { class: "hint", text: nothing })]));
}
