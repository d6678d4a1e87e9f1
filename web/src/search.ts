// How the search went: the best value so far with the bound, and what became of the samples.
import { assignmentView } from "./assignment";
import { chart, type Row } from "./chart";
import { h, picture, s, textWidth } from "./dom";
import type { Run, Search } from "./data";
import { percent, whole } from "./format";
import { bars, type Bar } from "./layer";
import { linePlot, type Line } from "./lines";

function curve(search: Search, bound: number | null, objective: string): HTMLElement {
  const points: [number, number | null][] = [...search.curve];
  const last = points[points.length - 1];
  if (last && last[0] !== search.samples) points.push([search.samples, last[1]]);
  const lines: Line[] = [{ name: "best so far", points }];
  const first = points[0];
  if (bound !== null && first) lines.push({ name: "bound", points: [[first[0], bound], [search.samples, bound]], dashed: true });
  const rows: Row[] = [["samples", "best", "bound"], ...points.map((point): Row => [point[0], point[1], bound])];
  return chart(`Best so far: ${search.layer}`, rows, linePlot(lines, { x: "samples", y: objective, log: true, stepped: true }));
}

// The proof: the best mapping and what is proved to be impossible meet each other.
function gapCurve(layer: string, proof: [number, number, number | null][], objective: string): HTMLElement {
  const lines: Line[] = [
    { name: "best mapping", points: proof.map(([rounds, , value]) => [rounds, value]) },
    { name: "bound", points: proof.map(([rounds, bound]) => [rounds, bound > 0 ? bound : null]), dashed: true }];
  const rows: Row[] = [["rounds", "bound", "value", "gap"],
    ...proof.map(([rounds, bound, value]): Row => [rounds, bound, value, value !== null && bound > 0 ? value / bound - 1 : null])];
  const last = proof[proof.length - 1];
  const gap = last && last[2] !== null && last[1] > 0 ? last[2] / last[1] - 1 : null;
  return chart(`Proof: ${layer}`, rows, linePlot(lines, { x: "rounds", y: objective, log: true, stepped: true }),
    `The gap in the end is ${percent(gap)}.`);
}

function outcomes(search: Search): HTMLElement {
  const { feasible, infeasible, failed } = search.outcomes;
  const all = Math.max(1, feasible + infeasible + failed);
  const lines: [string, number][] = [["feasible", feasible], ["infeasible", infeasible], ["failed", failed]];
  const csv: Row[] = [["outcome", "samples"], ...lines, ...search.reasons];
  const rows: Bar[] = lines.map(([name, count]) => ({ label: name, parts: [{ name, value: count }], whole: all,
    note: `${whole(count)} (${percent(count / all)})` }));
  const body = h("div", {}, bars(`Samples: ${search.layer}`, rows, whole),
    search.reasons.length > 0
      ? h("table", { "aria-label": "Reasons of refusal" },
          h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "why refused"), h("th", { scope: "col" }, "samples"))),
          h("tbody", {}, ...search.reasons.map(([why, count]) => h("tr", {}, h("td", {}, why), h("td", { class: "number" }, whole(count))))))
      : null);
  return chart(`Samples: ${search.layer}`, csv, body);
}

// How decisions settled: a row per decision, time to the right; pale where one value is left.
function settling(search: Search, agents: string[][] | undefined): HTMLElement | null {
  // Decisions of one agent stand together, where agents share some.
  const agentOf = new Map((agents ?? []).flatMap((group, i) => group.map((name): [string, number] => [name, i + 1])));
  const shared = agents !== undefined && agents.length < agentOf.size;
  const decisions = shared ? [...search.decisions].sort((a, b) => (agentOf.get(a.name) ?? 0) - (agentOf.get(b.name) ?? 0)) : search.decisions;
  const windows = decisions[0]?.evenness.length ?? 0;
  if (windows < 2) return null;
  const nameOf = (decision: Search["decisions"][number]) => (shared ? `${agentOf.get(decision.name) ?? "–"}: ${decision.name}` : decision.name);
  const left = 16 + textWidth(decisions.map(nameOf)), right = 130, row = 18, width = 1140, top = 4, cell = (width - left - right) / windows;
  const svg = picture(width, top + row * decisions.length + 22, "How decisions settled");
  const rows: Row[] = [["decision", "values", "part", "evenness", "favourite"]];
  decisions.forEach((decision, i) => {
    const y = top + i * row;
    svg.append(s("text", { x: left - 8, y: y + 13, "text-anchor": "end" }, nameOf(decision)));
    decision.evenness.forEach((part, w) => {
      const favourite = decision.favourites[w] ?? "–";
      rows.push([decision.name, decision.values, w + 1, part, favourite]);
      svg.append(s("g", {}, s("title", {}, `${decision.name}, part ${w + 1} of ${windows}: evenness ${part}, mostly ${favourite}`),
        s("rect", { x: left + w * cell, y, width: cell - 1, height: row - 2, class: "heat", "fill-opacity": 0.08 + 0.92 * part })));
    });
    svg.append(s("text", { x: width - right + 8, y: y + 13 }, decision.favourites[windows - 1] ?? ""));
  });
  svg.append(s("text", { x: left, y: top + row * decisions.length + 16 }, "first samples"),
    s("text", { x: width - right, y: top + row * decisions.length + 16, "text-anchor": "end" }, "last samples"));
  return chart(`How decisions settled: ${search.layer}`, rows, svg,
    `Entropy of choices: dark where all values are chosen alike, pale where one is left; the last favourite stands at the right.${
      shared ? " Numbers are those of agents." : agents ? " Every decision has an agent of its own." : ""}`);
}

export function searchView(run: Run, layer: string): HTMLElement {
  const search = run.search.find((item) => item.layer === layer);
  const result = run.result.layers.find((item) => item.name === layer);
  const proof = run.proofs[layer];
  const proved = proof && proof.length > 0 ? gapCurve(layer, proof, run.result.objective) : null;
  if (!search || search.samples === 0) {
    return h("section", { "aria-label": "Search" }, h("h2", {}, `Search of ${layer}`),
      h("p", {}, "This layer was not sampled: its proof alone found the mapping."), proved);
  }
  return h("section", { "aria-label": "Search" }, h("h2", {}, `Search of ${layer}`),
    curve(search, result?.bound ?? null, run.result.objective), proved, outcomes(search), settling(search, result?.agents),
    search.correlation ? assignmentView(layer, search.correlation, result?.agents) : null);
}
