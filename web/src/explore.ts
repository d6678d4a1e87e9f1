// Which machine to build: the machines of a template that no other one beats, what they chose, what became of the
// others; and what a number of one machine changes.
import { chart, type Row } from "./chart";
import { h } from "./dom";
import type { Choice, ExploredMachine, ExploreRun, SweepPoint, SweepRun } from "./data";
import { energy, percent, short, whole } from "./format";
import { bars, legend } from "./layer";
import { linePlot, type Line } from "./lines";
import { frontPicture, parallelPicture, type Axis } from "./machines";
import { sortableTable, type Column } from "./table";
import { head, type Summary } from "./verdict";

// "GLB.entries" says as much as "levels.GLB.entries".
function shortField(field: string): string {
  return field.replace(/^levels\./, "");
}

function shown(value: Choice): string {
  return typeof value === "number" ? short(value) : value === null ? "none" : String(value);
}

// A column for a field; what is true or false sorts as text.
function fieldColumn<T>(field: string, of: (row: T) => Record<string, Choice>): Column<T> {
  const at = (row: T) => of(row)[field] ?? null;
  return { name: shortField(field), show: (row) => shown(at(row)),
    value: (row) => { const value = at(row); return typeof value === "boolean" ? String(value) : value; } };
}

function described(values: Record<string, Choice>): string {
  return Object.entries(values).map(([field, value]) => `${shortField(field)} ${shown(value)}`).join(", ");
}

const kCosts: Record<string, Axis<ExploredMachine>> = {
  latency: { name: "cycles", of: (machine) => machine.cycles, show: short },
  energy: { name: "energy, pJ", of: (machine) => machine.energy_pj, show: short },
  edp: { name: "EDP, pJ × cycles", of: (machine) => machine.edp, show: short },
  area: { name: "area, mm²", of: (machine) => (machine.area_um2 ?? 0) / 1e6, show: short },
  power: { name: "power, mW", of: (machine) => machine.power_mw, show: short },
};

// An axis per field that differs; texts stand in the order in which they appear.
function choiceAxes(machines: ExploredMachine[]): Axis<ExploredMachine>[] {
  const fields = Object.keys(machines[0]?.machine ?? {});
  return fields.flatMap((field) => {
    const values = [...new Set(machines.map((machine) => machine.machine[field] ?? null))];
    if (values.length < 2) return [];
    const numbers = values.every((value) => typeof value === "number");
    return [{ name: shortField(field),
      of: (machine: ExploredMachine) => {
        const value = machine.machine[field] ?? null;
        return numbers ? Math.log2(Math.max(Number(value), 1e-9)) : values.indexOf(value);
      },
      show: (value: number) => (numbers ? short(2 ** value) : shown(values[Math.round(value)] ?? null)) }];
  });
}

function fronts(run: ExploreRun): HTMLElement[] {
  const { result } = run;
  const pictures: HTMLElement[] = [];
  result.pareto.forEach((first, i) => result.pareto.slice(i + 1).forEach((second) => {
    const x = kCosts[first], y = kCosts[second];
    if (!x || !y) return;
    const title = `${second} against ${first}`;
    const rows: Row[] = [["machine", first, second],
      ...result.front.map((machine): Row => [machine.number, x.of(machine), y.of(machine)])];
    pictures.push(chart(title, rows, frontPicture(title, x, y, result.front, false, (machine) => ({
      text: `machine ${machine.number}: ${described(machine.machine)}; ${whole(machine.cycles)} cycles, ${energy(machine.energy_pj)}`,
      chosen: machine.number === result.best?.number })),
    "Machines that no other one of the template beats in everything that was asked for; the filled dot is the best by the objective."));
  }));
  return pictures;
}

function choices(run: ExploreRun): HTMLElement | null {
  const { front, best } = run.result;
  const axes = choiceAxes(front);
  if (front.length < 2 || axes.length === 0) return null;
  for (const name of ["latency", "energy", "area"]) {
    const axis = kCosts[name];
    if (axis && front.some((machine) => axis.of(machine) > 0)) axes.push(axis);
  }
  const ordered = [...front].sort((a, b) => Number(a.number === best?.number) - Number(b.number === best?.number));
  const fields = Object.keys(front[0]?.machine ?? {});
  const rows: Row[] = [["machine", ...fields, "cycles", "energy_pj", "area_um2"],
    ...front.map((machine): Row => [machine.number, ...fields.map((field) => shown(machine.machine[field] ?? null)),
      machine.cycles, machine.energy_pj, machine.area_um2])];
  return chart("Machines of the front by their choices", rows,
    parallelPicture("Machines of the front by their choices", axes, ordered, (machine) => ({
      text: `machine ${machine.number}: ${described(machine.machine)}`, chosen: machine.number === best?.number })),
    "The thick line is the best by the objective.");
}

const kFates: ["mapped" | "discarded_by_bound" | "discarded_by_limit" | "impossible" | "not_looked_at", string][] = [
  ["mapped", "mapped"], ["discarded_by_bound", "discarded by their bound"], ["discarded_by_limit", "over a limit"],
  ["impossible", "impossible"], ["not_looked_at", "not looked at"]];

function fates(run: ExploreRun): HTMLElement {
  const { result } = run;
  const rows: Row[] = [["fate", "machines"], ...kFates.map(([key, name]): Row => [name, result[key]])];
  return chart("What became of the machines", rows,
    h("div", {}, bars("What became of the machines", [{ label: "machines", whole: Math.max(1, result.machines),
      parts: kFates.map(([key, name]) => ({ name, value: result[key] })),
      note: `${percent(result.discarded_by_bound / Math.max(1, result.machines))} by bound alone` }], whole),
    legend(kFates.map(([, name]) => name))));
}

function machineTable(machines: ExploredMachine[], label: string): HTMLElement {
  const fields = Object.keys(machines[0]?.machine ?? {});
  const columns: Column<ExploredMachine>[] = [
    { name: "machine", value: (row) => row.number },
    ...fields.map((field) => fieldColumn<ExploredMachine>(field, (row) => row.machine)),
    { name: "cycles", value: (row) => row.cycles, show: (row) => whole(row.cycles) },
    { name: "energy", value: (row) => row.energy_pj, show: (row) => energy(row.energy_pj) },
    { name: "EDP", value: (row) => row.edp, show: (row) => short(row.edp) },
    { name: "area, mm²", value: (row) => row.area_um2, show: (row) => (row.area_um2 === null ? "–" : short(row.area_um2 / 1e6)) },
    { name: "gap", value: (row) => row.gap, show: (row) => percent(row.gap) },
    { name: "status", value: (row) => row.status },
    { name: "limited by", value: (row) => row.limited_by },
  ];
  return sortableTable(label, columns, machines, { filter: true });
}

export function exploreSummary({ result }: ExploreRun): Summary {
  const { best } = result;
  return { title: `Machines for ${result.networks}`, lead: `${result.certificate.charAt(0).toUpperCase()}${result.certificate.slice(1)}.`, cards: [
    ["cycles", best ? whole(best.cycles) : "–", "of the best machine"],
    ["energy", best ? energy(best.energy_pj) : "–"],
    ["EDP", best ? short(best.edp) : "–", "pJ × cycles"],
    ["area", best?.area_um2 ? `${short(best.area_um2 / 1e6)} mm²` : "–"],
    ["gap of the whole answer", percent(result.gap), `objective ${result.objective}`],
    ["machines", whole(result.machines), `${whole(result.mapped)} mapped`],
  ] };
}

export function exploreView(run: ExploreRun): HTMLElement {
  const { result } = run;
  const { best } = result;
  return h("div", {},
    head(run, exploreSummary(run), [["method", result.method], ["ended by", result.stopped_by],
      ...(best ? [["best machine", described(best.machine)] as [string, string]] : [])]),
    h("section", { "aria-label": "Machines" }, h("h2", {}, "Machines"), ...fronts(run), choices(run) ?? "", fates(run),
      h("p", { class: "note" }, "Every machine of this table is a file of the run (machines/NUMBER/accelerator.yaml)."),
      machineTable(result.front, "Machines of the front")),
    best && best.networks.length > 1
      ? h("section", { "aria-label": "Networks" }, h("h2", {}, "Networks on the best machine"),
          sortableTable("Networks", [
            { name: "network", value: (row) => row.name },
            { name: "cycles", value: (row) => row.cycles, show: (row) => whole(row.cycles) },
            { name: "energy", value: (row) => row.energy_pj, show: (row) => energy(row.energy_pj) },
            { name: "EDP", value: (row) => row.edp, show: (row) => short(row.edp) },
          ], best.networks))
      : "");
}

const kSwept: ["cycles" | "energy_pj" | "edp" | "area_um2", string][] = [
  ["cycles", "Cycles"], ["energy_pj", "Energy"], ["edp", "EDP"], ["area_um2", "Area"]];
const kUnits = { cycles: "cycles", energy_pj: "pJ", edp: "pJ × cycles", area_um2: "µm²" };

// A line per setting of what else is varied.
function sweepLines(points: SweepPoint[], field: string, key: (typeof kSwept)[number][0]): Line[] {
  const lines = new Map<string, [number, number | null][]>();
  for (const point of points) {
    const { [field]: x, ...others } = point.values;
    const y = point[key];
    if (typeof x !== "number" || y === null) continue;
    const name = described(others) || kUnits[key];
    lines.set(name, [...(lines.get(name) ?? []), [x, y]]);
  }
  return [...lines].map(([name, values]) => ({ name, points: values.sort((a, b) => a[0] - b[0]) }));
}

const hasMapping = (point: SweepPoint) => point.cycles !== null;

// Whether all points are within a thousandth of each other.
function isFlat(points: SweepPoint[]): boolean {
  const values = points.map((point) => point.relative).filter((value) => value !== null);
  return values.length > 1 && Math.max(...values) <= 1.001 * Math.min(...values);
}

export function sweepSummary({ result }: SweepRun): Summary {
  const solved = result.points.filter(hasMapping);
  return { title: `What if: ${result.network}`,
    lead: result.knee ? `The curve flattens at ${described(result.knee)}.`
      : isFlat(solved) ? "What is varied changes next to nothing." : "The curve does not flatten where one could stop.",
    cards: [
      ["points", whole(result.points.length), `${whole(solved.filter((point) => point.status === "OPTIMAL").length)} OPTIMAL`],
      ["without a mapping", whole(result.points.length - solved.length)],
      ["objective", result.objective],
    ] };
}

export function sweepView(run: SweepRun): HTMLElement {
  const { result } = run;
  const fields = Object.keys(result.points[0]?.values ?? {});
  const field = fields[0] ?? "";
  const solved = result.points.filter(hasMapping);
  const charts = kSwept.flatMap(([key, name]) => {
    const lines = sweepLines(result.points, field, key);
    if (lines.length === 0) return [];
    const rows: Row[] = [[...fields, key], ...solved.map((point): Row => [...fields.map((f) => shown(point.values[f] ?? null)), point[key]])];
    return [chart(`${name} against ${shortField(field)}`, rows, linePlot(lines, { x: shortField(field), y: kUnits[key] }))];
  });
  const columns: Column<SweepPoint>[] = [
    ...fields.map((name) => fieldColumn<SweepPoint>(name, (row) => row.values)),
    { name: "cycles", value: (row) => row.cycles, show: (row) => (row.cycles === null ? "–" : whole(row.cycles)) },
    { name: "energy", value: (row) => row.energy_pj, show: (row) => (row.energy_pj === null ? "–" : energy(row.energy_pj)) },
    { name: "EDP", value: (row) => row.edp, show: (row) => short(row.edp) },
    { name: "area, mm²", value: (row) => row.area_um2, show: (row) => (row.area_um2 === null ? "–" : short(row.area_um2 / 1e6)) },
    { name: "relative", help: "to the first point's objective", value: (row) => row.relative, show: (row) => percent(row.relative) },
    { name: "gap", value: (row) => row.gap, show: (row) => percent(row.gap) },
    { name: "status", value: (row) => row.status },
    { name: "limited by", value: (row) => row.limited_by ?? row.why ?? null },
  ];
  return h("div", {},
    head(run, sweepSummary(run)),
    h("section", { "aria-label": "Points" }, h("h2", {}, "Points"), ...charts, sortableTable("Points", columns, result.points)));
}
