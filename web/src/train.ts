// Training: returns with their confidence, losses, and what was learned with.
import { chart, type Row } from "./chart";
import { h } from "./dom";
import type { TrainRun } from "./data";
import { percent, short, whole } from "./format";
import { bars, legend, type Bar } from "./layer";
import { linePlot, type Line } from "./lines";
import { head, type Summary } from "./verdict";

type Progress = TrainRun["result"]["progress"];

function returns(progress: Progress): HTMLElement {
  const line = (name: string, value: (row: Progress[number]) => number): Line => ({ name, points: progress.map((row) => [row.episodes, value(row)]) });
  const rows: Row[] = [["episodes", "team_return", "ci95"], ...progress.map((row): Row => [row.episodes, row.team_return, row.team_return_ci95])];
  return chart("Team return", rows, linePlot([{ ...line("team return", (row) => row.team_return), band: [
    line("lower end of 95 %", (row) => row.team_return - row.team_return_ci95),
    line("upper end of 95 %", (row) => row.team_return + row.team_return_ci95)] }], { x: "episodes", y: "team return" }),
    "Mean over the episodes since the point before, with its 95 % interval.");
}

function losses(progress: Progress): HTMLElement {
  const rows: Row[] = [["episodes", "q_loss", "p_loss", "entropy"], ...progress.map((row): Row => [row.episodes, row.q_loss, row.p_loss, row.entropy])];
  const lines: Line[] = (["q_loss", "p_loss", "entropy"] as const)
    .filter((key) => progress.some((row) => row[key] !== 0))
    .map((key) => ({ name: { q_loss: "critic loss", p_loss: "policy loss", entropy: "entropy" }[key], points: progress.map((row) => [row.episodes, row[key]]) }));
  if (lines.length === 0) return h("p", {}, "No updates were made: the run ended before its replay was full enough.");
  return chart("Losses and entropy", rows, linePlot(lines, { x: "episodes", y: "value" }));
}

function phases(run: TrainRun): HTMLElement | null {
  const parts = run.more.phases.filter((phase) => phase.seconds > 0).map((phase) => ({ name: phase.name, value: phase.seconds }));
  const all = parts.reduce((sum, part) => sum + part.value, 0);
  if (all <= 0) return null;
  const rows: Row[] = [["phase", "seconds"], ...parts.map((part): Row => [part.name, part.value])];
  const body = h("div", {}, bars("Where the time goes", [{ label: "all", parts, note: `${short(all)} s` },
    ...parts.map((part): Bar => ({ label: part.name, parts: [part], whole: all, note: `${short(part.value)} s, ${percent(part.value / all)}` }))],
    (value) => `${short(value)} s`), legend(parts.map((part) => part.name)));
  return chart("Where the time goes", rows, body, "By the clock of the machine that trained, over all sittings; the environment included.");
}

// Rows of replay that learning has seen: stored ones, and how often each is drawn on average.
function replay(run: TrainRun): HTMLElement | null {
  const { config, progress } = run.result;
  const last = progress[progress.length - 1];
  const number = (name: string) => (config.settings[name] === undefined ? null : Number(config.settings[name]));
  if (!last || last.updates === 0) return null;
  const facts: [string, string][] = [["transitions seen", whole(last.env_steps * 1)], ["update rounds", whole(last.updates)],
    ["transitions per round", short(last.env_steps / last.updates)]];
  for (const name of ["sampler", "replay", "batch", "capacity"]) {
    if (config.settings[name] !== undefined) facts.push([name, config.settings[name] as string]);
  }
  const batch = number("batch");
  if (batch !== null) facts.push(["draws per transition", short((batch * last.updates) / last.env_steps)]);
  return h("details", { open: true }, h("summary", {}, "Replay"),
    h("dl", {}, ...facts.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)])));
}

// The trained agents play; a picture that moves by itself and holds no script.
function episode(run: TrainRun): HTMLElement | null {
  const { episode: drawing, episode_return: reward } = run.more;
  if (drawing === null) return null;
  const source = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(drawing)}`;
  const image = h("img", { class: "episode", src: source, alt: `An episode of the trained agents, return ${short(reward)}` });
  const again = h("button", { type: "button", click: () => {
    image.src = "";
    image.src = source;
  } }, "Play again");
  return h("figure", { class: "chart" }, h("figcaption", {}, h("h3", {}, "An episode of the trained agents"), again), image,
    h("p", { class: "note" }, `Greedy actions from the last checkpoint; the team's return is ${short(reward)}.`));
}

export function trainSummary({ result, seconds }: TrainRun): Summary {
  const { config, progress } = result;
  const last = progress[progress.length - 1];
  return { title: `${config.algorithm} on ${config.env}`,
    lead: last ? `The team's return at the end is ${short(last.team_return)}.` : "The run ended before its first point.", cards: [
      ["team return", short(last?.team_return), last ? `± ${short(last.team_return_ci95)}` : ""],
      ["episodes", whole(result.episodes)],
      ["environment steps", whole(last?.env_steps ?? 0)],
      ["updates", whole(last?.updates ?? 0)],
      ["time", seconds === null ? "–" : `${short(seconds)} s`],
    ] };
}

// Runs that differ in nothing but their seed belong together.
function sameButSeed(run: TrainRun): string {
  const { env, algorithm, env_settings, settings, envs } = run.result.config;
  return JSON.stringify([env, algorithm, envs, Object.entries(env_settings).sort(), Object.entries(settings).sort()]);
}

// Where runs have points in common: the mean over seeds with its 95 % interval (Student's t).
const kStudent = [12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228];

function overSeeds(name: string, runs: TrainRun[], rows: Row[]): Line {
  const returns = runs.map((run) => new Map(run.result.progress.map((row) => [row.episodes, row.team_return])));
  const common = [...(returns[0]?.keys() ?? [])].filter((at) => returns.every((one) => one.has(at)));
  const points = common.map((at) => {
    const values = returns.map((one) => one.get(at) as number), n = values.length;
    const mean = values.reduce((sum, value) => sum + value, 0) / n;
    const spread = n < 2 ? 0 : Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (n - 1));
    const half = n < 2 ? 0 : (kStudent[n - 2] ?? 1.96) * spread / Math.sqrt(n);
    rows.push([name, n, at, mean, half]);
    return { at, mean, half };
  });
  const line = (edge: string, value: (point: (typeof points)[number]) => number): Line =>
    ({ name: edge, points: points.map((point) => [point.at, value(point)]) });
  return { ...line(name, (point) => point.mean), band: [line(`${name}, lower end of 95 %`, (point) => point.mean - point.half),
    line(`${name}, upper end of 95 %`, (point) => point.mean + point.half)] };
}

// Several trainings beside each other: those that differ in their seed alone as one line.
export function trainingsBeside(runs: TrainRun[]): HTMLElement {
  const groups = new Map<string, TrainRun[]>();
  for (const run of runs) groups.set(sameButSeed(run), [...(groups.get(sameButSeed(run)) ?? []), run]);
  const rows: Row[] = [["runs", "seeds", "episodes", "team_return", "ci95"]];
  const lines = [...groups.values()].map((group) => overSeeds(group.map((run) => run.folder).join(", "), group, rows));
  return chart("Team return over seeds", rows, linePlot(lines, { x: "episodes", y: "team return" }),
    "Mean over runs that differ in their seed alone, with its 95 % interval; other runs have a line of their own.");
}

export function trainView(run: TrainRun): HTMLElement {
  const { result } = run;
  const { config, progress } = result;
  const settings: [string, string][] = [...Object.entries(config.env_settings), ...Object.entries(config.settings)];
  return h("div", {},
    head(run, trainSummary(run), [["environments at a time", String(config.envs)], ...settings]),
    progress.length > 0
      ? h("section", { "aria-label": "Training" }, h("h2", {}, "Training"), returns(progress),
          result.rows_of ? h("p", { class: "note" }, `${whole(progress.length)} of ${whole(result.rows_of)} points: of equal parts of the run those with the lowest and the highest return.`) : null,
          losses(progress), episode(run), phases(run), replay(run))
      : h("span"));
}
