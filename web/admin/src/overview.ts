import { h, setText } from "../../common/dom.js";
import { Chart, format } from "./chart.js";
import { sumOf } from "./metrics.js";
import { counted, gauge, perSecond, quantileMs, type Look } from "./watcher.js";

const NO_STATS = "This server does not answer /v1/stats.";
const NO_METRICS = "This server does not give its /metrics.";
const NOTHING_YET = "Nothing to measure yet.";

/** Half, and all but the slowest hundredth. */
const quantiles = (histogram: string) => [
  quantileMs("half", histogram, 0.5),
  quantileMs("99 of 100", histogram, 0.99),
];

function makeCharts(): Chart[] {
  return [
    new Chart(
      "People here",
      "",
      ["online", "away", "busy", "dnd", "invisible"].map((status) =>
        counted(status, ({ users }) => users?.byStatus?.[status], status === "invisible" ? "--none" : `--${status}`),
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
    new Chart(
      "Heartbeats",
      "a second",
      [perSecond("WebSocket", "presenced_heartbeats_total"), perSecond("HTTP", "presenced_http_heartbeats_total")],
      NO_METRICS,
    ),
    new Chart("Transitions", "a second", [perSecond("changes", "presenced_transitions_total")], NO_METRICS),
    new Chart(
      "Deliveries",
      "a second",
      [
        perSecond("watches", "presenced_deliveries_total"),
        perSecond("streams, polls", "presenced_reader_updates_total"),
        perSecond("rooms", "presenced_room_frames_sent_total"),
        perSecond("signals", "presenced_signals_delivered_total"),
      ],
      NO_METRICS,
    ),
    new Chart("Watches", "", [gauge("viewer and user", "presenced_watches")], NO_METRICS),
    new Chart("Time to settle", "ms", quantiles("presenced_settle_seconds"), NOTHING_YET),
    new Chart("Time to look up a list", "ms", quantiles("presenced_snapshot_seconds"), NOTHING_YET),
    new Chart("Time to commit", "ms", quantiles("presenced_store_commit_seconds"), NOTHING_YET),
    new Chart("Time to read records", "ms", quantiles("presenced_store_read_seconds"), NOTHING_YET),
    new Chart("Lag of the threads", "ms", quantiles("presenced_loop_lag_seconds"), NOTHING_YET),
    new Chart(
      "Waiting in queues",
      "",
      [
        gauge("last seen", "presenced_queue_entries", { queue: "last_seen" }),
        gauge("journal", "presenced_queue_entries", { queue: "journal" }),
        gauge("webhooks", "presenced_queue_entries", { queue: "webhooks" }),
        gauge("stores", "presenced_store_queue_calls"),
      ],
      NO_METRICS,
    ),
    new Chart(
      "Commands to Redis",
      "a second",
      [perSecond("commands", "presenced_redis_commands_total")],
      "This node shares no store.",
    ),
    new Chart(
      "Messages of the bus",
      "a second",
      [perSecond("came", "presenced_bus_messages_total"), perSecond("missed probes", "presenced_bus_probes_missed_total")],
      "This node shares no store.",
    ),
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
      h("p", { class: "hint", text: "Of the node that answers, over the last ten minutes." }),
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
    const told = typeof stats?.nodes === "number" ? stats.nodes : undefined;
    const leased = last?.metrics && sumOf(last.metrics, "presenced_nodes");
    this.#set("Nodes", nodes?.length ?? leased ?? told);
    const readiness = last?.readiness;
    setText(this.#tiles.get("Server") as HTMLElement, String(readiness?.["status"] ?? "?"));
    this.#drawNodes(nodes ?? []);
    for (const chart of this.#charts) {
      chart.draw(looks);
    }
  }

  /** The server does not answer: what was seen last stays, but for how it is. */
  lost(): void {
    setText(this.#tiles.get("Server") as HTMLElement, "no answer");
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
