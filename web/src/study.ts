// A study: many mappings as one run, unit by unit.
import { chart, type Row } from "./chart";
import { h, picture, s } from "./dom";
import type { StudyRun, StudyUnit } from "./data";
import { energy, percent, short, ticks, whole } from "./format";
import { colourAt } from "./palette";
import { sortableTable, type Column } from "./table";
import { head, type Summary } from "./verdict";

type Done = StudyUnit & { cycles: number; energy_pj: number };

function isDone(unit: StudyUnit): unit is Done {
  return typeof unit.cycles === "number" && typeof unit.energy_pj === "number" && unit.cycles > 0 && unit.energy_pj > 0;
}

function nameOf(unit: StudyUnit): string {
  return [unit.network, unit.layer ?? "", unit.accelerator, unit.objective, unit.method, `seed ${unit.seed}`].filter((word) => word).join(", ");
}

// Cycles against energy of every unit, both logarithmic; colours are machines.
function scatter(units: Done[]): HTMLElement {
  const width = 760, height = 340, left = 76, bottom = 44, top = 26, right = 40;
  const machines = [...new Set(units.map((unit) => unit.accelerator))];
  const range = (values: number[]): [number, number] => [Math.floor(Math.log10(Math.min(...values))), Math.ceil(Math.log10(Math.max(...values)) + 1e-9)];
  const [x0, x1] = range(units.map((unit) => unit.cycles)), [y0, y1] = range(units.map((unit) => unit.energy_pj));
  const px = (x: number) => left + ((Math.log10(x) - x0) / Math.max(x1 - x0, 1)) * (width - left - right);
  const py = (y: number) => height - bottom - ((Math.log10(y) - y0) / Math.max(y1 - y0, 1)) * (height - top - bottom);
  const svg = picture(width, height, "Cycles and energy of all units");
  for (let e = x0; e <= x1; ++e) {
    svg.append(s("line", { x1: px(10 ** e), x2: px(10 ** e), y1: top, y2: height - bottom, class: "grid" }),
      s("text", { x: px(10 ** e), y: height - bottom + 16, "text-anchor": "middle" }, ticks([10 ** e])[0] ?? ""));
  }
  for (let e = y0; e <= y1; ++e) {
    svg.append(s("line", { x1: left, x2: width - right, y1: py(10 ** e), y2: py(10 ** e), class: "grid" }),
      s("text", { x: left - 6, y: py(10 ** e) + 4, "text-anchor": "end" }, energy(10 ** e)));
  }
  svg.append(s("text", { x: (left + width) / 2, y: height - 8, "text-anchor": "middle" }, "cycles"), s("text", { x: 4, y: 14 }, "energy"));
  for (const unit of units) {
    svg.append(s("g", {}, s("title", {}, `${nameOf(unit)}: ${whole(unit.cycles)} cycles, ${energy(unit.energy_pj)}`),
      s("circle", { cx: px(unit.cycles), cy: py(unit.energy_pj), r: 4, fill: colourAt(machines.indexOf(unit.accelerator)), opacity: 0.8 })));
  }
  const legend = h("div", { class: "legend" }, ...machines.map((name, i) => h("span", {},
    s("svg", { width: 12, height: 12, "aria-hidden": "true" }, s("rect", { width: 12, height: 12, fill: colourAt(i) })), ` ${name}`)));
  const rows: Row[] = [["unit", "network", "layer", "accelerator", "objective", "method", "seed", "cycles", "energy_pj"],
    ...units.map((unit): Row => [unit.unit, unit.network, unit.layer, unit.accelerator, unit.objective, unit.method, unit.seed, unit.cycles, unit.energy_pj])];
  return chart("Cycles and energy of all units", rows, h("div", {}, svg, legend), "Colours are machines; point at a dot for its unit.");
}

export function studySummary({ result }: StudyRun): Summary {
  const count = (value: (unit: StudyUnit) => string) => whole(new Set(result.units.map(value)).size);
  return { title: `Study ${result.study}`,
    lead: `${whole(result.done)} of ${whole(result.units.length)} units are done${result.failed > 0 ? `, ${whole(result.failed)} of them failed` : ""}.`,
    cards: [
      ["units", whole(result.units.length)],
      ["networks", count((unit) => unit.network)],
      ["machines", count((unit) => unit.accelerator)],
      ["methods", count((unit) => unit.method)],
    ] };
}

export function studyView(run: StudyRun): HTMLElement {
  const { result } = run;
  const done = result.units.filter(isDone);
  const columns: Column<StudyUnit>[] = [
    { name: "unit", value: (row) => row.unit },
    { name: "network", value: (row) => row.network },
    { name: "layer", value: (row) => row.layer },
    { name: "accelerator", value: (row) => row.accelerator },
    { name: "objective", value: (row) => row.objective },
    { name: "method", value: (row) => row.method },
    { name: "seed", value: (row) => row.seed },
    { name: "state", value: (row) => (row.error ? `${row.state}: ${row.error}` : row.state) },
    { name: "cycles", value: (row) => row.cycles ?? null, show: (row) => (row.cycles == null ? "–" : whole(row.cycles)) },
    { name: "energy", value: (row) => row.energy_pj ?? null, show: (row) => (row.energy_pj == null ? "–" : energy(row.energy_pj)) },
    { name: "EDP", value: (row) => row.edp ?? null, show: (row) => short(row.edp) },
    { name: "gap", value: (row) => row.gap ?? null, show: (row) => percent(row.gap) },
    { name: "status", value: (row) => row.status ?? null },
    { name: "samples", value: (row) => row.samples ?? null, show: (row) => short(row.samples) },
  ];
  return h("div", {},
    head(run, studySummary(run), [["part", result.part]]),
    h("section", { "aria-label": "Units" }, h("h2", {}, "Units"), done.length > 0 ? scatter(done) : h("p", {}, "No unit has a mapping."),
      sortableTable("Units", columns, result.units, { filter: true })));
}
