// Queue and delay over time, a line for each side.

import uPlot from "uplot";
import { palette } from "../../../report/web/src/palette";
import { font, typeScale } from "./type";

/** The most points of a chart. */
const MOST = 1200;

/** Rows of one side of which the other side has none yet. */
type Rows = (readonly [number, number, number])[];

export class Charts {
  readonly #hosts: readonly HTMLElement[];
  #plots: uPlot[] = [];
  #kinds: readonly string[] = [];
  #times: number[] = [];
  /** For each chart, a column for each side. */
  #columns: (number | null)[][][] = [];
  #waiting: Rows[] = [];

  constructor(queue: HTMLElement, delay: HTMLElement) {
    this.#hosts = [queue, delay];
    for (const host of this.#hosts) new ResizeObserver(() => this.#resize()).observe(host);
  }

  begin(kinds: readonly string[]): void {
    this.#times = [];
    this.#columns = this.#hosts.map(() => kinds.map(() => []));
    this.#waiting = kinds.map(() => []);
    this.rename(kinds);
  }

  /** Goes on with other disciplines. */
  rename(kinds: readonly string[]): void {
    this.#kinds = kinds;
    this.recolour();
  }

  recolour(): void {
    for (const plot of this.#plots) plot.destroy();
    this.#plots = this.#hosts.map((host, number) => this.#plot(host, number));
  }

  /** Takes over the rows of a side. */
  take(side: number, rows: Float64Array, width: number): void {
    for (let at = 0; at + width <= rows.length; at += width) {
      this.#waiting[side]?.push([rows[at] ?? 0, rows[at + 1] ?? 0, 1000 * (rows[at + 3] ?? 0)]);
    }
  }

  /** Shows the last `window` seconds. */
  show(now: number, window: number): void {
    const ready = Math.min(...this.#waiting.map((rows) => rows.length));
    for (let row = 0; row < ready; row += 1) {
      this.#times.push(this.#waiting[0]?.[row]?.[0] ?? 0);
      for (const [side, rows] of this.#waiting.entries()) {
        const [, packets, delay] = rows[row] ?? [0, 0, Number.NaN];
        this.#columns[0]?.[side]?.push(packets);
        this.#columns[1]?.[side]?.push(Number.isFinite(delay) ? delay : null);
      }
    }
    for (const rows of this.#waiting) rows.splice(0, ready);
    const excess = this.#times.length - MOST;
    if (excess > 0) {
      this.#times.splice(0, excess);
      for (const chart of this.#columns) for (const column of chart) column.splice(0, excess);
    }
    for (const [number, plot] of this.#plots.entries()) {
      plot.batch(() => {
        plot.setData([this.#times, ...(this.#columns[number] ?? [])] as uPlot.AlignedData, false);
        plot.setScale("x", { min: Math.max(0, now - window), max: Math.max(now, window * 0.25, 1e-6) });
      });
    }
  }

  #resize(): void {
    for (const [number, plot] of this.#plots.entries()) {
      const width = this.#hosts[number]?.clientWidth ?? 0;
      if (width > 0 && Math.abs(plot.width - width) > 1) plot.setSize({ width, height: HEIGHT * typeScale() });
    }
  }

  #plot(host: HTMLElement, number: number): uPlot {
    const { faint, grid, series } = palette();
    const scale = typeScale();
    const axis = { stroke: faint, font: font(11.5, scale), grid: { stroke: grid, width: 1 }, ticks: { show: false } };
    const lines = this.#kinds.map((kind, side) => ({
      label: kind,
      stroke: series[SIDE_COLOURS[side] ?? 0] ?? faint,
      width: side === 0 ? 1.5 : 2,
      ...(side === 0 && this.#kinds.length > 1 ? { dash: [5, 3] } : {}),
      points: { show: false },
      spanGaps: true,
    }));
    return new uPlot(
      {
        width: Math.max(host.clientWidth, 100),
        height: HEIGHT * scale,
        padding: [8, 16 * scale, 0, 0],
        legend: { show: false },
        cursor: { show: false },
        scales: { x: { time: false }, y: { range: (_plot, _low, high) => [0, high > 0 ? high * 1.08 : 1] } },
        axes: [
          { ...axis, size: 26 * scale, space: 60 * scale, values: (_plot, values, _axis, _space, step) => values.map((value) => seconds(value, step)) },
          { ...axis, size: 46 * scale, space: 30 * scale, values: (_plot, values) => values.map((value) => String(value)) },
        ],
        series: [{}, ...lines],
      },
      [this.#times, ...(this.#columns[number] ?? [])] as uPlot.AlignedData,
      host,
    );
  }
}

/** The label of a time, with the digits that the step from one to the next needs. */
function seconds(value: number, step: number): string {
  let digits = 0;
  while (digits < 6 && Math.abs(step * 10 ** digits - Math.round(step * 10 ** digits)) > 1e-6) digits += 1;
  return `${value.toFixed(digits)} s`;
}

/** The height of a chart in pixels at a scale of 1. */
const HEIGHT = 150;
/** The colours of the sides among the series: not those of the first two groups. */
export const SIDE_COLOURS = [4, 2] as const;
