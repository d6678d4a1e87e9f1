// Lines over a common axis, drawn by uPlot: fast for long series, and redrawn when the page's width
// changes.
import uPlot from "uplot";
import { drawnBy } from "./chart";
import { h, picture, s } from "./dom";
import { niceSteps, ticks } from "./format";
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

// The same as a picture of its own, for who wants to save it.
function asSvg(lines: Line[], options: { x: string; y: string; log?: boolean; stepped?: boolean }): SVGSVGElement {
  const width = 900, height = 380, left = 84, right = 20, top = 30, bottom = 60 + 18 * Math.ceil(lines.length / 4);
  const svg = picture(width, height + bottom - 60, `${options.y} against ${options.x}`);
  const full = height + bottom - 60;
  const all = lines.flatMap((line) => (line.band ? [line, ...line.band] : [line]))
    .flatMap((line) => line.points).filter((point): point is [number, number] => point[1] !== null && (!options.log || point[1] > 0));
  if (all.length === 0) return svg;
  const to = (y: number) => (options.log ? Math.log10(y) : y);
  const x0 = Math.min(...all.map((p) => p[0])), x1 = Math.max(...all.map((p) => p[0]));
  const y0 = Math.min(...all.map((p) => to(p[1]))), y1 = Math.max(...all.map((p) => to(p[1])));
  const px = (x: number) => left + ((x - x0) / (x1 - x0 || 1)) * (width - left - right);
  const py = (y: number) => full - bottom - ((to(y) - y0) / (y1 - y0 || 1)) * (full - top - bottom);
  const xs = niceSteps(x0, x1), ys = niceSteps(y0, y1).map((y) => (options.log ? 10 ** y : y));
  const named = options.log ? ys.map((y) => Number(y.toPrecision(3)).toExponential().replace("e+", "e")) : ticks(ys);
  ticks(xs).forEach((text, i) => svg.append(
    s("line", { x1: px(xs[i] as number), x2: px(xs[i] as number), y1: top, y2: full - bottom, class: "grid" }),
    s("text", { x: px(xs[i] as number), y: full - bottom + 16, "text-anchor": "middle" }, text)));
  named.forEach((text, i) => svg.append(
    s("line", { x1: left, x2: width - right, y1: py(ys[i] as number), y2: py(ys[i] as number), class: "grid" }),
    s("text", { x: left - 6, y: py(ys[i] as number) + 4, "text-anchor": "end" }, text)));
  svg.append(s("text", { x: (left + width) / 2, y: full - bottom + 34, "text-anchor": "middle" }, options.x), s("text", { x: 4, y: 16 }, options.y));
  lines.forEach((line, i) => {
    const colour = line.colour ?? colourAt(i);
    let path = "", last: number | null = null;
    for (const [x, y] of line.points) {
      if (y === null || (options.log && y <= 0)) continue;
      path += last === null ? `M${px(x)} ${py(y)}` : options.stepped ? `H${px(x)}V${py(y)}` : `L${px(x)} ${py(y)}`;
      last = y;
    }
    svg.append(s("path", { d: path, fill: "none", stroke: colour, "stroke-width": 2, "stroke-dasharray": line.dashed ? "6 4" : undefined }),
      s("rect", { x: left + (i % 4) * 195, y: full - bottom + 44 + 18 * Math.floor(i / 4), width: 10, height: 10, fill: colour }),
      s("text", { x: left + (i % 4) * 195 + 14, y: full - bottom + 53 + 18 * Math.floor(i / 4) }, line.name));
  });
  return svg;
}

export function linePlot(lines: Line[], options: { x: string; y: string; log?: boolean; stepped?: boolean }): HTMLElement {
  const body = h("div", { class: "plot" });
  const all = lines.flatMap((line) => (line.band ? [line, ...line.band] : [line]));
  const data = aligned(all, options.stepped ?? false);
  drawnBy(body, () => asSvg(lines, options));
  const draw = () => {
    const text = getComputedStyle(document.body).color;
    const axis = { stroke: text, grid: { stroke: "rgba(128,128,128,0.18)", width: 1 }, ticks: { stroke: "rgba(128,128,128,0.5)" } };
    const bands: uPlot.Band[] = [];
    const series: uPlot.Series[] = [{ label: options.x }];
    lines.forEach((line, i) => {
      const colour = line.colour ?? colourAt(i);
      const paths = options.stepped ? uPlot.paths.stepped?.({ align: 1 }) : undefined;
      series.push({ label: line.name, stroke: colour, width: 2, dash: line.dashed ? [6, 4] : undefined, paths,
        points: { show: line.points.length < 40 && !line.dashed }, spanGaps: true });
      if (!line.band) return;
      for (const edge of line.band) series.push({ label: edge.name, class: "edge-of-band", stroke: `${colour}55`, width: 1, paths, points: { show: false }, spanGaps: true });
      bands.push({ series: [series.length - 1, series.length - 2], fill: `${colour}22` });
    });
    body.replaceChildren();
    new uPlot({ width: Math.max(260, body.clientWidth || 700), height: kHeight, series, bands,
      scales: { x: { time: false }, y: options.log ? { distr: 3 } : {} },
      axes: [{ ...axis, label: options.x }, { ...axis, label: options.y, size: 78, values: (_, values) => {
        const shown = ticks(values.filter((v) => v !== null));
        let next = 0;
        return values.map((v) => (v === null ? "" : options.log ? v.toExponential().replace("e+", "e") : (shown[next++] ?? "")));
      } }],
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
