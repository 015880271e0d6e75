// The script of a page: draws its figures from its data. Without it the page has its tables and the picture of the answer.

import "uplot/dist/uPlot.min.css";
import { Data } from "./data";
import { button, element } from "./dom";
import { draw, stage } from "./figures";
import { forget } from "./palette";
import { rowsOfTable, saveCsv } from "./tables";

/** Draws everything in the present colours and at the present width. */
function redraw(): void {
  forget();
  for (const plot of stage.plots) {
    plot.resize?.();
    plot.redraw();
  }
}

/** The button that chooses light or dark; at first the page follows the system. */
function themes(nav: Element | null): void {
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = (): boolean => (root.dataset["theme"] ?? (dark.matches ? "dark" : "light")) === "dark";
  const toggle = button("", "", () => {
    root.dataset["theme"] = isDark() ? "light" : "dark";
    changed();
  });
  const changed = (): void => {
    toggle.textContent = isDark() ? "Light" : "Dark";
    redraw();
  };
  toggle.className = "theme";
  toggle.title = "Change between light and dark";
  dark.addEventListener("change", changed);
  nav?.append(toggle);
  changed();
}

/** Paper is light, and has every figure in its width: the style sheet gives the page the width of a sheet while it is printed. */
function prints(): void {
  const root = document.documentElement;
  let theme: string | undefined;
  let printing = false;
  const before = (): void => {
    if (printing) return;
    printing = true;
    theme = root.dataset["theme"];
    root.dataset["theme"] = "light";
    root.classList.add("printing");
    stage.all();
    redraw();
  };
  const after = (): void => {
    if (!printing) return;
    printing = false;
    if (theme === undefined) delete root.dataset["theme"];
    else root.dataset["theme"] = theme;
    root.classList.remove("printing");
    redraw();
  };
  addEventListener("beforeprint", before);
  addEventListener("afterprint", after);
  matchMedia("print").addEventListener("change", (event) => (event.matches ? before() : after()));
}

/** The anchor in the address; one that is no encoded text names nothing on the page, and stays as it is. */
function anchor(): string {
  const text = location.hash.slice(1);
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Unfolds what the address names, and on request all; paper has all unfolded. */
function folds(): void {
  const all = [...document.querySelectorAll<HTMLDetailsElement>(".fold")];
  const [first] = all;
  if (!first) return;
  const show = (): void => {
    const place = document.getElementById(anchor());
    const fold = place?.closest<HTMLDetailsElement>(".fold") ?? place?.querySelector<HTMLDetailsElement>(":scope > .fold");
    if (!place || !fold) return;
    fold.open = true;
    place.scrollIntoView();
  };
  const toggle = button("Unfold all", "", () => {
    const open = all.some((fold) => !fold.open);
    for (const fold of all) fold.open = open;
    toggle.textContent = open ? "Fold all" : "Unfold all";
  });
  first.parentElement?.before(element("p", "", toggle));
  addEventListener("hashchange", show);
  // A link to the section that the address names already changes nothing in it.
  document.addEventListener("click", (event) => {
    if ((event.target as Element).closest("a[href^='#']")) setTimeout(show);
  });
  let opened: HTMLDetailsElement[] = [];
  addEventListener("beforeprint", () => {
    opened = all.filter((fold) => !fold.open);
    for (const fold of opened) fold.open = true;
  });
  addEventListener("afterprint", () => {
    for (const fold of opened) fold.open = false;
  });
  show();
}

/** Saves tables of the page. */
function downloads(): void {
  for (const place of document.querySelectorAll<HTMLElement>("[data-csv]")) {
    const title = place.dataset["csv"] ?? "";
    const table = place.previousElementSibling?.querySelector("table");
    if (table) place.append(button("CSV", `of ${title}`, () => saveCsv(title, rowsOfTable(table))));
  }
}

function start(): void {
  const data = new Data(document.getElementById("data")?.textContent ?? "{}");
  for (const words of document.querySelectorAll(".without")) words.remove();
  for (const place of document.querySelectorAll<HTMLElement>("[data-figure]")) {
    const figure = data.figures[Number(place.dataset["figure"])];
    if (figure) draw(place, figure, data);
  }
  downloads();
  // Before the charts are drawn for paper.
  folds();
  themes(document.querySelector("nav"));
  prints();
}

start();
