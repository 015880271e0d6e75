// Reads the numbers of a frame; crates/web/src/player.rs writes them.

const HEADER = 20;
const GROUP_FIELDS = 6;
export const PACKET_FIELDS = 4;
export const EVENT_FIELDS = 5;

/** The kinds of events. */
export const enum Kind {
  Arrived,
  Departed,
  Dropped,
  Marked,
  Compared,
}

/** The numbers of the two reasons of a match: those of fairlane_qdisc::Reason. */
export const MATCH_ARRIVAL = 3;
export const MATCH_VICTIM = 4;

/** The state of one side, and what happened since the frame before. */
export class Frame {
  readonly #of: Float64Array;
  readonly #groups: number;
  readonly #flows: number;
  readonly #reasons: number;
  readonly #packets: number;
  readonly #queueAt: number;

  constructor(numbers: Float64Array) {
    this.#of = numbers;
    this.#groups = HEADER;
    this.#flows = this.#groups + this.groups * GROUP_FIELDS;
    this.#reasons = this.#flows + this.flows;
    this.#queueAt = this.#reasons + this.#at(13);
    this.#packets = this.#at(14);
  }

  #at(index: number): number {
    return this.#of[index] ?? 0;
  }

  get now(): number {
    return this.#at(0);
  }
  get packets(): number {
    return this.#at(1);
  }
  get bytes(): number {
    return this.#at(2);
  }
  /** The average that the discipline keeps; NaN without one. */
  get average(): number {
    return this.#at(3);
  }
  get probability(): number {
    return this.#at(4);
  }
  get arrived(): number {
    return this.#at(5);
  }
  get departed(): number {
    return this.#at(6);
  }
  get dropped(): number {
    return this.#at(7);
  }
  get marked(): number {
    return this.#at(8);
  }
  get rate(): number {
    return this.#at(9);
  }
  get departedBytes(): number {
    return this.#at(10);
  }
  get groups(): number {
    return this.#at(11);
  }
  get flows(): number {
    return this.#at(12);
  }
  get events(): number {
    return this.#at(15);
  }
  get missed(): number {
    return this.#at(16);
  }

  /** The delivered bytes of a group since the start. */
  delivered(group: number): number {
    return this.#at(this.#groups + group * GROUP_FIELDS);
  }
  /** The sent packets of a group since the start. */
  sent(group: number): number {
    return this.#at(this.#groups + group * GROUP_FIELDS + 1);
  }
  /** The dropped packets of a group since the start. */
  lost(group: number): number {
    return this.#at(this.#groups + group * GROUP_FIELDS + 2);
  }
  /** The packets of a group in the queue. */
  queued(group: number): number {
    return this.#at(this.#groups + group * GROUP_FIELDS + 3);
  }
  /** The delivered bytes of a flow since the start. */
  flow(index: number): number {
    return this.#at(this.#flows + index);
  }
  /** The drops for each reason since the start. */
  reasons(): Float64Array {
    return this.#of.subarray(this.#reasons, this.#queueAt);
  }
  /** The packets in the queue, `PACKET_FIELDS` numbers each. */
  queue(): Float64Array {
    return this.#of.subarray(this.#queueAt, this.#queueAt + this.#packets * PACKET_FIELDS);
  }
  /** The events, `EVENT_FIELDS` numbers each. */
  list(): Float64Array {
    return this.#of.subarray(this.#queueAt + this.#packets * PACKET_FIELDS);
  }
}
