// The graph of a network: who reads what whom wrote, from left to right.
import { chart, type Row } from "./chart";
import type { NetworkGraph, Run } from "./data";
import { picture, s } from "./dom";
import { percent, whole } from "./format";
import { colourOf } from "./palette";

// Columns by the longest way from an input; rows in the order of execution.
function places(graph: NetworkGraph): { column: number; row: number }[] {
  const column = graph.nodes.map(() => 0);
  for (const [from, to] of [...graph.edges].sort((a, b) => a[1] - b[1])) {
    column[to] = Math.max(column[to] ?? 0, (column[from] ?? 0) + 1);
  }
  const rows = new Map<number, number>();
  return column.map((at) => {
    const row = rows.get(at) ?? 0;
    rows.set(at, row + 1);
    return { column: at, row };
  });
}

export function graphChart(run: Run, select: (name: string) => void): HTMLElement | null {
  const { graph } = run;
  if (!graph || graph.nodes.length === 0) return null;
  const at = places(graph);
  const wide = 74, high = 30, perLine = 13;
  const columns = Math.max(...at.map((place) => place.column)) + 1;
  // Long networks are broken into lines, as text is.
  // Each line is as high as its own branches.
  const lines = Math.ceil(columns / perLine);
  const heights = Array.from({ length: lines }, (_, line) => 16 + high * (1 + Math.max(0,
    ...at.filter((place) => Math.floor(place.column / perLine) === line).map((place) => place.row))));
  const tops = heights.map((_, line) => heights.slice(0, line).reduce((sum, one) => sum + one, 0));
  const svg = picture(Math.min(columns, perLine) * wide + 20, heights.reduce((sum, one) => sum + one, 0), "Graph of the network");
  const cycles = new Map(run.result.layers.map((layer) => [layer.name, layer.cycles ?? 0]));
  const most = Math.max(...cycles.values(), 1);
  const px = (i: number) => ((at[i]?.column ?? 0) % perLine) * wide + 10;
  const py = (i: number) => (tops[Math.floor((at[i]?.column ?? 0) / perLine)] ?? 0) + (at[i]?.row ?? 0) * high + 8;
  for (const [from, to] of graph.edges) {
    const sameLine = Math.floor((at[from]?.column ?? 0) / perLine) === Math.floor((at[to]?.column ?? 0) / perLine);
    const x1 = px(from) + wide - 14, y1 = py(from) + 9, x2 = px(to), y2 = py(to) + 9;
    svg.append(s("path", { d: sameLine ? `M${x1} ${y1}C${x1 + 12} ${y1} ${x2 - 12} ${y2} ${x2} ${y2}` : `M${x1} ${y1}h8M${x2 - 8} ${y2}h8`, class: "edge" }));
  }
  graph.nodes.forEach((node, i) => {
    const own = node.layer === null ? null : (cycles.get(node.layer) ?? 0);
    const text = own === null ? `${node.name} (${node.type})` : `${node.name} (${node.type}): ${whole(own)} cycles, ${percent((own) / run.result.total.cycles)} of the network`;
    const box = s("g", node.layer === null ? {} : { class: "link" }, s("title", {}, text),
      s("rect", { x: px(i), y: py(i), width: wide - 14, height: 18, rx: 3, class: own === null ? "branch" : undefined,
        fill: own === null ? undefined : colourOf("Weights"), "fill-opacity": own === null ? undefined : 0.25 + 0.75 * (own / most) }),
      s("text", { x: px(i) + 4, y: py(i) + 13, "font-size": 10 }, node.type.length > 9 ? `${node.type.slice(0, 8)}…` : node.type));
    const { layer } = node;
    if (layer !== null) box.addEventListener("click", () => select(layer));
    svg.append(box);
  });
  const csv: Row[] = [["from", "to", "words"], ...graph.edges.map(([from, to, words]): Row => [graph.nodes[from]?.name ?? "", graph.nodes[to]?.name ?? "", words])];
  return chart("Graph of the network", csv, svg, "The stronger the colour, the more cycles; point at a node for its name, click one with MACs to see its layer. The table below lists the same layers.");
}
