// Lines as they are drawn.

import type { Column, Line } from "./data";

/** A line that is drawn. */
export interface Drawn {
  readonly line: Line;
  readonly colour: number;
  readonly xs: Column;
  readonly ys: Column;
  readonly halves: Column | null;
  /** The points that are shown at the present zoom. */
  shown: { xs: Column; ys: Column };
}

/** The index of the last place that is not beyond `x`, or -1. */
export function before(xs: Column, x: number): number {
  let low = 0;
  let high = xs.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((xs[middle] ?? Infinity) <= x) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** The value of a line at `x`: that of the nearest point, or of the step. */
export function valueAt({ line, shown: { xs, ys } }: Drawn, x: number): number | null {
  const at = before(xs, x);
  const [here, next] = [xs[at], xs[at + 1]];
  if (line.style === "steps") return at < 0 ? null : (ys[at] ?? null);
  const nearer = here === undefined || here === null || (next !== undefined && next !== null && next - x < x - here);
  return ys[nearer ? at + 1 : at] ?? null;
}
