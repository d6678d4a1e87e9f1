// A run that goes on: how far its parts are, and their best values so far.
import { chart, type Row } from "./chart";
import { h } from "./dom";
import { percent, short, whole } from "./format";
import { linePlot } from "./lines";
import { sortableTable, type Column } from "./table";

interface LivePart {
  name: string;
  samples: number;
  budget: number;
  best: number | null;
  refused: number;
  curve: [number, number][];
}

export interface Live {
  x: string;
  y: string;
  log: boolean;
  parts: LivePart[];
}

const kMostLines = 12;

export function liveView(live: Live): HTMLElement {
  const columns: Column<LivePart>[] = [
    { name: "part", value: (row) => row.name },
    { name: live.x, value: (row) => row.samples, show: (row) => whole(row.samples) },
    { name: "of", value: (row) => row.budget, show: (row) => (row.budget > 0 ? h("span", {},
      h("meter", { min: 0, max: row.budget, value: Math.min(row.samples, row.budget), "aria-label": `${row.name}, part done` }),
      ` ${percent(row.samples / row.budget)}`) : "–") },
    { name: live.y, value: (row) => row.best, show: (row) => short(row.best) },
    { name: "refused", value: (row) => row.refused, show: (row) => whole(row.refused) },
  ];
  const drawn = live.parts.filter((part) => part.curve.length > 0).slice(0, kMostLines);
  const rows: Row[] = [["part", live.x, live.y],
    ...live.parts.flatMap((part) => part.curve.map((point): Row => [part.name, point[0], point[1]]))];
  return h("section", { "aria-label": "So far" }, h("h2", {}, "So far"),
    drawn.length > 0
      ? chart(live.y, rows, linePlot(drawn.map((part) => ({ name: part.name, points: part.curve })),
          { x: live.x, y: live.y, log: live.log, stepped: live.log }),
          live.parts.length > kMostLines ? `The first ${kMostLines} parts; the table and the CSV have all.` : "")
      : h("p", {}, "Nothing has been written yet."),
    sortableTable("Parts of the run", columns, live.parts));
}
