"""Equal tuning of the search methods that docs/results/marl-mapping.md compares, and the comparison with it.

scripts/results-agents runs and keeps it (studies tuning, tuned and arriving) and makes the tables.
"""
import math
import random
import statistics

from mapping_studies import ARRIVE_SAMPLES, count_text, geometric_mean, median_arrival, search
from pages import table
from run_statistics import at, mean_ci, median_mean_ci, samples_to

# What learners of networks share.
NETWORKS = {"steps": [1, 2, 4], "epochs": [4, 8, 16], "hidden": [16, 32, 64], "rate": [0.001, 0.003, 0.01],
            "entropy": [0, 0.01, 0.03, 0.1], "entropy_left": [0, 1], "reward": ["log", "inverse"]}
LIVES = {"patience": [1000, 3000], "repeats": [0, 0.5, 0.7, 0.9], "entropy_later": [0, 0.03, 0.1],
         "settled_first": [0.25, 0.5, 0.75], "settled": [0.5, 0.75]}
# What may be set, and to what. Every method gets its default and DRAWS random settings.
CHOICES = {
    "marl": {"lanes": [4, 8, 16]} | NETWORKS | LIVES,
    "ppo": {"lanes": [8, 16, 32]} | NETWORKS | {"deviation": [0.3, 0.5, 1]},
    "ppo-discrete": {"lanes": [8, 16, 32]} | NETWORKS,
    "marl-elites": {"lanes": [4, 8, 16]} | NETWORKS | LIVES | {"imitate": [0.1, 0.3, 1], "elites": [1, 4, 8],
                                                             "explore": [0.5, 1, 2]},
    "marl-table": {"batch": [6, 8, 12], "rate": [0.8, 1.5, 2.5], "top": [0.2, 0.3, 0.5], "elites": [4, 8, 16],
                   "imitate": [0.4, 0.8, 1.5], "explore": [0.1, 0.2, 0.3], "explore_last": [0.03, 0.06, 0.1],
                   "smooth": [0.2, 0.4, 0.6], "settle": [250, 500], "patience": [70, 100, 150, 250, 1000]},
    "sa": {"chains": [1, 2, 4, 8, 16], "hot": [0.1, 0.3, 1, 3], "cold": [0.001, 0.003, 0.01, 0.03],
           "restart": [0, 0.01, 0.02, 0.1]},
    "ga": {"population": [10, 20, 30, 50, 100], "survivors": [5, 10, 20, 50], "tournament": [1, 2, 3, 5],
           "crossover": [0.3, 0.5, 0.7, 0.9], "mutations": [1, 1.5, 2, 3]},
    "gamma": {"population": [10, 20, 40, 80], "parents": [0.2, 0.4, 0.6, 1], "crossover": [0.3, 0.57, 0.8],
              "reorder": [0.2, 0.47, 0.7], "mutate": [0.3, 0.53, 0.8], "mutations": [2, 3, 4],
              "swap_parallel": [0, 0.1, 0.3]},
    "random": {"redraws": [0, 8, 64, 256], "walk": [0, 0.2, 0.5, 0.8, 0.95, 1]},
}
DRAWS = 20
# The same for every method: three layers that no table uses, four seeds.
LAYERS = ["resnet50-gamma 4", "mobilenet-v2-gamma 12", "vgg16-gamma 4"]
SAMPLES, SEEDS = 8_000, 4
MARKS = (500, 1_000, 2_000, 4_000, 8_000)

# Of methods that are for few samples, and of grid: the same draws, judged by how soon they are within 5 %.
ARRIVING = {
    "grid": {"values": [2, 3, 4, 5, 6, 8, 10, 16], "orders": [1, 2, 6, 24, 120, 720]},
    "bo": {"start": [8, 12, 20, 30, 60], "history": [96, 192], "candidates": [128, 256, 512], "batch": [2, 4, 8, 16],
           "local": [0.6, 0.8, 0.95], "noise": [0.001, 0.01, 0.1]},
    "gradient": {"start": [16, 32, 64], "batch": [8, 16, 32], "lessons": [20, 40, 80],
                 "learning_rate": [0.001, 0.003, 0.01], "steps": [4, 12, 24], "rate": [0.01, 0.02, 0.05],
                 "noise": [0.02, 0.05, 0.1], "fresh": [0.05, 0.1, 0.3]},
    "team": {"start": [4, 8, 12, 20], "batch": [4, 8, 12], "pool": [256, 384, 512], "refine": [1, 2, 3],
             "fresh": [0.1, 0.25, 0.4], "informative": [0, 0.003, 0.01, 0.03]},
}


def marl_of(**changed):
    """The paper's agents with what was registered before any of this, but for some settings, all spelt out."""
    settings = {"lanes": 8, "steps": 2, "epochs": 8, "hidden": 32, "rate": 0.003, "entropy": 0, "entropy_left": 1,
                "reward": "log", "patience": 3000, "repeats": 0, "entropy_later": 0, "settled_first": 0.75,
                "settled": 0.75, "span": 0, "top": 0, "smooth": 0}
    return "marl" + "".join(f":{name}={value}" for name, value in (settings | changed).items())


# Agents of the tuned setting whose entropy falls over a span of their own, each as long as all before; tried by hand,
# after the draws, on further layers (docs/results/marl-mapping.md).
SPANS = marl_of(lanes=16, steps=2, epochs=4, hidden=64, rate=0.01, entropy=0.1, entropy_left=0, patience=0, repeats=0,
                settled_first=0, settled=0, span=1300) + ":growth=2:teams=0"

# The same teams, that learn by order and of neighbouring numbers. Each part left out by itself, on layers of no table.
LESSONS = marl_of(lanes=16, steps=2, epochs=4, hidden=32, rate=0.02, entropy=0.05, entropy_left=0, patience=0, repeats=0,
                  settled_first=0, settled=0, span=1000, top=0.5, smooth=0.75) + ":growth=1.5:teams=0"
PARTED = {"as above": {}, "by size": {"top": 0}, "each number by itself": {"smooth": 0},
          "both": {"top": 0, "smooth": 0}, "entropy of 0.1": {"entropy": 0.1},
          "turns of before": {"span": 1300, "growth": 2}, "the best team in a third": {"settled_first": 0.3, "settled": 0.3}}
PARTED_LAYERS = ["resnet18-gamma 11", "vgg16-gamma 4", "vgg16-gamma 9", "alexnet-gamma 4", "mobilenet-v2-gamma 22"]
PARTED_SEEDS = 3


# What is registered: after two teams, others that inherit the best mapping, but for agents that begin anew.
HEIRS = LESSONS.removesuffix(":teams=0") + ":teams=2:turn=400:anew_least=0.2:anew=0.8:last=0.2:unsure=0.2"
INHERITED = {"as registered": {}, "nobody inherits": {"teams": 0}, "from the second team on": {"teams": 1},
             "half anew": {"anew_least": 0.5, "anew": 0.5}, "nobody settles": {"last": 0}}
INHERITED_LAYERS = PARTED_LAYERS + ["resnet50-gamma 13", "vgg16-gamma 5", "vgg16-gamma 7", "vgg16-gamma 8",
                                    "resnet18-gamma 9", "alexnet-gamma 5", "resnet50-gamma 7"]


def but_for(setting, changed):
    """A setting of marl but for some of it."""
    parts = dict(part.split("=") for part in setting.split(":")[1:]) | changed
    return "marl" + "".join(f":{name}={value}" for name, value in parts.items())


def parted(changed):
    return but_for(LESSONS, changed)


def inherited(changed):
    return but_for(HEIRS, changed)


# One team alone, as long as the first turn of before: what learning by order and of neighbours does for it.
ALONE_SAMPLES, ALONE_SEEDS = 1_300, 8
ALONE = {"`marl` in turns before": SPANS, "narrow and quick": {"top": 0, "smooth": 0}, "by order": {"smooth": 0},
         "of neighbours": {"top": 0}, "both": {}}


# What was tried by hand before the draws, and the default of that time, which is the last of them.
PILOT_LAYERS = ["vgg16-gamma 4", "mobilenet-v2-gamma 12"]
PILOT = [{}, {"repeats": 0.9}, {"repeats": 0.7}, {"repeats": 0.5},
         {"repeats": 0.7, "entropy_later": 0.03, "settled": 0.25},
         {"repeats": 0.7, "entropy_later": 0.1, "settled": 0.25},
         {"repeats": 0.7, "entropy_later": 0.1, "settled": 0.5}]
DEFAULTS = {"marl": marl_of(**PILOT[-1])}


def settings_of(method):
    """The default of that time and the random settings, in the order in which they are drawn."""
    rng = random.Random(method)
    settings = [DEFAULTS.get(method, method)]
    while len(settings) <= DRAWS:
        choices = (CHOICES | ARRIVING)[method]
        text = method + "".join(f":{name}={rng.choice(values)}" for name, values in choices.items())
        if method == "marl":
            text += ":span=0:top=0:smooth=0"  # which came later
        if text not in settings:
            settings.append(text)
    return settings


def tuning_parts(compare):
    for method in sorted(CHOICES, key=lambda method: method == "marl-elites"):  # the slowest last
        for layer in LAYERS:
            for setting in settings_of(method):
                yield ((layer, "edp", setting),
                       lambda l=layer, s=setting: compare(l, "edp", [s], SAMPLES, SEEDS))


def pilot_parts(compare):
    for layer in PILOT_LAYERS:
        for setting in PILOT:
            yield ((layer, "edp", marl_of(**setting)), lambda l=layer, s=setting: compare(l, "edp", [marl_of(**s)]))


def pilot_table(rows, known):
    """`known(layer, objective)` is the best value known."""
    body = []
    for layer in PILOT_LAYERS:
        for setting in PILOT:
            own = [row for row in rows if (row["layer"], row["method"]) == (layer, marl_of(**setting))]
            if not own:
                continue
            best = known(layer, "edp")
            over = [100 * (row["best"] / best - 1) for row in own]
            back = [mean_ci([at(row, mark) * best / row["reference"] for row in own]) for mark in (5_000, 20_000)]
            body.append([layer.replace("-gamma", ""), ", ".join(f"{name}={value}" for name, value in setting.items()) or "before",
                         median_mean_ci(over), *back])
    return table(["layer", "setting of `marl`", "end", "return at 5,000", "at 20,000"], body)


def settings_parts(compare, settings, layers):
    """Runs of settings, by name, on layers."""
    for setting in settings.values():
        for layer in layers:
            yield ((layer, "edp", setting),
                   lambda l=layer, s=setting: compare(l, "edp", [s], 20_000, PARTED_SEEDS))


def parted_parts(compare):
    return settings_parts(compare, {name: parted(changed) for name, changed in PARTED.items()}, PARTED_LAYERS)


def inherited_parts(compare):
    return settings_parts(compare, {name: inherited(changed) for name, changed in INHERITED.items()}, INHERITED_LAYERS)


def parted_table(rows, known):
    return parts_table(rows, known, {name: parted(changed) for name, changed in PARTED.items()})


def inherited_table(rows, known):
    return parts_table(rows, known, {name: inherited(changed) for name, changed in INHERITED.items()})


def parts_table(rows, known, settings):
    """Of a setting without one of its parts: geometric means over layers and seeds."""
    body = []
    for name, setting in settings.items():
        own = [row for row in rows if row["method"] == setting]
        if not own:
            continue
        best = {layer: known(layer, "edp") for layer in {row["layer"] for row in own}}
        counts = [samples_to(row, 1.05 * best[row["layer"]]) or math.inf for row in own]
        over = [row["best"] / best[row["layer"]] for row in own]
        back = [mean_ci([at(row, mark) * best[row["layer"]] / row["reference"] for row in own])
                for mark in (1_000, 5_000, 20_000)]
        body.append([name, f"{sum(map(math.isfinite, counts))} of {len(own)}", count_text(geometric_mean(counts, 40_000)),
                     f"{geometric_mean(over, math.inf):.4f}", *back])
    return table(["`marl`", "within 5 %", "samples to 5 %", "end / best", *(f"return at {n:,}" for n in (1_000, 5_000, 20_000))],
                 body)


def alone_settings():
    """By name: a single team whose entropy falls within the budget, and single-agent PPO as tuned."""
    span = {"span": ALONE_SAMPLES, "entropy": 0.1}
    return {name: what if what == SPANS else parted(span | what) for name, what in ALONE.items()}


def alone_parts(compare, ppo):
    for method in [*alone_settings().values(), ppo]:
        for objective in ("edp", "latency"):
            for layer in PARTED_LAYERS:
                yield ((layer, objective, method), lambda l=layer, o=objective, m=method: compare(
                    l, o, [m], ALONE_SAMPLES, ALONE_SEEDS))


def alone_table(rows, known, ppo):
    """Runs that arrive within 5 %, and all samples that were spent until then for each of them."""
    body = []
    for name, method in (alone_settings() | {"`ppo`, tuned": ppo}).items():
        cells = []
        for objective in ("edp", "latency"):
            own = [row for row in rows if (row["method"], row["objective"]) == (method, objective)]
            spent = [samples_to(row, 1.05 * known(row["layer"], objective)) for row in own]
            arrived = sum(count is not None for count in spent)
            samples = sum(count or ALONE_SAMPLES for count in spent)
            cells += [f"{arrived} of {len(own)}", f"{samples / arrived:,.0f}" if arrived else "–"]
        body.append([name, *cells])
    return table(["a team, or `ppo`", "EDP: within 5 %", "samples for each", "latency: within 5 %", "samples for each"],
                 body)


def found_after(row, samples):
    """The best value of a run after so many samples; infinite before its first legal one."""
    return min((value for n, value in row["curve"] if n <= samples), default=math.inf)


def scores(rows, setting):
    """What the runs of each seed find and return, as far as both are from the best value known: smaller is better.

    The mean over marks of log2(best so far / best known), where what is not legal yet counts as 10, plus the mean over
    every 1,000 samples of 1 - mean return / return of the best value known; means over layers.
    """
    known = {layer: min(row["best"] for row in rows if row["layer"] == layer) for layer in LAYERS}
    made, of_setting = [], [row for row in rows if row["method"] == setting]
    for seed in range(1, SEEDS + 1):
        own = [row for row in of_setting if row["seed"] == seed]
        found = [min(10.0, math.log2(found_after(row, mark) / known[row["layer"]])) for row in own for mark in MARKS]
        returned = [1 - reward * known[row["layer"]] / row["reference"] for row in own for _, reward in row["returns"]]
        made.append(statistics.fmean(found) + statistics.fmean(returned))
    return made


def score(rows, setting):
    return statistics.fmean(scores(rows, setting))


def ends(rows, setting):
    """Geometric mean over layers of the median end over the best value known."""
    logs = []
    for layer in LAYERS:
        own = [row for row in rows if row["layer"] == layer]
        median = statistics.median(row["best"] for row in own if row["method"] == setting)
        logs.append(math.log(median / min(row["best"] for row in own)))
    return math.exp(statistics.fmean(logs))


def ranked(rows, method):
    """Settings of a method that were run on all layers, best first."""
    run = {(row["layer"], row["method"]) for row in rows}
    whole = [setting for setting in settings_of(method) if all((layer, setting) in run for layer in LAYERS)]
    return sorted(whole, key=lambda setting: score(rows, setting))


def tuned(rows):
    """The best of its settings, for each method that has been tuned."""
    return {method: ranked(rows, method)[0] for method in CHOICES if ranked(rows, method)}


def tuning_table(rows):
    """Per method: the best of the settings, the default and its rank."""
    body = []
    for method in CHOICES:
        order = ranked(rows, method)
        if not order:
            continue
        best, default = order[0], settings_of(method)[0]
        body.append([f"`{method}`", mean_ci(scores(rows, best)), f"{ends(rows, best):.4f}",
                     mean_ci(scores(rows, default)), f"{ends(rows, default):.4f}",
                     f"{order.index(default) + 1} of {len(order)}"])
    return table(["method", "best setting: score", "end", "default: score", "end", "rank of the default"], body)


def settings_text(rows):
    """All settings of all methods, the best first, too wide for tables."""
    lines = ["```text", "score           end     setting"]
    for method in CHOICES:
        lines += [f"{mean_ci(scores(rows, setting)):<15} {ends(rows, setting):<7.4f} {setting}"
                  for setting in ranked(rows, method)] + [""]
    return "\n".join(lines[:-1] + ["```"]) + "\n"


# ---- How soon methods arrive ----

def arriving_parts(tessera):
    layers = ",".join(layer.replace(" ", ":l") for layer in LAYERS)
    for method in sorted(ARRIVING, key=lambda method: method == "bo"):  # the slowest last
        for setting in settings_of(method):
            yield (setting,), lambda s=setting: search(tessera, s, layers, "edp", s, ARRIVE_SAMPLES)


def arrival(rows, setting):
    """Geometric means over layers: of samples to 5 %, medians over seeds, and of ends over the best values known."""
    own = [[row for row in rows if (row["part"], row["task"]) == (setting, task)]
           for task in dict.fromkeys(row["task"] for row in rows)]
    ends = [statistics.median(row["best"] for row in runs) / runs[0]["best_known"] for runs in own]
    return geometric_mean([median_arrival(runs) for runs in own], ARRIVE_SAMPLES), geometric_mean(ends, math.inf)


def by_arrival(rows, method):
    """Settings that were run, the soonest first; among equals the better end."""
    run = {row["part"] for row in rows}
    return sorted((setting for setting in settings_of(method) if setting in run), key=lambda s: arrival(rows, s))


def arrived_methods(rows):
    """Those of which every setting was run."""
    return [method for method in ARRIVING if len(by_arrival(rows, method)) == len(settings_of(method))]


def arriving_table(rows):
    body = []
    for method in arrived_methods(rows):
        order = by_arrival(rows, method)
        cells = [text for setting in (order[0], method) for count, end in [arrival(rows, setting)]
                 for text in (count_text(count), f"{end:.4f}")]
        body.append([f"`{method}`", *cells, f"{order.index(method) + 1} of {len(order)}"])
    return table(["method", "best setting: samples to 5 %", "end", "default: samples to 5 %", "end",
                  "rank of the default"], body)


def arriving_text(rows):
    lines = ["```text", "samples  end     setting"]
    for method in arrived_methods(rows):
        lines += [f"{count_text(count):<8} {end:<7.4f} {setting}" for setting in by_arrival(rows, method)
                  for count, end in [arrival(rows, setting)]] + [""]
    return "\n".join(lines[:-1] + ["```"]) + "\n"
