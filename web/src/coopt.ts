// Hardware and schedules designed together: what was chosen, what else is not beaten, and how the
// layers do on it.
import { chart, type Row } from "./chart";
import { h } from "./dom";
import type { CooptLayer, CooptRun } from "./data";
import { energy, percent, short, whole } from "./format";
import { linePlot } from "./lines";
import { frontPicture, parallelCoordinates, timelines } from "./machines";
import { sortableTable, type Column } from "./table";
import { head, type Summary } from "./verdict";

type Result = CooptRun["result"];

type FrontPoint = Result["pareto"][number];

function front(result: Result): HTMLElement {
  const points = [...result.pareto].sort((a, b) => a.area - b.area);
  const svg = frontPicture<FrontPoint>("Throughput against area",
    { name: "area, mm²", of: (point) => point.area / 1e6, show: short },
    { name: "inferences/s", of: (point) => point.throughput, show: short }, points, true, (point) => ({
      text: `${point.hardware}: ${short(point.throughput)} inferences/s, ${short(point.area / 1e6)} mm²`,
      chosen: point.hardware === result.hardware.name }));
  const rows: Row[] = [["hardware", "area_um2", "cycles", "inferences_per_second"],
    ...points.map((point): Row => [point.hardware, point.area, point.cycles, point.throughput])];
  return chart("Throughput against area", rows, svg, "Machines that no other one beats in both; the filled dot is the one that was chosen.");
}

function layers(result: Result): HTMLElement {
  const columns: Column<CooptLayer>[] = [
    { name: "layer", value: (row) => row.name },
    { name: "count", value: (row) => row.count },
    { name: "cycles", value: (row) => row.cycles, show: (row) => whole(row.cycles) },
    { name: "floor", help: "of products and bus", value: (row) => row.floor_cycles, show: (row) => whole(row.floor_cycles) },
    { name: "above the floor", value: (row) => row.cycles / row.floor_cycles - 1, show: (row) => percent(row.cycles / row.floor_cycles - 1) },
    { name: "share", help: "of the network's cycles", value: (row) => (row.cycles * row.count) / result.cycles,
      show: (row) => percent((row.cycles * row.count) / result.cycles) },
    { name: "energy", value: (row) => row.energy_pj, show: (row) => energy(row.energy_pj) },
    { name: "measurements", value: (row) => row.measurements },
    { name: "schedule", value: (row) => row.schedule },
  ];
  return sortableTable("Layers", columns, result.layers, { filter: true });
}

export function cooptSummary({ result }: CooptRun): Summary {
  return { title: `${result.network} on ${result.hardware.name}`, lead: `Designed for target ${result.target} by ${result.method}.`, cards: [
    ["inferences per second", short(result.throughput), `at ${short(result.clock_mhz)} MHz`],
    ["cycles per image", whole(result.cycles)],
    ["area", `${short(result.hardware.area / 1e6)} mm²`],
    ["MACs", whole(result.hardware.macs)],
    ["SRAM", `${short(result.hardware.sram_bytes / 1024)} KiB`],
    ["measurements", whole(result.measurements), `${whole(result.invalid)} invalid, ${whole(result.refused)} refused before`],
  ] };
}

export function cooptView(run: CooptRun): HTMLElement {
  const { result } = run;
  const rate = result.clock_mhz * 1e6;
  const curve: [number, number | null][] = result.curve.map(([measurements, cycles]) => [measurements, rate / cycles]);
  const last = curve[curve.length - 1];
  if (last && last[0] !== result.measurements) curve.push([result.measurements, last[1]]);
  const fields = Object.entries(result.hardware).filter(([name]) => name !== "name");
  return h("div", {},
    head(run, cooptSummary(run), [["objective", result.objective], ["machines in the space", whole(result.hardware_space)]]),
    result.left_out.length > 0
      ? h("section", { class: "warning", "aria-label": "Not included" }, h("h2", {}, "Not included"),
          h("p", {}, `${whole(result.left_out.reduce((sum, layer) => sum + layer.count, 0))} layers of the network cannot run on ${result.target}; cycles and inferences per second are those of the others.`),
          h("ul", {}, ...result.left_out.map((layer) => h("li", {}, `${layer.name} (${layer.count}×): ${layer.why}`))))
      : h("span"),
    h("section", { "aria-label": "Machines" }, h("h2", {}, "Machines"),
      result.pareto.length > 0 ? front(result) : h("p", {}, "The machine was given."),
      chart("Throughput against measurements", [["measurements", "inferences_per_second"], ...curve.map((point): Row => point)],
        linePlot([{ name: "best so far", points: curve }], { x: "measurements", y: "inferences/s", stepped: true })),
      parallelCoordinates(run) ?? "",
      h("details", {}, h("summary", {}, "The machine, field by field: what the hardware's agent decided"),
        h("dl", {}, ...fields.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, typeof value === "number" ? short(value) : String(value))])))),
    h("section", { "aria-label": "Layers" }, h("h2", {}, "Layers"),
      h("p", { class: "note" }, "Schedules are what the agents for scheduling and for mapping decided."), layers(result)),
    run.more.timelines.length > 0
      ? h("section", { "aria-label": "Programs" }, h("h2", {}, "Programs"), ...timelines(run))
      : h("span"));
}
