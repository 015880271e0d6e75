// What the page and its workers say to each other. Frames are numbers in typed arrays, which change hands without being copied.

/** What to simulate: a scenario's name or its text in TOML, values after `--set`, and the discipline. */
export interface Request {
  readonly file: string;
  readonly settings: readonly string[];
  readonly kind: string;
}

/** A group of flows. */
export interface Group {
  readonly name: string;
  readonly kind: "tcp" | "udp" | "tfrc";
  readonly transport: string;
  readonly flows: number;
  readonly fair_bps: number;
}

/** A table of the scenario's file. */
export type Values = { readonly [key: string]: unknown };

/** A scenario that runs. */
export interface Info {
  readonly name: string;
  readonly duration_s: number;
  readonly warmup_s: number;
  readonly link: string | null;
  readonly rate_bps: number | null;
  readonly kind: string | null;
  readonly parameters: { readonly [key: string]: string };
  readonly groups: readonly Group[];
  readonly document: Values;
}

/** What does not depend on a scenario. */
export interface Constants {
  readonly kinds: readonly { readonly name: string; readonly summary: string }[];
  readonly reasons: readonly string[];
  readonly scenarios: readonly { readonly name: string; readonly text: string }[];
}

/** From the page to the worker that simulates. */
export type Order =
  | { readonly type: "start"; readonly requests: readonly Request[]; readonly run: number; readonly skip: number }
  | { readonly type: "update"; readonly requests: readonly Request[] }
  | { readonly type: "advance"; readonly seconds: number; readonly interval: number }
  | { readonly type: "toml"; readonly request: Request };

/** The frame and the rows of the series of one side. */
export interface SideFrame {
  readonly numbers: Float64Array;
  readonly rows: Float64Array;
  readonly width: number;
}

/** From the worker that simulates to the page. */
export type Answer =
  | { readonly type: "ready"; readonly constants: Constants }
  | { readonly type: "started"; readonly infos: readonly Info[] }
  | { readonly type: "updated"; readonly infos: readonly Info[]; readonly restart: boolean }
  | { readonly type: "refused"; readonly text: string; readonly line: number }
  | { readonly type: "frames"; readonly sides: readonly SideFrame[]; readonly reached: boolean }
  | { readonly type: "toml"; readonly text: string }
  | { readonly type: "failed"; readonly text: string };

/** From the page to a worker that does several runs. */
export interface BatchOrder {
  readonly request: Request;
  readonly runs: number;
}

/** From that worker to the page. */
export type BatchAnswer =
  | { readonly type: "progress"; readonly done: number }
  | { readonly type: "outcome"; readonly json: string }
  | { readonly type: "refused"; readonly text: string; readonly line: number };
