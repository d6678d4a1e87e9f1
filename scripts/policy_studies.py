"""Studies behind docs/results/policies.md that are no mappings of networks: samples with model maestro, co-design.

scripts/results-policies runs and keeps them and makes the tables.
"""
import json
import os
import shlex
import shutil
import subprocess
import tempfile

from mapping_studies import ARRIVE_SAMPLES, ARRIVE_SEEDS, UNTUNED, count_text, geometric_mean, median_arrival
from pages import table


def spent(command, cwd=None):
    """What a command printed, and its CPU seconds, user and system."""
    before = os.times()
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True, cwd=cwd)
    after = os.times()
    seconds = after.children_user + after.children_system - before.children_user - before.children_system
    return done.stdout, round(seconds, 2)


# ---- Model maestro: samples until near the best value known, layers that nobody tuned on

NEAR = [0.1, 0.05, 0.01]


def maestro_parts():
    return [("policy",)]


def maestro_rows(tessera, method):
    with tempfile.TemporaryDirectory() as folder:
        best, found = os.path.join(folder, "best.txt"), os.path.join(folder, "rows.json")
        shutil.copy("bench/best_known.txt", best)  # the program writes what it finds
        words = ["--layers", UNTUNED, "--objectives", "edp", "--methods", method, "--samples", str(ARRIVE_SAMPLES),
                 "--seeds", str(ARRIVE_SEEDS), "--stop", "--within", str(NEAR[-1]), "--best"]
        _, seconds = spent([os.path.join(os.path.dirname(tessera), "bench/search_bench"), *words, best, "--json", found])
        with open(found) as file:
            rows = json.load(file)
    shown = shlex.join(["search_bench", *words, "bench/best_known.txt"])
    kept = ("task", "method", "seed", "best", "best_known", "samples", "curve")
    return [{"part": [method], "command": shown, "run_cpu_s": seconds} | {key: row[key] for key in kept} for row in rows]


def maestro_table(rows, others):
    """Medians over seeds; team and bo are rows of another study, which stopped at 5 %."""
    columns, body = {}, []
    runs = {"policy": rows, **{method: [row for row in others if row["part"] == f"untuned {method}"]
                               for method in ("team", "bo")}}
    cases = [("policy", within) for within in NEAR] + [("team", 0.05), ("bo", 0.05)]
    for task in dict.fromkeys(row["task"] for row in rows):
        for method, within in cases:
            own = [row for row in runs[method] if row["task"] == task]
            columns.setdefault((method, within), []).append(median_arrival(own, within))
        shown = task.replace("-gamma", "").replace(":l", " ").removesuffix(" edp")
        body.append([shown, *[count_text(columns[case][-1]) for case in cases]])
    body.append(["geometric mean", *[count_text(geometric_mean(columns[case], ARRIVE_SAMPLES)) for case in cases]])
    return table(["layer", *[f"`{method}` to {100 * within:g} %" for method, within in cases]], body)


# ---- Co-design: what policies of other networks are worth on ResNet-18 at 256 MACs

OPTIMUM = 7_697_239  # cycles per image: the exhaustive optimum (docs/results/dcoc.md)
COMMON = ["--budget-macs", "256", "--generator", "reference", "--threads", "1"]
TRAINED_ON, TRAINING = ["squeezenet1.1", "googlenet"], ["--measurements", "16", "--seed", "1"]
MEASUREMENTS = {"dcoc": [1, 4, 16], "dcoc:roofline=false": [1, 4]}
SEEDS = [1, 2, 3]


def codesign_parts():
    return [(method, taken) for method in MEASUREMENTS for taken in (False, True)]


def codesign_rows(tessera, method, taken):
    tessera, rows = os.path.abspath(tessera), []
    with tempfile.TemporaryDirectory() as folder:
        first = ["cooptimize", *TRAINED_ON, *COMMON, *TRAINING, "--method", method, "--out", "team"]
        _, trained = spent([tessera, *first], folder) if taken else (None, 0)
        for count in MEASUREMENTS[method]:
            for seed in SEEDS:
                words = ["cooptimize", "resnet18", *COMMON, "--method", method, "--measurements", str(count), "--seed",
                         str(seed), *(["--policy", "team"] if taken else [])]
                found, seconds = spent([tessera, *words, "--json"], folder)
                shown = [shlex.join(["tessera", *part]) for part in ([first] if taken else []) + [words]]
                rows.append({"part": [method, taken], "command": " && ".join(shown), "training_cpu_s": trained,
                             "run_cpu_s": seconds, "method": method, "policy": taken, "measurements": count,
                             "seed": seed, "cycles": json.loads(found)["cycles"]})
    return rows


def codesign_table(rows, method):
    """How far above the optimum, seed by seed."""
    body = []
    for count in MEASUREMENTS[method]:
        cells = []
        for taken in (False, True):
            own = [row for row in rows if (row["method"], row["policy"], row["measurements"]) == (method, taken, count)]
            more = [100 * (row["cycles"] / OPTIMUM - 1) for row in sorted(own, key=lambda row: row["seed"])]
            cells.append(", ".join(f"{x:.2f}" if x < 10 else f"{x:.0f}" for x in more) + " %" if more else "")
        body.append([count, *cells])
    return table(["measurements per layer", f"`{method}` from nothing", "with `--policy team`"], body)


STUDIES = {"maestro": (maestro_parts, maestro_rows), "codesign": (codesign_parts, codesign_rows)}


def run(study, tessera, rows, keep):
    """The parts of a study that are missing."""
    parts, make = STUDIES[study]
    done = {tuple(row["part"]) for row in rows}
    for part in parts():
        if part not in done:
            rows += make(tessera, *part)
            keep(study, rows)


def tables(rows_of, arrivals):
    return {"maestro": maestro_table(rows_of("maestro"), arrivals),
            "codesign": codesign_table(rows_of("codesign"), "dcoc"),
            "codesign-plain": codesign_table(rows_of("codesign"), "dcoc:roofline=false")}
