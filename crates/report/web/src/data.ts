// The data of a page: what `crates/report/src/html/data.rs` writes.

/** Numbers; `null` where there is none. */
export type Column = (number | null)[];

/** How a line is drawn. */
export type LineStyle = "marked" | "plain" | "steps" | "points";

/** A line; `x`, `y` and `e` are numbers of columns. */
export interface Line {
  readonly name: string;
  readonly style: LineStyle;
  readonly x: number;
  readonly y: number;
  /** Half widths of the 95 % intervals. */
  readonly e?: number;
  /** The key that it belongs to, where keys can be chosen. */
  readonly key?: number;
}

/** An axis. */
export interface Axis {
  readonly label: string;
  readonly log: boolean;
  /** The least and the greatest possible value, at which intervals end; null for none. */
  readonly range?: readonly [number | null, number | null];
}

/** A value of the vertical axis with a name. */
export interface Mark {
  readonly at: number;
  readonly label: string;
}

/** Lines over an axis. */
export interface Chart {
  readonly title: string;
  readonly x: Axis;
  readonly y: Axis;
  readonly lines: readonly Line[];
  readonly marks: readonly Mark[];
  /** The end of the warm-up, which is shaded. */
  readonly warmup?: number;
  /** True if the colours are those of groups. */
  readonly groups: boolean;
  /** How points are drawn that are closer to each other than can be seen: their mean, or that with the range of their values. */
  readonly bins?: "mean" | "range";
}

/** A place of the scatter, with half widths of its 95 % intervals. */
export interface Place {
  readonly name: string;
  readonly x: number;
  readonly y: number;
  readonly ex: number;
  readonly ey: number;
}

/** A table's column. */
export interface Field {
  readonly title: string;
  /** Words, or numbers with all their digits. */
  readonly cells: readonly (string | number | null)[];
}

/** A part of the page that the script draws. */
export type Figure =
  | { readonly kind: "chart"; readonly chart: Chart }
  | { readonly kind: "stack"; readonly keys: readonly string[]; readonly panels: readonly Chart[] }
  | { readonly kind: "grid"; readonly cells: readonly Chart[] }
  | {
      readonly kind: "scatter";
      readonly x: Axis;
      readonly panels: readonly { readonly title: string; readonly y: Axis; readonly places: readonly Place[] }[];
    }
  | { readonly kind: "records"; readonly label: string; readonly fields: readonly Field[] }
  | { readonly kind: "file"; readonly label: string; readonly text: string };

/** A column as it is written: numbers, or steps between whole multiples of a unit. */
type Written = Column | { readonly unit: number; readonly steps: string };

interface Page {
  readonly columns: readonly Written[];
  readonly figures: readonly Figure[];
}

const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const VALUE = new Map([...DIGITS].map((digit, value) => [digit, value]));

/** Reads steps: each is a number in base 32 of the digits above, the lowest first, 32 added to all but the last, its sign in
 *  the lowest bit; `~` stands for a value that is missing. */
export function decode(unit: number, steps: string): Column {
  const column: Column = [];
  let sum = 0;
  let step = 0;
  let place = 1;
  for (const digit of steps) {
    if (digit === "~") {
      column.push(null);
      continue;
    }
    const value = VALUE.get(digit) ?? 0;
    step += (value % 32) * place;
    place *= 32;
    if (value >= 32) continue;
    sum += step % 2 === 1 ? -(step - 1) / 2 : step / 2;
    // Multiplying with 0.001 would give 0.30000000000000004.
    column.push(unit < 1 ? sum / Math.round(1 / unit) : sum * unit);
    step = 0;
    place = 1;
  }
  return column;
}

/** The page's data; columns are read when they are first asked for. */
export class Data {
  readonly figures: readonly Figure[];
  readonly #written: readonly Written[];
  readonly #read = new Map<number, Column>();

  constructor(text: string) {
    const page = JSON.parse(text) as Page;
    this.figures = page.figures;
    this.#written = page.columns;
  }

  column(number: number): Column {
    const known = this.#read.get(number);
    if (known) return known;
    const written = this.#written[number];
    const column = written === undefined ? [] : Array.isArray(written) ? written : decode((written as { unit: number }).unit, (written as { steps: string }).steps);
    this.#read.set(number, column);
    return column;
  }
}
