// The figures of a page: each is drawn when it comes into view, and before the page is printed.

import { bins, sizeFor } from "./bins";
import type { Chart, Column, Data, Figure } from "./data";
import { button, element, fileName, save } from "./dom";
import { quantity, unit } from "./format";
import { LineChart, reach } from "./lines";
import { Link } from "./link";
import { COLOURS, paint, palette } from "./palette";
import { planesOf, ScatterPlot } from "./scatter";
import { fieldsOf, rowsOf, saveCsv, table } from "./tables";

/** What is drawn, and follows the colours and the width of the page. */
interface Plot {
  redraw(): void;
  resize?(): void;
}

const HEIGHT = 320;
const PANEL = 190;
const CELL = 132;
/** The length of a line among the names of a picture. */
const SWATCH = 28;
/** Charts are drawn this far before they come into view. */
const AHEAD = "800px";

/** All plots that are drawn, and those that wait. */
class Stage {
  readonly plots = new Set<Plot>();
  readonly #waiting = new Map<Element, () => void>();
  readonly #observer = new IntersectionObserver(
    (entries) => {
      for (const entry of entries) if (entry.isIntersecting) this.#raise(entry.target);
    },
    { rootMargin: AHEAD },
  );

  /** Calls `draw` when `host` comes near the window. */
  wait(host: Element, draw: () => void): void {
    this.#waiting.set(host, draw);
    this.#observer.observe(host);
  }

  /** Draws what is still waiting. */
  all(): void {
    for (const host of [...this.#waiting.keys()]) this.#raise(host);
  }

  #raise(host: Element): void {
    const draw = this.#waiting.get(host);
    this.#waiting.delete(host);
    this.#observer.unobserve(host);
    draw?.();
  }
}

export const stage = new Stage();

/** Saves a canvas with a title on the colour of the page. */
function picture(title: string, names: readonly { name: string; colour: string; dashes: number[] }[], canvas: HTMLCanvasElement): void {
  const ratio = canvas.width / Math.max(1, canvas.clientWidth);
  const whole = document.createElement("canvas");
  const [edge, line] = [16 * ratio, 22 * ratio];
  const head = edge + line * (names.length > 0 ? 2.2 : 1.4);
  whole.width = canvas.width + 2 * edge;
  whole.height = canvas.height + head + edge;
  const context = whole.getContext("2d");
  if (!context) return;
  context.fillStyle = palette().page;
  context.fillRect(0, 0, whole.width, whole.height);
  context.fillStyle = palette().text;
  context.textBaseline = "top";
  context.font = `600 ${16 * ratio}px system-ui, sans-serif`;
  context.fillText(title, edge, edge);
  context.font = `${13 * ratio}px system-ui, sans-serif`;
  let left = edge;
  for (const { name, colour, dashes } of names) {
    context.strokeStyle = colour;
    context.lineWidth = 3 * ratio;
    context.setLineDash(dashes.map((length) => length * ratio));
    context.beginPath();
    context.moveTo(left, edge + line * 1.6);
    context.lineTo(left + SWATCH * ratio, edge + line * 1.6);
    context.stroke();
    context.fillText(name, left + (SWATCH + 5) * ratio, edge + line * 1.25);
    left += context.measureText(name).width + (SWATCH + 24) * ratio;
  }
  context.drawImage(canvas, edge, head);
  whole.toBlob((blob) => blob && save(blob, fileName(title, "png")));
}

/** The buttons of a figure: its data as a table and as CSV, and its picture. */
function tools(figure: HTMLElement, title: string, fields: () => ReturnType<typeof fieldsOf>, draw: (() => void) | null): void {
  const about = `of ${title}`;
  let box: HTMLElement | undefined;
  const toggle = button("Table", about, () => {
    if (box) {
      box.remove();
      box = undefined;
    } else {
      box = element("div", "data", table(`Data ${about}`, fields()));
      figure.append(box);
    }
    toggle.setAttribute("aria-expanded", String(box !== undefined));
  });
  toggle.setAttribute("aria-expanded", "false");
  const row = element("div", "tools", toggle, button("CSV", about, () => saveCsv(title, rowsOf(fields()))));
  if (draw) row.append(button("PNG", about, draw));
  const head = figure.querySelector(":scope > figcaption, :scope > p");
  if (head) head.after(row);
  else figure.prepend(row);
}

/** What the vertical axis shows, as far as the title does not say it. */
function about(chart: Chart): string {
  const label = chart.y.label;
  return chart.title.toLowerCase().startsWith(quantity(label).toLowerCase()) && unit(label) !== "" ? unit(label) : label;
}

/** The caption of a chart among others: its title and its unit. */
function caption(chart: Chart): HTMLElement {
  return element("figcaption", "", element("strong", "", chart.title), element("span", "unit", about(chart)));
}

/** The end of the vertical axis that charts next to each other share, if they show the same quantity. */
function common(chart: Chart, siblings: readonly Chart[], data: Data, slots?: ReadonlyMap<number, number>): { top?: number } {
  const same = siblings.filter((sibling) => sibling.y.label === chart.y.label && !sibling.y.log);
  return chart.y.label === "" || same.length < 2 ? {} : { top: Math.max(...same.map((sibling) => reach(sibling, data, slots))) };
}

/** The charts in the same row as a figure. */
function siblingsOf(figure: HTMLElement, data: Data): Chart[] {
  const row = figure.closest(".figures")?.querySelectorAll<HTMLElement>(":scope > [data-figure]") ?? [];
  return [...row].flatMap((place) => {
    const other = data.figures[Number(place.dataset["figure"])];
    return other?.kind === "chart" ? [other.chart] : [];
  });
}

function drawChart(figure: HTMLElement, chart: Chart, data: Data): void {
  const host = element("div", "plot tall");
  figure.querySelector("figcaption strong")?.after(element("span", "unit", about(chart)));
  figure.append(host);
  let plot: LineChart | undefined;
  stage.wait(host, () => {
    const look = { height: HEIGHT, small: false, joined: false, ...common(chart, siblingsOf(figure, data), data) };
    plot = new LineChart(host, chart, data, look, new Link());
    stage.plots.add(plot);
  });
  tools(figure, chart.title, () => fieldsOf(chart, data), () => plot && picture(chart.title, plot.names, plot.canvas));
}

/** Buttons that choose which keys are drawn. */
function chooser(keys: readonly string[], slots: Map<number, number>, changed: () => void): HTMLElement {
  const box = element("div", "chips");
  box.setAttribute("role", "group");
  box.setAttribute("aria-label", `Lines that are drawn, at most ${COLOURS}`);
  const chips = keys.map((name, key) => {
    const swatch = element("i", "swatch");
    const chip = element("button", "chip", swatch, name);
    chip.type = "button";
    chip.addEventListener("click", () => {
      if (slots.has(key)) {
        if (slots.size === 1) return;
        slots.delete(key);
      } else {
        // With all colours in use the one that was chosen first makes room.
        if (slots.size >= COLOURS) slots.delete([...slots.keys()][0] ?? -1);
        const used = new Set(slots.values());
        slots.set(key, [...Array(COLOURS).keys()].find((slot) => !used.has(slot)) ?? 0);
      }
      show();
      changed();
    });
    return { chip, swatch };
  });
  const show = (): void => {
    chips.forEach(({ chip, swatch }, key) => {
      const slot = slots.get(key);
      chip.setAttribute("aria-pressed", String(slot !== undefined));
      swatch.hidden = slot === undefined;
      paint(swatch, slot ?? 0, false);
    });
  };
  show();
  box.append(...chips.map(({ chip }) => chip));
  stage.plots.add({ redraw: show });
  return box;
}

function drawStack(figure: HTMLElement, keys: readonly string[], panels: readonly Chart[], data: Data): void {
  const link = new Link();
  const slots = new Map(keys.slice(0, COLOURS).map((_, key) => [key, key]));
  const drawn = new Map<number, LineChart>();
  const hosts: HTMLElement[] = [];
  const draw = (index: number): void => {
    const [host, chart] = [hosts[index], panels[index]];
    if (!host || !chart) return;
    const old = drawn.get(index);
    if (old) {
      stage.plots.delete(old);
      old.destroy();
    }
    const size = { height: panels.length === 1 ? HEIGHT : PANEL, small: false, joined: index + 1 < panels.length };
    const plot = new LineChart(host, chart, data, { ...size, slots, ...common(chart, panels, data, slots) }, link);
    drawn.set(index, plot);
    stage.plots.add(plot);
  };
  const reset = button("Show all", "", () => link.zoom(null));
  reset.className = "reset";
  reset.disabled = true;
  link.onZoom((range) => {
    reset.disabled = range === null;
  });
  const controls = element("div", "controls");
  if (keys.length > 1) controls.append(chooser(keys, slots, () => drawn.forEach((_, index) => draw(index))));
  controls.append(reset);
  figure.append(controls);
  panels.forEach((chart, index) => {
    const host = element("div", "plot panel");
    hosts.push(host);
    const alone = panels.length === 1;
    const part = element("figure", "part", alone ? element("figcaption", "", element("span", "unit", chart.y.label)) : caption(chart), host);
    figure.append(part);
    stage.wait(host, () => draw(index));
    tools(part, chart.title, () => fieldsOf(chart, data), () => {
      const plot = drawn.get(index);
      if (plot) picture(chart.title, plot.names, plot.canvas);
    });
  });
}

function drawGrid(figure: HTMLElement, cells: readonly Chart[], data: Data): void {
  const link = new Link();
  const seen = (column: Column): Column => bins(column, sizeFor(column.length, 50)).means;
  const values = cells.flatMap((cell) => cell.lines.flatMap((line) => seen(data.column(line.y))));
  const top = values.reduce<number>((most, value) => Math.max(most, value ?? 0), 0);
  const names = new Map(cells.flatMap((cell) => cell.lines.map((line, index) => [line.name, index] as const)));
  const legend = element("p", "legend");
  const swatches = [...names].map(([name, index]) => ({ swatch: element("i", "swatch"), name, index }));
  const colour = (): void => swatches.forEach(({ swatch, index }) => paint(swatch, index, true));
  colour();
  legend.append(...swatches.map(({ swatch, name }) => element("span", "", swatch, name)));
  stage.plots.add({ redraw: colour });
  const grid = element("div", "cells");
  for (const cell of cells) {
    const host = element("div", "plot cell");
    grid.append(element("figure", "part", element("figcaption", "", element("strong", "", cell.title)), host));
    stage.wait(host, () => stage.plots.add(new LineChart(host, cell, data, { height: CELL, small: true, joined: true, top }, link)));
  }
  figure.append(legend, grid);
  const title = figure.querySelector("figcaption strong")?.textContent ?? "Data";
  const fields = (): ReturnType<typeof fieldsOf> =>
    cells.flatMap((cell, index) => fieldsOf(cell, data).slice(index === 0 ? 0 : 1).map((field, place) => ({
      ...field,
      title: index === 0 && place === 0 ? field.title : `${cell.title} ${field.title}`,
    })));
  tools(figure, title, fields, null);
}

function drawScatter(figure: HTMLElement, of: Extract<Figure, { kind: "scatter" }>): void {
  const planes = planesOf(of.x, of.panels);
  const plots: ScatterPlot[] = [];
  const choose = (name: string | null): void => plots.forEach((plot) => plot.show(name));
  const grid = element("div", "panels");
  figure.append(grid);
  for (const [index, panel] of of.panels.entries()) {
    const plane = planes[index];
    if (!plane) continue;
    const host = element("div", "plot tall");
    const head = element("figcaption", "", element("strong", "", panel.title), element("span", "unit", unit(panel.y.label)));
    grid.append(element("figure", "part", head, host));
    stage.wait(host, () => {
      const plot = new ScatterPlot(host, panel.title, panel.y, panel.places, plane, choose);
      plots.push(plot);
      stage.plots.add(plot);
    });
  }
  const [first] = of.panels;
  const title = figure.querySelector("figcaption strong")?.textContent ?? "Data";
  const each = (field: "x" | "ex"): number[] => first?.places.map((place) => place[field]) ?? [];
  tools(figure, title, () => [
    { title: "name", cells: first?.places.map((place) => place.name) ?? [] },
    { title: of.x.label, cells: each("x") },
    { title: `${of.x.label} ± 95 %`, cells: each("ex") },
    ...of.panels.flatMap((panel) => [
      { title: `${panel.title}: ${panel.y.label}`, cells: panel.places.map((place) => place.y) },
      { title: `${panel.title}: ± 95 %`, cells: panel.places.map((place) => place.ey) },
    ]),
  ], null);
}

/** Draws a figure at its place in the page. */
export function draw(place: HTMLElement, figure: Figure, data: Data): void {
  switch (figure.kind) {
    case "chart":
      return drawChart(place, figure.chart, data);
    case "stack":
      return drawStack(place, figure.keys, figure.panels, data);
    case "grid":
      return drawGrid(place, figure.cells, data);
    case "scatter":
      return drawScatter(place, figure);
    case "records":
      return tools(place, figure.label, () => [...figure.fields], null);
    case "file": {
      const { label, text } = figure;
      const action = (): void => save(new Blob([text], { type: "text/csv;charset=utf-8" }), fileName(label, "csv"));
      place.append(button(`${label} as CSV`, "", action));
    }
  }
}
