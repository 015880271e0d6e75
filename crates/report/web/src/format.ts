// Numbers for people.

/** A number with this many significant digits, without trailing zeros. */
export function significant(value: number, digits = 4): string {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size < 1e-4 || size >= 1e15) return value.toExponential(digits - 1);
  const rounded = Number(value.toPrecision(digits));
  return String(rounded).replace("-", "−");
}

/** Labels of an axis. */
export function ticks(values: readonly (number | null)[]): string[] {
  return values.map((value) => (value === null ? "" : significant(value)));
}

/** The quantity of an axis label such as `delay (ms)`. */
export function quantity(label: string): string {
  return label.replace(/\s*\([^()]*\)$/, "");
}

/** The unit of an axis label such as `delay (ms)`. */
export function unit(label: string): string {
  const found = /\(([^()]*)\)$/.exec(label);
  return found?.[1] ?? "";
}

/** A value with the unit of its axis. */
export function withUnit(value: number | null | undefined, label: string): string {
  if (value === null || value === undefined) return "–";
  const name = unit(label);
  return name === "" ? significant(value) : `${significant(value)} ${name}`;
}

/** The places of a logarithmic axis that have a label: powers of ten, and multiples of them where there is room. */
export function logSplits(low: number, high: number): number[] {
  const decades = Math.log10(high / low);
  const times = decades > 2.2 ? [1] : decades > 1.1 ? [1, 2, 5] : [1, 1.5, 2, 3, 4, 5, 7];
  const powers = Array.from({ length: Math.ceil(decades) + 2 }, (_, index) => Math.floor(Math.log10(low)) + index);
  return powers.flatMap((power) => times.map((factor) => Number(`${factor}e${power}`))).filter((value) => value >= low && value <= high);
}
