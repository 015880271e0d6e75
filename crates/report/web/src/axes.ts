// The axes that all charts have in common.

import type uPlot from "uplot";
import { logSplits, ticks } from "./format";
import { palette } from "./palette";

export const FONT = "12px system-ui, sans-serif";

/** An axis, which has no label. */
export const AXIS: uPlot.Axis = {
  font: FONT,
  stroke: () => palette().faint,
  grid: { stroke: () => palette().grid, width: 1 },
  ticks: { show: false },
  values: (_, values) => ticks(values),
};

/** What a logarithmic axis has in addition. */
export const LOGARITHMIC: uPlot.Axis = { splits: (_, __, low, high) => logSplits(low, high), filter: (_, splits) => splits };

/** What an axis of whole numbers, such as ranks, has in addition. */
export const WHOLE: uPlot.Axis = { incrs: Array.from({ length: 9 }, (_, power) => [1, 2, 5].map((times) => times * 10 ** power)).flat() };

/** What an axis with this label has in addition. */
export function labelled(label: string): uPlot.Axis {
  return { label, labelFont: FONT, labelSize: 18, labelGap: 2 };
}
