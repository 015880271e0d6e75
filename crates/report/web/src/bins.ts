// Many points as few.

import type { Column } from "./data";

/** The means of groups of values, with the least and the largest of each. */
export interface Binned {
  readonly means: Column;
  readonly lows: Column;
  readonly highs: Column;
}

/** Divides values into groups of `size` each. */
export function bins(values: Column, size: number): Binned {
  const binned: { means: Column; lows: Column; highs: Column } = { means: [], lows: [], highs: [] };
  for (let from = 0; from < values.length; from += size) {
    let [sum, count, low, high] = [0, 0, Infinity, -Infinity];
    for (const value of values.slice(from, from + size)) {
      if (value === null) continue;
      sum += value;
      count += 1;
      low = Math.min(low, value);
      high = Math.max(high, value);
    }
    binned.means.push(count > 0 ? sum / count : null);
    binned.lows.push(count > 0 ? low : null);
    binned.highs.push(count > 0 ? high : null);
  }
  return binned;
}

/** The size of groups by which so many values become at most `most`. */
export function sizeFor(values: number, most: number): number {
  return values > 2 * most ? Math.ceil(values / most) : 1;
}
