// Lines over a common axis, drawn by uPlot: fast for long series, and redrawn when the page's width
// changes.
import uPlot from "uplot";
import { h } from "./dom";
import { short } from "./format";
import { colourAt } from "./palette";

export interface Line {
  name: string;
  points: [number, number | null][];
  colour?: string;
  dashed?: boolean;
  band?: [Line, Line]; // filled between these two
}

const kHeight = 300;

// Series on the union of their x values; between its points a stepped line keeps its value.
function aligned(lines: Line[], stepped: boolean): uPlot.AlignedData {
  const xs = [...new Set(lines.flatMap((line) => line.points.map((point) => point[0])))].sort((a, b) => a - b);
  const columns = lines.map((line) => {
    const at = new Map(line.points);
    const last = line.points[line.points.length - 1]?.[0] ?? -Infinity;
    let value: number | null = null;
    return xs.map((x) => {
      const found = at.get(x);
      if (found !== undefined) value = found;
      return found !== undefined ? found : stepped && x <= last ? value : null;
    });
  });
  return [xs, ...columns];
}

export function linePlot(lines: Line[], options: { x: string; y: string; log?: boolean; stepped?: boolean }): HTMLElement {
  const body = h("div", { class: "plot" });
  const all = lines.flatMap((line) => (line.band ? [line, ...line.band] : [line]));
  const data = aligned(all, options.stepped ?? false);
  const draw = () => {
    const text = getComputedStyle(document.body).color;
    const axis = { stroke: text, grid: { stroke: "rgba(128,128,128,0.25)" }, ticks: { stroke: "rgba(128,128,128,0.5)" } };
    const bands: uPlot.Band[] = [];
    const series: uPlot.Series[] = [{ label: options.x }];
    lines.forEach((line, i) => {
      const colour = line.colour ?? colourAt(i);
      const paths = options.stepped ? uPlot.paths.stepped?.({ align: 1 }) : undefined;
      series.push({ label: line.name, stroke: colour, width: 2, dash: line.dashed ? [6, 4] : undefined, paths,
        points: { show: line.points.length < 40 }, spanGaps: true });
      if (!line.band) return;
      for (const edge of line.band) series.push({ label: edge.name, stroke: `${colour}55`, width: 1, paths, points: { show: false }, spanGaps: true });
      bands.push({ series: [series.length - 1, series.length - 2], fill: `${colour}22` });
    });
    body.replaceChildren();
    new uPlot({ width: Math.max(260, body.clientWidth || 700), height: kHeight, series, bands,
      scales: { x: { time: false }, y: options.log ? { distr: 3 } : {} },
      axes: [{ ...axis, label: options.x }, { ...axis, label: options.y, size: 78, values: (_, values) => values.map((v) => (v === null ? "" : short(v))) }],
    }, data, body);
  };
  let width = 0;
  new ResizeObserver(() => {
    if (body.clientWidth === width) return;
    width = body.clientWidth;
    draw();
  }).observe(body);
  return body;
}
