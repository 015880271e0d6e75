// The scenario as TOML, the command line, and many runs with intervals.

import { element, save } from "../../../report/web/src/dom";
import type { BatchAnswer, BatchOrder, Request } from "./protocol";
import { command } from "./sources";
import { isText, type State } from "./state";
import { percent, rate, time } from "./units";

/** The element with this id, of this kind. */
export function byId<T extends HTMLElement>(id: string, kind: new () => T): T {
  const found = document.getElementById(id);
  if (!(found instanceof kind)) throw new Error(`the page has no ${id}`);
  return found;
}

const RUNS = 30;

/** The values of a record of an outcome: means, and under `…_ci95` their intervals. */
type Means = Readonly<Record<string, number | null | undefined>>;

/** The parts of an outcome that are shown. */
interface Outcome {
  readonly queues: readonly { readonly delay_s: Means | null }[];
  readonly groups: readonly ({ readonly name: string } & Means)[];
}

/** A mean with its interval. */
function within(means: Means, key: string, form: (value: number) => string): string {
  const [mean, interval] = [means[key], means[`${key}_ci95`]];
  if (typeof mean !== "number") return "–";
  return typeof interval === "number" ? `${form(mean)} ± ${form(interval)}` : form(mean);
}

export class Dialogs {
  readonly #toml = byId("toml", HTMLDialogElement);
  readonly #text = byId("toml-text", HTMLTextAreaElement);
  readonly #lines = byId("toml-lines", HTMLPreElement);
  readonly #error = byId("toml-error", HTMLParagraphElement);
  readonly #runs = byId("runs", HTMLDialogElement);
  #workers: Worker[] = [];
  #outcomes: (string | undefined)[] = [];
  #wrong = 0;

  /** `run` is called with a text that the page is to go on with. */
  constructor(run: (toml: string) => void) {
    for (const dialog of document.querySelectorAll("dialog")) {
      dialog.querySelector(".close")?.addEventListener("click", () => dialog.close());
    }
    byId("toml-run", HTMLButtonElement).addEventListener("click", () => run(this.#text.value));
    byId("toml-save", HTMLButtonElement).addEventListener("click", () =>
      save(new Blob([this.#text.value], { type: "application/toml" }), "mine.toml"),
    );
    this.#text.addEventListener("input", () => this.#mark(0));
    this.#text.addEventListener("scroll", () => (this.#lines.scrollTop = this.#text.scrollTop));
    this.#runs.addEventListener("close", () => this.#stop());
    byId("command-copy", HTMLButtonElement).addEventListener("click", () => {
      void navigator.clipboard?.writeText(byId("command-text", HTMLPreElement).textContent ?? "");
    });
    byId("runs-save", HTMLButtonElement).addEventListener("click", () =>
      save(new Blob([`{"outcomes": [\n${this.#outcomes.join(",\n")}\n]}\n`], { type: "application/json" }), "outcomes.json"),
    );
  }

  get editing(): boolean {
    return this.#toml.open;
  }

  openToml(text: string): void {
    this.#text.value = text;
    this.#error.hidden = true;
    this.#mark(0);
    // A field is entered at the end of its text otherwise.
    this.#text.setSelectionRange(0, 0);
    this.#toml.showModal();
    this.#text.scrollTop = 0;
  }

  /** Shows the error of the text at its line. */
  refuse(text: string, line: number): void {
    this.#error.textContent = text;
    this.#error.hidden = false;
    this.#mark(line);
    if (line === 0) return;
    const begin = this.#text.value.split("\n").slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
    const end = this.#text.value.indexOf("\n", begin);
    this.#text.focus();
    this.#text.setSelectionRange(begin, end < 0 ? this.#text.value.length : end);
  }

  closeToml(): void {
    this.#toml.close();
  }

  /** Numbers the lines and marks the one that is wrong, if there is one. */
  #mark(wrong: number): void {
    const count = this.#text.value.split("\n").length;
    if (this.#lines.childElementCount === count && this.#wrong === wrong) return;
    this.#wrong = wrong;
    const line = (index: number): HTMLElement => element("span", index + 1 === wrong ? "wrong" : "", `${index + 1}\n`);
    this.#lines.replaceChildren(...Array.from({ length: count }, (_, index) => line(index)));
    this.#lines.scrollTop = this.#text.scrollTop;
  }

  openCommand(state: State): void {
    const own = isText(state.file);
    byId("command-file", HTMLParagraphElement).textContent = own
      ? "Save the scenario as mine.toml (“As TOML”, “Save as a file”), then:"
      : `The scenario ${state.file} is built in.`;
    // A line ends between words, not after the hyphens of an option.
    const words = command(state, 1).split(" ").flatMap((word, index) => [...(index > 0 ? [" "] : []), element("span", "word", word)]);
    byId("command-text", HTMLPreElement).replaceChildren(...words);
    byId("command", HTMLDialogElement).showModal();
  }

  /** Does the runs, each discipline in a separate worker, and shows their outcomes. */
  openRuns(state: State, requests: readonly Request[]): void {
    byId("runs-about", HTMLParagraphElement).textContent =
      `Each discipline runs ${RUNS} times with other random numbers, for the whole duration of the scenario. The values are means with their 95 % intervals: those of ${command(state, RUNS)}`;
    const progress = byId("runs-progress", HTMLProgressElement);
    const table = byId("runs-table", HTMLDivElement);
    byId("runs-save", HTMLButtonElement).disabled = true;
    table.replaceChildren();
    progress.value = 0;
    this.#stop();
    this.#outcomes = requests.map(() => undefined);
    const done = requests.map(() => 0);
    this.#workers = requests.map((request, side) => {
      const worker = new Worker("batch.js", { type: "module" });
      worker.addEventListener("message", ({ data }: MessageEvent<BatchAnswer>) => {
        if (data.type === "progress") {
          done[side] = data.done;
          progress.value = done.reduce((sum, runs) => sum + runs, 0) / (RUNS * requests.length);
          return;
        }
        worker.terminate();
        if (data.type === "refused") {
          table.append(element("p", "error", data.text));
          return;
        }
        this.#outcomes[side] = data.json;
        if (this.#outcomes.every((outcome) => outcome !== undefined)) this.#show(table, requests);
      });
      worker.postMessage({ request, runs: RUNS } satisfies BatchOrder);
      return worker;
    });
    this.#runs.showModal();
  }

  #show(host: HTMLElement, requests: readonly Request[]): void {
    byId("runs-save", HTMLButtonElement).disabled = false;
    const rows = this.#outcomes.flatMap((json, side) => {
      const outcome = JSON.parse(json ?? "") as Outcome;
      const wait = outcome.queues[0]?.delay_s;
      return outcome.groups.map((group, number) =>
        element(
          "tr",
          "",
          number === 0 ? element("th", "", requests[side]?.kind ?? "") : element("td", "", ""),
          element("td", "", group.name),
          ...["share", "fair_share"].map((key) => element("td", "number", within(group, key, percent))),
          element("td", "number", within(group, "throughput_bps", rate)),
          element("td", "number", within(group, "drop_ratio", percent)),
          element("td", "number", number === 0 && wait ? within(wait, "mean", time) : ""),
        ),
      );
    });
    const heads = ["Queue", "Flows", "Share", "Fair", "Rate", "Dropped", "Wait"].map((text) => element("th", "", text));
    host.replaceChildren(element("table", "", element("thead", "", element("tr", "", ...heads)), element("tbody", "", ...rows)));
    host.tabIndex = 0;
  }

  #stop(): void {
    for (const worker of this.#workers) worker.terminate();
    this.#workers = [];
  }
}
