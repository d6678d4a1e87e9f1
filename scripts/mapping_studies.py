"""Studies behind docs/results/marl-mapping.md beside its comparison: samples to 5 %, `team`, area, groups, sizes.

scripts/results-agents runs and keeps them and makes the tables. Every row has the command that made it and the part of
its study that it belongs to.
"""
import hashlib
import json
import math
import os
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile

from pages import table
from run_statistics import at, samples_to

MAESTRO = ["--accelerator", "maestro-256", "--model", "maestro"]
LAYERS = {"mobilenet-v2 4": ("mobilenet-v2-gamma", 4), "vgg16 2": ("vgg16-gamma", 2),
          "resnet18 2": ("resnet18-gamma", 2), "alexnet 3": ("alexnet-gamma", 3)}


def output_of(command, shown):
    """What a program prints."""
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"results-agents: failed: {shown}\n{done.stderr}")
    return done.stdout


def tessera_json(tessera, words):
    """The JSON of a command, and the command as a row shows it."""
    words = [*map(str, words), "--threads", "1"]
    shown = "tessera " + shlex.join(words)
    return json.loads(output_of([tessera, *words, "--json"], shown)), shown


# ---- Samples to 5 % on many layers: search_bench ----

TABLES = "mobilenet-v2-gamma:l4,resnet18-gamma:l2,vgg16-gamma:l2,alexnet-gamma:l3"
UNTUNED = ("albert-gamma:l5,bert-gamma:l2,dlrm-rmc1-gamma:l5,mobilenet-v2-gamma:l6,mobilenet-v2-gamma:l15,"
           "mobilenet-v2-gamma:l35,mobilenet-v2-gamma:l52,ncf-gamma:l11,resnet18-gamma:l12,resnet50-gamma:l3,"
           "resnet50-gamma:l17,resnet50-gamma:l44,t5-gamma:l1,vgg16-gamma:l3")
CONNECTED = ("dlrm-rmc1-gamma:l3,ncf-gamma:l2,ncf-gamma:l9,resnet18:fc,bert-gamma:l3,bert-gamma:l5")
ARRIVING = ["sa", "ga", "gamma", "bo", "marl-table", "marl", "team"]
BASELINES = ["sa", "ga", "gamma", "bo"]  # what `team` is compared with
WITHIN, ARRIVE_SAMPLES, ARRIVE_SEEDS = 0.05, 2_000, 5
SETS = {"tables": (TABLES, "edp"), "untuned": (UNTUNED, "edp"), "connected": (CONNECTED, "edp,latency")}
ABLATION = ["team", "team:nest=0", "team:critic=0", "team:guess=0", "team:informative=0", "team:refine=0"]
ABLATION_SAMPLES = 200


def search(tessera, part, layers, objectives, method, samples):
    """Runs of search_bench that end within 5 % of the best value known."""
    with tempfile.TemporaryDirectory() as folder:
        best, found = os.path.join(folder, "best.txt"), os.path.join(folder, "rows.json")
        shutil.copy("bench/best_known.txt", best)  # the program writes what it finds
        words = ["--layers", layers, "--objectives", objectives, "--methods", method, "--samples", str(samples),
                 "--seeds", str(ARRIVE_SEEDS), "--stop", "--within", str(WITHIN), "--best"]
        shown = shlex.join(["search_bench", *words, "bench/best_known.txt"])
        output_of([os.path.join(os.path.dirname(tessera), "bench/search_bench"), *words, best, "--json", found], shown)
        with open(found) as file:
            rows = json.load(file)
    return [{"command": shown, "part": part} | {key: row[key] for key in ("task", "method", "seed", "best", "best_known",
                                                                          "samples", "curve")} for row in rows]


def arrive_parts(tessera):
    for name, (layers, objectives) in SETS.items():
        for method in ARRIVING:
            part = f"{name} {method}"
            yield (part,), lambda p=part, l=layers, o=objectives, m=method: search(tessera, p, l, o, m, ARRIVE_SAMPLES)


def ablation_parts(tessera):
    for method in ABLATION:
        yield (method,), lambda m=method: search(tessera, m, TABLES, "edp", m, ABLATION_SAMPLES)


def median_arrival(rows, within=WITHIN):
    """Samples until so near the best value known; the middle of all seeds."""
    counts = sorted(samples_to(row, (1 + within) * row["best_known"]) or math.inf for row in rows)
    return counts[len(counts) // 2]


def count_text(count):
    return "never" if math.isinf(count) else f"{count:,.0f}"


def geometric_mean(values, most):
    return math.exp(statistics.fmean(math.log(min(value, most)) for value in values))


def arrive_table(rows, name):
    """Per layer: medians, and `team` over the best of the baselines."""
    own = [row for row in rows if row["part"].split(" ", 1)[0] == name]
    columns, ratios, body = {method: [] for method in ARRIVING}, [], []
    for task in dict.fromkeys(row["task"] for row in own):
        for method in ARRIVING:
            columns[method].append(median_arrival([row for row in own
                                                   if (row["task"], row["method"]) == (task, method)]))
        best = min(columns[method][-1] for method in BASELINES)
        ratios.append(min(columns["team"][-1], ARRIVE_SAMPLES) / min(best, ARRIVE_SAMPLES))
        shown = task.replace("-gamma", "").replace(":l", " ").replace(":", " ")
        body.append([shown.removesuffix(" edp") if name != "connected" else shown,
                     *(count_text(columns[method][-1]) for method in ARRIVING), f"{ratios[-1]:.2f}"])
    means = {method: geometric_mean(columns[method], ARRIVE_SAMPLES) for method in ARRIVING}
    body.append(["geometric mean", *(f"{means[method]:,.0f}" for method in ARRIVING),
                 f"{geometric_mean(ratios, math.inf):.2f}"])
    return table(["layer", *(f"`{method}`" for method in ARRIVING), "`team` / best of sa, ga, gamma, bo"], body)


def ablation_table(rows):
    body, tasks = [], list(dict.fromkeys(row["task"] for row in rows))
    for method in ABLATION:
        own = [[row for row in rows if (row["task"], row["method"]) == (task, method)] for task in tasks]
        counts = [median_arrival(runs) for runs in own]
        ends = [statistics.median(row["best"] for row in runs) / runs[0]["best_known"] for runs in own]
        body.append([f"`{method}`", *map(count_text, counts), f"{geometric_mean(counts, ABLATION_SAMPLES):.0f}",
                     f"{geometric_mean(ends, math.inf):.4f}"])
    names = [task.replace("-gamma", "").replace(":l", " ").removesuffix(" edp") for task in tasks]
    return table(["method", *names, "geometric mean", "x best, mean"], body)


# ---- Runs of tessera compare ----


def compared(tessera, part, network, layer, objective, method, seeds, samples, *extra, machine=MAESTRO):
    """Runs of one method on one layer, with their curves."""
    found, shown = tessera_json(tessera, ["compare", network, "--layer", layer, *machine, "--objective", objective,
                                             "--methods", method, "--samples", samples, "--seeds", seeds, *extra])
    return [{"command": shown, "part": part, "objective": objective, "method": run["method"], "seed": run["seed"],
             "best": run["best"], "bound": found.get("bound"), "curve": run["curve"], "returns": run["return_curve"]}
            for run in found["results"]]


# ---- Fig. 4: what moves together in good mappings ----

FIG4_FIGURES = {"correlation.svg": "fig4-correlation", "dendrogram.svg": "fig4-dendrogram"}  # of row 3
FIGURES = "docs/results/figures"


def fig4_row(tessera, layer):
    with tempfile.TemporaryDirectory() as folder:
        words = ["assign", "mobilenet-v2-gamma", "--layer", layer, *MAESTRO, "--objective", "latency", "--agents", 6,
                 "--samples", 20_000]
        found, shown = tessera_json(tessera, [*words, "--out", folder + "/a"])
        row = {"command": shown.replace(f" --out {folder}/a", ""), "part": str(layer), "decisions": found["decisions"],
               "correlation": [[round(r, 6) for r in line] for line in found["correlation"]],
               "unchanged": found["unchanged"], "heights": [merge["height"] for merge in found["merges"]]}
        if layer == 3:
            row["figures"] = {}
            for name, kept in FIG4_FIGURES.items():
                shutil.copy(f"{folder}/a/{name}", f"{FIGURES}/{kept}.svg")
                row["figures"][kept] = digest(f"{FIGURES}/{kept}.svg")
    return [row]


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def fig4_parts(tessera):
    for layer in (2, 3):
        yield (str(layer),), lambda l=layer: fig4_row(tessera, l)


def fig4_table(rows):
    body = []
    for row in rows:
        for name, wanted in row.get("figures", {}).items():
            if digest(f"{FIGURES}/{name}.svg") != wanted:
                return f"{FIGURES}/{name}.svg is not what tessera assign drew\n"
        names, matrix = row["decisions"], row["correlation"]
        moving = [name for name in names if name not in row["unchanged"] and name != "reward"]
        r = lambda a, b: matrix[names.index(a)][names.index(b)]
        pairs = sorted(((abs(r(a, b)), a, b) for i, a in enumerate(moving) for b in moving[:i]), reverse=True)
        small = sum(size <= 0.2 for size, _, _ in pairs)
        body.append([f"#{row['part']}", f"{small} of {len(pairs)} ({100 * small / len(pairs):.0f} %)",
                     "; ".join(f"{a} {b} {r(a, b):+.2f}" for _, a, b in pairs[:2]),
                     f"k_l2 c_l2 {r('k_l2', 'c_l2'):+.2f}; k_l1 c_l1 {r('k_l1', 'c_l1'):+.2f}" if "k_l2" in moving
                     else "no K: depthwise", f"{min(row['heights']):.2f} to {max(row['heights']):.2f}"])
    return table(["row", "\\|r\\| <= 0.2", "strongest pairs", "K and C", "heights"], body)


# ---- Fig. 5 for area ----

AREA_METHODS = ["marl", "ppo", "ppo-discrete", "marl-table"]
AREA_SAMPLES, SEEDS = 5_000, 5
AREA_PAPER = {"mobilenet-v2 4": "40", "vgg16 2": "63"}


def area_parts(tessera, settings):
    """`settings`: the tuned setting of each method."""
    for name, where in LAYERS.items():
        for method in AREA_METHODS:
            part = f"{name}: {method}"
            yield (part,), lambda p=part, w=where, m=settings[method]: compared(
                tessera, p, *w, "area", m, SEEDS, AREA_SAMPLES, "--area", "gamma")


def area_table(rows):
    body = []
    for name in LAYERS:
        own = {method: [row for row in rows if row["part"] == f"{name}: {method}"] for method in AREA_METHODS}
        best = min(row["best"] for runs in own.values() for row in runs)
        arrived = {method: median_of(runs, 1.05 * best) for method, runs in own.items()}
        cells = [f"{count_text(arrived[method])}; {statistics.median(row['best'] for row in own[method]) / best:.4f}; "
                 f"{statistics.fmean(at(row, AREA_SAMPLES) for row in own[method]):.3g}" for method in AREA_METHODS]
        ratio = arrived["ppo"] / arrived["marl"]
        body.append([name, *cells, f"{ratio:.2g}", AREA_PAPER.get(name, "–")])
    return table(["layer", *(f"`{method}`" for method in AREA_METHODS), "`ppo` / `marl`", "paper"], body)


def median_of(runs, value):
    counts = sorted(samples_to(row, value) or math.inf for row in runs)
    return counts[len(counts) // 2]


# ---- Sizes of spaces: formula 1 of the paper, Table II, and what is true ----

OPERATIONS = [("linear layer (MLP)", 3, "10^4 to 10^13"), ("attention", 5, "10^8 to 10^26"),
              ("convolution", 7, "10^13 to 10^39")]
KINDS = [("linear: alexnet", "alexnet", {"fc"}), ("attention: bert-base, all matrix products", "bert-base", None),
         ("convolutions: resnet18", "resnet18", {"conv"})]
SPACES = {"maestro-256, `divisors`": [*MAESTRO, "--sizes", "divisors"],
          "maestro-256, `--sizes all`": [*MAESTRO, "--sizes", "all"],
          "eyeriss-256 (loopnest)": ["--accelerator", "eyeriss-256", "--model", "loopnest"]}


def spaces_row(tessera, network, space):
    found, shown = tessera_json(tessera, ["map", network, *SPACES[space], "--no-bypass", "--dry-run"])
    return [{"command": shown, "part": f"{network} {space}",
             "layers": [[layer["type"], layer["log10_size"]] for layer in found["layers"]]}]


def spaces_parts(tessera):
    for _, network, _ in KINDS:
        for space in SPACES:
            yield (f"{network} {space}",), lambda n=network, s=space: spaces_row(tessera, n, s)


def formula_table(_):
    size = lambda n, d, levels: levels * (d * math.log10(n) + math.log10(math.factorial(d)) + math.log10(d))
    return table(["operation", "d", "Table II", "formula 1, l = 1, n = 8; 10; 16", "formula 1, l = 2, n = 56; 111; 137"],
                 [[name, d, paper, "; ".join(f"10^{size(n, d, 1):.1f}" for n in (8, 10, 16)),
                   "; ".join(f"10^{size(n, d, 2):.1f}" for n in (56, 111, 137))] for name, d, paper in OPERATIONS])


def spaces_table(rows):
    body = []
    for name, network, types in KINDS:
        cells = []
        for space in SPACES:
            row = next(row for row in rows if row["part"] == f"{network} {space}")
            sizes = [size for kind, size in row["layers"] if types is None or kind in types]
            cells.append(f"10^{min(sizes):.1f} to 10^{max(sizes):.1f}")
        body.append([name, *cells])
    return table(["layers", *SPACES], body)


PARTS = {"arrive": arrive_parts, "ablation": ablation_parts, "fig4": fig4_parts, "spaces": spaces_parts}
