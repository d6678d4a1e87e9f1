// Hardware and schedules designed together: what was chosen, what else is not beaten, and how the
// layers do on it.
import { chart, type Row } from "./chart";
import { h, picture, s } from "./dom";
import type { CooptLayer, CooptRun } from "./data";
import { energy, percent, short, whole } from "./format";
import { linePlot } from "./lines";
import { parallelCoordinates, timelines } from "./machines";
import { sortableTable, type Column } from "./table";
import { head } from "./verdict";

type Result = CooptRun["result"];

function front(result: Result): HTMLElement {
  const width = 760, height = 330, left = 76, bottom = 44, top = 26, right = 20;
  const points = [...result.pareto].sort((a, b) => a.area - b.area);
  const range = (values: number[]): [number, number] => {
    const low = Math.min(...values), high = Math.max(...values), margin = (high - low || high || 1) * 0.1;
    return [low - margin, high + margin];
  };
  const [x0, x1] = range(points.map((point) => point.area)), [y0, y1] = range(points.map((point) => point.throughput));
  const px = (x: number) => left + ((x - x0) / (x1 - x0)) * (width - left - right);
  const py = (y: number) => height - bottom - ((y - y0) / (y1 - y0)) * (height - top - bottom);
  const svg = picture(width, height, "Throughput against area");
  for (let i = 0; i <= 4; ++i) {
    const x = x0 + ((x1 - x0) * i) / 4, y = y0 + ((y1 - y0) * i) / 4;
    svg.append(s("line", { x1: px(x), x2: px(x), y1: top, y2: height - bottom, class: "grid" }),
      s("text", { x: px(x), y: height - bottom + 16, "text-anchor": "middle" }, short(x / 1e6)),
      s("line", { x1: left, x2: width - right, y1: py(y), y2: py(y), class: "grid" }),
      s("text", { x: left - 6, y: py(y) + 4, "text-anchor": "end" }, short(y)));
  }
  svg.append(s("text", { x: (left + width) / 2, y: height - 8, "text-anchor": "middle" }, "area, mm²"),
    s("text", { x: 4, y: 14 }, "inferences/s"));
  points.forEach((point, i) => {
    const next = points[i + 1];
    if (next) svg.append(s("path", { d: `M${px(point.area)} ${py(point.throughput)}H${px(next.area)}V${py(next.throughput)}`, class: "front" }));
    const chosen = point.hardware === result.hardware.name;
    svg.append(s("g", {}, s("title", {}, `${point.hardware}: ${short(point.throughput)} inferences/s, ${short(point.area / 1e6)} mm²`),
      s("circle", { cx: px(point.area), cy: py(point.throughput), r: chosen ? 7 : 5, class: chosen ? "point" : "point hollow" })));
  });
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

export function cooptView(run: CooptRun): HTMLElement {
  const { result } = run;
  const rate = result.clock_mhz * 1e6;
  const curve: [number, number | null][] = result.curve.map(([measurements, cycles]) => [measurements, rate / cycles]);
  const last = curve[curve.length - 1];
  if (last && last[0] !== result.measurements) curve.push([result.measurements, last[1]]);
  const fields = Object.entries(result.hardware).filter(([name]) => name !== "name");
  return h("div", {},
    head(run, `${result.network} on ${result.hardware.name}`, `Designed for target ${result.target} by ${result.method}.`, [
      ["inferences per second", short(result.throughput), `at ${short(result.clock_mhz)} MHz`],
      ["cycles per image", short(result.cycles)],
      ["area", `${short(result.hardware.area / 1e6)} mm²`],
      ["MACs", whole(result.hardware.macs)],
      ["SRAM", `${short(result.hardware.sram_bytes / 1024)} KiB`],
      ["measurements", whole(result.measurements), `${whole(result.invalid)} invalid, ${whole(result.refused)} refused before`],
    ], [["objective", result.objective], ["machines in the space", whole(result.hardware_space)]]),
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
        h("dl", {}, ...fields.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, String(value))])))),
    h("section", { "aria-label": "Layers" }, h("h2", {}, "Layers"),
      h("p", { class: "note" }, "Schedules are what the agents for scheduling and for mapping decided."), layers(result)),
    run.more.timelines.length > 0
      ? h("section", { "aria-label": "Programs" }, h("h2", {}, "Programs"), ...timelines(run))
      : h("span"));
}
