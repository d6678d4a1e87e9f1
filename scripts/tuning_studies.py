#!/usr/bin/env python3
"""Tunes search methods: random settings of each, on the layers of set `tuning`, at equal budgets.

Prints a Markdown table per method, best setting first.
"""
import argparse
import random
import re
import subprocess

# What may be set, and to what. Every method gets the default and SETTINGS random draws.
CHOICES = {
    "random": {"redraws": [0, 8, 64, 256], "walk": [0, 0.2, 0.5, 0.8, 0.95, 1]},
    "grid": {"values": [2, 3, 4, 5, 6, 8, 10, 16], "orders": [1, 2, 6, 24, 120, 720]},
    "sa": {"chains": [1, 2, 4, 8, 16], "hot": [0.1, 0.3, 1, 3], "cold": [0.001, 0.003, 0.01, 0.03], "restart": [0, 0.01, 0.02, 0.1]},
    "ga": {"population": [10, 20, 30, 50, 100], "survivors": [5, 10, 20, 50], "tournament": [1, 2, 3, 5], "crossover": [0.3, 0.5, 0.7, 0.9], "mutations": [1, 1.5, 2, 3]},
    "gamma": {"population": [10, 20, 40, 80], "parents": [0.2, 0.4, 0.6, 1], "crossover": [0.3, 0.57, 0.8], "reorder": [0.2, 0.47, 0.7], "mutate": [0.3, 0.53, 0.8], "mutations": [2, 3, 4], "swap_parallel": [0, 0.1, 0.3]},
    "bo": {"start": [8, 12, 20, 30, 60], "history": [96, 192], "candidates": [128, 256, 512], "batch": [2, 4, 8, 16], "local": [0.6, 0.8, 0.95], "noise": [0.001, 0.01, 0.1]},
    "gradient": {"start": [16, 32, 64], "batch": [8, 16, 32], "lessons": [20, 40, 80], "learning_rate": [0.001, 0.003, 0.01], "steps": [4, 12, 24], "rate": [0.01, 0.02, 0.05], "noise": [0.02, 0.05, 0.1], "fresh": [0.05, 0.1, 0.3]},
    "ppo": {"lanes": [8, 16, 32], "steps": [1, 2, 4], "epochs": [4, 8, 16], "hidden": [16, 32, 64], "rate": [0.001, 0.003, 0.01], "entropy": [0, 0.01, 0.1], "deviation": [0.3, 0.5, 1], "penalty": [1, 3]},
    "ppo-discrete": {"lanes": [8, 16, 32], "steps": [1, 2, 4], "epochs": [4, 8, 16], "hidden": [16, 32, 64], "rate": [0.001, 0.003, 0.01], "entropy": [0, 0.01, 0.1], "penalty": [1, 3]},
    "marl": {"lanes": [4, 8, 16], "steps": [1, 2, 4], "epochs": [4, 8, 16], "minibatches": [1, 2], "hidden": [16, 32, 64], "rate": [0.001, 0.003, 0.01], "entropy": [0, 0.01, 0.1], "penalty": [1, 3], "floor": [0.001, 0.01, 0.05], "patience": [0, 250, 500, 1000]},
    "marl-table": {"batch": [6, 8, 12], "rate": [0.8, 1.5, 2.5], "top": [0.2, 0.3, 0.5], "elites": [4, 8, 16], "imitate": [0.4, 0.8, 1.5], "explore": [0.1, 0.2, 0.3], "explore_last": [0.03, 0.06, 0.1], "smooth": [0.2, 0.4, 0.6], "settle": [250, 500], "patience": [70, 100, 150, 250, 1000]},
    "team": {"start": [4, 8, 12, 20], "batch": [4, 8, 12], "pool": [256, 384, 512], "refine": [1, 2, 3], "fresh": [0.1, 0.25, 0.4], "informative": [0, 0.003, 0.01, 0.03]},
}
SETTINGS = 20
# The same for every method: three layers that no table uses, four seeds.
BUDGET = ["--layers", "tuning", "--objectives", "edp", "--samples", "2000", "--seeds", "4", "--stop"]
PAGE = "docs/results/tuning.md"


def draws(method):
    rng = random.Random(method)
    settings = [method]
    choices = CHOICES[method]
    while len(settings) <= SETTINGS:
        text = method + "".join(f":{name}={rng.choice(values)}" for name, values in choices.items())
        if text not in settings:
            settings.append(text)
    return settings


def tune(method, bench):
    command = [bench, *BUDGET, "--best", "bench/best_known.txt", "--methods", ",".join(draws(method))]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    lines = output[output.index("geometric means"):].splitlines()[2:]
    # What never arrives counts as the budget; among equals the better end decides.
    rows = sorted((line.split() for line in lines if line.strip()), key=lambda row: (float(row[3]), float(row[1])))
    text = f"### {method}\n\n| setting | samples to 5 % | x best |\n|---|---|---|\n"
    return text + "".join(f"| `{row[0]}` | {row[3]} | {row[1]} |\n" for row in rows) + "\n"


def put(sections):
    """Replaces sections of the page by those of the same heading."""
    with open(PAGE) as page:
        head, *old = re.split(r"(?m)^(?=### )", page.read())
    name = lambda section: section.splitlines()[0]
    found = {name(section): section for section in old}
    found.update({name(section): section for section in sections})
    with open(PAGE, "w") as page:
        page.write(head + "".join(found[f"### {method}"] for method in CHOICES if f"### {method}" in found))


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("methods", nargs="*", default=list(CHOICES), help="default: all")
    arguments.add_argument("--bench", default="build/release/bench/search_bench")
    arguments.add_argument("--put", nargs="+", metavar="FILE", help="files with printed tables: put them into " + PAGE)
    chosen = arguments.parse_args()
    if chosen.put:
        texts = [open(path).read() for path in chosen.put]
        put([section for text in texts for section in re.split(r"(?m)^(?=### )", text)[1:]])
        return
    for method in chosen.methods:
        print(tune(method, chosen.bench), end="", flush=True)


if __name__ == "__main__":
    main()
