import { h, setText } from "../../common/dom.js";
import { Chart, format } from "./chart.js";
import { counted, gauge, perSecond, quantileMs, type Look } from "./watcher.js";

const NO_STATS = "This server does not answer /v1/stats.";
const NO_METRIC = "This server has no such figure in /metrics.";

function makeCharts(): Chart[] {
  return [
    new Chart(
      "People here",
      "",
      ["online", "away", "busy", "dnd", "invisible"].map((status) =>
        counted(status, ({ users }) => users?.byStatus?.[status]),
      ),
      NO_STATS,
    ),
    new Chart(
      "Connections",
      "",
      [
        counted("WebSocket", ({ connections }) => connections?.["webSocket"]),
        counted("stream", ({ connections }) => connections?.["stream"]),
        counted("poll", ({ connections }) => connections?.["poll"]),
      ],
      NO_STATS,
    ),
    new Chart(
      "Sessions",
      "",
      [
        counted("live", ({ sessions }) => sessions?.["live"]),
        counted("in grace", ({ sessions }) => sessions?.["grace"]),
        counted("by HTTP", ({ sessions }) => sessions?.["byHttp"]),
      ],
      NO_STATS,
    ),
    new Chart("Heartbeats", "a second", [perSecond("beats", /heartbeats?_?(received_)?total$/)], NO_METRIC),
    new Chart("Transitions", "a second", [perSecond("changes", /transitions(_\w+)?_total$/)], NO_METRIC),
    new Chart("Deliveries", "a second", [perSecond("updates", /(deliver\w*|updates_sent)_total$/)], NO_METRIC),
    new Chart(
      "Time to settle",
      "ms",
      [quantileMs("half", /settle\w*_bucket$/, 0.5), quantileMs("99 of 100", /settle\w*_bucket$/, 0.99)],
      NO_METRIC,
    ),
    new Chart("Waiting in queues", "", [gauge("entries", /queue\w*(_depth|_length|_size|_entries)$/)], NO_METRIC),
  ];
}

/** What the server does now and did in the last ten minutes. */
export class Overview {
  readonly element: HTMLElement;
  readonly #tiles = new Map<string, HTMLElement>();
  readonly #nodes = h("tbody");
  readonly #nodesCard: HTMLElement;
  readonly #charts = makeCharts();

  constructor() {
    const tile = (name: string) => {
      const value = h("dd", { text: "–" });
      this.#tiles.set(name, value);
      return h("div", { class: "card tile" }, h("dt", { text: name }), value);
    };
    this.#nodesCard = h(
      "section",
      { class: "card", hidden: true },
      h("h2", { text: "Nodes" }),
      h("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "Nodes" }, h("table", {}, this.#nodes)),
    );
    this.element = h(
      "div",
      { class: "overview" },
      h("dl", { class: "tiles" }, ...["People online", "Sessions", "Connections", "Nodes", "Server"].map(tile)),
      h("div", { class: "charts" }, ...this.#charts.map(({ element }) => element)),
      this.#nodesCard,
    );
  }

  draw(looks: readonly Look[]): void {
    const last = looks.at(-1);
    const stats = last?.stats;
    this.#set("People online", stats?.users?.online);
    this.#set("Sessions", stats?.sessions?.["live"]);
    this.#set("Connections", stats && sum(stats.connections ?? {}));
    const nodes = Array.isArray(stats?.nodes) ? (stats.nodes as Record<string, unknown>[]) : undefined;
    this.#set("Nodes", nodes?.length ?? (typeof stats?.nodes === "number" ? stats.nodes : undefined));
    const readiness = last?.readiness;
    setText(this.#tiles.get("Server") as HTMLElement, String(readiness?.["status"] ?? "?"));
    this.#drawNodes(nodes ?? []);
    for (const chart of this.#charts) {
      chart.draw(looks);
    }
  }

  #set(name: string, value: number | undefined): void {
    setText(this.#tiles.get(name) as HTMLElement, value === undefined ? "–" : format(value));
  }

  #drawNodes(nodes: readonly Record<string, unknown>[]): void {
    this.#nodesCard.hidden = nodes.length === 0;
    const columns = [...new Set(nodes.flatMap((node) => Object.keys(node)))];
    const rows = nodes.map((node) =>
      h("tr", {}, ...columns.map((column) => h("td", { text: words(node[column]) }))),
    );
    const head = h("tr", {}, ...columns.map((column) => h("th", { scope: "col", text: column })));
    this.#nodes.replaceChildren(head, ...rows);
  }
}

function sum(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((all, count) => all + count, 0);
}

function words(value: unknown): string {
  return typeof value === "object" ? JSON.stringify(value) : String(value ?? "");
}
