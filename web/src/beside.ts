// Several runs beside each other: their first numbers in a table per kind, trainings also as curves over seeds.
import { compareSummary } from "./compare";
import { cooptSummary } from "./coopt";
import type { AnyRun, TrainRun } from "./data";
import { h } from "./dom";
import { exploreSummary, sweepSummary } from "./explore";
import { studySummary } from "./study";
import { sortableTable, type Column } from "./table";
import { trainSummary, trainingsBeside } from "./train";
import { mapSummary, type Summary } from "./verdict";

function summaryOf(run: AnyRun): Summary {
  switch (run.kind) {
    case "map": return mapSummary(run);
    case "compare": return compareSummary(run);
    case "cooptimize": return cooptSummary(run);
    case "train": return trainSummary(run);
    case "study": return studySummary(run);
    case "explore": return exploreSummary(run);
    case "sweep": return sweepSummary(run);
  }
}

interface Entry {
  run: AnyRun;
  summary: Summary;
}

// Numbers sort as numbers: the text of a card without its separators and its unit.
const kScale: Record<string, number> = { J: 1e12, mJ: 1e9, µJ: 1e6, nJ: 1e3 };
function sortKey(text: string): number | string {
  const [number, unit] = text.replaceAll(",", "").split(" ");
  const value = Number(number);
  return Number.isNaN(value) ? text : value * (kScale[unit ?? ""] ?? 1);
}

function table(kind: string, entries: Entry[]): HTMLElement {
  const labels = [...new Set(entries.flatMap((entry) => entry.summary.cards.map(([label]) => label)))];
  const cardOf = (entry: Entry, label: string) => entry.summary.cards.find(([name]) => name === label)?.[1] ?? "–";
  const columns: Column<Entry>[] = [
    { name: "run", value: (row) => row.run.folder },
    { name: "what", value: (row) => row.summary.title },
    { name: "seed", value: (row) => row.run.seed, show: (row) => String(row.run.seed) },
    ...labels.map((label): Column<Entry> => ({ name: label, value: (row) => sortKey(cardOf(row, label)), show: (row) => cardOf(row, label) })),
  ];
  return sortableTable(`Runs of ${kind} beside each other`, columns, entries);
}

export function besideView(runs: AnyRun[]): HTMLElement {
  const kinds = [...new Set(runs.map((run) => run.kind))];
  const trainings = runs.filter((run): run is TrainRun => run.kind === "train" && run.result.progress.length > 0);
  return h("section", { "aria-label": "Runs beside each other" }, h("h2", {}, "Runs beside each other"),
    ...kinds.map((kind) => table(kind, runs.filter((run) => run.kind === kind).map((run) => ({ run, summary: summaryOf(run) })))),
    trainings.length > 1 ? trainingsBeside(trainings) : null);
}
