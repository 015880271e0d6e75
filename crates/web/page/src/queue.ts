// The live queue: packets by flow, the draw as a line to its candidate, the match, the fall.

import { palette } from "../../../report/web/src/palette";
import type { FlowColours } from "./colours";
import { EVENT_FIELDS, type Frame, Kind, MATCH_ARRIVAL, MATCH_VICTIM, PACKET_FIELDS } from "./frame";
import { isByFlow, Layout, type Place } from "./layout";
import { Sprite } from "./sprite";
import { font, typeScale } from "./type";

/** A draw: a line from an arrival to its candidate. */
interface Draw {
  readonly from: Sprite;
  readonly to: Sprite;
  readonly match: boolean;
  readonly until: number;
  readonly since: number;
}

/** A threshold of the discipline. */
export interface Threshold {
  readonly name: string;
  readonly packets: number;
}

/** The most lines that are drawn at a time, and the most packets that fall. */
const MOST_DRAWS = 14;
const MOST_FALLING = 160;
/** So many arrivals in a second of the visitor's are too many to follow each: some of them stand for all. */
const HURRIED = 60;
const MOST_HURRIED = 36;

/** Tells for how long an arrival stands at the gate, in milliseconds, where so many arrive in a second of the visitor's. */
const gateTime = (arrivals: number): number => Math.min(900, 620 / Math.max(arrivals, 0.4));

export class QueueView {
  readonly #canvas: HTMLCanvasElement;
  readonly #still: () => boolean;
  #sprites = new Map<number, Sprite>();
  #loose: Sprite[] = [];
  #draws: Draw[] = [];
  #lanes = new Map<number, number>();
  #layout: Layout | undefined;
  #capacity = 60;
  #kind = "";
  #flows = 0;
  #thresholds: readonly Threshold[] = [];
  #colours: FlowColours | undefined;
  #average = Number.NaN;
  #last = 0;
  #hurry = 0;
  #packets = 0;

  /** `still` tells whether the visitor wants no motion. */
  constructor(canvas: HTMLCanvasElement, still: () => boolean) {
    this.#canvas = canvas;
    this.#still = still;
  }

  /** Begins again, with another scenario or discipline. */
  begin(kind: string, flows: number, thresholds: readonly Threshold[], limit: number): void {
    this.#sprites.clear();
    [this.#loose, this.#draws] = [[], []];
    this.change(kind, flows, thresholds, limit);
  }

  /** Goes on with other parameters. */
  change(kind: string, flows: number, thresholds: readonly Threshold[], limit: number): void {
    [this.#kind, this.#flows, this.#thresholds] = [kind, flows, thresholds];
    this.#capacity = Math.max(40, Math.min(limit, 320));
    this.#layout = undefined;
  }

  recolour(colours: FlowColours): void {
    this.#colours = colours;
  }

  /** Takes over a frame; `perSecond` is the number of arrivals in a second of the visitor's. */
  take(frame: Frame, now: number, perSecond: number): void {
    this.#average = frame.average;
    const queue = frame.queue();
    const packets = queue.length / PACKET_FIELDS;
    this.#packets = packets;
    if (packets > this.#capacity && !isByFlow(this.#kind)) {
      this.#capacity = Math.ceil(packets * 1.3);
      this.#layout = undefined;
    }
    const layout = this.#geometry();
    this.#replay(frame.list(), layout, now, perSecond);
    this.#arrange(queue, layout, now);
  }

  /** Where a packet in a hurry appears: behind the last of the queue, or above its column. */
  #entry(layout: Layout, flow: number, packet: number): Place {
    if (isByFlow(this.#kind)) return { ...layout.inLane(this.#lane(flow), 0), y: layout.top - layout.cell };
    const x = layout.boundary(this.#packets) - 3.5 * layout.cell;
    return { x: Math.max(layout.gate.x, x), y: layout.top + (packet % layout.rows) * layout.cell };
  }

  /** Turns the events into packets at the gate, lines and falls. */
  #replay(events: Float64Array, layout: Layout, now: number, perSecond: number): void {
    const wait = this.#still() ? 0 : gateTime(perSecond);
    // Where nothing moves, lines go when packets come, so a pause leaves a picture that stays.
    this.#draws = this.#draws.filter((draw) => now < draw.until);
    const hurried = perSecond > HURRIED;
    this.#hurry = perSecond;
    let victims: Sprite[] = [];
    for (let at = 0; at + EVENT_FIELDS <= events.length; at += EVENT_FIELDS) {
      const [kind, packet, flow, detail] = [events[at] ?? 0, events[at + 1] ?? 0, events[at + 2] ?? 0, events[at + 4] ?? 0];
      if (kind === Kind.Arrived) {
        victims = [];
        const place = hurried ? this.#entry(layout, flow, packet) : layout.gate;
        this.#sprites.set(packet, new Sprite(flow, place, hurried ? 0 : now + wait));
        continue;
      }
      const sprite = this.#sprites.get(packet);
      if (sprite === undefined) continue;
      if (kind === Kind.Departed) {
        this.#sprites.delete(packet);
        sprite.leave(layout.exit, now);
        this.#loosen(sprite);
      } else if (kind === Kind.Marked) {
        sprite.marked = true;
      } else if (kind === Kind.Compared) {
        const candidate = this.#sprites.get(detail);
        if (candidate !== undefined) this.#draw(sprite, candidate, false, now, wait);
      } else if (kind === Kind.Dropped) {
        this.#sprites.delete(packet);
        const matched = detail === MATCH_ARRIVAL || detail === MATCH_VICTIM;
        sprite.fall(now + (sprite.until > now || matched ? wait : 0), matched);
        this.#loosen(sprite);
        if (detail === MATCH_VICTIM) victims.push(sprite);
        if (detail === MATCH_ARRIVAL) for (const victim of victims) this.#draw(sprite, victim, true, now, wait);
      }
    }
  }

  #loosen(sprite: Sprite): void {
    if (this.#loose.length < (this.#hurry > HURRIED ? MOST_HURRIED : MOST_FALLING)) this.#loose.push(sprite);
  }

  #draw(from: Sprite, to: Sprite, match: boolean, now: number, wait: number): void {
    // Where there are many, matches matter most.
    const most = this.#hurry > HURRIED ? 3 : MOST_DRAWS;
    if (this.#draws.length >= most * (match ? 2 : 1)) return;
    this.#draws.push({ from, to, match, since: now, until: now + Math.max(wait, 160) + (match ? 120 : 0) });
  }

  /** Sends each queued packet to its place. */
  #arrange(queue: Float64Array, layout: Layout, now: number): void {
    const present = new Set<number>();
    const rows = Array.from({ length: layout.rows }, () => 0);
    const depths = new Map<number, number>();
    const lanes = isByFlow(this.#kind);
    for (let index = 0; index * PACKET_FIELDS < queue.length; index += 1) {
      const [packet, flow] = [queue[index * PACKET_FIELDS] ?? 0, queue[index * PACKET_FIELDS + 1] ?? 0];
      present.add(packet);
      const known = this.#sprites.get(packet);
      let place: Place;
      let row = known?.row ?? -1;
      if (lanes) {
        const depth = depths.get(flow) ?? 0;
        depths.set(flow, depth + 1);
        place = layout.inLane(this.#lane(flow), Math.min(depth, layout.rows - 1));
      } else {
        // Rows of packets are known before arrivals choose theirs: the queue is in the order of arrival.
        if (row < 0 || row >= layout.rows) row = rows.indexOf(Math.min(...rows));
        const before = rows[row] ?? 0;
        place = layout.inRow(row, before);
        rows[row] = before + 1;
      }
      const sprite = known ?? new Sprite(flow, place, 0);
      if (known === undefined) this.#sprites.set(packet, sprite);
      sprite.row = row;
      if (queue[index * PACKET_FIELDS + 3] === 1) sprite.marked = true;
      sprite.goTo(place, layout.cell);
    }
    for (const [packet, sprite] of this.#sprites) {
      if (present.has(packet)) continue;
      this.#sprites.delete(packet);
      sprite.leave(layout.exit, now);
      this.#loosen(sprite);
    }
  }

  /** The column of a flow: flows have theirs from left to right as they come. */
  #lane(flow: number): number {
    if (this.#flows <= MOST_LANES) return flow;
    const lane = this.#lanes.get(flow) ?? this.#lanes.size % MOST_LANES;
    this.#lanes.set(flow, lane);
    return lane;
  }

  #geometry(): Layout {
    const { clientWidth, clientHeight } = this.#canvas;
    if (this.#layout?.width !== clientWidth || this.#layout.height !== clientHeight) {
      const lanes = isByFlow(this.#kind) ? Math.min(this.#flows, MOST_LANES) : 0;
      this.#layout = new Layout(Math.max(clientWidth, 120), Math.max(clientHeight, 60), this.#capacity, lanes, typeScale());
    }
    return this.#layout;
  }

  /** Draws everything as it is at `now`, in milliseconds. */
  paint(now: number): void {
    const ratio = window.devicePixelRatio;
    const { clientWidth: width, clientHeight: height } = this.#canvas;
    if (this.#canvas.width !== Math.round(width * ratio) || this.#canvas.height !== Math.round(height * ratio)) {
      [this.#canvas.width, this.#canvas.height] = [Math.round(width * ratio), Math.round(height * ratio)];
    }
    const context = this.#canvas.getContext("2d");
    const colours = this.#colours;
    if (context === null || colours === undefined) return;
    const elapsed = Math.min(now - this.#last, 100);
    this.#last = now;
    const still = this.#still();
    const layout = this.#geometry();
    // A packet is never more than about a cell behind its place.
    const ease = Math.min(75, (1500 * layout.rows) / Math.max(this.#hurry, 1));
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    this.#paintGround(context, layout);
    for (const sprite of this.#sprites.values()) {
      sprite.move(now, elapsed, still ? 0 : ease);
      sprite.paint(context, colours, layout.cell, now);
    }
    this.#paintDraws(context, layout.cell, now, still);
    this.#loose = this.#loose.filter((sprite) => !sprite.gone(now, height));
    for (const sprite of this.#loose) {
      if (!still) sprite.move(now, elapsed, still ? 0 : ease);
      sprite.paint(context, colours, layout.cell, now);
    }
    if (still) this.#loose = [];
  }

  /** Draws the gate, the link and the thresholds. */
  #paintGround(context: CanvasRenderingContext2D, layout: Layout): void {
    const { faint, grid, text } = palette();
    const above = layout.top - 9 * layout.scale;
    context.font = font(11.5, layout.scale, 500);
    context.lineWidth = 1;
    context.fillStyle = faint;
    context.textAlign = "left";
    context.fillText("in", layout.gate.x, above);
    context.textAlign = "right";
    context.fillText("link", layout.width - 6, above);
    context.strokeStyle = faint;
    const middle = (layout.top + layout.bottom) / 2;
    arrow(context, layout.right + 10, middle, layout.width - 6);
    context.strokeStyle = grid;
    context.beginPath();
    context.moveTo(layout.right + 3, layout.top - 2);
    context.lineTo(layout.right + 3, layout.bottom);
    context.stroke();
    if (isByFlow(this.#kind)) return;
    context.textAlign = "center";
    for (const { name, packets } of this.#thresholds) {
      const x = Math.round(layout.boundary(packets)) - 0.5;
      if (x < layout.left - 30) continue;
      context.strokeStyle = faint;
      context.setLineDash([3, 3]);
      context.beginPath();
      context.moveTo(x, layout.top - 4);
      context.lineTo(x, layout.bottom);
      context.stroke();
      context.setLineDash([]);
      context.fillStyle = faint;
      context.fillText(name, x, above);
    }
    if (Number.isFinite(this.#average) && this.#thresholds.length > 0) {
      const x = Math.max(layout.boundary(this.#average), 8);
      context.fillStyle = text;
      context.beginPath();
      context.moveTo(x - 5, layout.top - 8);
      context.lineTo(x + 5, layout.top - 8);
      context.lineTo(x, layout.top - 1);
      context.fill();
    }
  }

  #paintDraws(context: CanvasRenderingContext2D, cell: number, now: number, still: boolean): void {
    const { mark, text } = palette();
    if (!still) this.#draws = this.#draws.filter((draw) => now < draw.until);
    for (const { from, to, match, since, until } of this.#draws) {
      const length = until - since;
      const reached = still ? 1 : Math.min(1, (now - since) / Math.min(length * 0.4, 260));
      const fade = still ? 1 : Math.min(1, (until - now) / (length * 0.3));
      context.globalAlpha = fade * (match ? 1 : 0.65);
      context.strokeStyle = match ? mark : text;
      context.lineWidth = match ? 2.2 : 1.2;
      const [x, y] = [from.x + cell / 2, from.y + cell / 2];
      const [tx, ty] = [to.x + cell / 2, to.y + cell / 2];
      context.beginPath();
      context.moveTo(x, y);
      context.lineTo(x + (tx - x) * reached, y + (ty - y) * reached);
      context.stroke();
      if (reached === 1) {
        context.beginPath();
        context.arc(tx, ty, cell * 0.75 + 2, 0, 2 * Math.PI);
        context.stroke();
      }
    }
    context.globalAlpha = 1;
  }
}

/** More flows than this share columns. */
const MOST_LANES = 64;

function arrow(context: CanvasRenderingContext2D, x: number, y: number, end: number): void {
  context.beginPath();
  context.moveTo(x, y);
  context.lineTo(end, y);
  context.moveTo(end - 5, y - 4);
  context.lineTo(end, y);
  context.lineTo(end - 5, y + 4);
  context.stroke();
}
