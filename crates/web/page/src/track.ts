// The way of something over the time of an animation, as key frames of CSS.

/** A place in the picture. */
export interface Point {
  readonly x: number;
  readonly y: number;
}

/** What holds at a time; what is not there is as before. */
interface Key {
  readonly time: number;
  readonly x: number;
  readonly y: number;
  readonly opacity: number;
  /** How it goes on from here, if not smoothly. */
  readonly ease?: string;
}

/** How far something falls. */
const DEPTH = 78;

export class Track {
  readonly #keys: Key[] = [];

  constructor(point: Point, opacity: number) {
    this.#keys.push({ time: 0, ...point, opacity });
  }

  get #last(): Key {
    const last = this.#keys.at(-1);
    if (last === undefined) throw new Error("a way has a begin");
    return last;
  }

  /** The place in the end. */
  get place(): Point {
    return { x: this.#last.x, y: this.#last.y };
  }

  /** Goes to a place from `begin` to `end`. */
  move(begin: number, end: number, to: Point): void {
    const { x, y, opacity } = this.#last;
    if (x === to.x && y === to.y) return;
    this.#keys.push({ time: begin, x, y, opacity }, { time: end, ...to, opacity });
  }

  /** Goes to a place, and into sight. */
  come(begin: number, end: number, to: Point): void {
    this.#keys.push({ ...this.#last, time: begin }, { time: end, ...to, opacity: 1 });
  }

  /** Appears or goes from `begin` to `end`. */
  fade(begin: number, end: number, opacity: number): void {
    this.#keys.push({ ...this.#last, time: begin }, { ...this.#last, time: end, opacity });
  }

  /** Goes to a place, and out of sight. */
  leave(begin: number, end: number, to: Point): void {
    const { x, y, opacity } = this.#last;
    this.#keys.push({ time: begin, x, y, opacity }, { time: end, ...to, opacity: 0 });
  }

  /** Falls out of sight. */
  fall(begin: number, end: number): void {
    const { x, y, opacity } = this.#last;
    this.#keys.push({ time: begin, x, y, opacity, ease: "ease-in" }, { time: end, x, y: y + DEPTH, opacity: 0 });
  }

  /** The style at a time, for programs that show no animation. */
  at(time: number): string {
    const after = this.#keys.find((key) => key.time > time) ?? this.#last;
    const before = this.#keys.filter((key) => key.time <= time).at(-1) ?? after;
    const part = after.time > before.time ? (time - before.time) / (after.time - before.time) : 0;
    const between = (key: "x" | "y" | "opacity"): number => before[key] + part * (after[key] - before[key]);
    return style(between("x"), between("y"), between("opacity"));
  }

  /** The rule with the key frames. */
  keyframes(name: string, total: number): string {
    const keys = this.#keys.map(({ time, x, y, opacity, ease }) => {
      const how = ease === undefined ? "" : `;animation-timing-function:${ease}`;
      return `${rounded((100 * time) / total)}%{${style(x, y, opacity)}${how}}`;
    });
    // What is not said of the end would be as without an animation.
    const { x, y, opacity } = this.#last;
    return `@keyframes ${name}{${keys.join("")}100%{${style(x, y, opacity)}}}`;
  }
}

const rounded = (number: number): number => Math.round(number * 100) / 100;

const style = (x: number, y: number, opacity: number): string => `transform:translate(${rounded(x)}px,${rounded(y)}px);opacity:${rounded(opacity)}`;

/** The tracks. */
export const tracks = {
  /** There from the begin on. */
  standing: (point: Point): Track => new Track(point, 1),

  /** Not to be seen at the begin. */
  hidden: (point: Point): Track => new Track(point, 0),

  /** All of it: the picture begins again without a jump. */
  fading(length: number, total: number): Track {
    const track = new Track({ x: 0, y: 0 }, 0);
    track.fade(0, length, 1);
    track.fade(total - length, total, 0);
    return track;
  },
};
