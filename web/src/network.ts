// The network: its layers with what they cost and what limits them, and where it all goes.
import { chart, type Row } from "./chart";
import { h, picture, s } from "./dom";
import { isMapped, type Explained, type Run } from "./data";
import { energy, percent, short, whole } from "./format";
import { legend } from "./layer";
import { colourOf } from "./palette";
import { sortableTable, type Column } from "./table";

interface Entry {
  name: string;
  count: number;
  status: string;
  gap: number | null;
  cycles: number | null;
  energy: number | null;
  edp: number | null;
  utilization: number | null;
  explained: Explained | undefined;
}

// A share as a bar behind its number.
function bar(part: number, text: string): HTMLElement {
  return h("span", { class: "share" },
    h("meter", { min: 0, max: 1, value: part, "aria-label": `${text}, ${percent(part)} of the network` }), ` ${text}`);
}

export function networkTable(run: Run, select: (name: string) => void): HTMLElement {
  const explained = new Map((run.explain?.layers ?? []).map((layer) => [layer.name, layer]));
  const entries: Entry[] = run.result.layers.map((layer) => ({
    name: layer.name, count: layer.count, status: layer.status, gap: layer.gap, cycles: layer.cycles,
    energy: layer.energy_pj, edp: layer.edp, utilization: layer.utilization, explained: explained.get(layer.name),
  }));
  const { total } = run.result;
  const times = (value: number | null, row: Entry) => (value === null ? null : value * row.count);
  const columns: Column<Entry>[] = [
    { name: "layer", value: (row) => row.name },
    { name: "count", value: (row) => row.count },
    { name: "cycles", help: "of all occurrences", value: (row) => times(row.cycles, row),
      show: (row) => row.cycles === null ? "–" : bar((row.cycles * row.count) / total.cycles, whole(row.cycles * row.count)) },
    { name: "energy", help: "of all occurrences", value: (row) => times(row.energy, row),
      show: (row) => row.energy === null ? "–" : bar((row.energy * row.count) / total.energy_pj, energy(row.energy * row.count)) },
    { name: "EDP", help: "of one occurrence, pJ × cycles", value: (row) => row.edp, show: (row) => short(row.edp) },
    { name: "gap", help: "to the bound of the objective", value: (row) => row.gap, show: (row) => percent(row.gap) },
    { name: "status", value: (row) => row.status },
    { name: "utilization", value: (row) => row.utilization, show: (row) => percent(row.utilization) },
    { name: "limited by", value: (row) => row.explained?.limited_by ?? null },
    { name: "if lifted", help: "cycles of one occurrence without that limit",
      value: (row) => row.explained?.cycles_if_lifted ?? null,
      show: (row) => row.explained?.cycles === undefined ? "–" : whole(row.explained.cycles_if_lifted) },
  ];
  return sortableTable("Layers", columns, entries, { filter: true, select: (row) => select(row.name) });
}

interface Tile {
  path: string[];
  value: number;
  colour: string;
}

function energyTiles(layers: Explained[]): Tile[] {
  const tiles: Tile[] = [];
  for (const layer of layers.filter(isMapped)) {
    for (const [level, tensors] of Object.entries(layer.energy_pj)) {
      for (const [tensor, pj] of Object.entries(tensors)) {
        tiles.push({ path: [layer.name, level, tensor], value: pj * layer.count, colour: colourOf(tensor) });
      }
    }
    tiles.push({ path: [layer.name, "MACs"], value: layer.mac_pj * layer.count, colour: colourOf("MACs") });
  }
  return tiles.filter((tile) => tile.value > 0);
}

// Cycles belong to what limits the layer; those of a memory to its tensors by the words that they move.
function cycleTiles(layers: Explained[]): Tile[] {
  return layers.filter(isMapped).flatMap((layer): Tile[] => {
    const cycles = (layer.cycles ?? 0) * layer.count;
    const level = layer.levels.find((item) => item.name === layer.limited_by);
    const moved = level ? Object.entries(level.tensors).map(([name, tensor]) => ({ name, words: tensor.reads + tensor.fills + tensor.updates })) : [];
    const all = moved.reduce((sum, tensor) => sum + tensor.words, 0);
    if (all === 0) return [{ path: [layer.name, layer.limited_by === "compute" ? "MACs" : layer.limited_by], value: cycles, colour: colourOf("MACs") }];
    return moved.filter((tensor) => tensor.words > 0).map((tensor) => ({
      path: [layer.name, layer.limited_by, tensor.name], value: (cycles * tensor.words) / all, colour: colourOf(tensor.name) }));
  });
}

// An icicle: layers from left to right by their share; below each its levels, below those tensors.
function icicle(label: string, tiles: Tile[], show: (value: number) => string): SVGSVGElement {
  const width = 1000, row = 46;
  const depth = Math.max(...tiles.map((tile) => tile.path.length));
  const all = tiles.reduce((sum, tile) => sum + tile.value, 0);
  const svg = picture(width, row * depth, label);
  svg.classList.add("wide");
  const place = (group: Tile[], at: number, level: number): void => {
    let x = at;
    const names = [...new Set(group.map((tile) => tile.path[level]))];
    for (const name of names) {
      if (name === undefined) continue;
      const part = group.filter((tile) => tile.path[level] === name);
      const value = part.reduce((sum, tile) => sum + tile.value, 0);
      const w = (value / all) * width;
      const leaf = part.length === 1 && part[0]?.path.length === level + 1;
      const tall = leaf ? row * (depth - level) : row;
      const path = part[0]?.path.slice(0, level + 1).join(" › ") ?? "";
      svg.append(s("g", {},
        s("title", {}, `${path}: ${show(value)}, ${percent(value / all)}`),
        s("rect", { x, y: level * row, width: Math.max(w - 0.5, 0), height: tall - 1, class: leaf ? "leaf" : "branch",
          fill: leaf ? part[0]?.colour : undefined }),
        w > 46 ? s("text", { x: x + 4, y: level * row + 18, class: leaf ? "on-colour" : undefined },
          name.length * 7.2 > w ? `${name.slice(0, Math.max(1, Math.floor(w / 7.2) - 1))}…` : name) : null));
      if (!leaf) place(part.filter((tile) => tile.path.length > level + 1), x, level + 1);
      x += w;
    }
  };
  place(tiles, 0, 0);
  return svg;
}

export function whereItGoes(run: Run): HTMLElement[] {
  const layers = run.explain?.layers ?? [];
  if (!layers.some(isMapped)) return [];
  const charts: HTMLElement[] = [];
  const add = (title: string, unit: string, tiles: Tile[], show: (value: number) => string) => {
    const rows: Row[] = [["layer", "level", "tensor", unit], ...tiles.map((tile): Row =>
      [tile.path[0] ?? "", tile.path[1] ?? "", tile.path[2] ?? "", tile.value])];
    const names = [...new Set(tiles.map((tile) => tile.path[2] ?? "MACs"))];
    charts.push(chart(title, rows, h("div", {}, icicle(title, tiles, show), legend(names)), "From top to bottom: layers, memory levels, tensors. Widths are shares of the network; point at a part for its number."));
  };
  add("Where the energy goes", "energy_pj", energyTiles(layers), energy);
  add("Where the cycles go", "cycles", cycleTiles(layers), whole);
  return charts;
}
