// The simulator in WebAssembly, as a worker sees it.

import type { Constants, Info, Request } from "./protocol";

/** The functions of crates/web/src/exports.rs. */
interface Exports {
  readonly memory: WebAssembly.Memory;
  fairlane_input(bytes: number): number;
  fairlane_output(): number;
  fairlane_output_len(): number;
  fairlane_numbers(): number;
  fairlane_numbers_len(): number;
  fairlane_error_line(): number;
  fairlane_constants(): void;
  fairlane_create(side: number, run: number): number;
  fairlane_remove(side: number): void;
  fairlane_advance(side: number, untilNs: number): number;
  fairlane_set_interval(side: number, intervalNs: number): void;
  fairlane_update(side: number): number;
  fairlane_frame(side: number): void;
  fairlane_series(side: number): number;
  fairlane_toml(): number;
  fairlane_prepare(): number;
  fairlane_run(): number;
  fairlane_outcome(): void;
}

/** An error of a scenario, with the line that it is about, or 0. */
export class Refusal extends Error {
  constructor(
    message: string,
    readonly line: number,
  ) {
    super(message);
  }
}

/** The simulator. */
export class Engine {
  readonly #exports: Exports;

  private constructor(exports: Exports) {
    this.#exports = exports;
  }

  /** Loads the module, which is next to the page. */
  static async load(): Promise<Engine> {
    const answer = await fetch("fairlane.wasm");
    if (!answer.ok) throw new Error(`fairlane.wasm: ${answer.status} ${answer.statusText}`);
    // Compiled from its bytes: not every file server knows the type of these files.
    return Engine.from(await answer.arrayBuffer());
  }

  /** The simulator in a module's bytes. */
  static async from(bytes: BufferSource): Promise<Engine> {
    const { instance } = await WebAssembly.instantiate(bytes, {});
    return new Engine(instance.exports as unknown as Exports);
  }

  constants(): Constants {
    this.#exports.fairlane_constants();
    return JSON.parse(this.#text()) as Constants;
  }

  /** Starts a side. */
  create(side: number, request: Request, run: number): Info {
    this.#put(request);
    if (this.#exports.fairlane_create(side, run) === 0) throw this.#refusal();
    return JSON.parse(this.#text()) as Info;
  }

  remove(side: number): void {
    this.#exports.fairlane_remove(side);
  }

  /** Changes a side while it runs; nothing if it has to begin again. */
  update(side: number, request: Request): Info | undefined {
    this.#put(request);
    const answer = this.#exports.fairlane_update(side);
    if (answer === 2) throw this.#refusal();
    return answer === 0 ? (JSON.parse(this.#text()) as Info) : undefined;
  }

  /** Goes on for some thousand events; returns true at the time. */
  advance(side: number, seconds: number): boolean {
    return this.#exports.fairlane_advance(side, Math.round(seconds * 1e9)) !== 0;
  }

  setInterval(side: number, seconds: number): void {
    this.#exports.fairlane_set_interval(side, Math.round(seconds * 1e9));
  }

  frame(side: number): Float64Array {
    this.#exports.fairlane_frame(side);
    return this.#numbers();
  }

  series(side: number): { rows: Float64Array; width: number } {
    const width = this.#exports.fairlane_series(side);
    return { rows: this.#numbers(), width };
  }

  /** The scenario as a file. */
  toml(request: Request): string {
    this.#put(request);
    if (this.#exports.fairlane_toml() === 0) throw this.#refusal();
    return this.#text();
  }

  /** Prepares runs of a scenario. */
  prepare(request: Request): void {
    this.#put(request);
    if (this.#exports.fairlane_prepare() === 0) throw this.#refusal();
  }

  /** Does the next run. */
  run(): void {
    if (this.#exports.fairlane_run() === 0) throw this.#refusal();
  }

  /** The outcome of the runs as JSON. */
  outcome(): string {
    this.#exports.fairlane_outcome();
    return this.#text();
  }

  #put(request: Request): void {
    const bytes = new TextEncoder().encode([request.file, request.settings.join("\n"), request.kind].join("\0"));
    const place = this.#exports.fairlane_input(bytes.length);
    new Uint8Array(this.#exports.memory.buffer, place, bytes.length).set(bytes);
  }

  #text(): string {
    const { memory } = this.#exports;
    return new TextDecoder().decode(
      new Uint8Array(memory.buffer, this.#exports.fairlane_output(), this.#exports.fairlane_output_len()),
    );
  }

  #numbers(): Float64Array {
    const { memory } = this.#exports;
    return new Float64Array(
      memory.buffer,
      this.#exports.fairlane_numbers(),
      this.#exports.fairlane_numbers_len(),
    ).slice();
  }

  #refusal(): Refusal {
    return new Refusal(this.#text(), this.#exports.fairlane_error_line());
  }
}
