// The sliders: which a scenario has, what they set, and whether that needs a new begin.

import { element } from "../../../report/web/src/dom";
import type { Info, Values } from "./protocol";
import { parse, rate, rateValue, time } from "./units";

/** A slider or a switch. */
interface Control {
  readonly id: string;
  readonly label: string;
  /** The keys that it sets. */
  readonly keys: readonly string[];
  readonly low: number;
  readonly high: number;
  /** True for equal factors from notch to notch. */
  readonly logarithmic?: boolean;
  readonly step?: number;
  readonly live: boolean;
  readonly value: number;
  readonly shown: (value: number) => string;
  readonly written: (value: number) => string;
}

const NOTCHES = 240;

/** Returns the value under a path of tables. */
function at(values: Values, path: string): unknown {
  let value: unknown = values;
  for (const step of path.split(".")) {
    if (Array.isArray(value)) value = value.find((item: Values) => item["name"] === step);
    else value = (value as Values | undefined)?.[step];
  }
  return value;
}

/** The controls that fit a scenario; the first side tells its values. */
function controlsOf(infos: readonly Info[], base: string): Control[] {
  const [info] = infos;
  if (info === undefined) return [];
  const found: Control[] = [];
  const { document } = info;
  if (at(document, "bottleneck") !== undefined) {
    const value = info.rate_bps ?? 1e6;
    const [low, high] = [Math.min(1e5, value), Math.max(5e7, value * 2)];
    found.push({ id: "rate", label: "Link rate", keys: ["bottleneck.rate"], low, high, logarithmic: true, live: true, value, shown: rate, written: rateValue });
    const delay = 2 * parse(at(document, "bottleneck.delay") ?? "1ms");
    found.push({
      id: "rtt",
      label: "Round trip of the link",
      keys: ["bottleneck.delay"],
      low: 0.001,
      high: Math.max(0.4, delay),
      logarithmic: true,
      live: false,
      value: delay,
      shown: time,
      written: (seconds) => `${Math.max(1, Math.round(seconds * 5e5))}us`,
    });
  }
  for (const group of info.groups) {
    const name = group.kind === "udp" ? `UDP “${group.name}”` : `TCP “${group.name}”`;
    found.push({
      id: `${group.name}-count`,
      label: `${name}: flows`,
      keys: [`flows.${group.name}.count`],
      low: 1,
      high: Math.max(group.kind === "udp" ? 20 : 100, group.flows),
      step: 1,
      live: false,
      value: group.flows,
      shown: String,
      written: String,
    });
    const own = parse(at(document, `flows.${group.name}.rate`));
    if (group.kind === "udp" && Number.isFinite(own)) {
      const [low, high] = [Math.min(1e4, own), Math.max(2e7, own * 5)];
      found.push({ id: `${group.name}-rate`, label: `${name}: rate of each`, keys: [`flows.${group.name}.rate`], low, high, logarithmic: true, live: true, value: own, shown: rate, written: rateValue });
    }
  }
  if (at(document, "bottleneck") !== undefined) found.push(...thresholds(infos, base));
  return found;
}

/** The thresholds of the queue in packets that the file's discipline has. */
function thresholds(infos: readonly Info[], base: string): Control[] {
  const keys = base === "droptail" ? ["limit"] : /choke|red/.test(base) ? ["min", "max", "limit"] : [];
  return keys.flatMap((key) => {
    const value = infos.map((info) => info.parameters[key] ?? "").find((text) => /^\d+p$/.test(text));
    if (value === undefined) return [];
    const label = { min: "Threshold min", max: "Threshold max", limit: "Limit of the queue" }[key] ?? key;
    const packets = parse(value);
    return [
      {
        id: key,
        label,
        keys: [`bottleneck.queue.${key}`],
        low: 2,
        high: Math.max(400, packets),
        step: 1,
        live: true,
        value: packets,
        shown: (count: number) => `${Math.round(count)} packets`,
        written: (count: number) => `${Math.round(count)}p`,
      },
    ];
  });
}

/** The sliders on the page. */
export class Controls {
  readonly #host: HTMLElement;
  readonly #set: (settings: readonly (readonly [string, string])[], live: boolean) => void;
  #rows = new Map<string, { input: HTMLInputElement; output: HTMLOutputElement; control: Control }>();
  #signature = "";

  /** `set` is told of each change, with the keys and their values. */
  constructor(host: HTMLElement, set: (settings: readonly (readonly [string, string])[], live: boolean) => void) {
    this.#host = host;
    this.#set = set;
  }

  /** Shows the controls of a scenario with its values; `base` is the discipline of its file. */
  show(infos: readonly Info[], base: string): void {
    const controls = controlsOf(infos, base);
    const signature = controls.map((control) => control.id).join();
    if (signature !== this.#signature) {
      this.#signature = signature;
      this.#rows.clear();
      this.#host.replaceChildren(...controls.map((control) => this.#row(control)), this.#ecn());
    }
    for (const control of controls) {
      const row = this.#rows.get(control.id);
      if (row === undefined) continue;
      row.control = control;
      // The hand that moves a slider has the last word.
      if (document.activeElement !== row.input) row.input.value = String(place(control, control.value));
      row.output.value = control.shown(control.value);
      row.input.setAttribute("aria-valuetext", control.shown(control.value));
    }
    const ecn = this.#host.querySelector<HTMLInputElement>("#ecn");
    const tcp = infos[0]?.document["tcp"] as Values | undefined;
    if (ecn !== null) ecn.checked = tcp?.["ecn"] === true || tcp?.["ecn"] === "true";
  }

  #row(control: Control): HTMLElement {
    const input = element("input", "");
    input.type = "range";
    input.id = `control-${control.id}`;
    input.min = control.logarithmic === true ? "0" : String(control.low);
    input.max = control.logarithmic === true ? String(NOTCHES) : String(control.high);
    input.step = String(control.step ?? 1);
    const output = element("output", "");
    const label = element("label", "", control.label, ...(control.live ? [] : [again()]));
    label.htmlFor = input.id;
    const entry = { input, output, control };
    this.#rows.set(control.id, entry);
    const change = (): void => {
      const value = valueAt(entry.control, Number(input.value));
      output.value = entry.control.shown(value);
      input.setAttribute("aria-valuetext", output.value);
      this.#set(entry.control.keys.map((key) => [key, entry.control.written(value)]), entry.control.live);
    };
    input.addEventListener(control.live ? "input" : "change", change);
    if (!control.live) input.addEventListener("input", () => (output.value = entry.control.shown(valueAt(entry.control, Number(input.value)))));
    const head = element("span", "head", label, output);
    return element("p", "control", head, input);
  }

  #ecn(): HTMLElement {
    const input = element("input", "");
    input.type = "checkbox";
    input.id = "ecn";
    const label = element("label", "", "ECN: mark packets instead of dropping them early", again());
    label.htmlFor = input.id;
    input.addEventListener("change", () => {
      const value = String(input.checked);
      this.#set(
        [
          ["tcp.ecn", value],
          ["bottleneck.queue.ecn", value],
        ],
        false,
      );
    });
    return element("p", "control switch", input, label);
  }
}

/** The sign of controls that start the scenario again. */
function again(): HTMLElement {
  const sign = element("span", "again", " ↺");
  sign.setAttribute("aria-label", "starts the scenario again");
  sign.setAttribute("role", "img");
  return sign;
}

/** The notch of a value. */
function place({ low, high, logarithmic }: Control, value: number): number {
  return logarithmic === true ? (NOTCHES * Math.log(value / low)) / Math.log(high / low) : value;
}

/** The value at a notch, with three digits. */
function valueAt({ low, high, logarithmic }: Control, notch: number): number {
  return logarithmic === true ? Number((low * (high / low) ** (notch / NOTCHES)).toPrecision(3)) : notch;
}
