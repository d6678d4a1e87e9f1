"""Studies of docs/results/marl-mapping.md that look at every evaluation of a run: which are new, where teams end.

scripts/results-agents runs and keeps them (studies repeats and draws) and makes the tables.
"""
import itertools
import json
import shlex
import statistics
import subprocess
import sys
import tempfile

from pages import table
from tuning_studies import LESSONS

SAMPLES, SEEDS = 20_000, 5


def journals(tessera, layer, setting):
    """The command of five runs on EDP, and of each its seed and evaluations."""
    network, number = layer.split()
    with tempfile.TemporaryDirectory() as folder:
        command = ["compare", network, "--layer", number, "--accelerator", "maestro-256", "--objective", "edp",
                   "--methods", setting, "--samples", str(SAMPLES), "--seeds", str(SEEDS), "--threads", "1"]
        output = subprocess.run([tessera, *command, "--out", f"{folder}/run"], capture_output=True, text=True)
        if output.returncode != 0:
            sys.exit(f"results-agents: failed: {shlex.join(command)}\n{output.stderr}")
        for seed in range(1, SEEDS + 1):
            with open(f"{folder}/run/journal/{seed:03}.jsonl") as file:
                yield "tessera " + shlex.join(command), seed, [json.loads(line) for line in file]


REPEATS_LAYER = "vgg16-gamma 2"


def repeats(tessera, setting):
    """How many different mappings the samples of a run are, and how many of the last quarter nobody had seen."""
    made = []
    for command, seed, trials in journals(tessera, REPEATS_LAYER, setting):
        known, new = set(), []
        for trial in trials:
            point = tuple(trial["point"])
            new.append(point not in known)
            known.add(point)
        made.append({"command": command, "method": setting, "seed": seed, "different": sum(new),
                     "last": sum(new[-SAMPLES // 4:])})
    return made


# Where agents with lessons ended far off, and what their turns are: samples, a multiple of 16 at least.
LAYERS = ["vgg16-gamma 6", "alexnet-gamma 3"]
TURNS = [1_008, 1_504, 2_256, 3_376, SAMPLES - 8_144]


def draws(tessera, layer):
    """The best value that each of the teams of a run finds, one after the other."""
    made = []
    for command, seed, trials in journals(tessera, layer, LESSONS):
        ends = list(itertools.accumulate(TURNS, initial=0))
        best = [min(trial["value"] for trial in trials[begin:end] if "value" in trial)
                for begin, end in zip(ends, ends[1:])]
        made.append({"command": command, "part": layer, "layer": layer, "objective": "edp", "seed": seed, "best": min(best),
                     "teams": best})
    return made


def draws_parts(tessera):
    for layer in LAYERS:
        yield (layer,), lambda l=layer: draws(tessera, l)


def draws_table(rows, known):
    """Percent above the best value known: median of the seeds, least and most."""
    body = []
    for layer in LAYERS:
        over = [[100 * (value / known(layer, "edp") - 1) for value in row["teams"]] for row in rows
                if row["layer"] == layer]
        body.append([layer.replace("-gamma", "")] + [f"{statistics.median(team):.1f} ({min(team):.1f}–{max(team):.1f})"
                                                     for team in zip(*over)])
    return table(["layer, edp", *(f"{turn:,} samples" for turn in TURNS)], body)
