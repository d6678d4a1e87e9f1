// A table that sorts by any column, filters by text, and selects rows; all of it by keyboard, too.
import { h } from "./dom";

export interface Column<T> {
  name: string;
  help?: string;
  value: (row: T) => number | string | null;
  show?: (row: T) => Node | string; // default: the value
}

export function sortableTable<T>(label: string, columns: Column<T>[], rows: T[], options: {
  select?: (row: T) => void;
  filter?: boolean;
} = {}): HTMLElement {
  let sorted: { column: number; down: boolean } | null = null;
  let wanted = "";
  let selected: T | null = null;
  const body = h("tbody");
  const numeric = columns.map((column) => rows.some((row) => typeof column.value(row) === "number"));
  const heads = columns.map((column, i) =>
    h("th", { scope: "col", title: column.help, class: numeric[i] && i > 0 ? "number" : undefined },
      h("button", { type: "button", click: () => {
        sorted = { column: i, down: sorted?.column === i ? !sorted.down : true };
        draw();
      } }, column.name)));

  function draw(): void {
    const order = rows.filter((row) =>
      wanted === "" || columns.some((column) => String(column.value(row) ?? "").toLowerCase().includes(wanted)));
    if (sorted !== null) {
      const { column, down } = sorted;
      const key = (row: T) => columns[column]?.value(row) ?? -Infinity;
      order.sort((a, b) => {
        const x = key(a), y = key(b);
        const less = typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y));
        return down ? -less : less;
      });
    }
    heads.forEach((head, i) =>
      head.setAttribute("aria-sort", sorted?.column === i ? (sorted.down ? "descending" : "ascending") : "none"));
    body.replaceChildren(...order.map((row) => {
      const cells = columns.map((column, i) => {
        const shown = column.show?.(row) ?? String(column.value(row) ?? "–");
        const content = i === 0 && options.select
          ? h("button", { type: "button", class: "link" }, shown)
          : shown;
        return i === 0 ? h("th", { scope: "row" }, content) : h("td", { class: numeric[i] ? "number" : undefined }, content);
      });
      const line = h("tr", { class: row === selected ? "selected" : undefined }, ...cells);
      if (options.select) {
        line.addEventListener("click", () => {
          selected = row;
          draw();
          options.select?.(row);
        });
      }
      return line;
    }));
  }

  draw();
  const filter = options.filter
    ? h("label", { class: "filter" }, "Filter ", h("input", { type: "search", input: (event) => {
        wanted = (event.target as HTMLInputElement).value.toLowerCase();
        draw();
      } }))
    : null;
  return h("div", {}, filter,
    h("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": label },
      h("table", { "aria-label": label }, h("thead", {}, h("tr", {}, ...heads)), body)));
}
