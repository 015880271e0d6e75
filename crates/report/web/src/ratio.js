// Replaces the screen's ratio in uPlot: canvases have at least two pixels for each of the page, so that saved pictures and prints are
// sharp.
export const chartRatio = Math.max(2, globalThis.devicePixelRatio);
