// Places in the plane of two measures, with the ellipses of their intervals; axes by uPlot.

import uPlot from "uplot";
import { AXIS, labelled, LOGARITHMIC } from "./axes";
import type { Axis, Place } from "./data";
import { element } from "./dom";
import { significant, unit, withUnit } from "./format";
import { COLOURS, palette } from "./palette";

/** The plane of a panel. */
export interface Plane {
  readonly x: Axis;
  readonly across: readonly [number, number];
  readonly up: readonly [number, number];
}

interface Box {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

const HEIGHT = 340;
const DOT = 4.5;
/** How far from a dot the cursor chooses it. */
const NEAR = 40;

function apart(a: Box, b: Box): boolean {
  return a.right <= b.left || b.right <= a.left || a.bottom <= b.top || b.bottom <= a.top;
}

/** A panel of a scatter. */
export class ScatterPlot {
  readonly #host: HTMLElement;
  readonly #x: Axis;
  readonly #y: Axis;
  readonly #places: readonly Place[];
  readonly #plot: uPlot;
  readonly #tip: HTMLElement;
  readonly #choose: (name: string | null) => void;
  readonly #order: readonly string[];
  #chosen: string | null = null;

  constructor(host: HTMLElement, title: string, y: Axis, places: readonly Place[], plane: Plane, choose: (name: string | null) => void) {
    this.#host = host;
    this.#x = plane.x;
    this.#y = y;
    this.#order = places.map((place) => place.name);
    this.#places = [...places].sort((a, b) => a.x - b.x);
    this.#choose = choose;
    this.#tip = element("div", "tip");
    this.#tip.hidden = true;
    this.#plot = new uPlot(this.#options(plane), [this.#places.map((place) => place.x), this.#places.map((place) => place.y)], host);
    this.#plot.over.append(this.#tip);
    this.#makeAccessible(title);
    new ResizeObserver(() => this.resize()).observe(host);
  }

  redraw(): void {
    this.#plot.redraw(false, true);
  }

  resize(): void {
    const width = Math.floor(this.#host.clientWidth);
    if (width > 0 && width !== this.#plot.width) this.#plot.setSize({ width, height: HEIGHT });
  }

  /** Shows the numbers of the place called `name`. */
  show(name: string | null): void {
    if (name === this.#chosen) return;
    this.#chosen = name;
    const place = this.#places.find((each) => each.name === name);
    this.#tip.hidden = !place;
    if (place) {
      const half = (value: number): string => (value > 0 ? ` ± ${significant(value, 2)}` : "");
      const line = (value: number, interval: number, label: string): string => `${significant(value)}${half(interval)} ${unit(label)}`;
      this.#tip.replaceChildren(
        element("b", "", place.name),
        element("br", ""),
        line(place.y, place.ey, this.#y.label),
        element("br", ""),
        line(place.x, place.ex, this.#x.label),
      );
      const left = this.#plot.valToPos(place.x, "x");
      const top = this.#plot.valToPos(place.y, "y");
      this.#tip.classList.toggle("left", left > this.#plot.over.clientWidth / 2);
      this.#tip.style.left = `${left}px`;
      this.#tip.style.top = `${Math.min(top, this.#plot.over.clientHeight - 70)}px`;
    }
    this.#plot.redraw(false, false);
  }

  #options(plane: Plane): uPlot.Options {
    return {
      width: Math.max(120, Math.floor(this.#host.clientWidth)),
      height: HEIGHT,
      padding: [10, 14, 0, 0],
      legend: { show: false },
      cursor: { x: false, y: false, drag: { x: false, y: false }, points: { show: false } },
      scales: {
        x: { time: false, distr: plane.x.log ? 3 : 1, range: () => [...plane.across] },
        y: { range: () => [...plane.up] },
      },
      axes: [
        { ...AXIS, ...(plane.x.log ? LOGARITHMIC : {}), ...labelled(plane.x.label), size: 26, space: 60, gap: 5 },
        { ...AXIS, size: 56, space: 34, gap: 6 },
      ],
      series: [{}, { paths: () => null, points: { show: false } }],
      hooks: { draw: [() => this.#draw()], setCursor: [(plot) => this.#moved(plot)] },
    };
  }

  #colour(name: string): string {
    const index = this.#order.length > COLOURS ? 0 : this.#order.indexOf(name);
    return palette().series[index] ?? palette().text;
  }

  #draw(): void {
    const { ctx, bbox } = this.#plot;
    const ratio = uPlot.pxRatio;
    const at = (place: Place): { x: number; y: number } => ({
      x: this.#plot.valToPos(place.x, "x", true),
      y: this.#plot.valToPos(place.y, "y", true),
    });
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top - 6 * ratio, bbox.width + 10 * ratio, bbox.height + 14 * ratio);
    ctx.clip();
    for (const place of this.#places) {
      const { x, y } = at(place);
      const across = Math.abs(this.#plot.valToPos(place.x + place.ex, "x", true) - x);
      const up = Math.abs(this.#plot.valToPos(place.y + place.ey, "y", true) - y);
      ctx.fillStyle = this.#colour(place.name);
      ctx.strokeStyle = ctx.fillStyle;
      ctx.globalAlpha = 0.18;
      ctx.beginPath();
      ctx.ellipse(x, y, Math.max(across, DOT * ratio), Math.max(up, DOT * ratio), 0, 0, 2 * Math.PI);
      ctx.fill();
      ctx.globalAlpha = 1;
      ctx.beginPath();
      ctx.arc(x, y, DOT * ratio, 0, 2 * Math.PI);
      ctx.fill();
      if (place.name === this.#chosen) {
        ctx.lineWidth = 2 * ratio;
        ctx.strokeStyle = palette().text;
        ctx.beginPath();
        ctx.arc(x, y, (DOT + 3) * ratio, 0, 2 * Math.PI);
        ctx.stroke();
      }
    }
    this.#name(ctx, ratio, at);
    ctx.restore();
  }

  /** Writes each name beside its dot, where it covers nothing; one without such a place is shown by the cursor. */
  #name(ctx: CanvasRenderingContext2D, ratio: number, at: (place: Place) => { x: number; y: number }): void {
    const { bbox } = this.#plot;
    const radius = (DOT + 2) * ratio;
    const taken: Box[] = this.#places.map((place) => {
      const { x, y } = at(place);
      return { left: x - radius, top: y - radius, right: x + radius, bottom: y + radius };
    });
    const height = 14 * ratio;
    ctx.font = `${12 * ratio}px system-ui, sans-serif`;
    ctx.fillStyle = palette().text;
    ctx.textBaseline = "middle";
    ctx.textAlign = "left";
    for (const place of this.#places) {
      const { x, y } = at(place);
      const width = ctx.measureText(place.name).width;
      const side = radius + 3 * ratio;
      const corners: readonly (readonly [number, number])[] = [
        [x + side, y - height / 2],
        [x - side - width, y - height / 2],
        [x - width / 2, y - side - height],
        [x - width / 2, y + side],
        [x + side, y - side - height / 2],
        [x + side, y + side - height / 2],
        [x - side - width, y - side - height / 2],
        [x - side - width, y + side - height / 2],
      ];
      const boxes = corners.map(([left, top]) => ({ left, top, right: left + width, bottom: top + height }));
      const free = boxes.find(
        (box) =>
          box.left >= bbox.left &&
          box.right <= bbox.left + bbox.width + 8 * ratio &&
          box.top >= bbox.top - 4 * ratio &&
          box.bottom <= bbox.top + bbox.height &&
          taken.every((other) => apart(box, other)),
      );
      if (!free) continue;
      taken.push(free);
      ctx.fillText(place.name, free.left, (free.top + free.bottom) / 2);
    }
  }

  #moved(plot: uPlot): void {
    const [left, top] = [plot.cursor.left ?? -10, plot.cursor.top ?? -10];
    if (left < 0) return this.#choose(null);
    let nearest: string | null = null;
    let least = NEAR;
    for (const place of this.#places) {
      const distance = Math.hypot(plot.valToPos(place.x, "x") - left, plot.valToPos(place.y, "y") - top);
      if (distance < least) [nearest, least] = [place.name, distance];
    }
    this.#choose(nearest);
  }

  /** A slider over the places, from left to right. */
  #makeAccessible(title: string): void {
    const target = this.#plot.over;
    const last = this.#places.length - 1;
    let index = -1;
    const say = (): void => {
      const place = this.#places[Math.max(index, 0)];
      target.setAttribute("aria-valuenow", String(Math.max(index, 0)));
      if (place) target.setAttribute("aria-valuetext", `${place.name}: ${withUnit(place.y, this.#y.label)}, ${withUnit(place.x, this.#x.label)}`);
    };
    target.tabIndex = 0;
    target.setAttribute("role", "slider");
    target.setAttribute("aria-label", `${title}, ${this.#y.label} over ${this.#x.label}. The arrow keys go from one to the next.`);
    target.setAttribute("aria-valuemin", "0");
    target.setAttribute("aria-valuemax", String(Math.max(0, last)));
    say();
    target.addEventListener("keydown", (event) => {
      const to = { ArrowRight: index + 1, ArrowUp: index + 1, ArrowLeft: index - 1, ArrowDown: index - 1, Home: 0, End: last }[event.key];
      if (to === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      index = Math.min(Math.max(to, 0), last);
      this.#choose(this.#places[index]?.name ?? null);
      say();
    });
    target.addEventListener("blur", () => this.#choose(null));
  }
}

/**
 * The planes of panels, which hold all places with their intervals. Panels of one measure, by its label, have one range. A measure
 * that varies little begins below its smallest value and not at zero, so that its places are told apart.
 */
export function planesOf(x: Axis, panels: readonly { readonly y: Axis; readonly places: readonly Place[] }[]): Plane[] {
  const all = panels.flatMap((panel) => panel.places);
  const low = Math.min(...all.map((place) => place.x - (x.log ? 0 : place.ex)));
  const high = Math.max(...all.map((place) => place.x + place.ex));
  const across = x.log ? ([low / 1.35, high * 1.6] as const) : ([0, high > 0 ? high * 1.12 : 1] as const);
  return panels.map(({ y }) => {
    const places = panels.filter((panel) => panel.y.label === y.label).flatMap((panel) => panel.places);
    const least = Math.min(...places.map((place) => place.y - place.ey));
    const most = Math.max(...places.map((place) => place.y + place.ey), 0);
    const edge = (most - least) * 0.12;
    const up = least > most / 2 && edge > 0 ? ([least - edge, most + edge] as const) : ([0, most > 0 ? most * 1.06 : 1] as const);
    return { x, across, up };
  });
}
