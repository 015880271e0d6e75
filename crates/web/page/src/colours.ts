// Colours of flows: one hue for a group, in shades for its flows. Those of UDP have a notch as well, for readers who do not see the hue.

import { palette } from "../../../report/web/src/palette";
import type { Group } from "./protocol";

type Rgb = readonly [number, number, number];

function parse(colour: string): Rgb {
  const parts = /(\d+(?:\.\d+)?)[, ]+(\d+(?:\.\d+)?)[, ]+(\d+(?:\.\d+)?)/.exec(colour);
  return [Number(parts?.[1] ?? 128), Number(parts?.[2] ?? 128), Number(parts?.[3] ?? 128)];
}

function mixed(colour: Rgb, other: Rgb, part: number): string {
  const [red, green, blue] = [0, 1, 2].map((index) =>
    Math.round((colour[index] ?? 0) * (1 - part) + (other[index] ?? 0) * part),
  );
  return `rgb(${red}, ${green}, ${blue})`;
}

const SHADES = 5;

/** The colours of the flows of a scenario, in the present theme. */
export class FlowColours {
  readonly #shades: readonly (readonly string[])[];
  readonly #groupOf: readonly number[];
  readonly #groups: readonly Group[];

  constructor(groups: readonly Group[]) {
    const page = parse(palette().page);
    this.#groups = groups;
    this.#groupOf = groups.flatMap((group, number) => Array.from({ length: group.flows }, () => number));
    this.#shades = groups.map((group, number) => {
      const colour = parse(this.group(number));
      const shades = group.flows > 1 ? SHADES : 1;
      return Array.from({ length: shades }, (_, shade) => mixed(colour, page, (0.44 * shade) / SHADES));
    });
  }

  /** The colour of a group. */
  group(number: number): string {
    const { series } = palette();
    return series[number % series.length] ?? palette().text;
  }

  groupOf(flow: number): number {
    return this.#groupOf[flow] ?? 0;
  }

  /** The colour of a flow. */
  flow(flow: number): string {
    const shades = this.#shades[this.groupOf(flow)] ?? [];
    return shades[flow % Math.max(shades.length, 1)] ?? palette().text;
  }

  /** True for flows that do not slow down. */
  notched(flow: number): boolean {
    return this.#groups[this.groupOf(flow)]?.kind === "udp";
  }
}
