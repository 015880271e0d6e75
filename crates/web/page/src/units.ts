// Quantities for people, and for scenarios.

const three = (value: number): string => {
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return value.toFixed(digits).replace("-", "−");
};

export function rate(bps: number): string {
  if (bps >= 1e9) return `${three(bps / 1e9)} Gbit/s`;
  if (bps >= 1e6) return `${three(bps / 1e6)} Mbit/s`;
  return `${three(bps / 1e3)} kbit/s`;
}

export function time(seconds: number): string {
  if (!Number.isFinite(seconds)) return "–";
  if (seconds >= 1) return `${three(seconds)} s`;
  if (seconds >= 1e-3) return `${three(seconds * 1e3)} ms`;
  return `${three(seconds * 1e6)} µs`;
}

/** A time on a clock that shows what passes at a speed. */
export const clock = (seconds: number, speed: number): string => `${seconds.toFixed(speed < 0.005 ? 4 : speed < 0.2 ? 3 : speed <= 5 ? 1 : 0)} s`;

export const percent = (part: number): string => `${(100 * part).toFixed(part > 0.0995 || part === 0 ? 0 : 1)} %`;

export const packets = (count: number): string => `${Math.round(count)} packets`;

/** A value of a scenario such as `10mbit` or `20ms`, in its base unit; NaN if it is none. */
export function parse(value: unknown): number {
  if (typeof value === "number") return value;
  const found = /^([0-9.]+)\s*([a-z]*)$/.exec(typeof value === "string" ? value : "");
  return Number(found?.[1] ?? Number.NaN) * (FACTORS[found?.[2] ?? ""] ?? Number.NaN);
}

const FACTORS: Readonly<Record<string, number>> = {
  "": 1,
  p: 1,
  bit: 1,
  kbit: 1e3,
  mbit: 1e6,
  gbit: 1e9,
  ns: 1e-9,
  us: 1e-6,
  ms: 1e-3,
  s: 1,
};

/** A rate as a scenario has it. */
export const rateValue = (bps: number): string =>
  bps >= 1e6 ? `${Number((bps / 1e6).toPrecision(3))}mbit` : `${Number((bps / 1e3).toPrecision(3))}kbit`;
