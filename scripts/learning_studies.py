"""Studies behind docs/results/efficient-marl.md: environments, the phases of training (figures 2 to 5), returns (figure 6).

scripts/results-agents runs and keeps the first two and makes the tables and figures of all. What stands beside PyTorch is
in pytorch_studies.py.
"""
import json
import os
import re
import shlex
import statistics
import subprocess
import sys
import tempfile

from pages import table
from panels import Panel, figure
from run_statistics import mean_ci

ALGORITHMS = {"maddpg": "openai", "masac": "tf2marl"}  # with the preset
ENVIRONMENTS = ["predator_prey", "cooperative_navigation"]
# Transitions in replay, far beyond every cache, and rounds of which the fastest counts for each phase.
FILL = {3: 100_000, 6: 100_000, 12: 50_000, 24: 20_000, 48: 10_000}
ROUNDS = {3: 10, 6: 6, 12: 4, 24: 2, 48: 1}
PARTS = {"sampling_ms": "sampling", "target_q_ms": "target Q", "q_loss_ms": "Q loss", "p_loss_ms": "P loss"}
SAMPLERS = {"uniform": "uniform", "neighbor": "neighbor:truncate=true"}
PAPER_SHARE = {3: "35", 48: "85"}
PAPER_PARTS = [63, 24, 6.5, 6]
PAPER_SAMPLING_SAVED, PAPER_TOTAL_SAVED = {3: "26.66", 12: "27.39"}, {12: "10.2"}
# Instead of per-agent buffers and uniform sampling.
INSTEAD = [("per_agent", "neighbor"), ("joint", "uniform"), ("compact", "uniform")]


def phases_row(tessera, env, algorithm, agents, replay, sampler):
    command = ["profile", "--env", env, "--algo", algorithm, "--agents", str(agents), "--preset", ALGORITHMS[algorithm],
               "--replay", replay, "--sampler", SAMPLERS[sampler], "--fill", str(FILL[agents]), "--set",
               f"capacity={FILL[agents]}", "--set", "warmup=1024", "--rounds", str(ROUNDS[agents]), "--clock",
               "processor", "--threads", "1"]
    output = subprocess.run([tessera, *command, "--json"], capture_output=True, text=True)
    if output.returncode != 0:
        sys.exit(f"results-agents: failed: {shlex.join(command)}\n{output.stderr}")
    found = json.loads(output.stdout)
    kept = ["acting_ms", "update_ms", "other_ms", "env_ms", *PARTS]
    return [{"command": "tessera " + shlex.join(command), "part": part_of(env, algorithm, agents, replay, sampler),
             "memcpy_gb_per_s": round(found["memcpy_gb_per_s"], 2), "load": round(os.getloadavg()[0], 1)} |
            {key: round(found["profile"][0][key], 4) for key in kept}]


def part_of(env, algorithm, agents, replay="per_agent", sampler="uniform"):
    return f"{env} {algorithm} {agents} {replay} {sampler}"


def phases_parts(tessera):
    """The smallest teams first."""
    for agents in FILL:
        for env in ENVIRONMENTS:
            wanted = [(algorithm, replay, "uniform") for algorithm in ALGORITHMS for replay in ("per_agent", "compact")]
            wanted += [("maddpg", replay, sampler) for replay, sampler in INSTEAD]
            for algorithm, replay, sampler in dict.fromkeys(wanted):
                yield (part_of(env, algorithm, agents, replay, sampler),), (
                    lambda e=env, a=algorithm, n=agents, r=replay, s=sampler: phases_row(tessera, e, a, n, r, s))


def measured(rows):
    found = {row["part"]: row for row in rows}
    sizes = [n for n in FILL if all(part_of(env, a, n, replay) in found for env in ENVIRONMENTS for a in ALGORITHMS
                                    for replay in ("per_agent", "compact"))]
    return found, sizes


def training_ms(row):
    return row["acting_ms"] + row["update_ms"] + row["other_ms"]


def share(row):
    return 100 * row["update_ms"] / training_ms(row)


def shares_table(rows):
    found, sizes = measured(rows)
    body = []
    for env in ENVIRONMENTS:
        for algorithm in ALGORITHMS:
            for n in sizes:
                row = found[part_of(env, algorithm, n)]
                body.append([env, algorithm, n, f"{row['acting_ms']:.2f}", f"{row['update_ms']:.1f}",
                             f"{row['other_ms']:.2f}", f"{row['env_ms']:.2f}", f"{share(row):.1f}",
                             PAPER_SHARE.get(n, "")])
    return table(["environment", "algorithm", "agents", "acting ms", "update ms", "other ms", "(environment ms)",
                  "update share %", "paper %"], body)


def growths(rows):
    """Environment, agents before and after, and the growth of every module: means of both algorithms."""
    found, sizes = measured(rows)
    for env in ENVIRONMENTS:
        for n, twice in zip(sizes, sizes[1:]):
            yield env, n, twice, [statistics.fmean(found[part_of(env, a, twice)][module] /
                                                   found[part_of(env, a, n)][module] for a in ALGORITHMS)
                                  for module in ["acting_ms", *PARTS, "update_ms"]]


MODULES = ["acting", *PARTS.values(), "update all trainers"]


def growth_table(rows):
    return table(["environment", "agents", *MODULES],
                 [[env, f"{n} to {twice}", *(f"{g:.1f}" for g in growth)] for env, n, twice, growth in growths(rows)])


def parts_shares(rows, env, replay, n):
    found, _ = measured(rows)
    both = [found[part_of(env, a, n, replay)] for a in ALGORITHMS]
    return [statistics.fmean(100 * row[part] / row["update_ms"] for row in both) for part in PARTS]


def parts_table(rows):
    _, sizes = measured(rows)
    body = []
    for env in ENVIRONMENTS:
        for n in sizes:
            for replay in ("per_agent", "compact"):
                paper = [f" ({x})" if n == 48 and replay == "per_agent" else "" for x in PAPER_PARTS]
                body.append([env, replay, n, *(f"{s:.1f}{x}" for s, x in zip(parts_shares(rows, env, replay, n), paper))])
    return table(["environment", "replay", "agents", *(f"{name} % (paper)" for name in PARTS.values())], body)


def saved_table(rows):
    found, _ = measured(rows)
    body = []
    for env in ENVIRONMENTS:
        for n in FILL:
            base = found.get(part_of(env, "maddpg", n))
            for replay, sampler in INSTEAD:
                row = found.get(part_of(env, "maddpg", n, replay, sampler))
                if base is None or row is None:
                    continue
                paper = [known.get(n) if replay == "per_agent" else None
                         for known in (PAPER_SAMPLING_SAVED, PAPER_TOTAL_SAVED)]
                saved = [100 * (1 - row["sampling_ms"] / base["sampling_ms"]),
                         100 * (1 - training_ms(row) / training_ms(base))]
                body.append([env, n, f"{replay}, {sampler}", f"{base['sampling_ms']:.2f}", f"{row['sampling_ms']:.2f}",
                             *(f"{s:.1f}" + (f" ({p})" if p else "") for s, p in zip(saved, paper))])
    return table(["environment", "agents", "instead", "sampling ms before", "sampling ms", "saved % (paper)",
                  "of all % (paper)"], body)


def shares_figure(rows):
    found, sizes = measured(rows)
    panels = []
    for env in ENVIRONMENTS:
        panel = Panel(env, "agents", "update all trainers, % of training", log_y=False, x_ticks=list(FILL))
        for algorithm in ALGORITHMS:
            panel.add(algorithm, [(n, share(found[part_of(env, algorithm, n)])) for n in sizes], steps=False)
        panel.add("paper", [(3, 35), (48, 85)], dots=True)
        panels.append(panel)
    return figure(panels, 2)


def growth_figure(rows):
    panels = []
    for env in ENVIRONMENTS:
        panel = Panel(env, "agents, before they double", "growth, times", log_y=False, x_ticks=list(FILL)[:-1])
        for i, module in enumerate(MODULES):
            panel.add(module, [(n, growth[i]) for where, n, _, growth in growths(rows) if where == env], steps=False)
        panels.append(panel)
    return figure(panels, 2)


def parts_figure(rows):
    _, sizes = measured(rows)
    panels = []
    for replay in ("per_agent", "compact"):
        for env in ENVIRONMENTS:
            panel = Panel(f"{env}, {replay}", "agents", "% of update all trainers", log_y=False, x_ticks=list(FILL))
            for i, name in enumerate(PARTS.values()):
                panel.add(name, [(n, parts_shares(rows, env, replay, n)[i]) for n in sizes], steps=False)
            panels.append(panel)
    return figure(panels, 2)


# ---- How fast environments step ----

SITTINGS = 3
ORIGINAL = {3: {"predator_prey": 2300, "cooperative_navigation": 2880}, 6: {"predator_prey": 711,
                                                                           "cooperative_navigation": 509}}


def environments_row(tessera, env, sitting):
    """Steps per second of the processor's time, by agents: the median of five parts."""
    with tempfile.TemporaryDirectory() as folder:
        words = ["--only", env, "--seconds", "0.2", "--clock", "processor"]
        command = [os.path.join(os.path.dirname(tessera), "bench/engine_bench"), *words, "--json", f"{folder}/found.json"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        with open(f"{folder}/found.json") as file:
            found = json.load(file)
    return [{"command": shlex.join(["engine_bench", *words]), "part": f"{env} {sitting}",
             "load": round(os.getloadavg()[0], 1),
             "steps_per_s": {row["name"].split()[1]: round(row["per_second"]) for row in found if "source" not in row}}]


def environments_parts(tessera):
    for env in ENVIRONMENTS:
        for sitting in range(1, SITTINGS + 1):
            yield (f"{env} {sitting}",), lambda e=env, s=sitting: environments_row(tessera, e, s)


def environments_table(rows):
    """The fastest sitting, and the original where it was measured (on another machine)."""
    body = []
    for env in ENVIRONMENTS:
        cells = []
        for agents in FILL:
            best = max(row["steps_per_s"][str(agents)] for row in rows if row["part"].startswith(env))
            original = ORIGINAL.get(agents, {}).get(env)
            cells.append(f"{best:,}" + (f" ({original:,})" if original else ""))
        body.append([env, *cells])
    return table(["steps/s (the original)", *(f"{agents} agents" for agents in FILL)], body)


# ---- Worlds beside MPE2 itself, and what a large replay takes ----

MPE2_SEED, MPE2_EPISODES = 1, 300


def mpe2_row(tessera):
    """What scripts/check-mpe2 counts in random worlds."""
    words = ["scripts/check-mpe2", str(MPE2_SEED), str(MPE2_EPISODES)]
    told = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True, env=os.environ | {"TESSERA": tessera})
    episodes, equal, last, differ = map(int, re.search(
        r"(\d+) episodes: (\d+) numbers equal, (\d+) rewards differ in the last place, (\d+) differ", told.stdout).groups())
    return [{"command": shlex.join(words), "part": "mpe2", "episodes": episodes, "equal": equal, "last_place": last,
             "differ": differ}]


def mpe2_parts(tessera):
    yield ("mpe2",), lambda: mpe2_row(tessera)


def mpe2_table(rows):
    return table(["random episodes", "numbers equal", "in the last place only", "different"],
                 [[f"{row[key]:,}" for key in ("episodes", "equal", "last_place", "differ")] for row in rows])


MEMORY_AGENTS, MEMORY_FILL = 48, 1_000_000


def memory_row(tessera, replay):
    """The largest memory of the whole process, from the kernel."""
    command = ["profile", "--agents", str(MEMORY_AGENTS), "--replay", replay, "--fill", str(MEMORY_FILL), "--set",
               f"capacity={MEMORY_FILL}", "--rounds", "1", "--threads", "1"]
    process = subprocess.Popen([tessera, *command], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"results-agents: failed: {shlex.join(command)}")
    return [{"command": "tessera " + shlex.join(command), "part": replay, "kilobytes": used.ru_maxrss}]


def memory_parts(tessera):
    yield ("compact",), lambda: memory_row(tessera, "compact")


def memory_table(rows):
    return table(["agents", "transitions", "replay", "GB of the process"],
                 [[MEMORY_AGENTS, f"{MEMORY_FILL:,}", row["part"], f"{row['kilobytes'] * 1024 / 1e9:.2f}"] for row in rows])


# ---- Figure 6: returns ----

RETURNS_AGENTS = (3, 6, 12)
MARKS = (10, 20, 40, 60)  # thousand episodes


def pytorch_path(env, agents):
    return f"docs/results/raw/pytorch-{env}-{agents}.jsonl"


def pytorch_curves(env, agents):
    """By sampler, for each seed: means of a thousand episodes of bench/pytorch/train_batched.py."""
    rows = [json.loads(line) for line in open(pytorch_path(env, agents))]
    first = rows[0]["episodes"] // 1000  # the first line may come late
    seeds = [[(first + i, row["team_return"][s]) for i, row in enumerate(rows)]
             for s in range(len(rows[0]["team_return"]))]
    per = len(seeds) // len(rows[0]["samplers"])
    return {sampler: seeds[k * per:(k + 1) * per] for k, sampler in enumerate(rows[0]["samplers"])}


def engine_curves(samplers, together, env, agents):
    """The same of the engine on a device, from the rows of two studies."""
    rows = {"uniform": [row for row in together if row["settings"] == ""]} if agents != 3 else {
        name: [row for row in samplers if row["settings"] == f"sampler={setting}"] for name, setting in SAMPLERS.items()}
    found = {name: [list(enumerate(row["team_return"], 1)) for row in own if (row["env"], row["agents"]) == (env, agents)]
             for name, own in rows.items()}
    return {name: runs for name, runs in found.items() if runs}


def all_curves(samplers, together, env, agents):
    named = {f"engine, {name}": runs for name, runs in engine_curves(samplers, together, env, agents).items()}
    return named | {f"PyTorch, {name}": runs for name, runs in pytorch_curves(env, agents).items()}


def returns_table(samplers, together):
    body = []
    for env in ENVIRONMENTS:
        for agents in RETURNS_AGENTS:
            for name, runs in all_curves(samplers, together, env, agents).items():
                at = [[dict(run)[mark] for run in runs] for mark in MARKS]
                body.append([f"{env}, {agents}", name, len(runs), *(f"{statistics.fmean(values):.1f}" for values in at[:-1]),
                             mean_ci(at[-1])])
    return table(["environment, agents", "learner, sampler", "seeds", *(f"{mark},000" for mark in MARKS)], body)


def returns_figure(samplers, together, add_mean):
    panels = []
    for agents in RETURNS_AGENTS:
        for env in ENVIRONMENTS:
            panel = Panel(f"{env}, {agents} agents", "thousand episodes", "team return", log_x=False, log_y=False)
            for name, runs in all_curves(samplers, together, env, agents).items():
                add_mean(panel, name, runs)
            panels.append(panel)
    return figure(panels, 2)
