// A piece of a simulation as a sequence of arrivals, each with the packet that CHOKe drew: what the picture of the README shows.

import type { Engine } from "./engine";
import { EVENT_FIELDS, Frame, Kind, MATCH_ARRIVAL, MATCH_VICTIM, PACKET_FIELDS } from "./frame";

/** A packet. */
export interface Packet {
  readonly number: number;
  readonly flow: number;
}

/** An arrival, the queued packet that was drawn, and the packets that left before the next arrival. */
export interface Step {
  readonly arrival: Packet;
  readonly drawn: number;
  readonly match: boolean;
  readonly leaving: readonly number[];
}

/** Some arrivals in a row, and the queue that the first one finds; the first packet leaves next. */
export interface Scene {
  readonly queue: readonly Packet[];
  readonly steps: readonly Step[];
}

/** A group's part of the arrivals at the queue, and of what the link delivered. */
export interface Part {
  readonly sent: number;
  readonly delivered: number;
}

/** What a simulation showed. */
export interface Recording {
  readonly scenes: readonly Scene[];
  readonly parts: readonly Part[];
}

interface OpenStep {
  readonly arrival: Packet;
  readonly queue: readonly Packet[];
  drawn: number;
  match: boolean;
  /** False for an arrival that was not compared, or was dropped for another reason. */
  plain: boolean;
  readonly leaving: number[];
}

/** Records the first side from `from` to `until`, and returns all scenes of `length` arrivals in which each was compared. */
export function record(engine: Engine, from: number, until: number, length: number): Recording {
  const [side, step] = [0, 0.05];
  while (!engine.advance(side, from));
  const first = new Frame(engine.frame(side));
  let queue = packetsOf(first);
  const steps: OpenStep[] = [];
  let frame = first;
  for (let time = from + step; time < until; time += step) {
    while (!engine.advance(side, time));
    frame = new Frame(engine.frame(side));
    if (frame.missed > 0) throw new Error("there were too many events at once");
    follow(frame.list(), queue, steps);
    queue = packetsOf(frame);
  }
  const parts = Array.from({ length: frame.groups }, (_, group) => ({
    sent: frame.sent(group) - first.sent(group),
    delivered: frame.delivered(group) - first.delivered(group),
  }));
  const total = (key: keyof Part): number => parts.reduce((sum, part) => sum + part[key], 0);
  const [sent, delivered] = [total("sent"), total("delivered")];
  const scenes: Scene[] = [];
  for (let at = 0; at + length <= steps.length; at += 1) {
    const window = steps.slice(at, at + length);
    const start = window[0];
    if (start !== undefined && window.every(({ plain }) => plain)) scenes.push({ queue: start.queue, steps: window });
  }
  return { scenes, parts: parts.map((part) => ({ sent: part.sent / sent, delivered: part.delivered / delivered })) };
}

function packetsOf(frame: Frame): Packet[] {
  const numbers = frame.queue();
  return Array.from({ length: numbers.length / PACKET_FIELDS }, (_, index) => ({
    number: numbers[index * PACKET_FIELDS] ?? 0,
    flow: numbers[index * PACKET_FIELDS + 1] ?? 0,
  }));
}

/** Turns events into steps; `queue` is the queue before them. */
function follow(events: Float64Array, before: readonly Packet[], steps: OpenStep[]): void {
  const queue = [...before];
  const remove = (number: number): void => {
    const at = queue.findIndex((packet) => packet.number === number);
    if (at >= 0) queue.splice(at, 1);
  };
  for (let at = 0; at + EVENT_FIELDS <= events.length; at += EVENT_FIELDS) {
    const [kind, number, flow, detail] = [events[at] ?? 0, events[at + 1] ?? 0, events[at + 2] ?? 0, events[at + 4] ?? 0];
    const last = steps.at(-1);
    if (kind === Kind.Arrived) {
      const arrival = { number, flow };
      steps.push({ arrival, queue: [...queue], drawn: -1, match: false, plain: false, leaving: [] });
      queue.push(arrival);
    } else if (kind === Kind.Departed) {
      remove(number);
      last?.leaving.push(number);
    } else if (kind === Kind.Compared && last !== undefined) {
      [last.drawn, last.plain] = [detail, true];
    } else if (kind === Kind.Dropped && last !== undefined) {
      remove(number);
      if (detail === MATCH_VICTIM) [last.drawn, last.match, last.plain] = [number, true, true];
      else if (detail !== MATCH_ARRIVAL) last.plain = false;
    }
  }
}
