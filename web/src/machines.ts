// Pictures of machines: what each knob was set to, which are not beaten, and what the programs of a
// chosen one do when.
import { chart, type Row } from "./chart";
import { h, picture, s } from "./dom";
import type { CooptRun, Machine, Timeline } from "./data";
import { niceSteps, percent, short, ticks, whole } from "./format";
import { bars, legend, type Bar } from "./layer";

export interface Axis<T> {
  name: string;
  of: (item: T) => number;
  show: (value: number) => string;
}

// Parallel coordinates: a line per item, the last on top of the others.
export function parallelPicture<T>(title: string, axes: Axis<T>[], items: T[], look: (item: T) => { text: string; chosen: boolean }): SVGSVGElement {
  const width = 900, height = 340, left = 60, right = 70, top = 40, bottom = 24;
  const svg = picture(width, height, title);
  const px = (i: number) => left + (i / Math.max(1, axes.length - 1)) * (width - left - right);
  const ranges = axes.map((axis) => {
    const values = items.map(axis.of);
    return [Math.min(...values), Math.max(...values)] as const;
  });
  const py = (i: number, value: number) => {
    const [low, high] = ranges[i] ?? [0, 1];
    return high === low ? (top + height - bottom) / 2 : height - bottom - ((value - low) / (high - low)) * (height - top - bottom);
  };
  for (const item of items) {
    const d = axes.map((axis, i) => `${i === 0 ? "M" : "L"}${px(i)} ${py(i, axis.of(item))}`).join("");
    const { text, chosen } = look(item);
    svg.append(s("g", {}, s("title", {}, text), s("path", { d, fill: "none", class: chosen ? "chosen" : "machine" })));
  }
  axes.forEach((axis, i) => {
    const [low, high] = ranges[i] ?? [0, 1];
    svg.append(s("line", { x1: px(i), x2: px(i), y1: top, y2: height - bottom, class: "axis" }),
      s("text", { x: px(i), y: 14, "text-anchor": "middle" }, axis.name),
      s("text", { x: px(i), y: top - 8, "text-anchor": "middle" }, axis.show(high)),
      s("text", { x: px(i), y: height - bottom + 16, "text-anchor": "middle" }, axis.show(low)));
  });
  return svg;
}

// A front: steps between points that no other one beats in both. Scales end a tenth beyond the points.
export function frontPicture<T>(title: string, x: Axis<T>, y: Axis<T>, items: T[], rises: boolean, look: (item: T) => { text: string; chosen: boolean }): SVGSVGElement {
  const width = 760, height = 330, left = 76, bottom = 44, top = 26, right = 40;
  const points = [...items].sort((a, b) => x.of(a) - x.of(b));
  const range = (values: number[]): [number, number] => {
    const low = Math.min(...values), high = Math.max(...values), margin = (high - low || high || 1) * 0.1;
    return [low - margin, high + margin];
  };
  const [x0, x1] = range(points.map(x.of)), [y0, y1] = range(points.map(y.of));
  const px = (value: number) => left + ((value - x0) / (x1 - x0)) * (width - left - right);
  const py = (value: number) => height - bottom - ((value - y0) / (y1 - y0)) * (height - top - bottom);
  const svg = picture(width, height, title);
  const xs = niceSteps(x0, x1), ys = niceSteps(y0, y1);
  ticks(xs).forEach((text, i) => svg.append(
    s("line", { x1: px(xs[i] as number), x2: px(xs[i] as number), y1: top, y2: height - bottom, class: "grid" }),
    s("text", { x: px(xs[i] as number), y: height - bottom + 16, "text-anchor": "middle" }, text)));
  ticks(ys).forEach((text, i) => svg.append(
    s("line", { x1: left, x2: width - right, y1: py(ys[i] as number), y2: py(ys[i] as number), class: "grid" }),
    s("text", { x: left - 6, y: py(ys[i] as number) + 4, "text-anchor": "end" }, text)));
  svg.append(s("text", { x: (left + width) / 2, y: height - 8, "text-anchor": "middle" }, x.name), s("text", { x: 4, y: 14 }, y.name));
  points.forEach((point, i) => {
    const next = points[i + 1];
    // With more of x one gets the next point's y only from there on.
    if (next && (rises ? y.of(next) >= y.of(point) : y.of(next) <= y.of(point))) {
      svg.append(s("path", { d: `M${px(x.of(point))} ${py(y.of(point))}H${px(x.of(next))}V${py(y.of(next))}`, class: "front" }));
    }
    const { text, chosen } = look(point);
    svg.append(s("g", {}, s("title", {}, text),
      s("circle", { cx: px(x.of(point)), cy: py(y.of(point)), r: chosen ? 7 : 5, class: chosen ? "point" : "point hollow" })));
  });
  return svg;
}

// The machines of a co-optimization: an axis per knob, then area and cycles; the fastest on top.
export function parallelCoordinates(run: CooptRun): HTMLElement | null {
  const { knobs, machines, measured } = run.more;
  if (machines.length < 2) return null;
  const axes: Axis<Machine>[] = [
    ...knobs.map((name, i) => ({ name, of: (machine: Machine) => machine.values[i] ?? 0, show: (value: number) => whole(2 ** value) })),
    { name: "area, mm²", of: (machine) => machine.area / 1e6, show: short },
    { name: "cycles", of: (machine) => machine.cycles, show: short },
  ];
  const svg = parallelPicture("Machines by their choices", axes, [...machines].reverse(), (machine) => ({
    text: `${machine.name}: ${short(machine.cycles)} cycles, ${short(machine.area / 1e6)} mm²`, chosen: machine.chosen }));
  const rows: Row[] = [["machine", ...knobs.map((name) => `log2_${name}`), "area_um2", "cycles"],
    ...machines.map((machine): Row => [machine.name, ...machine.values, machine.area, machine.cycles])];
  return chart("Machines by their choices", rows, svg,
    `The ${whole(machines.length)} fastest of ${whole(measured)} machines that ran every layer; the thick line is the chosen one.`);
}

const kWaits: ["busy_cycles" | "token_cycles" | "fetch_cycles", string][] = [
  ["busy_cycles", "busy"], ["token_cycles", "waiting for a token"], ["fetch_cycles", "waiting for instructions"]];

function stageUse(timeline: Timeline): HTMLElement {
  const csv: Row[] = [["stage", "instructions", "busy_cycles", "token_cycles", "fetch_cycles", "bus_cycles"],
    ...timeline.stages.map((stage): Row => [stage.name, stage.instructions, stage.busy_cycles, stage.token_cycles, stage.fetch_cycles, stage.bus_cycles])];
  const rows: Bar[] = timeline.stages.map((stage) => ({ label: stage.name, whole: Math.max(1, timeline.cycles),
    parts: kWaits.map(([key, name]) => ({ name, value: stage[key] })), note: `${percent(stage.busy_cycles / timeline.cycles)} busy` }));
  return chart(`Stages: ${timeline.layer}`, csv,
    h("div", {}, bars(`Stages: ${timeline.layer}`, rows, whole), legend(kWaits.map(([, name]) => name))));
}

// A timeline with buttons for a closer look; arrow keys move, plus and minus zoom.
function timelineChart(timeline: Timeline): HTMLElement {
  const width = 900, left = 80, right = 10, row = 34, top = 4;
  const svg = picture(width, top + row * timeline.stages.length + 24, `Timeline: ${timeline.layer}`);
  let from = 0, span = Math.max(1, timeline.cycles);
  const draw = () => {
    const px = (cycle: number) => left + ((cycle - from) / span) * (width - left - right);
    svg.replaceChildren();
    timeline.stages.forEach((stage, i) => {
      svg.append(s("text", { x: left - 8, y: top + i * row + 20, "text-anchor": "end" }, stage.name),
        s("rect", { x: left, y: top + i * row, width: width - left - right, height: row - 8, class: "track" }));
      for (const [start, end, busy] of stage.spans) {
        if (end < from || start > from + span) continue;
        const a = Math.max(px(start), left), b = Math.min(px(end), width - right);
        svg.append(s("g", {}, s("title", {}, `${stage.name}: cycles ${whole(start)} to ${whole(end)}, ${percent(busy / Math.max(1, end - start))} busy`),
          s("rect", { x: a, y: top + i * row, width: Math.max(b - a, 0.4), height: row - 8, class: "heat",
            "fill-opacity": 0.25 + 0.75 * Math.min(1, busy / Math.max(1, end - start)) })));
      }
    });
    const y = top + row * timeline.stages.length + 14;
    svg.append(s("text", { x: left, y }, whole(from)), s("text", { x: width - right, y, "text-anchor": "end" }, `${whole(from + span)} cycles`));
  };
  const show = (start: number, length: number) => {
    span = Math.max(16, Math.min(length, timeline.cycles));
    from = Math.max(0, Math.min(start, timeline.cycles - span));
    draw();
  };
  const keys: Record<string, () => void> = {
    "+": () => show(from + span / 4, span / 2), "-": () => show(from - span / 2, span * 2),
    ArrowLeft: () => show(from - span / 4, span), ArrowRight: () => show(from + span / 4, span), "0": () => show(0, timeline.cycles) };
  draw();
  const button = (label: string, key: string) => h("button", { type: "button", click: () => keys[key]?.() }, label);
  const rows: Row[] = [["stage", "start", "end", "busy_cycles"],
    ...timeline.stages.flatMap((stage) => stage.spans.map((item): Row => [stage.name, ...item]))];
  const body = h("div", {}, h("div", { class: "buttons" }, button("Zoom in", "+"), button("Zoom out", "-"), button("◀ Earlier", "ArrowLeft"),
    button("Later ▶", "ArrowRight"), button("All", "0")), svg);
  body.addEventListener("keydown", (event) => {
    if (event.target instanceof HTMLButtonElement && event.key !== "+" && event.key !== "-") return;
    const action = keys[event.key];
    if (action) {
      event.preventDefault();
      action();
    }
  });
  return chart(`Timeline: ${timeline.layer}`, rows, body,
    "When each stage works, of one image; + and − zoom, arrows move. Long programs: neighbours are drawn together, paler where idle between.");
}

export function timelines(run: CooptRun): HTMLElement[] {
  return run.more.timelines.flatMap((timeline) => [stageUse(timeline), timelineChart(timeline)]);
}
