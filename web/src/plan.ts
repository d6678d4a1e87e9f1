// Between layers: which tensors stay on the machine, and which layers run in slices of each other.
import { chart, type Row } from "./chart";
import type { InterLayer } from "./data";
import { h } from "./dom";
import { energy, percent, whole } from "./format";
import { bars, type Bar } from "./layer";
import { sortableTable, type Column } from "./table";

type Stage = InterLayer["stages"][number];

export function planView(plan: InterLayer): HTMLElement {
  const stays = (stage: Stage) => Object.entries(stage.homes).map(([tensor, level]) => `${tensor} in ${level}`).join(", ");
  const columns: Column<Stage>[] = [
    { name: "layers", value: (row) => row.nodes.join(" + ") },
    { name: "group in", value: (row) => row.level },
    { name: "slices", value: (row) => row.slices },
    { name: "pinned", value: (row) => row.pinned.join(", ") || null },
    { name: "stays", value: (row) => stays(row) || null },
    { name: "cycles", value: (row) => row.cycles, show: (row) => whole(row.cycles) },
    { name: "energy", value: (row) => row.energy_pj, show: (row) => energy(row.energy_pj) },
    { name: "saved cycles", value: (row) => row.saves.cycles, show: (row) => whole(row.saves.cycles) },
    { name: "saved energy", value: (row) => row.saves.energy_pj, show: (row) => energy(row.saves.energy_pj) },
    { name: "saved words", help: "of the outermost memory", value: (row) => row.saves.outer_words, show: (row) => whole(row.saves.outer_words) },
  ];
  const saving = plan.stages.filter((stage) => stage.saves.energy_pj > 0).sort((a, b) => b.saves.energy_pj - a.saves.energy_pj).slice(0, 20);
  const rows: Row[] = [["layers", "saved_pj"], ...plan.stages.map((stage): Row => [stage.nodes.join(" + "), stage.saves.energy_pj])];
  const shown: Bar[] = saving.map((stage) => ({ label: (stage.nodes[0] ?? "").slice(0, 15), parts: [{ name: "saved", value: stage.saves.energy_pj }],
    note: `${energy(stage.saves.energy_pj)}, ${percent(stage.saves.energy_pj / plan.none.energy_pj)} of all` }));
  const homes = Object.entries(plan.homes);
  return h("section", { "aria-label": "Between layers" }, h("h2", {}, "Between layers"),
    h("p", {}, `${whole(plan.groups.length)} groups of layers run in slices; ${whole(homes.length)} tensors stay on the machine. Without that: ${
      whole(plan.none.cycles)} cycles, ${energy(plan.none.energy_pj)}.`),
    shown.length > 0 ? chart("Energy saved between layers", rows, bars("Energy saved between layers", shown, energy),
      "The 20 stages that save most, by their first layer; the CSV has all.") : null,
    sortableTable("Stages", columns, plan.stages, { filter: true }));
}
