// Charts over the same axis, which share their cursor and their zoom.

/** A chart as the others of its group see it. */
export interface Linked {
  /** Moves the cursor to a place on the horizontal axis; `null` takes it away. */
  point(x: number | null): void;
  /** Shows this part of the horizontal axis; `null` shows all of it. */
  zoom(range: readonly [number, number] | null): void;
}

/** The charts of a group. */
export class Link {
  readonly #charts = new Set<Linked>();
  #range: readonly [number, number] | null = null;
  readonly #listeners: ((range: readonly [number, number] | null) => void)[] = [];

  /** Adds a chart, which is then at the group's zoom. */
  add(chart: Linked): void {
    this.#charts.add(chart);
    if (this.#range) chart.zoom(this.#range);
  }

  remove(chart: Linked): void {
    this.#charts.delete(chart);
  }

  /** Calls `listener` after each change of the zoom. */
  onZoom(listener: (range: readonly [number, number] | null) => void): void {
    this.#listeners.push(listener);
  }

  get range(): readonly [number, number] | null {
    return this.#range;
  }

  point(from: Linked | null, x: number | null): void {
    for (const chart of this.#charts) if (chart !== from) chart.point(x);
  }

  zoom(range: readonly [number, number] | null): void {
    this.#range = range;
    for (const chart of this.#charts) chart.zoom(range);
    for (const listener of this.#listeners) listener(range);
  }
}
