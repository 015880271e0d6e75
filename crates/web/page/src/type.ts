// Type on canvases, which grows with that of the page: a projector has many pixels.

/** The size of the page's type, 1 where it is that of a desk's screen. */
export const typeScale = (): number => Number.parseFloat(getComputedStyle(document.documentElement).fontSize) / 16;

/** A font of so many pixels at a scale of 1. */
export const font = (pixels: number, scale: number, weight = 400): string =>
  `${weight} ${(pixels * scale).toFixed(1)}px system-ui, "Segoe UI", "Helvetica Neue", "DejaVu Sans", sans-serif`;
