// Colours: the canvas has those of the style sheet.

/** The number of colours. */
export const COLOURS = 6;

/**
 * Dashes of lines, for readers who do not see the colours: as many as colours. Each is long enough that its colour is not blended with
 * the page's.
 */
export const DASHES: readonly (readonly number[])[] = [[], [8, 3], [4, 2], [12, 3, 4, 3], [16, 4], [10, 2, 4, 2, 4, 2]];

/** The colours of the present theme. */
export interface Palette {
  readonly text: string;
  readonly faint: string;
  readonly grid: string;
  readonly shade: string;
  readonly mark: string;
  readonly page: string;
  readonly series: readonly string[];
  readonly parts: readonly string[];
}

let present: Palette | undefined;

/** Reads the colours from the style sheet. */
function read(): Palette {
  const probe = document.createElement("span");
  probe.hidden = true;
  document.body.append(probe);
  const colour = (name: string): string => {
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color;
  };
  const numbered = (name: string): string[] => Array.from({ length: COLOURS }, (_, index) => colour(`${name}-${index + 1}`));
  const palette = {
    text: colour("text"),
    faint: colour("faint"),
    grid: colour("grid"),
    shade: colour("shade"),
    mark: colour("mark"),
    page: colour("page"),
    series: numbered("series"),
    parts: numbered("part"),
  };
  probe.remove();
  return palette;
}

/** The colours of the present theme. */
export function palette(): Palette {
  present ??= read();
  return present;
}

/** Reads the colours again, after a change of the theme. */
export function forget(): void {
  present = undefined;
}

/** The colour of the line with this number. */
export function lineColour(number: number, groups: boolean): string {
  const colours = groups ? palette().parts : palette().series;
  return colours[number % COLOURS] ?? palette().text;
}

/** The dashes of the line with this number. */
export function dashes(number: number): number[] {
  return [...(DASHES[number % DASHES.length] ?? [])];
}

/** A swatch of the line with this number: its colour, and its dashes once. */
export function paint(swatch: HTMLElement, number: number, groups: boolean): void {
  const pattern = dashes(number);
  let at = 0;
  const stops = pattern.map((length, index) => {
    const from = at;
    at += length;
    return `${index % 2 === 0 ? "currentColor" : "transparent"} ${from}px ${at}px`;
  });
  swatch.style.color = lineColour(number, groups);
  swatch.style.backgroundImage = pattern.length === 0 ? "linear-gradient(currentColor, currentColor)" : `repeating-linear-gradient(90deg, ${stops.join(", ")})`;
}
