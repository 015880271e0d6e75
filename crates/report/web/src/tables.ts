// Tables of numbers, and CSV.

import { element, fileName, save } from "./dom";
import type { Chart, Data, Field } from "./data";
import { significant } from "./format";

/** A field of CSV (RFC 4180). */
function quoted(cell: string): string {
  return /[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
}

/** Rows as CSV (RFC 4180). */
export function csv(rows: readonly (readonly string[])[]): string {
  return rows.map((row) => `${row.map(quoted).join(",")}\r\n`).join("");
}

/** Saves rows as CSV. */
export function saveCsv(title: string, rows: readonly (readonly string[])[]): void {
  save(new Blob([csv(rows)], { type: "text/csv;charset=utf-8" }), fileName(title, "csv"));
}

function plain(cell: string | number | null | undefined): string {
  return cell === null || cell === undefined ? "" : String(cell);
}

/** A table's titles and rows. */
export function rowsOf(fields: readonly Field[]): string[][] {
  const length = Math.max(0, ...fields.map((field) => field.cells.length));
  const rows = Array.from({ length }, (_, row) => fields.map((field) => plain(field.cells[row])));
  return [fields.map((field) => field.title), ...rows];
}

/** The rows of a table of the page, with all digits. */
export function rowsOfTable(table: HTMLTableElement): string[][] {
  const text = (cell: HTMLTableCellElement): string => {
    const value = cell.querySelector("data");
    if (value) return value.value;
    const words = cell.cloneNode(true) as HTMLElement;
    words.querySelectorAll("[aria-hidden]").forEach((sign) => sign.remove());
    return words.textContent ?? "";
  };
  return [...table.rows].map((row) => [...row.cells].filter((cell) => !cell.hasAttribute("data-drawn")).map(text));
}

/** The numbers of a chart. Lines over the same places are columns, others follow each other as rows. */
export function fieldsOf(chart: Chart, data: Data): Field[] {
  const { lines } = chart;
  const across = chart.x.label || "x";
  const [first] = lines;
  if (!first) return [];
  const intervals = (name: string): string => `${name} ± 95 %`;
  if (lines.every((line) => line.x === first.x)) {
    const values = lines.flatMap((line) => {
      const of = { title: line.name, cells: data.column(line.y) };
      return line.e === undefined ? [of] : [of, { title: intervals(line.name), cells: data.column(line.e) }];
    });
    return [{ title: across, cells: data.column(first.x) }, ...values];
  }
  const up = chart.y.label || "y";
  const each = <T>(of: (line: (typeof lines)[number]) => readonly T[]): T[] => lines.flatMap((line) => [...of(line)]);
  const fields: Field[] = [
    { title: "line", cells: each((line) => data.column(line.x).map(() => line.name)) },
    { title: across, cells: each((line) => data.column(line.x)) },
    { title: up, cells: each((line) => data.column(line.y)) },
  ];
  if (lines.some((line) => line.e !== undefined)) {
    const halves = each((line) => (line.e === undefined ? data.column(line.x).map(() => null) : data.column(line.e)));
    fields.push({ title: intervals(up), cells: halves });
  }
  return fields;
}

/** A table in a box of its own, which scrolls when the page is too narrow. */
export function table(label: string, fields: readonly Field[]): HTMLElement {
  const numeric = fields.map((field) => field.cells.some((cell) => typeof cell === "number"));
  const titles = fields.map((field, column) => {
    const cell = element("th", numeric[column] ? "number" : "", field.title);
    cell.scope = "col";
    return cell;
  });
  const body = element("tbody", "");
  const length = Math.max(0, ...fields.map((field) => field.cells.length));
  for (let row = 0; row < length; row += 1) {
    const cells = fields.map((field, column) => {
      const value = field.cells[row];
      if (typeof value !== "number") return element("td", numeric[column] ? "number" : "", plain(value));
      const shown = element("data", "", significant(value));
      shown.value = String(value);
      return element("td", "number", shown);
    });
    body.append(element("tr", "", ...cells));
  }
  const box = element("div", "scroll", element("table", "", element("thead", "", element("tr", "", ...titles)), body));
  box.setAttribute("role", "region");
  box.setAttribute("aria-label", label);
  box.tabIndex = 0;
  return box;
}
