// Where packets are drawn: as one queue that moves to the right in rows, or as a column for each flow. A packet stays in its row, so
// that the queue flows evenly; an arrival takes the row with the fewest.

/** A place in pixels of the canvas, the upper left corner. */
export interface Place {
  readonly x: number;
  readonly y: number;
}

/** Disciplines with a queue for each flow. */
const BY_FLOW = new Set(["drr", "wfq", "scfq", "stfq", "sfq", "sfq-red", "fq-codel", "fq-pie", "cake", "cbq"]);

export const isByFlow = (kind: string): boolean => BY_FLOW.has(kind);

/** Room for arrivals on the left and for the link on the right. */
const GATE = 58;
const LINK = 44;
const TOP = 24;
const BOTTOM = 8;

/** The geometry of one canvas. */
export class Layout {
  readonly cell: number;
  readonly rows: number;
  readonly columns: number;
  readonly gate: Place;
  readonly exit: Place;
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
  readonly #lanes: number;

  /** For `capacity` packets, or for `lanes` flows if that is not 0; `scale` is that of the type. */
  constructor(
    readonly width: number,
    readonly height: number,
    capacity: number,
    lanes: number,
    readonly scale: number,
  ) {
    this.top = TOP * scale;
    const [gate, link] = [GATE * scale, LINK * scale];
    const room = { x: width - gate - link, y: height - this.top - BOTTOM };
    this.#lanes = lanes;
    this.bottom = height - BOTTOM;
    if (lanes > 0) {
      this.cell = Math.max(2, Math.min(22 * scale, room.x / lanes, room.y / 14));
      this.rows = Math.max(1, Math.floor(room.y / this.cell));
      this.columns = lanes;
    } else {
      let cell = Math.min(26 * scale, Math.sqrt((room.x * room.y) / capacity));
      while (cell > 2 && Math.floor(room.y / cell) * Math.floor(room.x / cell) < capacity) cell -= 0.25;
      this.cell = cell;
      this.rows = Math.max(1, Math.floor(room.y / cell));
      this.columns = Math.max(1, Math.ceil(capacity / this.rows));
    }
    this.right = width - link;
    this.left = this.right - this.columns * (lanes > 0 ? room.x / lanes : this.cell);
    const middle = this.top + room.y / 2 - this.cell / 2;
    this.gate = { x: Math.max(10, gate - 34 * scale), y: middle };
    this.exit = { x: width + 2, y: middle };
  }

  /** The place of the packet with this number in its row of the queue, the first one is 0. */
  inRow(row: number, index: number): Place {
    return { x: this.right - (index + 1) * this.cell, y: this.top + row * this.cell };
  }

  /** The place of a flow's packet with this number in its own queue. */
  inLane(lane: number, index: number): Place {
    const pitch = (this.right - this.left) / Math.max(this.#lanes, 1);
    return { x: this.left + lane * pitch + (pitch - this.cell) / 2, y: this.bottom - (index + 1) * this.cell };
  }

  /** The x of the boundary behind this number of packets. */
  boundary(packets: number): number {
    return this.right - (packets / this.rows) * this.cell;
  }
}
