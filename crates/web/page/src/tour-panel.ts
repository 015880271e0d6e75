// The panel of the guided tour.

import { element } from "../../../report/web/src/dom";
import { byId } from "./dialogs";
import { presetOf } from "./presets";
import type { State } from "./state";
import { STEPS } from "./tour";

export class Tour {
  readonly #panel = byId("tour", HTMLElement);
  readonly #go: (state: State, step: number) => void;
  #state: State | undefined;
  step = 0;

  /** `go` is told of the state of another step; step 0 leaves the tour. */
  constructor(go: (state: State, step: number) => void) {
    this.#go = go;
    byId("tour-back", HTMLButtonElement).addEventListener("click", () => this.#turn(this.step - 1));
    byId("tour-next", HTMLButtonElement).addEventListener("click", () => this.#turn(this.step + 1));
    byId("tour-close", HTMLButtonElement).addEventListener("click", () => this.#turn(0));
  }

  /** Goes to a step from what is shown. */
  go(step: number, state: State): void {
    this.#state = state;
    this.#turn(step);
  }

  #turn(step: number): void {
    const of = STEPS[step - 1];
    const preset = presetOf(of?.preset ?? "");
    if (of === undefined || preset === undefined) {
      this.show(0);
      const { preset: id = "", file = "" } = this.#state ?? {};
      const last = presetOf(id);
      this.#go({ file: last?.file ?? file, preset: id, settings: new Map(Object.entries(last?.settings ?? {})), kinds: last?.kinds ?? this.#state?.kinds ?? [], speed: 1, step: 0 }, 0);
      return;
    }
    const state: State = {
      file: preset.file,
      preset: preset.id,
      settings: new Map(Object.entries({ ...preset.settings, ...of.settings })),
      kinds: of.kinds,
      speed: of.speed,
      step,
    };
    this.#state = state;
    this.#go(state, step);
  }

  /** Shows the text of a step, or nothing for 0. */
  show(step: number): void {
    const before = this.step;
    this.step = step;
    const of = STEPS[step - 1];
    this.#panel.hidden = of === undefined;
    if (of === undefined) return;
    byId("tour-count", HTMLParagraphElement).textContent = `Step ${step} of ${STEPS.length}`;
    byId("tour-title", HTMLHeadingElement).textContent = of.title;
    byId("tour-text", HTMLDivElement).replaceChildren(...of.text.map((text) => element("p", "", text)));
    const source = byId("tour-source", HTMLAnchorElement);
    [source.textContent, source.href] = [of.source.text, of.source.url];
    byId("tour-back", HTMLButtonElement).disabled = step === 1;
    byId("tour-next", HTMLButtonElement).textContent = step === STEPS.length ? "Finish" : "Next";
    // A reader of the screen hears the new step; an address that opens one keeps the page's begin in view.
    if (before > 0) byId("tour-title", HTMLHeadingElement).focus({ preventScroll: true });
  }
}
