// Two runs side by side: layers, and the parts that make the difference.
import { chart, type Row } from "./chart";
import { h, picture, s } from "./dom";
import { nest } from "./layer";
import type { Diff, DiffLayer, Run } from "./data";
import { energy, percent, short, whole } from "./format";
import { colourOf } from "./palette";
import { sortableTable, type Column } from "./table";

interface Part {
  name: string;
  tensor: string;
  delta: number;
}

function partsOf(diff: { delta: Record<string, Record<string, number>>; delta_mac_pj: number }): Part[] {
  const parts: Part[] = [{ name: "MACs", tensor: "MACs", delta: diff.delta_mac_pj }];
  for (const [level, tensors] of Object.entries(diff.delta)) {
    for (const [tensor, delta] of Object.entries(tensors)) parts.push({ name: `${level} ${tensor}`, tensor, delta });
  }
  return parts.filter((part) => part.delta !== 0).sort((x, y) => Math.abs(y.delta) - Math.abs(x.delta));
}

// Bars to the left are savings, to the right what it costs more.
function deltaBars(parts: Part[]): SVGSVGElement {
  const width = 760, row = 26, middle = 420, reach = 220;
  const most = Math.max(...parts.map((part) => Math.abs(part.delta)), 1e-30);
  const svg = picture(width, row * Math.max(parts.length, 1) + 4, "Differences by level and tensor");
  parts.forEach((part, i) => {
    const w = (Math.abs(part.delta) / most) * reach, y = i * row + 4;
    svg.append(s("text", { x: 190, y: y + 14, "text-anchor": "end" }, part.name),
      s("rect", { x: part.delta < 0 ? middle - w : middle, y, width: w, height: row - 8, fill: colourOf(part.tensor) }),
      s("text", { x: width - 8, y: y + 14, "text-anchor": "end" }, `${part.delta > 0 ? "+" : "−"}${energy(Math.abs(part.delta))}`));
  });
  svg.append(s("line", { x1: middle, x2: middle, y1: 0, y2: row * parts.length + 4, class: "grid" }));
  return svg;
}

function deltaChart(title: string, parts: Part[]): HTMLElement {
  const rows: Row[] = [["part", "delta_pj"], ...parts.map((part): Row => [part.name, part.delta])];
  if (parts.length === 0) return h("p", {}, "No part of the energy differs.");
  return chart(title, rows, deltaBars(parts));
}

export function diffView(a: Run, b: Run, diff: Diff): HTMLElement {
  const detail = h("div", { "aria-live": "polite" });
  const ratio = (x: number | undefined, y: number | undefined) => (x === undefined || y === undefined || x === 0 ? null : y / x);
  const columns: Column<DiffLayer>[] = [
    { name: "layer", value: (row) => row.name },
    { name: "cycles, a", value: (row) => row.a?.cycles ?? null, show: (row) => (row.a?.cycles === undefined ? "–" : whole(row.a.cycles)) },
    { name: "cycles, b", value: (row) => row.b?.cycles ?? null, show: (row) => (row.b?.cycles === undefined ? "–" : whole(row.b.cycles)) },
    { name: "b / a", value: (row) => ratio(row.a?.cycles, row.b?.cycles), show: (row) => short(ratio(row.a?.cycles, row.b?.cycles)) },
    { name: "energy, a", value: (row) => row.a?.total_pj ?? null, show: (row) => (row.a ? energy(row.a.total_pj) : "–") },
    { name: "energy, b", value: (row) => row.b?.total_pj ?? null, show: (row) => (row.b ? energy(row.b.total_pj) : "–") },
    { name: "b / a ", value: (row) => ratio(row.a?.total_pj, row.b?.total_pj), show: (row) => short(ratio(row.a?.total_pj, row.b?.total_pj)) },
    { name: "limited by", value: (row) => `${row.a?.limited_by ?? "–"} → ${row.b?.limited_by ?? "–"}` },
    { name: "mapping", value: (row) => (row.same_mapping ? "the same" : "differs") },
  ];
  const mappingOf = (run: Run, name: string | undefined) => run.result.layers.find((layer) => layer.name === name)?.mapping ?? null;
  const select = (row: DiffLayer) => {
    const mine = mappingOf(a, row.a?.name), theirs = mappingOf(b, row.b?.name);
    const both = row.a && row.b && mine && theirs
      ? h("div", { class: "columns" },
          h("figure", { class: "chart" }, h("figcaption", {}, h("h3", {}, `a: ${row.a.limit}`)), nest(mine, row.a, theirs)),
          h("figure", { class: "chart" }, h("figcaption", {}, h("h3", {}, `b: ${row.b.limit}`)), nest(theirs, row.b, mine)))
      : null;
    detail.replaceChildren(h("h3", {}, `${row.name}: b − a, one occurrence`), deltaChart(`Differences of ${row.name}`, partsOf(row)),
      both ?? h("p", {}, "Only one of the runs has a mapping."),
      h("p", { class: "note" }, "Framed twice: loops and tensors that the other mapping does not have like that at this level."));
  };
  const first = [...diff.layers].filter((row) => row.a && row.b)
    .sort((x, y) => Math.abs(y.delta_energy_pj) - Math.abs(x.delta_energy_pj))[0];
  if (first) select(first);
  const { total } = diff;
  return h("section", { "aria-label": "Differences" }, h("h2", {}, "Differences"),
    h("p", { class: "note" }, `a: ${a.folder} (${a.result.network} on ${a.result.accelerator}); b: ${b.folder} (${b.result.network} on ${b.result.accelerator})`),
    h("p", { class: "lead" }, `b needs ${percent(total.b.cycles / total.a.cycles)} of a's cycles and ${percent(total.b.energy_pj / total.a.energy_pj)} of its energy.`),
    deltaChart("Energy of the network: b − a", partsOf(total)),
    sortableTable("Layers of both runs", columns, diff.layers, { filter: true, select }), detail);
}
