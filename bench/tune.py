#!/usr/bin/env python3
"""Tunes search methods: random settings of each, on the layers of set `tuning`, at equal budgets.

usage: bench/tune.py [METHOD...]      prints a Markdown table per method, best setting first
"""
import random
import subprocess
import sys

# What may be set, and to what. Every method gets the default and SETTINGS random draws.
CHOICES = {
    "random": {"redraws": [0, 8, 64, 256], "walk": [0, 0.2, 0.5, 0.8, 0.95, 1]},
    "grid": {},
    "sa": {"chains": [1, 2, 4, 8, 16], "hot": [0.1, 0.3, 1, 3], "cold": [0.001, 0.003, 0.01, 0.03], "restart": [0, 0.01, 0.02, 0.1]},
    "ga": {"population": [10, 20, 30, 50, 100], "survivors": [5, 10, 20, 50], "tournament": [1, 2, 3, 5], "crossover": [0.3, 0.5, 0.7, 0.9], "mutations": [1, 1.5, 2, 3]},
    "gamma": {"population": [10, 20, 40, 80], "parents": [0.2, 0.4, 0.6, 1], "crossover": [0.3, 0.57, 0.8], "reorder": [0.2, 0.47, 0.7], "mutate": [0.3, 0.53, 0.8], "mutations": [2, 3, 4], "swap_parallel": [0, 0.1, 0.3]},
    "bo": {"start": [8, 12, 20, 30, 60], "history": [96, 192], "candidates": [128, 256, 512], "batch": [2, 4, 8, 16], "local": [0.6, 0.8, 0.95], "noise": [0.001, 0.01, 0.1]},
    "gradient": {"start": [16, 32, 64], "batch": [8, 16, 32], "lessons": [20, 40, 80], "learning_rate": [0.001, 0.003, 0.01], "steps": [4, 12, 24], "rate": [0.01, 0.02, 0.05], "noise": [0.02, 0.05, 0.1], "fresh": [0.05, 0.1, 0.3]},
    "ppo": {"lanes": [8, 16, 32], "steps": [1, 2, 4], "epochs": [4, 8, 16], "hidden": [16, 32, 64], "rate": [0.001, 0.003, 0.01], "entropy": [0, 0.01, 0.1], "deviation": [0.3, 0.5, 1], "penalty": [1, 3]},
    "ppo-discrete": {"lanes": [8, 16, 32], "steps": [1, 2, 4], "epochs": [4, 8, 16], "hidden": [16, 32, 64], "rate": [0.001, 0.003, 0.01], "entropy": [0, 0.01, 0.1], "penalty": [1, 3]},
    "marl": {"batch": [6, 8, 12, 16, 24], "rate": [0.8, 1.5, 2.5], "top": [0.2, 0.3, 0.5], "elites": [4, 8, 16], "imitate": [0.4, 0.8, 1.5], "explore": [0.1, 0.2, 0.3], "explore_last": [0.03, 0.05, 0.1], "smooth": [0.2, 0.4, 0.6], "settle": [250, 500, 1000]},
    "team": {"start": [4, 8, 12], "batch": [2, 4, 8], "policy": [0.15, 0.3, 0.5], "fresh": [0.1, 0.2, 0.4], "informative": [0, 0.25, 0.5], "dream": [0.2, 0.5, 1], "refine": [1, 2], "agents": [3, 6, 9]},
}
SETTINGS = 20
BUDGET = ["--layers", "tuning", "--objectives", "edp", "--seeds", "3", "--stop"]
# The cooling of `sa` follows the budget, so it is tuned with the budget of the tables.
SAMPLES = {"sa": "20000"}


def draws(method):
    rng = random.Random(method)
    settings = [method]
    choices = CHOICES[method]
    while choices and len(settings) <= SETTINGS:
        text = method + "".join(f":{name}={rng.choice(values)}" for name, values in choices.items())
        if text not in settings:
            settings.append(text)
    return settings


def main():
    for method in sys.argv[1:] or CHOICES:
        command = ["build/release/bench/search_bench", *BUDGET, "--samples", SAMPLES.get(method, "600"), "--best", "bench/best_known.txt", "--methods", ",".join(draws(method))]
        output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        lines = output[output.index("geometric means"):].splitlines()[2:]
        rows = sorted((line.split() for line in lines if line.strip()), key=lambda row: float(row[3]))
        print(f"### {method}\n\n| setting | samples to 5 % | x best | seconds |\n|---|---|---|---|")
        for row in rows:
            print(f"| `{row[0]}` | {row[3]} | {row[1]} | {row[5]} |")
        print(flush=True)


if __name__ == "__main__":
    main()
