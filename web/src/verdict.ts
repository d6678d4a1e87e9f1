// The first screen: what came out, how good it is, and how to get it again.
import { h } from "./dom";
import { energy, percent, short, whole } from "./format";
import type { AnyRun, Run } from "./data";

function card(label: string, value: string, note = ""): HTMLElement {
  return h("div", { class: "card" }, h("div", { class: "label" }, label), h("div", { class: "value" }, value),
    note ? h("div", { class: "note" }, note) : null);
}

function copyButton(text: string): HTMLElement {
  const button = h("button", { type: "button" }, "Copy the command");
  button.addEventListener("click", () => {
    const area = h("textarea", { class: "offscreen", "aria-hidden": "true" });
    area.value = text;
    document.body.append(area);
    area.select();
    const copied = document.execCommand("copy");
    area.remove();
    button.textContent = copied ? "Copied" : "Select it and copy";
    setTimeout(() => (button.textContent = "Copy the command"), 1500);
  });
  return button;
}

function status(run: Run): string {
  const layers = run.result.layers;
  const count = (name: string) => layers.filter((layer) => layer.status === name).length;
  const optimal = count("OPTIMAL");
  if (optimal === layers.length) return `OPTIMAL: all ${layers.length} distinct layers are proved`;
  const parts = ["OPTIMAL", "BOUNDED", "HEURISTIC", "NOTHING"]
    .filter((name) => count(name) > 0)
    .map((name) => `${count(name)} ${name}`);
  return `${layers.length} distinct layers: ${parts.join(", ")}`;
}

// What a run came to in a few numbers: label, value, note.
export interface Summary {
  title: string;
  lead: string;
  cards: [string, string, string?][];
}

// The first screen of any run.
export function head(run: AnyRun, { title, lead, cards }: Summary, more: [string, string][] = []): HTMLElement {
  const facts: [string, string][] = [...more, ["seed", String(run.seed)], ["version", run.version], ["run", `${run.folder} (${run.id})`]];
  for (const [file, hash] of Object.entries(run.inputs)) facts.push([file, `SHA-256 ${hash}`]);
  return h("section", { class: "verdict", "aria-label": "Verdict" },
    h("h1", {}, title), h("p", { class: "lead" }, lead),
    h("div", { class: "cards" }, ...cards.map(([label, value, note]) => card(label, value, note))),
    run.command ? h("div", { class: "command" }, h("code", { tabindex: 0 }, run.command), copyButton(run.command)) : null,
    h("details", {}, h("summary", {}, "Inputs, settings, versions"),
      h("dl", {}, ...facts.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]))));
}

export function mapSummary(run: Run): Summary {
  const { result } = run;
  const { total } = result;
  return { title: `${result.network} on ${result.accelerator}`, lead: status(run), cards: [
    ["cycles", whole(total.cycles)],
    ["energy", energy(total.energy_pj)],
    ["EDP", short(total.edp), "pJ × cycles"],
    ["gap to the bound", percent(total.gap), `objective ${result.objective}`],
    ["utilization", percent(total.utilization), "busy MACs"],
    ["samples", whole(total.samples), run.seconds === null ? "" : `${short(run.seconds)} s`],
  ] };
}

export function verdict(run: Run): HTMLElement {
  const { result } = run;
  const more: [string, string][] = [["method", result.method], ["cost model", result.model]];
  if (result.space) more.push(["space", result.space]);
  if (result.stopped_by) more.push(["ended by", result.stopped_by]);
  return head(run, mapSummary(run), more);
}
