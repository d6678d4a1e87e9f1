"""Studies behind docs/results/marl-mapping.md: what carries over to other layers, networks and machines, and its price.

scripts/results-agents runs and keeps them (warm, groups, bert, machines, learning and legal) and makes the tables.
"""
import math
import os
import resource
import shlex
import statistics
import tempfile

from mapping_studies import LAYERS, MAESTRO, compared, count_text, median_of, output_of, tessera_json
from pages import table

SAMPLES, SEEDS = 20_000, 5


# ---- Warm start: solved layers as hints ----

WARM = {"resnet18-gamma": (16, 32, 64), "mobilenet-v2-gamma": (16, 32, 64)}


def warm_part(network, samples, seed):
    return f"{network} {samples} {seed}"


def warm_row(tessera, network, samples, seed):
    row = {"part": warm_part(network, samples, seed), "command": []}
    for name, settings in {"warm": [], "cold": ["--set", "hints=0"]}.items():
        found, shown = tessera_json(tessera, ["map", network, *MAESTRO, "--objective", "edp", "--method", "team",
                                              "--samples", samples, "--seed", seed, *settings])
        row["command"].append(shown)
        row |= {name: found["total"]["edp"], "layers": len(found["layers"])}
    return [row]


def warm_parts(tessera):
    for network, budgets in WARM.items():
        for samples in budgets:
            for seed in range(1, SEEDS + 1):
                yield (warm_part(network, samples, seed),), (
                    lambda n=network, b=samples, s=seed: warm_row(tessera, n, b, s))


def warm_table(rows):
    found, body = {row["part"]: row for row in rows}, []
    for network, budgets in WARM.items():
        for samples in budgets:
            own = [found[warm_part(network, samples, seed)] for seed in range(1, SEEDS + 1)]
            ratios = [row["warm"] / row["cold"] for row in own]
            body.append([network, own[0]["layers"], samples, ", ".join(f"{ratio:.2f}" for ratio in ratios),
                         f"{statistics.geometric_mean(ratios):.2f}"])
    return table(["network", "distinct layers", "samples a layer", "EDP, warm over cold, by seed", "geometric mean"],
                 body)


# ---- Groups of agents from one layer on others ----

SOURCES = {name: LAYERS[name] for name in ("mobilenet-v2 4", "resnet18 2", "vgg16 2")}
TARGETS = LAYERS | {"resnet50 13": ("resnet50-gamma", 13), "bert 5": ("bert-gamma", 5)}
GROUPED = ["marl-table", "marl"]
OWN = {"each": "", "own": ":agents=6"}
GROUP_HEADS = {"each": "one per decision", "own": "six, own warm-up",
               **{name: f"from {name}" for name in SOURCES}}


def groups_rows(tessera, method, target, source):
    part = f"{method} {target} {source}"
    run = [part, *TARGETS[target], "edp"]
    if source in OWN:
        return compared(tessera, *run, method + OWN[source], SEEDS, SAMPLES)
    network, layer = SOURCES[source]
    with tempfile.TemporaryDirectory() as folder:
        out = f"{folder}/groups"
        _, assigned = tessera_json(tessera, ["assign", network, "--layer", layer, *MAESTRO, "--objective", "edp",
                                             "--agents", 6, "--samples", 20_000, "--out", out])
        rows = compared(tessera, *run, f"{method}:assignment={out}/assignment.json", SEEDS, SAMPLES)
    return [row | {"command": f"{assigned}; {row['command']}".replace(folder + "/", ""), "method": method}
            for row in rows]


def groups_parts(tessera):
    for method in GROUPED:
        for target in TARGETS:
            for source in GROUP_HEADS:
                yield (f"{method} {target} {source}",), (
                    lambda m=method, t=target, s=source: groups_rows(tessera, m, t, s))


def groups_table(rows, method):
    body = []
    for target in TARGETS:
        own = {source: [row for row in rows if row["part"] == f"{method} {target} {source}"] for source in GROUP_HEADS}
        # One best value for both methods: what any run on the layer has found.
        best = min(row["best"] for row in rows if row["part"].split(" ", 1)[1].startswith(target))
        body.append([target, *(arrival(runs, best) for runs in own.values())])
    return table(["layer", *GROUP_HEADS.values()], body)


def arrival(runs, best):
    """Samples to 5 %, and the end over the best value: medians over seeds."""
    return f"{count_text(median_of(runs, 1.05 * best))}; {statistics.median(row['best'] for row in runs) / best:.4f}"


# ---- Methods on other layers and machines ----

def cases_rows(tessera, cases, name, method):
    network, layer, objective, machine = cases[name]
    return compared(tessera, f"{name}: {method}", network, layer, objective, method, SEEDS, SAMPLES, machine=machine)


def cases_parts(tessera, cases, methods):
    for method in methods:
        for name in cases:
            yield (f"{name}: {method}",), lambda n=name, m=method: cases_rows(tessera, cases, n, m)


def cases_table(rows, cases, methods, with_best):
    """Samples to 5 % and ends; the last columns where `with_best`: two tables, as one would be too wide."""
    body = []
    for name in cases:
        runs = {method: [row for row in rows if row["part"] == f"{name}: {method}"] for method in methods}
        everything = [row for row in rows if row["part"].startswith(f"{name}: ")]
        best, bound = min(row["best"] for row in everything), everything[0]["bound"]
        last = [f"{best:.4g}", f"{best / bound:.4f}" if bound else "–"] if with_best else []
        body.append([name, *(arrival(own, best) for own in runs.values()), *last])
    return table(["layer", *(f"`{method}`" for method in methods), *(["best", "best / bound"] if with_best else [])],
                 body)


BERT_LAYERS = {"feed-forward": 5, "projection": 1, "scores Q·K": 2, "scores·V": 3}
BERT = {f"{name}, {objective}": ("bert-base", layer, objective, MAESTRO)
        for name, layer in BERT_LAYERS.items() for objective in ("latency", "edp")}
BERT_METHODS = ["marl", "marl-table", "ppo", "random", "ga", "gamma"]

MACHINE_LAYERS = {"resnet18 3x3": ("resnet18", 2), "mobilenet-v2 1x1": ("mobilenet-v2", 4), "vgg16 2": ("vgg16", 2),
                  "alexnet 3": ("alexnet", 3)}
MACHINES = {f"{name} on {machine}": (network, layer, "edp", ["--accelerator", machine, "--model", "loopnest",
                                                             "--no-bypass"])
            for machine in ("eyeriss-256", "nvdla") for name, (network, layer) in MACHINE_LAYERS.items()}
MACHINE_METHODS = ["marl", "marl-table", "ppo", "random", "ga"]


# ---- What learning costs ----

LEARNING_AGENTS = (1, 2, 3, 6, 9, "each")
LEARNING = ["random", "ppo", "ppo-discrete"] + [f"{method}:agents={n}" if n != "each" else method
                                               for method in ("marl-table", "marl") for n in LEARNING_AGENTS]
REPEATS = 3


def learning_row(tessera, method):
    """Processor seconds of whole programs, a sitting each."""
    network, layer = LAYERS["resnet18 2"]
    words = ["compare", network, "--layer", str(layer), *MAESTRO, "--objective", "edp", "--methods", method,
             "--samples", str(SAMPLES), "--seeds", "1", "--threads", "1"]
    shown, seconds = "tessera " + shlex.join(words), []
    for _ in range(REPEATS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        output_of([tessera, *words], shown)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds.append(round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 3))
    return [{"command": shown, "part": method, "seconds": seconds, "load": round(os.getloadavg()[0], 1)}]


def learning_parts(tessera):
    for method in LEARNING:
        yield (method,), lambda m=method: learning_row(tessera, m)


def learning_table(rows):
    """Microseconds per sample more than `random`, which learns nothing; the quickest sitting of each."""
    least = {row["part"]: min(row["seconds"]) for row in rows}
    more = lambda method: f"{1e6 * max(0, least[method] - least['random']) / SAMPLES:,.0f}"
    body = [[f"`{method}`", more(method), *["–" for _ in LEARNING_AGENTS[1:]]] for method in ("ppo", "ppo-discrete")]
    for method in ("marl-table", "marl"):
        body.append([f"`{method}`", *(more(method if n == "each" else f"{method}:agents={n}")
                                      for n in LEARNING_AGENTS)])
    return table(["method", *(f"{n} agent{'s' * (n != 1)}" for n in LEARNING_AGENTS[:-1]),
                  "one per decision"], body)


# ---- A legal mapping for every layer ----

LEGAL = {"team": 32, "marl": 2_000, "marl-table": 2_000, "ga": 2_000}  # samples a layer


def legal_row(tessera, network, method):
    found, shown = tessera_json(tessera, ["map", network, *MAESTRO, "--method", method, "--samples", LEGAL[method]])
    return [{"command": shown, "part": f"{network} {method}", "layers": len(found["layers"]),
             "none": [layer["name"] for layer in found["layers"] if layer["status"] == "NOTHING"]}]


def legal_parts(tessera):
    networks, _ = tessera_json(tessera, ["zoo"])
    for method in LEGAL:
        for entry in networks["networks"]:
            yield (f"{entry['name']} {method}",), lambda n=entry["name"], m=method: legal_row(tessera, n, m)


def legal_table(rows):
    body = []
    for name, gamma in {"of the zoo": False, "GAMMA tables": True}.items():
        cells = []
        for method in LEGAL:
            own = [row for row in rows if row["part"].endswith(" " + method) and ("-gamma " in row["part"]) == gamma]
            layers = sum(row["layers"] for row in own)
            cells.append(layers - sum(len(row["none"]) for row in own))
        body.append([name, len(own), layers, *cells])
    return table(["networks", "how many", "distinct layers",
                  *(f"`{method}`, {samples:,}" for method, samples in LEGAL.items())], body)


PARTS = {"warm": warm_parts, "groups": groups_parts, "learning": learning_parts, "legal": legal_parts,
         "bert": lambda tessera: cases_parts(tessera, BERT, BERT_METHODS),
         "machines": lambda tessera: cases_parts(tessera, MACHINES, MACHINE_METHODS)}
TABLES = {"warm-start": ("warm", warm_table),
          "groups-marl": ("groups", lambda rows: groups_table(rows, "marl")),
          "groups-table": ("groups", lambda rows: groups_table(rows, "marl-table")),
          "bert-learners": ("bert", lambda rows: cases_table(rows, BERT, BERT_METHODS[:3], True)),
          "bert-others": ("bert", lambda rows: cases_table(rows, BERT, BERT_METHODS[3:], False)),
          "machines-learners": ("machines", lambda rows: cases_table(rows, MACHINES, MACHINE_METHODS[:3], True)),
          "machines-others": ("machines", lambda rows: cases_table(rows, MACHINES, MACHINE_METHODS[3:], False)),
          "learning-time": ("learning", learning_table), "legal": ("legal", legal_table)}
