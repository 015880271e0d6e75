// One discipline on the page: its live queue, who gets what, and why packets fall.

import { element } from "../../../report/web/src/dom";
import { FlowColours } from "./colours";
import { Frame } from "./frame";
import type { Constants, Info, SideFrame } from "./protocol";
import { QueueView, type Threshold } from "./queue";
import { Shares } from "./shares";
import { packets, parse, percent, time } from "./units";

/** What the page calls the reasons of drops. */
const REASONS: Readonly<Record<string, string>> = {
  limit: "queue full",
  early: "early, at random",
  forced: "average above max",
  match_arrival: "match: the arrival",
  match_victim: "match: its candidate",
  table: "in the table of hits",
  rate_penalty: "above its allowed rate",
  bin_full: "its bin is full",
  aqm_dequeue: "waited too long",
  fair_drop: "above its share of the queue",
  buffer_steal: "longest queue",
  label: "above the fair rate",
  expired: "too old",
  ack_filter: "superfluous acknowledgement",
  policed: "over the policer's rate and burst",
  other: "another reason",
};

/** Drops in a window of time. */
const KEPT = 30;

export class Side {
  readonly card: HTMLElement;
  readonly #select: HTMLSelectElement;
  readonly #about = element("p", "about");
  readonly #facts = element("p", "facts");
  readonly #canvas = element("canvas", "queue");
  readonly #reasons = element("ul", "reasons");
  readonly #queue: QueueView;
  readonly #shares: Shares;
  readonly #constants: Constants;
  #info: Info | undefined;
  #frame: Frame | undefined;
  #wait = Number.NaN;
  #drops: { at: number; counts: Float64Array; arrived: number }[] = [];

  /** `chosen` is told of another discipline; the second side offers none as well. */
  constructor(number: number, constants: Constants, still: () => boolean, chosen: (kind: string) => void) {
    this.#constants = constants;
    this.#select = element("select", "", ...constants.kinds.map(({ name }) => new Option(name, name)));
    this.#select.setAttribute("aria-label", number === 0 ? "First discipline" : "Second discipline");
    this.#select.addEventListener("change", () => chosen(this.#select.value));
    this.#canvas.setAttribute("role", "img");
    const shares = element("ul", "shares");
    const flows = element("canvas", "flows");
    flows.setAttribute("role", "img");
    flows.setAttribute("aria-label", "The rate of each flow, against its fair share; the list before has the groups");
    this.#queue = new QueueView(this.#canvas, still);
    this.#shares = new Shares(shares, flows);
    this.card = element(
      "section",
      "card side",
      element("div", "title", this.#select, this.#facts),
      this.#about,
      this.#canvas,
      element("h3", "", "Who gets what"),
      shares,
      element("h4", "", "Each flow; the line is its fair share"),
      flows,
      element("h3", "", "Drops by reason"),
      this.#reasons,
    );
    this.card.setAttribute("aria-label", number === 0 ? "First queue" : "Second queue");
  }

  begin(info: Info): void {
    this.#frame = undefined;
    this.#wait = Number.NaN;
    this.#drops = [{ at: 0, counts: new Float64Array(), arrived: 0 }];
    this.#shares.begin(info.groups);
    this.#queue.begin(...this.#take(info));
    this.recolour();
  }

  /** Goes on with other parameters. */
  change(info: Info): void {
    this.#queue.change(...this.#take(info));
  }

  #take(info: Info): [string, number, Threshold[], number] {
    this.#info = info;
    const kind = info.kind ?? "";
    this.#select.value = kind;
    const summary = this.#constants.kinds.find(({ name }) => name === kind)?.summary ?? "";
    this.#about.textContent = summary.charAt(0).toUpperCase() + summary.slice(1);
    const flows = info.groups.reduce((sum, group) => sum + group.flows, 0);
    const thresholds = ["min", "max"].flatMap((name) => {
      const value = info.parameters[name] ?? "";
      return /^\d+p$/.test(value) ? [{ name, packets: parse(value) }] : [];
    });
    const limit = parse(info.parameters["limit"]);
    return [kind, flows, thresholds, Number.isFinite(limit) ? limit : 100];
  }

  recolour(): void {
    const colours = new FlowColours(this.#info?.groups ?? []);
    this.#queue.recolour(colours);
    this.#shares.recolour(colours);
  }

  /** Takes over a frame; `speed` is the number of simulated seconds in one of the visitor's, 0 where time stands still. */
  take({ numbers, rows, width }: SideFrame, now: number, speed: number): Frame {
    const frame = new Frame(numbers);
    const before = this.#frame;
    const elapsed = frame.now - (before?.now ?? 0);
    const arrivals = elapsed > 0 ? (frame.arrived - (before?.arrived ?? 0)) / elapsed : 0;
    this.#rate = this.#rate * 0.9 + arrivals * 0.1;
    this.#queue.take(frame, now, this.#rate * speed);
    this.#shares.take(frame, Math.max(10, 4 * speed));
    for (let at = 3; at < rows.length; at += width) {
      const wait = rows[at] ?? Number.NaN;
      if (Number.isFinite(wait)) this.#wait = wait;
    }
    this.#count(frame, Math.max(4, 2 * speed));
    this.#frame = frame;
    return frame;
  }

  #rate = 0;

  #count(frame: Frame, window: number): void {
    const last = this.#drops.at(-1);
    if (last !== undefined && frame.now - last.at < window / KEPT) return;
    this.#drops.push({ at: frame.now, counts: frame.reasons().slice(), arrived: frame.arrived });
    while (this.#drops.length > 2 && (this.#drops[1]?.at ?? 0) < frame.now - window) this.#drops.shift();
  }

  paint(now: number): void {
    this.#queue.paint(now);
  }

  /** Shows the numbers; a few times in a second are enough. */
  show(): void {
    const frame = this.#frame;
    if (frame === undefined) return;
    this.#shares.show();
    const facts = `${packets(frame.packets)} · wait ${time(this.#wait)}`;
    this.#facts.textContent = facts;
    this.#canvas.setAttribute("aria-label", `The queue of ${this.#select.value}: ${facts}. ${this.#shares.text()}`);
    this.#showReasons();
  }

  #showReasons(): void {
    const [first, last] = [this.#drops[0], this.#drops.at(-1)];
    if (first === undefined || last === undefined) return;
    const arrived = Math.max(1, last.arrived - first.arrived);
    const rows: (readonly [string, number])[] = [];
    for (const [number, name] of this.#constants.reasons.entries()) {
      if ((last.counts[number] ?? 0) === 0) continue;
      rows.push([name, ((last.counts[number] ?? 0) - (first.counts[number] ?? 0)) / arrived]);
    }
    const parts = rows.map(([name, part]) => {
      const fill = element("span", "fill");
      fill.style.inlineSize = `${Math.min(100, 100 * part)}%`;
      return element("li", "", element("span", "name", REASONS[name] ?? name), element("span", "bar", fill), element("span", "value", percent(part)));
    });
    if (parts.length === 0) parts.push(element("li", "none", "Nothing has been dropped yet."));
    else parts.push(element("li", "none", "Parts of all arrivals in the last seconds."));
    this.#reasons.replaceChildren(...parts);
  }
}
