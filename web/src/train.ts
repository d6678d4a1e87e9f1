// Training: returns with their confidence, losses, and what was learned with.
import { chart, type Row } from "./chart";
import { h } from "./dom";
import type { TrainRun } from "./data";
import { short, whole } from "./format";
import { linePlot, type Line } from "./lines";
import { head } from "./verdict";

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

export function trainView(run: TrainRun): HTMLElement {
  const { result } = run;
  const { config, progress } = result;
  const last = progress[progress.length - 1];
  const settings: [string, string][] = [...Object.entries(config.env_settings), ...Object.entries(config.settings)];
  return h("div", {},
    head(run, `${config.algorithm} on ${config.env}`, last ? `The team's return at the end is ${short(last.team_return)}.` : "The run ended before its first point.", [
      ["team return", short(last?.team_return), last ? `± ${short(last.team_return_ci95)}` : ""],
      ["episodes", whole(result.episodes)],
      ["environment steps", whole(last?.env_steps ?? 0)],
      ["updates", whole(last?.updates ?? 0)],
      ["time", run.seconds === null ? "–" : `${short(run.seconds)} s`],
    ], [["environments at a time", String(config.envs)], ...settings]),
    progress.length > 0
      ? h("section", { "aria-label": "Training" }, h("h2", {}, "Training"), returns(progress), losses(progress))
      : h("span"));
}
