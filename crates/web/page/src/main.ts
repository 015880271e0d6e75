// The playground.

import { element } from "../../../report/web/src/dom";
import { forget, palette } from "../../../report/web/src/palette";
import "uplot/dist/uPlot.min.css";
import "./style.css";
import { Charts, SIDE_COLOURS } from "./charts";
import { Controls } from "./controls";
import { byId, Dialogs } from "./dialogs";
import { fileOf, PRESETS, presetOf } from "./presets";
import type { Answer, Constants, Info, Order, Request } from "./protocol";
import { Side } from "./side";
import { fromAddress, MAX_SPEED, MIN_SPEED, type State, toAddress } from "./state";
import { Tour } from "./tour-panel";
import { clock, parse } from "./units";

const first = PRESETS[0];
if (first === undefined) throw new Error("there is no preset");
const USUAL: State = { file: first.file, preset: first.id, settings: new Map(), kinds: first.kinds, speed: 1, step: 0 };

const NOTCHES = 240;
/** Milliseconds between two updates of the numbers, which nobody reads faster. */
const NUMBERS = 200;

/**
 * For measurements: the time of the first picture after the page was asked for and the times between frames, both in milliseconds, the
 * simulated time, the scenarios, and how often they have begun.
 */
declare global {
  interface Window {
    playground?: { readonly first: number; readonly frames: number[]; readonly now: number; readonly infos: readonly Info[]; readonly starts: number; readonly still: () => boolean };
  }
}

class Playground {
  #state: State = USUAL;
  #constants: Constants | undefined;
  #infos: readonly Info[] = [];
  #sides: Side[] = [];
  #worker: Worker;
  #waiting = false;
  #playing = true;
  #now = 0;
  #lastFrame = 0;
  #lastNumbers = 0;
  #pending: { wanted: State; restart: boolean; keep: State } | undefined;
  #busy = false;
  #starts = 0;
  /** The time of the first picture; negative before there is one. */
  #first = -1;
  /** The seconds of a single step, which is also taken while the playback pauses. */
  #step: number | undefined;
  readonly #frames: number[] = [];
  readonly #charts = new Charts(byId("chart-queue", HTMLDivElement), byId("chart-delay", HTMLDivElement));
  readonly #dialogs = new Dialogs((toml) => this.#runToml(toml));
  readonly #tour = new Tour((state, step) => this.#goTo({ ...state, step }));
  readonly #controls = new Controls(byId("controls", HTMLDivElement), (settings, live) => this.#set(settings, live));
  readonly #still = matchMedia("(prefers-reduced-motion: reduce)");
  readonly #message = byId("message", HTMLParagraphElement);
  readonly #speed = byId("speed", HTMLInputElement);

  constructor() {
    this.#worker = this.#hire();
    this.#listen();
  }

  #hire(): Worker {
    const worker = new Worker("worker.js", { type: "module" });
    worker.addEventListener("message", (event: MessageEvent<Answer>) => this.#hear(event.data));
    worker.addEventListener("error", (event) => this.#hear({ type: "failed", text: event.message }));
    return worker;
  }

  #order(order: Order): void {
    this.#worker.postMessage(order);
  }

  #hear(answer: Answer): void {
    switch (answer.type) {
      case "ready":
        if (this.#constants === undefined) this.#begin(answer.constants);
        break;
      case "started":
      case "updated":
        this.#changed(answer.infos, answer.type === "started", answer.type === "updated" && answer.restart);
        break;
      case "frames":
        this.#take(answer);
        break;
      case "refused":
        this.#refused(answer.text, answer.line);
        break;
      case "toml":
        this.#dialogs.openToml(answer.text);
        break;
      case "failed":
        this.#failed(answer.text);
        break;
    }
  }

  #begin(constants: Constants): void {
    this.#constants = constants;
    void this.#readAddress();
    requestAnimationFrame((now) => this.#draw(now));
  }

  async #readAddress(): Promise<void> {
    try {
      const state = await fromAddress(location.hash, USUAL, fileOf);
      const preset = presetOf(state.preset);
      // The bare address is the first preset as it is.
      const bare = location.hash.length < 2 && preset !== undefined;
      this.#goTo(bare ? { ...state, settings: new Map(Object.entries(preset.settings ?? {})) } : state);
    } catch (error) {
      this.#kept = `${error instanceof Error ? error.message : String(error)}. This is the first scenario instead.`;
      this.#goTo(USUAL);
    }
  }

  /** The requests of a state, one for each side. */
  #requests(state: State): Request[] {
    const settings = [...state.settings].map(([key, value]) => `${key}=${value}`);
    return state.kinds.map((kind) => ({ file: state.file, settings, kind }));
  }

  /** Starts what `state` says. */
  #goTo(state: State): void {
    this.#ask(state, true);
  }

  /** Asks for another state, which holds when the worker has taken it; only the last one while it is busy. */
  #ask(wanted: State, restart: boolean): void {
    if (this.#busy) {
      this.#pending = { wanted, restart: restart || (this.#pending?.restart ?? false), keep: this.#state };
      return;
    }
    this.#busy = true;
    this.#pending = { wanted, restart, keep: this.#state };
    this.#order(restart ? { type: "start", requests: this.#requests(wanted), run: 0, skip: wanted.speed < SLOW ? FILLED : 0 } : { type: "update", requests: this.#requests(wanted) });
    this.#asked = this.#pending;
    this.#pending = undefined;
  }

  #asked: { wanted: State; restart: boolean; keep: State } | undefined;

  #next(): void {
    this.#busy = false;
    const pending = this.#pending;
    this.#pending = undefined;
    if (pending !== undefined) this.#ask(pending.wanted, pending.restart);
  }

  #changed(infos: readonly Info[], started: boolean, restart: boolean): void {
    const wanted = this.#asked?.wanted ?? this.#state;
    if (restart) {
      this.#busy = false;
      this.#ask(this.#pending?.wanted ?? wanted, true);
      return;
    }
    this.#say("");
    const before = this.#state;
    this.#state = wanted;
    this.#infos = infos;
    if (this.#sides.length !== infos.length) this.#furnish();
    for (const [side, info] of infos.entries()) {
      if (started) this.#sides[side]?.begin(info);
      else this.#sides[side]?.change(info);
    }
    if (started) {
      // A scenario that starts while the playback pauses is shown as it begins.
      this.#step = 0;
      this.#starts += 1;
      this.#charts.begin(wanted.kinds);
      if (this.#tour.step !== wanted.step) this.#tour.show(wanted.step);
    } else if (before.kinds.join() !== wanted.kinds.join()) this.#charts.rename(wanted.kinds);
    this.#legend();
    this.#showState();
    if (this.#dialogs.editing) this.#dialogs.closeToml();
    this.#next();
  }

  #refused(text: string, line: number): void {
    const keep = this.#asked?.keep ?? this.#state;
    if (this.#dialogs.editing) this.#dialogs.refuse(text, line);
    else this.#say(text);
    this.#state = keep;
    if (this.#infos.length === 0 && keep === USUAL && this.#asked?.wanted !== USUAL) {
      this.#busy = false;
      this.#pending = undefined;
      this.#ask(USUAL, true);
      this.#kept = text;
      return;
    }
    this.#showState();
    this.#next();
  }

  /** A message that outlives the next start. */
  #kept = "";

  #failed(text: string): void {
    this.#say(`The simulator has stopped (${text}). It has been started again with the first scenario.`);
    this.#kept = this.#message.textContent ?? "";
    this.#worker.terminate();
    if (this.#constants === undefined) return;
    this.#worker = this.#hire();
    [this.#busy, this.#waiting, this.#pending] = [false, false, undefined];
    this.#ask(USUAL, true);
  }

  #say(text: string): void {
    const shown = text === "" ? this.#kept : text;
    this.#kept = "";
    this.#message.textContent = shown;
    this.#message.hidden = shown === "";
  }

  /** Makes a card for each side. */
  #furnish(): void {
    const constants = this.#constants;
    if (constants === undefined) return;
    const host = byId("sides", HTMLDivElement);
    this.#sides = this.#infos.map(
      (_, number) => new Side(number, constants, () => this.#still.matches, (kind) => this.#choose(number, kind)),
    );
    byId("second", HTMLButtonElement).textContent = this.#infos.length > 1 ? "One queue" : "Two queues";
    host.replaceChildren(...this.#sides.map((side) => side.card));
    host.classList.toggle("one", this.#sides.length === 1);
  }

  #choose(side: number, kind: string): void {
    const kinds = this.#state.kinds.map((before, number) => (number === side ? kind : before));
    this.#ask({ ...this.#state, kinds }, false);
  }

  #toggleSecond(): void {
    const [one] = this.#state.kinds;
    const kinds = this.#state.kinds.length > 1 ? [one ?? "choke"] : [one ?? "choke", one === "choke" ? "red" : "choke"];
    this.#ask({ ...this.#state, kinds }, true);
  }

  #set(settings: readonly (readonly [string, string])[], live: boolean): void {
    const base = this.#busy ? (this.#pending?.wanted ?? this.#asked?.wanted ?? this.#state) : this.#state;
    this.#ask({ ...base, settings: new Map([...base.settings, ...settings]) }, !live);
  }

  #runToml(file: string): void {
    this.#ask({ ...this.#state, file, preset: "", settings: new Map(), step: 0 }, true);
  }

  /** Shows what the address, the controls and the texts say of the state. */
  #showState(): void {
    const { preset, speed } = this.#state;
    byId("preset", HTMLSelectElement).value = preset;
    byId("about", HTMLParagraphElement).textContent = this.#state.step > 0 ? "" : (presetOf(preset)?.about ?? this.#infos[0]?.name ?? "");
    this.#speed.value = String(notchOf(speed));
    this.#showSpeed(speed);
    this.#controls.show(this.#infos, this.#fileKind());
    void toAddress(this.#state).then((address) => history.replaceState(null, "", `#${address}`));
  }

  /** The discipline that the scenario's file names. */
  #fileKind(): string {
    const preset = presetOf(this.#state.preset);
    const text = this.#constants?.scenarios.find(({ name }) => name === (preset?.file ?? this.#state.file))?.text ?? preset?.file ?? this.#state.file;
    return /kind\s*=\s*"((?!tcp|udp|tfrc)[a-z0-9-]+)"/.exec(text)?.[1] ?? "droptail";
  }

  #showSpeed(speed: number, real = speed): void {
    const text = speed >= 1 ? `${Number(speed.toPrecision(2))} ×` : `1/${Number((1 / speed).toPrecision(2))}`;
    const slow = real < speed * 0.8 && this.#playing ? ` (${Number(real.toPrecision(2))} × is what this machine can)` : "";
    byId("speed-value", HTMLOutputElement).value = text + slow;
    this.#speed.setAttribute("aria-valuetext", text);
  }

  #legend(): void {
    const { series } = palette();
    byId("legend", HTMLSpanElement).replaceChildren(
      ...this.#state.kinds.map((kind, side) => {
        const swatch = element("span", side === 0 && this.#state.kinds.length > 1 ? "line dashed" : "line");
        swatch.style.borderColor = series[SIDE_COLOURS[side] ?? 0] ?? "";
        return element("span", "entry", swatch, kind);
      }),
    );
  }

  /** One frame of the screen. */
  #draw(now: number): void {
    requestAnimationFrame((next) => this.#draw(next));
    const elapsed = Math.min(now - this.#lastFrame, 100);
    this.#lastFrame = now;
    if (this.#frames.push(elapsed) > 600) this.#frames.shift();
    for (const side of this.#sides) side.paint(now);
    if (this.#first < 0 && this.#now > 0) this.#first = performance.now();
    if (this.#waiting || this.#busy || this.#infos.length === 0) return;
    const { speed } = this.#state;
    if (!this.#playing && this.#step === undefined) return;
    const seconds = this.#step ?? (elapsed / 1000) * speed;
    this.#step = undefined;
    this.#waiting = true;
    this.#order({ type: "advance", seconds, interval: (WINDOW * speed) / 400 });
  }

  #take({ sides, reached }: Extract<Answer, { type: "frames" }>): void {
    this.#waiting = false;
    const now = performance.now();
    const speed = this.#playing ? this.#state.speed : 0.001;
    for (const [side, frame] of sides.entries()) {
      this.#charts.take(side, frame.rows, frame.width);
      const read = this.#sides[side]?.take(frame, now, speed);
      if (side === 0 && read !== undefined) this.#now = read.now;
    }
    if (now - this.#lastNumbers < NUMBERS && this.#playing) return;
    const real = reached ? this.#state.speed : this.#realSpeed(now);
    this.#measured = { at: now, time: this.#now };
    this.#lastNumbers = now;
    for (const side of this.#sides) side.show();
    this.#charts.show(this.#now, this.#window());
    byId("clock", HTMLOutputElement).value = clock(this.#now, this.#state.speed);
    this.#showSpeed(this.#state.speed, real);
    window.playground = { first: this.#first, frames: this.#frames, now: this.#now, infos: this.#infos, starts: this.#starts, still: () => this.#isStill() };
  }

  /** Returns true if it pauses, and no answer to what was asked before is under way. */
  #isStill(): boolean {
    return !this.#playing && !this.#waiting && !this.#busy && this.#step === undefined;
  }

  #measured = { at: 0, time: 0 };

  #realSpeed(now: number): number {
    return (1000 * (this.#now - this.#measured.time)) / Math.max(1, now - this.#measured.at);
  }

  /** The seconds that charts show: twenty of the visitor's. */
  #window(): number {
    return WINDOW * Math.max(this.#state.speed, MIN_SPEED);
  }

  #listen(): void {
    const preset = byId("preset", HTMLSelectElement);
    preset.replaceChildren(...PRESETS.map(({ id, title }) => new Option(title, id)), new Option("your own", ""));
    preset.addEventListener("change", () => {
      const chosen = presetOf(preset.value);
      if (chosen === undefined) return this.#openToml();
      this.#goTo({ ...this.#state, file: chosen.file, preset: chosen.id, settings: new Map(Object.entries(chosen.settings ?? {})), kinds: chosen.kinds, step: 0 });
    });
    const click = (id: string, action: () => void): void => byId(id, HTMLButtonElement).addEventListener("click", action);
    click("play", () => this.#play(!this.#playing));
    click("step", () => this.#stepOn());
    click("again", () => this.#goTo(this.#state));
    click("second", () => this.#toggleSecond());
    click("reset", () => this.#goTo({ ...this.#state, settings: new Map(Object.entries(presetOf(this.#state.preset)?.settings ?? {})) }));
    click("tour-open", () => this.#tour.go(1, this.#state));
    click("share", () => this.#share());
    click("theme", () => this.#switchTheme());
    click("toml-open", () => this.#openToml());
    click("command-open", () => this.#dialogs.openCommand(this.#state));
    click("runs-open", () => this.#dialogs.openRuns(this.#state, this.#requests(this.#state)));
    this.#speed.max = String(NOTCHES);
    this.#speed.addEventListener("input", () => this.#setSpeed(speedOf(Number(this.#speed.value))));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.#recolour());
    addEventListener("hashchange", () => void this.#readAddress());
    addEventListener("keydown", (event) => this.#key(event));
  }

  /** Opens the file; its discipline is that of the file, since both sides have theirs from the page. */
  #openToml(): void {
    const [request] = this.#requests(this.#state);
    if (request !== undefined) this.#order({ type: "toml", request: { ...request, kind: "" } });
  }

  #setSpeed(speed: number): void {
    this.#state = { ...this.#state, speed };
    this.#showSpeed(speed);
    void toAddress(this.#state).then((address) => history.replaceState(null, "", `#${address}`));
  }

  #play(playing: boolean): void {
    this.#playing = playing;
    // While it plays the numbers are a moment old.
    if (!playing) this.#step ??= 0;
    byId("play", HTMLButtonElement).textContent = playing ? "Pause" : "Play";
  }

  /** Goes on by the time that a packet takes on the link. */
  #stepOn(): void {
    this.#play(false);
    const bytes = parse(String((this.#infos[0]?.document["flows"] as { packet?: string }[] | undefined)?.[0]?.packet ?? "").replace(/b$/, ""));
    this.#step = (8 * (Number.isFinite(bytes) ? bytes : 1000)) / (this.#infos[0]?.rate_bps ?? 1e6);
  }

  #share(): void {
    const button = byId("share", HTMLButtonElement);
    void toAddress(this.#state).then(async (address) => {
      history.replaceState(null, "", `#${address}`);
      try {
        await navigator.clipboard.writeText(location.href);
        button.textContent = "Copied";
      } catch {
        button.textContent = "It is in the address";
      }
      setTimeout(() => (button.textContent = "Copy link"), 1500);
    });
  }

  #switchTheme(): void {
    const { documentElement: root } = document;
    const dark = root.dataset["theme"] === undefined ? matchMedia("(prefers-color-scheme: dark)").matches : root.dataset["theme"] === "dark";
    root.dataset["theme"] = dark ? "light" : "dark";
    this.#recolour();
  }

  #recolour(): void {
    forget();
    for (const side of this.#sides) side.recolour();
    this.#charts.recolour();
    this.#legend();
  }

  #key(event: KeyboardEvent): void {
    const inField = event.target instanceof HTMLElement && event.target.closest("input, select, textarea, dialog, button, a") !== null;
    if (inField || event.ctrlKey || event.metaKey || event.altKey) return;
    const actions: Readonly<Record<string, () => void>> = {
      " ": () => this.#play(!this.#playing),
      ArrowRight: () => this.#stepOn(),
      "[": () => this.#setSpeed(Math.max(MIN_SPEED, this.#state.speed / 2)),
      "]": () => this.#setSpeed(Math.min(MAX_SPEED, this.#state.speed * 2)),
      r: () => this.#goTo(this.#state),
      t: () => this.#tour.go(1, this.#state),
    };
    const action = actions[event.key];
    if (action === undefined) return;
    event.preventDefault();
    action();
    this.#speed.value = String(notchOf(this.#state.speed));
  }
}

/** Slow motion begins when the queue has filled, after so many seconds. */
const SLOW = 0.2;
const FILLED = 10;
/** The seconds of the visitor's that charts show. */
const WINDOW = 20;

const speedOf = (notch: number): number => MIN_SPEED * (MAX_SPEED / MIN_SPEED) ** (notch / NOTCHES);
const notchOf = (speed: number): number => Math.round((NOTCHES * Math.log(speed / MIN_SPEED)) / Math.log(MAX_SPEED / MIN_SPEED));

new Playground();
