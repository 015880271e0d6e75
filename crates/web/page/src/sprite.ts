// A packet on the canvas.

import { palette } from "../../../report/web/src/palette";
import type { FlowColours } from "./colours";
import type { Place } from "./layout";

/** Pixels for each millisecond squared. */
const GRAVITY = 0.0016;

export class Sprite {
  readonly flow: number;
  x: number;
  y: number;
  marked = false;
  /** Its row in the queue; -1 before it has one. */
  row = -1;
  /** Until then it stands at the gate. */
  until: number;
  #to: Place;
  #state: "queued" | "leaving" | "falling" = "queued";
  #since = 0;
  #matched = false;
  #speed = 0;

  /** Appears at a place, and stands there for a while. */
  constructor(flow: number, place: Place, until: number) {
    this.flow = flow;
    this.x = place.x;
    this.y = place.y;
    this.until = until;
    this.#to = place;
  }

  goTo(place: Place, cell: number): void {
    // A packet that would cross the whole queue has been away: the visitor looked elsewhere.
    if (this.until === 0 && Math.abs(place.x - this.x) + Math.abs(place.y - this.y) > 60 * cell) [this.x, this.y] = [place.x, place.y];
    this.#to = place;
  }

  leave(to: Place, now: number): void {
    [this.#state, this.#to, this.#since] = ["leaving", to, now];
  }

  /** Falls from `at` on, with a ring if it has matched. */
  fall(at: number, matched: boolean): void {
    [this.#state, this.#since, this.#matched] = ["falling", at, matched];
  }

  /** True when it is out of sight. */
  gone(now: number, height: number): boolean {
    if (this.#state === "leaving") return now - this.#since > 260;
    return this.y > height + 30 || now - this.#since > 1600;
  }

  /** Moves on; `ease` is the time in milliseconds in which a packet covers two thirds of its way. */
  move(now: number, elapsed: number, ease: number): void {
    if (this.#state === "falling") {
      if (now < this.#since) return;
      this.#speed += GRAVITY * elapsed;
      this.y += this.#speed * elapsed;
      return;
    }
    if (now < this.until && this.#state === "queued") return;
    const part = ease === 0 ? 1 : 1 - Math.exp(-elapsed / ease);
    this.x += (this.#to.x - this.x) * part;
    this.y += (this.#to.y - this.y) * part;
  }

  paint(context: CanvasRenderingContext2D, colours: FlowColours, cell: number, now: number): void {
    const { page, mark } = palette();
    const size = cell > 5 ? cell - Math.max(1.5, cell / 13) : cell - 0.5;
    if (this.#state === "leaving") context.globalAlpha = Math.max(0, 1 - (now - this.#since) / 260);
    if (this.#state === "falling" && now > this.#since) context.globalAlpha = Math.max(0.25, 1 - (now - this.#since) / 1200);
    context.fillStyle = colours.flow(this.flow);
    context.beginPath();
    if (size > 7) context.roundRect(this.x, this.y, size, size, Math.max(Math.min(3.5, size / 5), size / 8));
    else context.rect(this.x, this.y, size, size);
    context.fill();
    if (colours.notched(this.flow) && size > 5) {
      context.fillStyle = page;
      context.beginPath();
      context.moveTo(this.x + size, this.y);
      context.lineTo(this.x + size, this.y + size * 0.46);
      context.lineTo(this.x + size * 0.54, this.y);
      context.fill();
    }
    if (this.marked && size > 5) {
      context.fillStyle = page;
      context.fillRect(this.x + size * 0.2, this.y + size * 0.6, size * 0.6, Math.max(1.5, size * 0.16));
    }
    if (this.#state === "falling" && this.#matched) {
      context.strokeStyle = mark;
      context.lineWidth = 2;
      context.stroke();
      context.strokeRect(this.x - 1, this.y - 1, size + 2, size + 2);
    }
    context.globalAlpha = 1;
  }
}
