// Who gets what, in a window of time: bars for each group and each flow, against their fair shares.

import { element } from "../../../report/web/src/dom";
import { palette } from "../../../report/web/src/palette";
import type { FlowColours } from "./colours";
import type { Frame } from "./frame";
import type { Group } from "./protocol";
import { font, typeScale } from "./type";
import { percent, rate } from "./units";

/** Counts at a time. */
interface Counts {
  readonly at: number;
  readonly groups: readonly number[];
  readonly sent: readonly number[];
  readonly lost: readonly number[];
  readonly flows: Float64Array;
}

/** The most counts that are kept of a window. */
const KEPT = 60;
/** More flows than this have no bars of their own. */
const MOST_FLOWS = 160;

export class Shares {
  readonly #rows: HTMLElement;
  readonly #canvas: HTMLCanvasElement;
  #groups: readonly Group[] = [];
  #parts: { fill: HTMLElement; fair: HTMLElement; value: HTMLElement; loss: HTMLElement }[] = [];
  #colours: FlowColours | undefined;
  #history: Counts[] = [];
  #flowRates: number[] = [];

  constructor(rows: HTMLElement, canvas: HTMLCanvasElement) {
    this.#rows = rows;
    this.#canvas = canvas;
  }

  begin(groups: readonly Group[]): void {
    this.#groups = groups;
    const none = groups.map(() => 0);
    this.#history = [{ at: 0, groups: none, sent: none, lost: none, flows: new Float64Array() }];
    this.#flowRates = [];
    this.#parts = groups.map(() => ({
      fill: element("span", "fill"),
      fair: element("span", "fair"),
      value: element("span", "value"),
      loss: element("span", "loss"),
    }));
    this.#rows.replaceChildren(
      ...groups.map((group, number) => {
        const { fill, fair, value, loss } = this.#parts[number] ?? {};
        const swatch = element("span", group.kind === "udp" ? "swatch notched" : "swatch");
        const name = element("span", "name", swatch, `${group.name} `, element("small", "", `${group.flows} × ${group.kind.toUpperCase()}`));
        const row = element("li", "", name, value ?? "", element("span", "bar", fill ?? "", fair ?? ""), loss ?? "");
        return row;
      }),
    );
    this.#canvas.hidden = groups.reduce((flows, group) => flows + group.flows, 0) > MOST_FLOWS;
  }

  recolour(colours: FlowColours): void {
    this.#colours = colours;
    for (const [number, row] of [...this.#rows.children].entries()) {
      (row as HTMLElement).style.setProperty("--flow", colours.group(number));
    }
  }

  /** Takes over the counts of a frame, for a window of so many seconds. */
  take(frame: Frame, window: number): void {
    const last = this.#history.at(-1);
    if (last !== undefined && frame.now - last.at < window / KEPT) return;
    const count = (of: (group: number) => number): number[] => this.#groups.map((_, group) => of(group));
    this.#history.push({
      at: frame.now,
      groups: count((group) => frame.delivered(group)),
      sent: count((group) => frame.sent(group)),
      lost: count((group) => frame.lost(group)),
      flows: Float64Array.from({ length: frame.flows }, (_, flow) => frame.flow(flow)),
    });
    while (this.#history.length > 2 && (this.#history[1]?.at ?? 0) < frame.now - window) this.#history.shift();
  }

  /** Shows the window. */
  show(): void {
    const [first, last] = [this.#history[0], this.#history.at(-1)];
    if (first === undefined || last === undefined || last.at <= first.at) return;
    const time = last.at - first.at;
    const since = (of: (counts: Counts) => readonly number[], group: number): number =>
      (of(last)[group] ?? 0) - (of(first)[group] ?? 0);
    const rates = this.#groups.map((_, group) => (8 * since((counts) => counts.groups, group)) / time);
    const total = rates.reduce((sum, value) => sum + value, 0);
    const fair = this.#groups.reduce((sum, group) => sum + group.fair_bps, 0);
    for (const [number, group] of this.#groups.entries()) {
      const part = this.#parts[number];
      if (part === undefined) continue;
      const [share, fairShare] = [total > 0 ? (rates[number] ?? 0) / total : 0, fair > 0 ? group.fair_bps / fair : 0];
      part.fill.style.inlineSize = `${100 * share}%`;
      part.fair.style.insetInlineStart = `${100 * fairShare}%`;
      part.value.textContent = `${percent(share)} · ${rate(rates[number] ?? 0)}`;
      const sent = since((counts) => counts.sent, number);
      const lost = sent > 0 ? since((counts) => counts.lost, number) / sent : 0;
      part.loss.textContent = `fair ${percent(fairShare)} · ${percent(Math.min(lost, 1))} of its packets dropped`;
    }
    this.#flowRates = Array.from(last.flows, (bytes, flow) => (8 * (bytes - (first.flows[flow] ?? 0))) / time);
    this.#paint();
  }

  /** The share of each group in the window, as text. */
  text(): string {
    return this.#groups.map((group, number) => `${group.name} ${this.#parts[number]?.value.textContent ?? ""}`).join("; ");
  }

  /** Draws a bar for each flow. */
  #paint(): void {
    const context = this.#canvas.getContext("2d");
    const colours = this.#colours;
    if (context === null || colours === undefined || this.#canvas.hidden || this.#flowRates.length === 0) return;
    const ratio = window.devicePixelRatio;
    const { clientWidth: width, clientHeight: height } = this.#canvas;
    [this.#canvas.width, this.#canvas.height] = [Math.round(width * ratio), Math.round(height * ratio)];
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const { text, faint } = palette();
    const fairs = this.#groups.flatMap((group) => Array.from({ length: group.flows }, () => group.fair_bps / group.flows));
    const highest = Math.max(...this.#flowRates);
    const labelled = highest > 0 ? this.#flowRates.indexOf(highest) : -1;
    // The highest bar is whole: flows that were cut would look alike.
    const most = Math.max(highest, 1.5 * Math.max(...fairs), 1);
    const bottom = height - 1;
    const scale = typeScale();
    const room = height - 16 * scale;
    const widest = 64 * scale;
    const pitch = width / this.#flowRates.length;
    for (const [flow, value] of this.#flowRates.entries()) {
      const tall = (value / most) * room;
      context.fillStyle = colours.flow(flow);
      context.fillRect(flow * pitch + 0.5, bottom - tall, Math.max(1, Math.min(pitch - 1.5, widest)), tall);
      if (flow === labelled) {
        context.fillStyle = text;
        context.font = font(11, scale, 600);
        context.textAlign = (flow + 0.5) * pitch < width / 2 ? "left" : "right";
        const side = context.textAlign === "left" ? flow * pitch : Math.min(width, (flow + 1) * pitch);
        context.fillText(rate(value), side, bottom - tall - 4 * scale);
      }
      context.fillStyle = text;
      context.fillRect(flow * pitch, bottom - ((fairs[flow] ?? 0) / most) * room, Math.min(pitch, widest + 1.5), 1.5);
    }
    context.fillStyle = faint;
    context.fillRect(0, bottom, width, 1);
  }
}
