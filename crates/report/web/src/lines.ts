// Lines over an axis, drawn by uPlot.

import uPlot from "uplot";
import { AXIS, labelled, LOGARITHMIC, WHOLE } from "./axes";
import { bins, sizeFor } from "./bins";
import type { Chart, Column, Data } from "./data";
import { before, type Drawn, valueAt } from "./drawn";
import { quantity, withUnit } from "./format";
import { Labels, LINE } from "./labels";
import type { Link, Linked } from "./link";
import { dashes, lineColour, palette } from "./palette";

/** How a chart is drawn. */
export interface Look {
  /** The height of the canvas. */
  readonly height: number;
  /** True for a small chart among many: without labels of its lines. */
  readonly small: boolean;
  /** The colour of each key; those without one are not drawn. */
  readonly slots?: ReadonlyMap<number, number>;
  /** The end of the vertical axis, where charts share it. */
  readonly top?: number;
  /** True to leave out the label of the horizontal axis, which the chart below has. */
  readonly joined: boolean;
}

/** Room for the labels of the lines. */
const LABELS = 184;
/** The narrowest chart with labels beside it. */
const WIDE = 640;
/** The longest name beside a chart: longer ones have room above it. */
const LONGEST = 15;
/** Pixels for each point, where there are more points than can be seen. */
const APART = 4;
/** Thresholds above this many times what is shown would flatten it. */
const FAR = 1.6;
/** The points by which charts of a common axis are measured, as many as fit into a usual one. */
const BINS = 200;
/** The width of the vertical axis: the same for all, so that charts above each other are aligned. */
const AXIS_WIDTH = 56;
/** The part of the range below which a logarithmic axis is not shown. */
const DEPTH = 3000;

/** A colour that others can be seen through. */
function faint(colour: string): string {
  return colour.replace(/^rgb\((.*)\)$/, "rgba($1, 0.16)");
}

/** The upper end of an interval: within the range of the axis. */
function armEnd(chart: Chart, y: number, half: number): number {
  return Math.min(y + half, Math.max(chart.y.range?.[1] ?? Infinity, y));
}

/** The greatest value that a chart shows, of the lines that have a slot. */
export function reach(chart: Chart, data: Data, slots?: ReadonlyMap<number, number>): number {
  const shown = chart.lines.filter((line) => line.key === undefined || !slots || slots.has(line.key));
  const values = shown.flatMap((line): Column => {
    const [ys, halves] = [data.column(line.y), line.e === undefined ? null : data.column(line.e)];
    if (chart.bins === undefined) return halves ? ys.map((y, index) => armEnd(chart, y ?? 0, halves[index] ?? 0)) : [...ys];
    const { means, highs } = bins(ys, sizeFor(ys.length, BINS));
    return chart.bins === "range" ? highs : means;
  });
  const most = values.reduce<number>((most, value) => Math.max(most, value ?? 0), 0);
  return Math.max(most, ...chart.marks.map((mark) => mark.at).filter((at) => at <= FAR * most));
}

/** A chart of lines. */
export class LineChart implements Linked {
  readonly #host: HTMLElement;
  readonly #chart: Chart;
  readonly #look: Look;
  readonly #link: Link;
  readonly #drawn: readonly Drawn[];
  readonly #plot: uPlot;
  readonly #labels: Labels;
  readonly #spread: readonly [number, number];
  readonly #resized: ResizeObserver;
  readonly #places: readonly number[];
  #told = false;
  #width: number;
  #at: number | null = null;

  constructor(host: HTMLElement, chart: Chart, data: Data, look: Look, link: Link) {
    this.#host = host;
    this.#width = Math.max(120, Math.floor(host.clientWidth));
    this.#chart = chart;
    this.#look = look;
    this.#link = link;
    this.#drawn = chart.lines.flatMap((line, index) => {
      const colour = line.key === undefined || !look.slots ? index : look.slots.get(line.key);
      const halves = line.e === undefined ? null : data.column(line.e);
      const [xs, ys] = [data.column(line.x), data.column(line.y)];
      return colour === undefined ? [] : [{ line, colour, xs, ys, halves, shown: { xs, ys } }];
    });
    const all = this.#drawn.flatMap((drawn) => drawn.xs.filter((x): x is number => x !== null && (!chart.x.log || x > 0)));
    this.#places = [...new Set(all)].sort((a, b) => a - b);
    this.#spread = [this.#places[0] ?? 0, this.#places.at(-1) ?? 1];
    if (chart.warmup !== undefined) this.#spread = [0, this.#spread[1]];
    if (chart.x.log) this.#spread = [Math.max(this.#spread[0], this.#spread[1] / DEPTH), this.#spread[1]];
    this.#labels = new Labels(host, chart, this.#drawn);
    this.#plot = new uPlot(this.#options(), this.#aligned(), host);
    this.#labels.make();
    this.#makeAccessible();
    this.#resized = new ResizeObserver(() => this.resize());
    this.#resized.observe(host);
    link.add(this);
  }

  /** Draws again in the present colours. */
  redraw(): void {
    this.#labels.make();
    this.#plot.redraw(false, true);
  }

  /** Follows the width of its host. */
  resize(): void {
    const width = Math.floor(this.#host.clientWidth);
    if (width > 0 && width !== this.#plot.width) {
      this.#width = width;
      this.#plot.setSize({ width, height: this.#look.height });
      this.#bin();
    }
  }

  destroy(): void {
    this.#resized.disconnect();
    this.#link.remove(this);
    this.#plot.destroy();
    this.#host.replaceChildren();
  }

  /** The picture with its title and the names of its lines. */
  get canvas(): HTMLCanvasElement {
    return this.#plot.ctx.canvas;
  }

  /** The names of the lines with their colours. */
  get names(): { name: string; colour: string; dashes: number[] }[] {
    return this.#drawn.map(({ line, colour }) => ({ name: line.name, colour: lineColour(colour, this.#chart.groups), dashes: dashes(colour) }));
  }

  point(x: number | null): void {
    this.#told = true;
    const left = x === null ? -10 : this.#plot.valToPos(x, "x");
    this.#plot.setCursor({ left, top: x === null ? -10 : 0 });
    this.#told = false;
  }

  zoom(range: readonly [number, number] | null): void {
    this.#told = true;
    const [min, max] = range ?? this.#spread;
    this.#plot.batch(() => {
      this.#bin();
      this.#plot.setScale("x", { min, max });
    });
    this.#told = false;
  }

  /** Chooses the points for the present zoom. */
  #bin(): void {
    if (this.#chart.bins) this.#plot.setData(this.#aligned(), false);
  }

  /** Means of as many points as can be seen, and their ranges behind them. */
  #binned(of: readonly number[]): uPlot.AlignedData {
    const [low, high] = this.#link.range ?? this.#spread;
    const [from, to] = [Math.max(0, before(of as number[], low)), before(of as number[], high) + 2];
    const size = sizeFor(to - from, Math.max(50, this.#width / APART));
    const part = (column: Column): ReturnType<typeof bins> => bins(column.slice(from, to), size);
    const xs = part(of as number[]).means;
    const all = this.#drawn.map((drawn) => part(drawn.ys));
    this.#drawn.forEach((drawn, index) => {
      drawn.shown = { xs, ys: all[index]?.means ?? [] };
    });
    const ranges = this.#chart.bins === "range" ? all.flatMap(({ lows, highs }) => [lows, highs]) : [];
    return [xs as number[], ...all.map(({ means }) => means), ...ranges];
  }

  /** The places that any line has, with the values of all: with gaps where one has none. */
  #aligned(): uPlot.AlignedData {
    const [first] = this.#drawn;
    if (!first) return [[0, 1]];
    if (this.#chart.bins) return this.#binned(first.xs as number[]);
    const shown = (column: Column, log: boolean): Column => (log ? column.map((value) => (value !== null && value > 0 ? value : null)) : column);
    if (this.#drawn.every((drawn) => drawn.line.x === first.line.x) && !this.#chart.x.log) {
      return [first.xs as number[], ...this.#drawn.map((drawn) => shown(drawn.ys, this.#chart.y.log))];
    }
    const index = new Map(this.#places.map((x, at) => [x, at]));
    const columns = this.#drawn.map((drawn) => {
      const column: Column = new Array<null>(this.#places.length).fill(null);
      shown(drawn.ys, this.#chart.y.log).forEach((y, row) => {
        const at = index.get(drawn.xs[row] ?? NaN);
        if (at !== undefined) column[at] = y;
      });
      return column;
    });
    return [[...this.#places], ...columns];
  }

  #options(): uPlot.Options {
    const { x, y } = this.#chart;
    const sparse = !this.#drawn.every((drawn) => drawn.line.x === this.#drawn[0]?.line.x);
    const label = this.#look.joined || this.#look.small ? {} : labelled(x.label);
    return {
      width: this.#width,
      height: this.#look.height,
      padding: [8, () => this.#room(), 0, 0],
      legend: { show: false },
      cursor: {
        y: false,
        drag: { x: true, y: false, setScale: false, dist: 6 },
        points: this.#look.small ? { show: false } : { size: 7 },
        dataIdx: (_, series, index) => (series > this.#drawn.length ? null : index),
      },
      scales: {
        x: { time: false, distr: x.log ? 3 : 1, range: () => this.#across() },
        y: { distr: y.log ? 3 : 1, range: (_, min, max) => this.#up(min, max) },
      },
      axes: [
        { ...AXIS, ...(x.log ? LOGARITHMIC : this.#places.every(Number.isInteger) ? WHOLE : {}), ...label, size: 26, space: 60, gap: 5 },
        { ...AXIS, ...(y.log ? LOGARITHMIC : {}), size: AXIS_WIDTH, space: this.#look.small ? 28 : 34, gap: 6 },
      ],
      series: [{}, ...this.#drawn.map((drawn) => this.#series(drawn, sparse)), ...this.#ranges()],
      bands: this.#bands(),
      hooks: {
        drawAxes: [() => this.#drawBehind()],
        draw: [() => this.#drawIntervals(), () => this.#drawNames(), () => this.#setLabels(), (plot) => this.#tell(plot)],
        setCursor: [(plot) => this.#moved(plot)],
        setSelect: [(plot) => this.#selected(plot)],
        ready: [(plot) => plot.over.addEventListener("dblclick", () => this.#link.zoom(null))],
      },
    };
  }

  /** The ends of the ranges, which are not drawn themselves. */
  #ranges(): uPlot.Series[] {
    if (this.#chart.bins !== "range") return [];
    return this.#drawn.flatMap(() => [1, 2].map(() => ({ paths: uPlot.paths.linear?.() ?? null, width: 0, points: { show: false } }) as uPlot.Series));
  }

  #bands(): uPlot.Band[] {
    if (this.#chart.bins !== "range") return [];
    return this.#drawn.map(({ colour }, index) => {
      const low = this.#drawn.length + 1 + 2 * index;
      return { series: [low + 1, low], fill: () => faint(lineColour(colour, this.#chart.groups)) };
    });
  }

  #series({ line, colour }: Drawn, sparse: boolean): uPlot.Series {
    const stroke = (): string => lineColour(colour, this.#chart.groups);
    const steps = uPlot.paths.stepped?.({ align: 1 });
    const shown: uPlot.Series = {
      label: line.name,
      stroke,
      width: line.style === "marked" ? 2 : 1.5,
      spanGaps: sparse,
      dash: dashes(colour),
      points: { show: false },
    };
    if (line.style === "steps" && steps) shown.paths = steps;
    if (line.style === "marked") shown.points = { show: true, size: 6, fill: stroke, stroke, width: 0 };
    if (line.style === "points") {
      shown.paths = () => null;
      shown.points = { show: true, size: 8, width: 2, stroke, fill: () => palette().page };
    }
    return shown;
  }

  /** What is shown of the horizontal axis: the link alone says it. */
  #across(): uPlot.Range.MinMax {
    const [from, to] = this.#link.range ?? this.#spread;
    if (from < to) return [from, to];
    return this.#chart.x.log ? [from / 2, from * 2] : [from - 0.5, from + 0.5];
  }

  /** False while uPlot is still being made, which already calls its hooks. */
  #plotted(): boolean {
    return (this.#plot as uPlot | undefined) !== undefined;
  }

  #up(min: number | null, max: number | null): uPlot.Range.MinMax {
    if (this.#chart.y.log) return uPlot.rangeLog(min ?? 0.1, max ?? 1, 10, true);
    const arms = this.#drawn.flatMap(({ ys, halves }) => (halves ? ys.map((y, index) => armEnd(this.#chart, y ?? 0, halves[index] ?? 0)) : []));
    const marks = this.#chart.marks.map((mark) => mark.at).filter((at) => at <= FAR * (max ?? 1));
    const top = this.#look.top ?? Math.max(max ?? 1, ...arms, ...marks);
    const bottom = Math.min(0, min ?? 0);
    return [bottom < 0 ? bottom * 1.06 : 0, top > bottom ? top * 1.06 : bottom + 1];
  }

  /** The room for labels at the right, if the chart is wide enough. */
  #room(): number {
    return this.#beside() ? LABELS : 12;
  }

  #beside(): boolean {
    const short = this.#drawn.every((drawn) => drawn.line.name.length <= LONGEST);
    return !this.#look.small && short && this.#width >= WIDE && this.#drawn.length * LINE <= this.#look.height - 30;
  }

  /** The warm-up and the marks, behind the lines. */
  #drawBehind(): void {
    const { ctx, bbox } = this.#plot;
    const ratio = uPlot.pxRatio;
    ctx.save();
    const end = this.#warmedUp();
    if (end > bbox.left) {
      ctx.fillStyle = palette().shade;
      ctx.fillRect(bbox.left, bbox.top, end - bbox.left, bbox.height);
    }
    ctx.strokeStyle = palette().mark;
    ctx.lineWidth = ratio;
    ctx.setLineDash([5 * ratio, 4 * ratio]);
    for (const { at } of this.#marks()) {
      ctx.beginPath();
      ctx.moveTo(bbox.left, at);
      ctx.lineTo(bbox.left + bbox.width, at);
      ctx.stroke();
    }
    ctx.restore();
  }

  /** The end of the warm-up on the canvas. */
  #warmedUp(): number {
    const [from, to] = [this.#plot.scales["x"]?.min ?? 0, this.#plot.scales["x"]?.max ?? 0];
    const { warmup } = this.#chart;
    if (warmup === undefined || warmup <= from) return this.#plot.bbox.left;
    return this.#plot.valToPos(Math.min(warmup, to), "x", true);
  }

  /** The marks within the canvas. */
  #marks(): { at: number; label: string }[] {
    const { top, height } = this.#plot.bbox;
    const all = this.#chart.marks.map(({ at, label }) => ({ at: this.#plot.valToPos(at, "y", true), label }));
    return all.filter(({ at }) => at >= top && at <= top + height);
  }

  /** The names of the warm-up and of the marks, before the lines. */
  #drawNames(): void {
    if (this.#look.small) return;
    const { ctx, bbox } = this.#plot;
    const ratio = uPlot.pxRatio;
    ctx.save();
    ctx.font = `${11 * ratio}px system-ui, sans-serif`;
    ctx.lineJoin = "round";
    ctx.lineWidth = 3 * ratio;
    const write = (text: string, x: number, y: number, colour: string): void => {
      ctx.strokeStyle = palette().page;
      ctx.strokeText(text, x, y);
      ctx.fillStyle = colour;
      ctx.fillText(text, x, y);
    };
    ctx.textBaseline = "bottom";
    ctx.textAlign = "left";
    const text = "warm-up";
    if (ctx.measureText(text).width + 12 * ratio < this.#warmedUp() - bbox.left) {
      write(text, bbox.left + 6 * ratio, bbox.top + bbox.height - 4 * ratio, palette().faint);
    }
    ctx.textAlign = "right";
    for (const { at, label } of this.#marks()) write(label, bbox.left + bbox.width - 4 * ratio, at - 2 * ratio, palette().mark);
    ctx.restore();
  }

  #drawIntervals(): void {
    const { ctx } = this.#plot;
    const ratio = uPlot.pxRatio;
    ctx.save();
    ctx.lineWidth = 1.5 * ratio;
    for (const { xs, ys, halves, colour } of this.#drawn) {
      if (!halves) continue;
      ctx.strokeStyle = lineColour(colour, this.#chart.groups);
      xs.forEach((x, index) => {
        const [y, half] = [ys[index], halves[index]];
        if (x === null || y === null || y === undefined || !half) return;
        const least = this.#chart.y.range?.[0] ?? -Infinity;
        const low = Math.max(y - half, Math.min(least, y), this.#chart.y.log ? y / 10 : -Infinity);
        const high = armEnd(this.#chart, y, half);
        const at = this.#plot.valToPos(x, "x", true);
        const [from, to] = [this.#plot.valToPos(low, "y", true), this.#plot.valToPos(high, "y", true)];
        const cap = 3 * ratio;
        ctx.beginPath();
        ctx.moveTo(at, from);
        ctx.lineTo(at, to);
        for (const end of [from, to]) {
          ctx.moveTo(at - cap, end);
          ctx.lineTo(at + cap, end);
        }
        ctx.stroke();
      });
    }
    ctx.restore();
  }

  /** Says what the vertical axis shows, and to which value. */
  #tell(plot: uPlot): void {
    this.#host.dataset["unit"] = this.#chart.y.label;
    this.#host.dataset["top"] = String(plot.scales["y"]?.max);
  }

  #moved(plot: uPlot): void {
    const left = plot.cursor.left ?? -10;
    this.#at = left < 0 ? null : plot.posToVal(left, "x");
    this.#setLabels();
    if (!this.#told) this.#link.point(this, this.#at);
  }

  #selected(plot: uPlot): void {
    const { left, width } = plot.select;
    if (width < 6) return;
    const range = [plot.posToVal(left, "x"), plot.posToVal(left + width, "x")] as const;
    plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    this.#link.zoom(range);
  }

  #setLabels(): void {
    if (!this.#plotted()) return;
    const hidden = this.#look.small && this.#at === null;
    if (hidden && this.#labels.hidden) return;
    this.#labels.hidden = hidden;
    this.#labels.show(this.#plot, this.#at, this.#beside());
  }

  /** A slider: the arrow keys move the cursor, and what is there is said. */
  #makeAccessible(): void {
    const target = this.#plot.over;
    const names = this.#drawn.map((drawn) => drawn.line.name).join(", ");
    target.tabIndex = 0;
    target.setAttribute("role", "slider");
    target.setAttribute(
      "aria-label",
      `${this.#chart.title}: ${names}. The arrow keys move the cursor over ${quantity(this.#chart.x.label) || "the axis"}, plus and minus zoom, Escape shows all.`,
    );
    target.setAttribute("aria-valuemin", "0");
    target.setAttribute("aria-valuemax", String(Math.max(0, this.#places.length - 1)));
    this.#say();
    target.addEventListener("keydown", (event) => this.#pressed(event));
    target.addEventListener("blur", () => {
      this.point(null);
      this.#link.point(this, null);
    });
  }

  /** The number of the place nearest to the cursor. */
  #index(): number {
    return this.#at === null ? 0 : Math.max(0, before(this.#places as number[], this.#at + 1e-9));
  }

  #say(): void {
    const target = this.#plot.over;
    const at = this.#at ?? this.#places[0] ?? 0;
    const values = this.#drawn.map((drawn) => `${drawn.line.name} ${withUnit(valueAt(drawn, at), this.#chart.y.label)}`);
    target.setAttribute("aria-valuenow", String(this.#index()));
    target.setAttribute("aria-valuetext", `at ${withUnit(at, this.#chart.x.label)}: ${values.join(", ")}`);
  }

  #pressed(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const [low, high] = this.#link.range ?? this.#spread;
    const count = this.#places.length;
    const step = Math.max(1, Math.round(count / 100));
    const to = (index: number): void => {
      const x = this.#places[Math.min(Math.max(index, 0), count - 1)] ?? low;
      if (x < low || x > high) return;
      this.point(x);
      this.#at = x;
      this.#setLabels();
      this.#link.point(this, x);
    };
    const around = (factor: number): void => {
      const middle = this.#at ?? (low + high) / 2;
      const [from, end] = this.#spread;
      const range = [Math.max(from, middle - (middle - low) * factor), Math.min(end, middle + (high - middle) * factor)] as const;
      this.#link.zoom(range[0] <= from && range[1] >= end ? null : range);
    };
    const actions: Record<string, () => void> = {
      ArrowRight: () => to(this.#at === null ? before(this.#places as number[], low) : this.#index() + step),
      ArrowLeft: () => to(this.#at === null ? before(this.#places as number[], high) : this.#index() - step),
      Home: () => to(Math.max(0, before(this.#places as number[], low))),
      End: () => to(before(this.#places as number[], high)),
      "+": () => around(0.5),
      "=": () => around(0.5),
      "-": () => around(2),
      Escape: () => this.#link.zoom(null),
    };
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
    this.#say();
  }
}
