// What the best samples of a search have in common: which decisions go together.
import { chart, type Row } from "./chart";
import type { Correlation } from "./data";
import { h, picture, s, textWidth } from "./dom";

// Blue for together, orange for against each other.
function shade(r: number): { fill: string; "fill-opacity": number } {
  return { fill: r >= 0 ? "#0072b2" : "#d55e00", "fill-opacity": Math.min(1, Math.abs(r)) };
}

export function correlationChart(layer: string, correlation: Correlation): HTMLElement {
  const { names, order, rows } = correlation;
  const all = [...order, names.length]; // the reward last
  const nameOf = (i: number) => names[i] ?? "reward";
  const at = (i: number, j: number) => ((rows[Math.max(i, j)]?.[Math.min(i, j)] ?? 0) / 100);
  const cell = 14, left = 14 + textWidth(all.map(nameOf)), top = 6;
  const svg = picture(left + cell * all.length + 10, top + cell * all.length + 10, "Correlation of the best samples");
  const csv: Row[] = [["", ...all.map(nameOf)]];
  all.forEach((i, y) => {
    csv.push([nameOf(i), ...all.map((j) => at(i, j))]);
    svg.append(s("text", { x: left - 6, y: top + y * cell + cell * 0.8, "text-anchor": "end", "font-size": Math.min(12, cell) }, nameOf(i)));
    all.forEach((j, x) => svg.append(s("g", {}, s("title", {}, `${nameOf(i)}, ${nameOf(j)}: ${at(i, j)}`),
      s("rect", { x: left + x * cell, y: top + y * cell, width: cell - 0.5, height: cell - 0.5, ...shade(at(i, j)) }))));
  });
  return chart(`Correlation of the best samples: ${layer}`, csv, svg,
    `Of the best ${correlation.kept} samples; blue: together, orange: against each other; columns stand in the order of rows.`);
}

export function dendrogramChart(layer: string, correlation: Correlation, agents: string[][] | undefined): HTMLElement {
  const { names, merges, order } = correlation;
  const agentOf = new Map((agents ?? []).flatMap((group, i) => group.map((name): [string, number] => [name, i + 1])));
  const shared = (agents?.length ?? 0) < names.length;
  const nameOf = (name: string) => (shared && agentOf.has(name) ? `${name} (agent ${agentOf.get(name)})` : name);
  const row = 16, left = 14 + textWidth(names.map(nameOf)), width = 900, right = 20, top = 6;
  const svg = picture(width, top + row * names.length + 26, "Tree of decisions");
  const most = Math.max(...merges.map((merge) => merge[2]), 1e-12);
  const px = (height: number) => left + (height / most) * (width - left - right);
  // Where a node stands: its row and its height.
  const places = new Map<number, { y: number; x: number }>();
  order.forEach((item, i) => {
    places.set(item, { y: top + i * row + row / 2, x: px(0) });
    svg.append(s("text", { x: left - 6, y: top + i * row + 12, "text-anchor": "end" }, nameOf(names[item] ?? "")));
  });
  const csv: Row[] = [["left", "right", "height"]];
  merges.forEach(([a, b, height], i) => {
    csv.push([a, b, height]);
    const one = places.get(a), two = places.get(b);
    if (!one || !two) return;
    const x = px(height);
    svg.append(s("path", { d: `M${one.x} ${one.y}H${x}V${two.y}H${two.x}`, class: "front" }));
    places.set(names.length + i, { y: (one.y + two.y) / 2, x });
  });
  svg.append(s("text", { x: left, y: top + row * names.length + 18 }, "alike"),
    s("text", { x: width - right, y: top + row * names.length + 18, "text-anchor": "end" }, "unlike"));
  return chart(`Tree of decisions: ${layer}`, csv, svg, "Decisions that agents may share stand together (Ward's linkage of the matrix' rows).");
}

export function assignmentView(layer: string, correlation: Correlation, agents: string[][] | undefined): HTMLElement {
  return h("details", {}, h("summary", {}, "Which decisions go together: correlation and tree"),
    correlationChart(layer, correlation), dendrogramChart(layer, correlation, agents));
}
