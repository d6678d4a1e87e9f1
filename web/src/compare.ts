// Search methods against each other: medians with quartiles, and samples until a result is good.
import { chart, type Row } from "./chart";
import { h } from "./dom";
import type { CompareRun } from "./data";
import { percent, short, whole } from "./format";
import { linePlot, type Line } from "./lines";
import { sortableTable, type Column } from "./table";
import { head, type Summary } from "./verdict";

type Result = CompareRun["result"];
type MethodRow = Result["summary"][number];

const kPoints = 200;

// Places on the axis of samples, closer together at the beginning, where most happens.
function places(budget: number): number[] {
  const all = new Set<number>();
  for (let i = 0; i <= kPoints; ++i) all.add(Math.max(1, Math.round(budget ** (i / kPoints))));
  return [...all].sort((a, b) => a - b);
}

function bestAt(curve: [number, number][], samples: number): number | null {
  let best: number | null = null;
  for (const [at, value] of curve) {
    if (at > samples) break;
    best = value;
  }
  return best;
}

// The value below which a part of the seeds is; none where too few have found anything.
function quantile(values: (number | null)[], part: number): number | null {
  const sorted = values.map((value) => value ?? Infinity).sort((a, b) => a - b);
  const at = part * (sorted.length - 1), low = Math.floor(at);
  const x = sorted[low] as number, y = sorted[Math.min(low + 1, sorted.length - 1)] as number;
  const value = at === low ? x : x + (at - low) * (y - x);
  return Number.isFinite(value) ? value : null;
}

function curves(result: Result): { lines: Line[]; rows: Row[] } {
  const rows: Row[] = [["method", "samples", "median", "lower_quartile", "upper_quartile"]];
  const lines = result.summary.map(({ method }): Line => {
    const runs = result.results.filter((run) => run.method === method).map((run) => run.curve);
    const at = places(result.budget).map((samples) => {
      const values = runs.map((curve) => bestAt(curve, samples));
      const three = [quantile(values, 0.5), quantile(values, 0.25), quantile(values, 0.75)] as const;
      if (three[0] !== null) rows.push([method, samples, ...three]);
      return { samples, three };
    });
    const line = (name: string, i: 0 | 1 | 2): Line => ({ name, points: at.map((place) => [place.samples, place.three[i]]) });
    return { ...line(method, 0), band: [line(`${method}, lower quartile`, 1), line(`${method}, upper quartile`, 2)] };
  });
  const first = places(result.budget)[0] ?? 1;
  if (result.bound !== null) lines.push({ name: "bound", dashed: true, points: [[first, result.bound], [result.budget, result.bound]] });
  return { lines, rows };
}

// The other metric, where methods have one: what agents earned, over samples.
function returns(result: Result): HTMLElement | null {
  const lines = result.summary.map(({ method }): Line => {
    const runs = result.results.filter((run) => run.method === method).map((run) => run.return_curve ?? []);
    const at = [...new Set(runs.flat().map((point) => point[0]))].sort((a, b) => a - b);
    const quartile = (part: number): [number, number | null][] => at.map((samples) => {
      const values = runs.map((curve) => bestAt(curve, samples)).filter((value) => value !== null);
      return [samples, values.length > 0 ? quantile(values, part) : null];
    });
    return { name: method, points: quartile(0.5), band: [
      { name: `${method}, lower quartile`, points: quartile(0.25) }, { name: `${method}, upper quartile`, points: quartile(0.75) }] };
  }).filter((line) => line.points.length > 0);
  if (lines.length === 0) return null;
  const rows: Row[] = [["method", "samples", "median_return"], ...lines.flatMap((line) => line.points.map((point): Row => [line.name, ...point]))];
  return chart("Return: median and quartiles over seeds", rows, linePlot(lines, { x: "samples", y: "return" }));
}

function infeasible(result: Result, method: string): number {
  const runs = result.results.filter((run) => run.method === method);
  const samples = runs.reduce((sum, run) => sum + run.samples, 0);
  return samples === 0 ? 0 : runs.reduce((sum, run) => sum + run.infeasible_samples, 0) / samples;
}

export function compareSummary({ result }: CompareRun): Summary {
  const best = [...result.summary].sort((a, b) => (a.median ?? Infinity) - (b.median ?? Infinity))[0];
  return { title: `Methods on ${result.layer} of ${result.network}`,
    lead: best && best.median !== null ? `${best.method} has the lowest median of ${result.summary.length} methods.` : "No method found a mapping.",
    cards: [
      ["best known", short(result.best_known), result.objective],
      ["bound", short(result.bound)],
      ["samples per run", whole(result.budget)],
      ["seeds", whole(new Set(result.results.map((item) => item.seed)).size)],
      ["size of the space", `10^${result.log10_space.toFixed(1)}`],
    ] };
}

export function compareView(run: CompareRun): HTMLElement {
  const { result } = run;
  const { lines, rows } = curves(result);
  const columns: Column<MethodRow>[] = [
    { name: "method", value: (row) => row.method },
    { name: "median", value: (row) => row.median, show: (row) => short(row.median) },
    { name: "lower quartile", value: (row) => row.lower_quartile, show: (row) => short(row.lower_quartile) },
    { name: "upper quartile", value: (row) => row.upper_quartile, show: (row) => short(row.upper_quartile) },
    { name: "above best known", value: (row) => (row.median === null || !result.best_known ? null : row.median / result.best_known - 1),
      show: (row) => percent(row.median === null || !result.best_known ? null : row.median / result.best_known - 1) },
    { name: "samples to 10 %", value: (row) => row.samples_to_10pct, show: (row) => short(row.samples_to_10pct) },
    { name: "to 5 %", value: (row) => row.samples_to_5pct, show: (row) => short(row.samples_to_5pct) },
    { name: "to 1 %", value: (row) => row.samples_to_1pct, show: (row) => short(row.samples_to_1pct) },
    { name: "infeasible", value: (row) => infeasible(result, row.method), show: (row) => percent(infeasible(result, row.method)) },
  ];
  return h("div", {},
    head(run, compareSummary(run), [["accelerator", result.accelerator], ["cost model", result.model]]),
    h("section", { "aria-label": "Comparison" }, h("h2", {}, "Comparison"),
      chart("Best so far: median and quartiles over seeds", rows,
        linePlot(lines, { x: "samples", y: result.objective, log: true, stepped: true })),
      returns(result) ?? "",
      sortableTable("Methods", columns, result.summary)));
}
