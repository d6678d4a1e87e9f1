// The page: a run, or several beside each other.
import "uplot/dist/uPlot.min.css";
import "./style.css";
import { besideView } from "./beside";
import { compareView } from "./compare";
import { cooptView } from "./coopt";
import { readData, type AnyRun, type Data, type Run } from "./data";
import { diffView } from "./diff";
import { h } from "./dom";
import { exploreView, sweepView } from "./explore";
import { graphChart } from "./graph";
import { layerView } from "./layer";
import { planView } from "./plan";
import { networkTable, whereItGoes } from "./network";
import { searchView } from "./search";
import { servedPage } from "./served";
import { studyView } from "./study";
import { trainView } from "./train";
import { verdict } from "./verdict";

// The layer that costs most: what people look at first.
function heaviest(run: Run): string {
  const layers = [...run.result.layers];
  layers.sort((a, b) => (b.cycles ?? 0) * b.count - (a.cycles ?? 0) * a.count);
  return layers[0]?.name ?? "";
}

function mapView(run: Run): HTMLElement {
  const layer = h("div"), search = h("div");
  const select = (name: string, move: boolean) => {
    const explained = run.explain?.layers.find((item) => item.name === name);
    const result = run.result.layers.find((item) => item.name === name);
    layer.replaceChildren(explained && result ? layerView(explained, result)
      : h("p", {}, run.explain_error ?? "This layer has no explanation."));
    search.replaceChildren(searchView(run, name));
    if (move) layer.querySelector<HTMLElement>("h2")?.focus();
  };
  select(heaviest(run), false);
  return h("div", {}, verdict(run),
    h("section", { "aria-label": "Network" }, h("h2", {}, "Network"), ...whereItGoes(run),
      graphChart(run, (name) => select(name, true)) ?? "",
      h("p", { class: "note" }, "Choose a layer to see it below."), networkTable(run, (name) => select(name, true))),
    run.result.inter_layer ? planView(run.result.inter_layer) : null, layer, search);
}

// A view per kind of run.
function viewOf(run: AnyRun): HTMLElement {
  switch (run.kind) {
    case "map": return mapView(run);
    case "compare": return compareView(run);
    case "cooptimize": return cooptView(run);
    case "train": return trainView(run);
    case "study": return studyView(run);
    case "explore": return exploreView(run);
    case "sweep": return sweepView(run);
  }
}

// Runs beside each other, each with its button; later ones with their differences from the first.
function showRuns(data: Data, main: HTMLElement, nav: HTMLElement): void {
  const show = (index: number) => {
    const run = data.runs[index], first = data.runs[0], diff = data.diffs[index];
    if (!run) return;
    const both = diff && first?.kind === "map" && run.kind === "map" ? [diffView(first, run, diff)] : [];
    main.replaceChildren(viewOf(run), ...(data.runs.length > 1 ? [besideView(data.runs)] : []), ...both);
    document.title = `${main.querySelector("h1")?.textContent ?? "Report"} – Tessera`;
    tabs.forEach((tab, i) => tab.setAttribute("aria-pressed", String(i === index)));
  };
  const tabs = data.runs.map((run, i) => h("button", { type: "button", click: () => show(i) }, run.folder));
  nav.replaceChildren(...(tabs.length > 1 ? tabs : []));
  show(data.runs.length > 1 ? 1 : 0);
}

function page(): void {
  const data = readData();
  const app = document.getElementById("app");
  if (app === null) return;
  const main = h("main", { id: "main" }), nav = h("nav", { "aria-label": "Runs" });
  const brand = data.served ? h("a", { class: "brand", href: "/" }, "Tessera") : h("span", { class: "brand" }, "Tessera");
  app.append(h("header", {}, brand, h("span", { class: "note" }, ` ${data.version}`), nav), main);
  if (data.served) {
    servedPage(main, (runs) => showRuns(runs, main, nav));
  } else {
    showRuns(data, main, nav);
  }
}

// Paper shows what is folded on the screen, too.
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((item) => (item.open = true)));

page();
