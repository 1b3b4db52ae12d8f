import uPlot from "uplot";
import { h, setText } from "../../common/dom.js";
import { alone } from "./metrics.js";
import type { Line, Look } from "./watcher.js";

const HEIGHT = 150;
/** The first looks stand at the right end of so much time. */
const LEAST_SECONDS = 60;
const COLOURS = ["--accent", "--online", "--away", "--busy", "--none"];
/** The least that the axis reaches to, so that a flat line is seen to lie low. */
const LEAST_HIGH = { "": 1, "a second": 1, ms: 0.1 };

export type Unit = keyof typeof LEAST_HIGH;

function colourOf({ colour }: Line, index: number): string {
  return colour ?? (COLOURS[index % COLOURS.length] as string);
}

/** One chart in a card, drawn over the last ten minutes. Says so where there is nothing to draw. */
export class Chart {
  readonly element: HTMLElement;
  readonly #lines: readonly Line[];
  readonly #unit: Unit;
  readonly #missing: string;
  readonly #place = h("div", { class: "plot", "aria-hidden": "true" });
  readonly #now = h("p", { class: "now" });
  readonly #nothing: HTMLElement;
  #plot: uPlot | undefined;
  #theme = "";

  constructor(title: string, unit: Unit, lines: readonly Line[], missing: string) {
    this.#lines = lines;
    this.#unit = unit;
    this.#missing = missing;
    this.#nothing = h("p", { class: "hint nothing" });
    this.element = h(
      "section",
      { class: "card chart" },
      h("h2", {}, title, h("span", { class: "hint", text: unit ? ` ${unit}` : "" })),
      this.#now,
      this.#place,
      this.#nothing,
    );
  }

  draw(looks: readonly Look[]): void {
    const values = this.#lines.map(({ read }) =>
      looks.map((look, index) => read(look, looks[index - 1]) ?? null),
    );
    const isEmpty = values.every((line) => line.every((value) => value === null));
    // What is compared with the look before takes two of them.
    setText(this.#nothing, looks.length < 2 ? "Looking …" : this.#missing);
    this.#nothing.hidden = !isEmpty;
    this.#place.hidden = this.#now.hidden = isEmpty;
    if (isEmpty) {
      return;
    }
    const latest = values.map((line) => line.filter((value) => value !== null).at(-1));
    this.#now.replaceChildren(
      ...this.#lines.flatMap((line, index) => {
        const value = latest[index];
        return value === undefined ? [] : [keyOf(`${line.label} ${format(value)}`, colourOf(line, index))];
      }),
    );
    this.#makePlot();
    this.#plot?.setData([looks.map(({ at }) => at), ...values] as uPlot.AlignedData);
  }

  /** Fits the width, and takes on the colours of a theme that was switched. */
  #makePlot(): void {
    const style = getComputedStyle(this.element);
    const width = this.#place.clientWidth;
    const theme = style.getPropertyValue("background-color");
    if (this.#plot && this.#theme === theme) {
      if (this.#plot.width !== width) {
        this.#plot.setSize({ width, height: HEIGHT });
      }
      return;
    }
    this.#theme = theme;
    this.#plot?.destroy();
    const grid = { stroke: resolved(this.element, "--line"), width: 1 };
    const axis = { stroke: style.color, grid, ticks: { show: false } };
    this.#plot = new uPlot(
      {
        width,
        height: HEIGHT,
        legend: { show: false },
        cursor: { show: false },
        scales: {
          x: { range: (_plot, low, high) => [Math.min(low, high - LEAST_SECONDS), high] },
          y: { range: (_plot, _low, high) => [0, Math.max(high * 1.1, LEAST_HIGH[this.#unit])] },
        },
        axes: [
          { ...axis, size: 28, space: 90, values: (_plot, ticks) => ticks.map((at) => clock.format(at * 1_000)) },
          { ...axis, size: 52, values: (_plot, ticks) => ticks.map(format) },
        ],
        series: [
          {},
          ...this.#lines.map((line, index) => ({
            label: `${line.label} ${this.#unit}`,
            stroke: resolved(this.element, colourOf(line, index)),
            width: 2,
            // A value with none before and none after would draw no line.
            points: { show: false, size: 5, filter: (plot: uPlot, series: number) => alone(plot.data[series] ?? []) },
          })),
        ],
      },
      [[]],
      this.#place,
    );
  }
}

/** What a line shows now, beside its colour. */
function keyOf(text: string, colour: string): HTMLElement {
  const mark = h("span", { class: "key", "aria-hidden": "true" });
  mark.style.backgroundColor = `var(${colour})`;
  return h("span", {}, mark, text);
}

/** A canvas cannot read `light-dark()`; the browser says what it comes to. */
function resolved(element: HTMLElement, name: string): string {
  const probe = h("span");
  probe.style.color = `var(${name})`;
  element.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

const clock = new Intl.DateTimeFormat(undefined, { timeStyle: "medium", hourCycle: "h23" });
const compact = new Intl.NumberFormat(undefined, { notation: "compact", maximumFractionDigits: 1 });
const small = new Intl.NumberFormat(undefined, { maximumSignificantDigits: 2 });

export function format(value: number): string {
  return (Math.abs(value) < 10 ? small : compact).format(value);
}
