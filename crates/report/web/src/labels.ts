// The names of a chart's lines, with the values at its cursor.

import uPlot from "uplot";
import type { Chart } from "./data";
import { element } from "./dom";
import { type Drawn, valueAt } from "./drawn";
import { significant, withUnit } from "./format";
import { lineColour, paint } from "./palette";

/** The height of a label. */
export const LINE = 18;
/** The room that the place of the cursor needs. */
const PLACE = 80;

/** The labels of a chart: beside the ends of its lines, or above it; and the place of the cursor. */
export class Labels {
  readonly #chart: Chart;
  readonly #drawn: readonly Drawn[];
  readonly #box = element("div", "labels");
  readonly #place = element("div", "place");

  constructor(host: HTMLElement, chart: Chart, drawn: readonly Drawn[]) {
    this.#chart = chart;
    this.#drawn = drawn;
    // The chart itself says its values.
    this.#box.ariaHidden = "true";
    this.#place.ariaHidden = "true";
    this.#place.hidden = true;
    host.replaceChildren(this.#box);
  }

  get hidden(): boolean {
    return this.#box.hidden !== false;
  }

  set hidden(hidden: boolean) {
    this.#box.hidden = hidden;
  }

  /** Makes the labels in the present colours. */
  make(): void {
    const labels = this.#drawn.map(({ line, colour }) => {
      const swatch = element("i", line.style === "points" ? "ring" : "swatch");
      if (line.style === "points") swatch.style.color = lineColour(colour, this.#chart.groups);
      else paint(swatch, colour, this.#chart.groups);
      return element("span", "label", swatch, element("b", "", line.name), element("output", ""));
    });
    this.#box.replaceChildren(...labels);
  }

  /** Shows the values at `at`, if there is a cursor. */
  show(plot: uPlot, at: number | null, beside: boolean): void {
    const spans = [...this.#box.children] as HTMLElement[];
    this.#drawn.forEach((drawn, index) => {
      const output = spans[index]?.querySelector("output");
      const value = at === null ? null : valueAt(drawn, at);
      if (output) output.textContent = at === null ? "" : value === null ? "–" : significant(value, 3);
    });
    this.#box.classList.toggle("beside", beside);
    if (beside) this.#dodge(plot, spans);
    else for (const span of spans) span.style.removeProperty("top");
    this.#place.hidden = at === null;
    if (at === null) return;
    if (!this.#place.isConnected) plot.over.append(this.#place);
    this.#place.textContent = withUnit(at, this.#chart.x.label);
    const left = plot.valToPos(at, "x");
    this.#place.style.left = `${left}px`;
    this.#place.classList.toggle("left", left > plot.bbox.width / uPlot.pxRatio - PLACE);
  }

  /** Sets each label at the end of its line, or as near to it as the others allow. */
  #dodge(plot: uPlot, spans: readonly HTMLElement[]): void {
    // Of the canvas, since asking the page for the sizes of its elements would lay it out again.
    const height = plot.bbox.height / uPlot.pxRatio;
    const start = plot.bbox.top / uPlot.pxRatio;
    const left = (plot.bbox.left + plot.bbox.width) / uPlot.pxRatio + 8;
    const last = plot.scales["x"]?.max ?? 0;
    const wanted = this.#drawn.map((drawn, index) => {
      const end = valueAt(drawn, last) ?? [...drawn.ys].reverse().find((y) => y !== null) ?? 0;
      return { index, top: Math.min(Math.max(plot.valToPos(end, "y"), 0), height) - LINE / 2 };
    });
    wanted.sort((a, b) => a.top - b.top);
    let floor = -LINE / 2;
    for (const label of wanted) {
      label.top = Math.max(label.top, floor);
      floor = label.top + LINE;
    }
    let ceiling = height + LINE / 2;
    for (const label of wanted.reverse()) {
      label.top = Math.min(label.top, ceiling - LINE);
      ceiling = label.top;
    }
    for (const { index, top } of wanted) {
      const span = spans[index];
      if (!span) continue;
      span.style.top = `${start + top}px`;
      span.style.left = `${left}px`;
    }
  }
}
