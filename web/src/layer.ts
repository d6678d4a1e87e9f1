// One layer: its loop nest on the memories, what they hold and move, the roofline, and what limits
// it.
import { chart, type Row } from "./chart";
import { h, picture, s, textWidth } from "./dom";
import type { Explained, Loops, MappingLevel, ResultLayer } from "./data";
import { energy, percent, short, whole } from "./format";
import { colourOf } from "./palette";

// ---- Loop nest -----------------------------------------------------------------------------------

// Chips that the other mapping does not have at this place are marked.
function loopChips(loops: Loops, spatial: boolean, other: Loops | null | undefined): HTMLElement[] {
  // Orders are from the innermost loop; people read from the outermost.
  return loops.perm
    .map((name, i) => ({ name, factor: loops.factors[name] ?? 1, axis: spatial ? (i < (loops.split ?? 0) ? "X" : "Y") : "" }))
    .reverse()
    .filter((loop) => loop.factor !== 1)
    .map((loop) => {
      const differs = other !== undefined && (other?.factors[loop.name] ?? 1) !== loop.factor;
      return h("span", { class: `chip${spatial ? " spatial" : ""}${differs ? " differs" : ""}` },
        `${loop.name} ${loop.factor}${loop.axis ? ` → ${loop.axis}` : ""}`);
    });
}

function levelBox(level: MappingLevel, share: Explained["levels"][number] | undefined, inner: HTMLElement,
  other?: MappingLevel): HTMLElement {
  const tensors = level.keep.map((name) =>
    h("span", { class: other && !other.keep.includes(name) ? "tensor differs" : "tensor" }, s("svg", { width: 10, height: 10, "aria-hidden": "true" },
      s("rect", { width: 10, height: 10, fill: colourOf(name) })),
      ` ${name} ${whole(share?.tensors[name]?.tile_words ?? 0)}`));
  const temporal = loopChips(level.temporal, false, other?.temporal);
  const spatial = level.spatial ? loopChips(level.spatial, true, other ? other.spatial : undefined) : [];
  return h("div", { class: "level" },
    h("div", { class: "level-head" }, h("strong", {}, level.name),
      share && share.instances > 1 ? h("span", { class: "note" }, ` ${whole(share.used_instances)} of ${whole(share.instances)}`) : null,
      h("span", { class: "tensors" }, ...tensors)),
    temporal.length > 0 ? h("div", { class: "loops" }, h("span", { class: "note" }, "one after another "), ...temporal) : null,
    spatial.length > 0 ? h("div", { class: "loops" }, h("span", { class: "note" }, "side by side "), ...spatial) : null,
    inner);
}

// Marks what differs from the mapping `beside`, level by level.
export function nest(mapping: ResultLayer["mapping"], layer: Explained, beside?: ResultLayer["mapping"]): HTMLElement {
  if (mapping === null) return h("p", {}, "no mapping");
  if (Array.isArray(mapping)) {
    return h("ol", { class: "directives" }, ...mapping.map((item) => h("li", {}, h("code", {}, JSON.stringify(item)))));
  }
  const shares = new Map(layer.levels.map((level) => [level.name, level]));
  let inner: HTMLElement = h("div", { class: "level macs" },
    `MACs: ${whole(layer.used_mac_units)} of ${whole(layer.mac_units)} in use`);
  const others = new Map((beside && !Array.isArray(beside) ? beside.levels : []).map((level) => [level.name, level]));
  for (const level of mapping.levels) inner = levelBox(level, shares.get(level.name), inner, others.get(level.name));
  return inner;
}

// ---- Energy, occupancy ---------------------------------------------------------------------------

export interface Bar {
  label: string;
  parts: { name: string; value: number }[];
  note: string;
  whole?: number; // the bar's full length; default: the longest bar
}

export function bars(label: string, rows: Bar[], show: (value: number) => string): SVGSVGElement {
  const left = 18 + Math.min(260, textWidth(rows.map((item) => item.label)));
  const right = 18 + textWidth(rows.map((item) => item.note)), width = left + right + 330, row = 30;
  const longest = Math.max(...rows.map((item) => item.parts.reduce((sum, part) => sum + part.value, 0)), 1e-30);
  const svg = picture(width, row * rows.length + 4, label);
  rows.forEach((item, i) => {
    const y = i * row + 4;
    const scale = (width - left - right) / (item.whole ?? longest);
    svg.append(s("text", { x: left - 8, y: y + 15, "text-anchor": "end" }, item.label));
    svg.append(s("rect", { x: left, y, width: width - left - right, height: row - 8, class: "track" }));
    let x = left;
    for (const part of item.parts) {
      const w = part.value * scale;
      svg.append(s("g", {}, s("title", {}, `${item.label} ${part.name}: ${show(part.value)}`),
        s("rect", { x, y, width: w, height: row - 8, fill: colourOf(part.name) })));
      x += w;
    }
    svg.append(s("text", { x: width - right + 8, y: y + 15 }, item.note));
  });
  return svg;
}

export function legend(names: string[]): HTMLElement {
  return h("div", { class: "legend" }, ...names.map((name) => h("span", {},
    s("svg", { width: 12, height: 12, "aria-hidden": "true" }, s("rect", { width: 12, height: 12, fill: colourOf(name) })), ` ${name}`)));
}

function energyChart(layer: Explained): HTMLElement {
  const csv: Row[] = [["level", "tensor", "energy_pj"]];
  const rows: Bar[] = [...layer.levels].reverse().map((level) => {
    const parts = Object.entries(layer.energy_pj[level.name] ?? {}).map(([name, value]) => ({ name, value }));
    for (const part of parts) csv.push([level.name, part.name, part.value]);
    const sum = parts.reduce((total, part) => total + part.value, 0);
    return { label: level.name, parts, note: `${energy(sum)}, ${percent(sum / layer.total_pj)}` };
  });
  rows.push({ label: "MACs", parts: [{ name: "MACs", value: layer.mac_pj }],
    note: `${energy(layer.mac_pj)}, ${percent(layer.mac_pj / layer.total_pj)}` });
  csv.push(["MACs", "", layer.mac_pj]);
  const body = h("div", {}, bars("Energy by level and tensor", rows, energy), legend(tensorNames(layer)));
  return chart("Energy by level and tensor", csv, body, "Networks and addresses count with the level above them.");
}

function tensorNames(layer: Explained): string[] {
  return [...new Set(layer.levels.flatMap((level) => Object.keys(level.tensors))), "MACs"];
}

function trafficChart(layer: Explained): HTMLElement {
  const csv: Row[] = [["level", "tensor", "reads", "fills", "updates"]];
  const rows: Bar[] = [...layer.levels].reverse().map((level) => {
    const parts = Object.entries(level.tensors).map(([name, tensor]) => {
      csv.push([level.name, name, tensor.reads, tensor.fills, tensor.updates]);
      return { name, value: tensor.reads + tensor.fills + tensor.updates };
    });
    return { label: level.name, parts, note: `${whole(level.moved_words)} words` };
  });
  return chart("Traffic by level and tensor", csv, bars("Traffic by level and tensor", rows, whole));
}

function occupancyChart(layer: Explained): HTMLElement {
  const csv: Row[] = [["level", "tensor", "tile_words", "words"]];
  const rows: Bar[] = [...layer.levels].reverse().filter((level) => level.words !== null && level.words > 0).map((level) => {
    const parts = Object.entries(level.tensors).filter(([, tensor]) => tensor.kept).map(([name, tensor]) => {
      csv.push([level.name, name, tensor.tile_words, level.words]);
      return { name, value: tensor.tile_words };
    });
    const size = level.words ?? 1;
    return { label: level.name, parts, whole: Math.max(size, level.used_words),
      note: `${whole(level.used_words)} of ${whole(size)} words, ${percent(level.used_words / size)}` };
  });
  return chart("Occupancy of one instance", csv, bars("Occupancy of one instance", rows, whole));
}

// ---- Roofline ------------------------------------------------------------------------------------

function roofline(layer: Explained): HTMLElement | null {
  const { roofline: roof } = layer;
  if (roof.macs_per_word === null) return null;
  const width = 760, height = 360, left = 64, bottom = 44, top = 30, right = 120;
  const csv: Row[] = [["what", "macs_per_word", "macs_per_cycle"]];
  const points = [{ name: "this mapping", x: roof.macs_per_word, y: roof.macs_per_cycle }];
  if (layer.bounds.cycles) points.push({ name: "lower bound of cycles", x: roof.macs_per_word, y: layer.macs / layer.bounds.cycles });
  const slopes = roof.ceilings
    .filter((item) => item.macs_per_cycle !== null && item.macs_per_word !== null)
    .map((item) => ({ name: item.level, slope: (item.macs_per_cycle as number) / (item.macs_per_word as number),
      x: item.macs_per_word as number, y: item.macs_per_cycle as number }));
  const xs = [...points.map((p) => p.x), ...slopes.map((p) => p.x), ...slopes.map((p) => roof.peak_macs_per_cycle / p.slope)];
  const ys = [...points.map((p) => p.y), roof.peak_macs_per_cycle];
  const low = (values: number[]) => Math.floor(Math.log10(Math.min(...values)) - 0.3);
  const high = (values: number[]) => Math.ceil(Math.log10(Math.max(...values)) + 0.2);
  const x0 = low(xs), x1 = high(xs), y0 = low(ys), y1 = high(ys);
  const px = (x: number) => left + ((Math.log10(x) - x0) / (x1 - x0)) * (width - left - right);
  const py = (y: number) => height - bottom - ((Math.log10(y) - y0) / (y1 - y0)) * (height - top - bottom);
  const svg = picture(width, height, "Roofline");
  for (let e = x0; e <= x1; ++e) {
    svg.append(s("line", { x1: px(10 ** e), x2: px(10 ** e), y1: top, y2: height - bottom, class: "grid" }),
      s("text", { x: px(10 ** e), y: height - bottom + 16, "text-anchor": "middle" }, short(10 ** e)));
  }
  for (let e = y0; e <= y1; ++e) {
    svg.append(s("line", { x1: left, x2: width - right, y1: py(10 ** e), y2: py(10 ** e), class: "grid" }),
      s("text", { x: left - 6, y: py(10 ** e) + 4, "text-anchor": "end" }, short(10 ** e)));
  }
  svg.append(s("text", { x: (left + width - right) / 2, y: height - 8, "text-anchor": "middle" }, "MACs per word moved"),
    s("text", { x: left, y: 14 }, "MACs per cycle"));
  const peak = roof.peak_macs_per_cycle;
  svg.append(s("line", { x1: left, x2: width - right, y1: py(peak), y2: py(peak), class: "roof" }),
    s("text", { x: width - right + 6, y: py(peak) + 4 }, `array ${whole(peak)}`));
  csv.push(["array", null, peak]);
  const taken: [number, number][] = []; // places of names, so that those of close lines stay apart
  for (const slope of slopes) {
    const xa = Math.max(10 ** x0, (10 ** y0) / slope.slope), xb = Math.min(10 ** x1, peak / slope.slope);
    if (xb > xa) {
      svg.append(s("line", { x1: px(xa), y1: py(xa * slope.slope), x2: px(xb), y2: py(xb * slope.slope), class: "roof",
        stroke: colourOf(slope.name) }));
      const places = [0.5, 0.3, 0.7, 0.15, 0.85, 0.4, 0.6, 0.05].map((along): [number, number] => {
        const x = 10 ** (Math.log10(xa) + along * (Math.log10(xb) - Math.log10(xa)));
        return [px(x) + 8, py(x * slope.slope) + 4];
      });
      const free = ([x, y]: [number, number]) => taken.every(([u, v]) => Math.abs(y - v) > 14 || Math.abs(x - u) > 84);
      const place = places.find(free) ?? places[0] as [number, number];
      taken.push(place);
      svg.append(s("text", { x: place[0], y: place[1], fill: colourOf(slope.name) }, slope.name));
    }
    svg.append(s("g", {}, s("title", {}, `${slope.name} allows ${short(slope.y)} MACs per cycle at ${short(slope.x)} MACs per word`),
      s("rect", { x: px(slope.x) - 4, y: py(Math.min(slope.y, peak)) - 4, width: 8, height: 8, fill: colourOf(slope.name) })));
    csv.push([`${slope.name} allows`, slope.x, slope.y]);
  }
  points.forEach((point, i) => {
    svg.append(s("g", {}, s("title", {}, `${point.name}: ${short(point.y)} MACs per cycle`),
      s("circle", { cx: px(point.x), cy: py(point.y), r: i === 0 ? 6 : 4, class: i === 0 ? "point" : "point hollow" })));
    csv.push([point.name, point.x, point.y]);
  });
  return chart("Roofline", csv, svg,
    "The dot is this mapping, the ring the lower bound of cycles, squares what each level allows at its own traffic.");
}

// ---- All of it -----------------------------------------------------------------------------------

const kMacWords: [keyof Explained["mac_cycles"], string][] = [
  ["useful", "operations on data"], ["padding", "operations on padding"], ["ragged", "idle at ragged edges"],
  ["unused", "units not used"], ["waiting", "waiting for memories"],
];

function macChart(layer: Explained): HTMLElement {
  const csv: Row[] = [["part", "fraction"], ...kMacWords.map(([key, words]): Row => [words, layer.mac_cycles[key]])];
  const rows: Bar[] = kMacWords.map(([key, words]) => ({ label: words, parts: [{ name: words, value: layer.mac_cycles[key] }], whole: 1,
    note: percent(layer.mac_cycles[key]) }));
  return chart("Where MAC cycles go", csv, bars("Where MAC cycles go", rows, percent));
}

export function layerView(layer: Explained, result: ResultLayer): HTMLElement {
  if (layer.cycles === undefined) return h("section", { class: "layer" }, h("h2", {}, layer.name), h("p", {}, "No mapping was found."));
  const { bounds } = layer;
  const facts = [
    `${whole(layer.cycles)} cycles, ${energy(layer.total_pj)}, ${whole(layer.macs)} MACs`,
    bounds.cycles !== null ? `cycles are ${percent(bounds.cycles_gap)} above the bound ${whole(bounds.cycles)}, which ${bounds.cycles_from} gives` : "",
    bounds.energy_pj !== null ? `energy is ${percent(bounds.energy_gap)} above the bound ${energy(bounds.energy_pj)}` : "",
    bounds.objective !== null ? `${layer.status}: the objective is ${percent(bounds.objective_gap)} above what is proved` : "",
    bounds.tight.length > 0 ? `bounds that are met: ${bounds.tight.join(", ")}` : "",
  ].filter((text) => text !== "");
  return h("section", { class: "layer", "aria-label": `Layer ${layer.name}` },
    h("h2", { tabindex: -1 }, layer.name), h("p", { class: "note" }, `${layer.layer}${layer.count > 1 ? `, ${layer.count} times` : ""}`),
    h("p", { class: "lead limit" }, `${layer.limit}.`),
    h("ul", {}, ...facts.map((fact) => h("li", {}, fact))),
    h("div", { class: "columns" },
      h("figure", { class: "chart" }, h("figcaption", {}, h("h3", {}, "Loop nest")), nest(result.mapping, layer),
        h("p", { class: "note" }, "Words of the tiles of one instance beside each tensor; tensors that are not named pass the level by.")),
      energyChart(layer), trafficChart(layer), occupancyChart(layer), roofline(layer), macChart(layer)));
}
