"""Co-optimizations behind tables of docs/results/dcoc.md: how long they take, and larger networks.

scripts/results-agents runs and keeps them (studies times and scaling) and makes the tables.
"""
import json
import math
import os
import shlex
import statistics
import subprocess
import sys

from pages import table

LIMITS = ["--budget-macs", "256", "--budget-sram", "524288", "--budget-area", "2270208"]
# What decides: hardware and schedules within the limits, or schedules on the published design.
HARDWARE = {"decided": LIMITS, "default": ["--hardware", "default"]}


def cooptimize(tessera, network, hardware, measurements, method, seed):
    command = ["cooptimize", network, *HARDWARE[hardware], "--generator", "reference", "--measurements",
               str(measurements), "--method", method, "--seed", str(seed), "--threads", "1"]
    output = subprocess.run([tessera, *command, "--times", "--json"], capture_output=True, text=True)
    if output.returncode != 0:
        sys.exit(f"results-agents: failed: {shlex.join(command)}\n{output.stderr}")
    found = json.loads(output.stdout)
    return {"command": "tessera " + shlex.join(command), "network": network, "hardware": hardware,
            "measurements": measurements, "method": method, "seed": seed}, found


# ---- Time to AutoTVM's final result ----

TIMES_NETWORKS = ["alexnet", "resnet18"]
TIMES_METHODS = ["dcoc", "autotvm"]
TIMES_SEEDS = 3
TIMES_MEASUREMENTS = 128
SECONDS = (0, 0.1, 1, 10)  # a measurement on a device


def times_parts(tessera):
    for network in TIMES_NETWORKS:
        for hardware in ("default", "decided"):
            for seed in range(1, TIMES_SEEDS + 1):
                for method in TIMES_METHODS:
                    yield ((network, hardware, method, seed),
                           lambda n=network, h=hardware, m=method, s=seed: times_row(tessera, n, h, m, s))


def times_row(tessera, network, hardware, method, seed):
    row, found = cooptimize(tessera, network, hardware, TIMES_MEASUREMENTS, method, seed)
    # [measurements, processor seconds of search and simulator, value] at each improvement.
    curve = [[n, seconds, value] for (n, value), (seconds, _) in zip(found["curve"], found["times"]["time_curve"])]
    return [{**row, "curve": curve, "search_s": found["times"]["search_seconds"],
             "measuring_s": found["times"]["measuring_seconds"], "cycles": found["cycles"]}]


def first_within(row, value):
    """Measurements and processor seconds until a value is reached."""
    return next(((n, seconds) for n, seconds, found in row["curve"] if found <= value), (math.inf, math.inf))


def times_table(rows):
    """Medians over seeds; a seed's target is what its AutoTVM ends with."""
    body = []
    for network in TIMES_NETWORKS:
        for hardware in ("default", "decided"):
            own = {(row["method"], row["seed"]): row for row in rows
                   if (row["network"], row["hardware"]) == (network, hardware)}
            spent = {method: [first_within(own[method, seed], own["autotvm", seed]["cycles"])
                              for seed in range(1, TIMES_SEEDS + 1)] for method in TIMES_METHODS}
            cells = []
            for per_measurement in SECONDS:
                both = [statistics.median(s + per_measurement * n for n, s in spent[method])
                        for method in TIMES_METHODS]
                number = lambda s: f"{s:,.0f}" if s >= 100 else f"{s:.3g}"
                cells.append(f"{number(both[0])}/{number(both[1])} ({100 * (both[0] / both[1] - 1):+.0f} %)")
            counts = "/".join(f"{statistics.median(n for n, _ in spent[m]):,.0f}" for m in TIMES_METHODS)
            body.append([network, hardware, counts] + cells)
    return table(["network", "hardware", "measurements"] + [f"S = {s:g} s" for s in SECONDS], body)


# ---- Larger networks and other layers ----

SCALING_NETWORKS = ["resnet50", "resnet101", "resnet152", "inception-v3", "googlenet", "mobilenet-v2", "bert-base",
                    "gpt2"]
SCALING_MEASUREMENTS = 24


def scaling_parts(tessera):
    for network in SCALING_NETWORKS:
        for hardware in ("default", "decided"):
            yield ((network, hardware, "dcoc", 1), lambda n=network, h=hardware: scaling_row(tessera, n, h))


def scaling_row(tessera, network, hardware):
    row, found = cooptimize(tessera, network, hardware, SCALING_MEASUREMENTS, "dcoc", 1)
    return [{**row, "cycles": found["cycles"], "layers": len(found["layers"]), "hardware_found": found["hardware"],
             "left_out": found["left_out"], "search_s": found["times"]["search_seconds"],
             "measuring_s": found["times"]["measuring_seconds"]}]


def scaling_table(rows):
    body = []
    for network in SCALING_NETWORKS:
        own = {row["hardware"]: row for row in rows if row["network"] == network}
        if len(own) < 2:
            continue
        kept, decided = own["default"], own["decided"]
        found = decided["hardware_found"]
        shape = found["name"].split("_")[0]
        seconds = kept["search_s"] + kept["measuring_s"] + decided["search_s"] + decided["measuring_s"]
        body.append([network, kept["layers"], len(kept["left_out"]), f"{kept['cycles']:,.0f}",
                     f"{decided['cycles']:,.0f}", f"{100 * (kept['cycles'] / decided['cycles'] - 1):+.1f} %", shape,
                     f"{seconds:.1f}"])
    return table(["network", "layers", "left out", "default hardware", "hardware decided", "throughput", "hardware",
                  "CPU-s"], body)


# Ablations on fixed hardware: C2 to C11 of ResNet-18, as coopt_bench measures them.
FIXED = {"dcoc": "all", "dcoc:team=one": "one agent", "dcoc:team=independent": "no central critic",
         "dcoc:team=independent:reward=local": "the same, local rewards", "dcoc:sampling=uniform": "uniform sampling",
         "dcoc:confidence=critic": "Confidence Sampling by the critic", "dcoc:roofline=false": "no analytical estimate",
         "dcoc:roofline=false:team=one": "the same, one agent",
         "dcoc:roofline=false:team=independent": "the same, no central critic",
         "dcoc:roofline=false:transfer=false": "the same, no transfer",
         "dcoc:transfer=false": "no transfer", "dcoc:ensemble=1": "one model",
         "dcoc:roofline=false:confidence=critic:transfer=false:ensemble=1": "as published"}
FIXED_SEEDS = 5


def fixed(tessera, method):
    command = [os.path.join(os.path.dirname(tessera), "bench/coopt_bench"), "fixed", str(FIXED_SEEDS), method]
    output = subprocess.run(command, capture_output=True, text=True)
    if output.returncode != 0:
        sys.exit(f"results-agents: failed: {shlex.join(command)}\n{output.stderr}")
    heads, values = (line.split() for line in output.stdout.splitlines()[1:3])
    found = dict(zip(heads[1:], values[1:]))
    return [{"command": shlex.join(["coopt_bench", *command[1:]]), "method": method, "seeds": FIXED_SEEDS,
             "layers": {name: int(value) for name, value in found.items() if name.startswith("C")},
             "sum": int(found["sum"]), "worst": int(found["worst"])}]


def fixed_parts(tessera):
    for method in FIXED:
        yield ((method,), lambda m=method: fixed(tessera, m))


def fixed_table(rows):
    layers = [f"C{number}" for number in range(2, 12)]
    body = [[FIXED[row["method"]], *(row["layers"][layer] for layer in layers), row["sum"], row["worst"]]
            for method in FIXED for row in rows if row["method"] == method]
    return table(["`dcoc` with", *layers, "sum", "worst"], body)
