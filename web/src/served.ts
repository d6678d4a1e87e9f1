// The pages of `tessera serve`: the list of runs and each run, which follow what goes on. Who came
// with the token of the address may also start, stop, extend and resume runs.
import type { Data } from "./data";
import { h } from "./dom";
import { whole } from "./format";
import { liveView, type Live } from "./live";
import { sortableTable, type Column } from "./table";

interface ListedRun {
  id: string;
  name: string;
  kind: string;
  what: string;
  state: "running" | "open" | "ended" | "damaged";
  samples: number | null;
  changed: number;
  error: string;
}

interface Job {
  name: string;
  command: string;
  state: string;
  exit_code: number | null;
  said: string;
}

interface List {
  folder: string;
  cut: boolean;
  runs: ListedRun[];
  jobs: Job[];
}

const kTokenKey = "tessera-token";

// The token stays out of addresses that pages link to; this tab remembers it.
function takeToken(): string {
  const found = /^#token=([0-9a-f]+)$/.exec(location.hash);
  if (found?.[1]) {
    sessionStorage.setItem(kTokenKey, found[1]);
    history.replaceState(null, "", location.pathname);
  }
  return sessionStorage.getItem(kTokenKey) ?? "";
}

async function ask<T>(path: string): Promise<T> {
  const answer = await fetch(path);
  const json = (await answer.json()) as T & { error?: string; hint?: string };
  if (!answer.ok) throw new Error([json.error, json.hint].filter((text) => text).join("; "));
  return json;
}

async function act(token: string, path: string, body: unknown, said: HTMLElement): Promise<boolean> {
  const answer = await fetch(path, {
    method: "POST", body: JSON.stringify(body), headers: { "X-Tessera-Token": token, "Content-Type": "application/json" },
  });
  const json = (await answer.json()) as { error?: string; hint?: string };
  said.textContent = answer.ok ? "" : [json.error, json.hint].filter((text) => text).join("; ");
  return answer.ok;
}

function follow<T>(path: string, take: (value: T) => void): EventSource {
  const events = new EventSource(path);
  events.addEventListener("message", (event: MessageEvent<string>) => take(JSON.parse(event.data) as T));
  return events;
}

function actions(run: { id: string; state: string; kind: string }, token: string, said: HTMLElement): HTMLElement {
  const post = (action: string, body: unknown = {}) => void act(token, `/api/runs/${run.id}/${action}`, body, said);
  const button = (label: string, click: () => void) => h("button", { type: "button", click }, label);
  const box = h("span", { class: "actions" });
  if (token === "" || run.state === "damaged") return box;
  if (run.state === "running") box.append(button("Stop", () => post("stop")));
  if (run.state === "open") box.append(button("Resume", () => post("resume")));
  if (run.state !== "running" && (run.kind === "map" || run.kind === "train")) {
    const what = run.kind === "map" ? "samples per layer" : "episodes";
    const to = h("input", { type: "number", min: 1, step: 1, "aria-label": `new number of ${what}`, placeholder: what });
    box.append(to, button("Extend", () => post("extend", { to: Number(to.value) })));
  }
  return box;
}

function startForm(token: string, said: HTMLElement): HTMLElement | null {
  if (token === "") return null;
  const name = h("input", { type: "text", required: true, pattern: "[A-Za-z0-9_][A-Za-z0-9._\\-]*", placeholder: "name" });
  const words = h("input", { type: "text", required: true, size: 60,
    placeholder: "map resnet18 --accelerator eyeriss-256 --samples 2000" });
  const form = h("form", { class: "start" },
    h("label", {}, "Name ", name), h("label", {}, "tessera ", words), h("button", { type: "submit" }, "Start"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const command = words.value.trim().split(/\s+/).filter((word) => word !== "tessera");
    void act(token, "/api/start", { name: name.value, command }, said).then((ok) => {
      if (ok) name.value = "";
    });
  });
  return h("details", {}, h("summary", {}, "Start a run"), form);
}

// Runs that this server has started and that did not end well.
function jobsView(jobs: Job[]): HTMLElement {
  const failed = jobs.filter((job) => job.state === "failed");
  return h("div", {}, ...failed.map((job) => h("details", { class: "warning" },
    h("summary", {}, `${job.name} failed with exit code ${job.exit_code ?? "?"}`),
    h("p", {}, h("code", {}, job.command)), h("pre", { tabindex: 0 }, job.said))));
}

function listView(main: HTMLElement, token: string): void {
  const said = h("p", { class: "warning-text", role: "status" });
  const place = h("div"), jobs = h("div"), title = h("h1", {}, "Runs");
  const chosen = new Set<string>();
  const beside = h("button", { type: "button", disabled: true, click: () => location.assign(`/runs/${[...chosen].join(",")}`) },
    "Show the chosen runs beside each other");
  const note = h("p", { class: "note" });
  main.replaceChildren(title, note, startForm(token, said) ?? h("p", { class: "note" },
    "To start and stop runs, open the address that the terminal shows, with its token."), said, beside, place, jobs);
  let filter = "";
  let drawn = "";
  const draw = (list: List) => {
    note.textContent = `${list.folder}: ${whole(list.runs.length)} runs${list.cut ? "; there are more than are shown" : ""}`;
    jobs.replaceChildren(jobsView(list.jobs));
    // A table is drawn anew only where something changed, so that nobody loses his place.
    const key = JSON.stringify(list.runs);
    if (key === drawn) return;
    const focused = document.activeElement?.getAttribute("data-key") ?? null;
    const old = place.querySelector<HTMLInputElement>("input[type=search]");
    filter = old?.value ?? filter;
    if (place.contains(document.activeElement) && document.activeElement instanceof HTMLInputElement && document.activeElement !== old) return;
    drawn = key;
    const columns: Column<ListedRun>[] = [
      { name: "run", value: (row) => row.name, show: (row) => row.state === "damaged" ? row.name
          : h("a", { href: `/runs/${row.id}`, "data-key": row.id }, row.name) },
      { name: "beside", value: () => null, show: (row) => {
        if (row.state !== "ended") return "";
        const box = h("input", { type: "checkbox", "aria-label": `choose ${row.name}` });
        box.checked = chosen.has(row.id);
        box.addEventListener("change", () => {
          if (box.checked) chosen.add(row.id); else chosen.delete(row.id);
          beside.disabled = chosen.size < 2 || chosen.size > 4;
        });
        return box;
      } },
      { name: "kind", value: (row) => row.kind },
      { name: "what", value: (row) => row.error || row.what },
      { name: "state", value: (row) => row.state, show: (row) => h("span", { class: `state ${row.state}` }, row.state) },
      { name: "so far", value: (row) => row.samples, show: (row) => (row.samples === null ? "" : whole(row.samples)) },
      { name: "changed", value: (row) => row.changed, show: (row) => new Date(1000 * row.changed).toLocaleString() },
      { name: "do", value: () => null, show: (row) => actions(row, token, said) },
    ];
    place.replaceChildren(sortableTable("Runs", columns, list.runs, { filter: true }));
    const search = place.querySelector<HTMLInputElement>("input[type=search]");
    if (search && filter) {
      search.value = filter;
      search.dispatchEvent(new Event("input"));
    }
    if (focused) place.querySelector<HTMLElement>(`[data-key="${CSS.escape(focused)}"]`)?.focus();
  };
  document.title = "Runs – Tessera";
  void ask<List>("/api/runs").then(draw);
  follow<List>("/api/events", draw);
}

async function runView(main: HTMLElement, ids: string, token: string, show: (data: Data) => void): Promise<void> {
  const said = h("p", { class: "warning-text", role: "status" });
  const data = await ask<Data>(`/api/runs/${ids}`);
  const run = data.runs[0];
  if (run === undefined || !("live" in run)) {
    show(data);
    if (run && !ids.includes(",")) main.prepend(actions({ id: ids, state: "ended", kind: run.kind }, token, said), said);
    return;
  }
  const place = h("div"), controls = h("div");
  const state = h("span", { class: "state open" }, "open");
  main.replaceChildren(h("h1", {}, run.folder), h("p", {}, h("code", {}, run.command)), state, controls, said, place);
  document.title = `${run.folder} – Tessera`;
  let known = "";
  const draw = (live: Live | null, running: boolean) => {
    if (live) place.replaceChildren(liveView(live));
    const name = running ? "running" : "open";
    if (name === known) return;
    known = name;
    state.className = `state ${name}`;
    state.textContent = name;
    controls.replaceChildren(actions({ id: ids, state: name, kind: run.kind }, token, said));
  };
  draw(run.live as Live | null, false);
  const events = follow<{ running: boolean; ended: boolean; live: Live | null }>(`/api/runs/${ids}/events`, (news) => {
    if (news.ended) {
      events.close();
      void runView(main, ids, token, show);
    } else {
      draw(news.live, news.running);
    }
  });
}

// `show` draws the runs of a page as a report has them.
export function servedPage(main: HTMLElement, show: (data: Data) => void): void {
  const token = takeToken();
  const found = /^\/runs\/([0-9a-f,]+)$/.exec(location.pathname);
  const failed = (error: unknown) => main.replaceChildren(h("h1", {}, "This cannot be shown"), h("p", {}, String(error)));
  if (found?.[1]) {
    runView(main, found[1], token, show).catch(failed);
  } else {
    listView(main, token);
  }
}
