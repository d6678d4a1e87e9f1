"""Co-optimizations behind tables of docs/results/dcoc.md.

scripts/results-agents runs and keeps them and makes the tables.
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
        seconds = kept["search_s"] + kept["measuring_s"] + decided["search_s"] + decided["measuring_s"]
        body.append([network, kept["layers"], len(kept["left_out"]), f"{kept['cycles']:,.0f}",
                     f"{decided['cycles']:,.0f}", f"{100 * (kept['cycles'] / decided['cycles'] - 1):+.1f} %", shape(found["name"]),
                     f"{seconds:.1f}"])
    return table(["network", "layers", "left out", "default hardware", "hardware decided", "throughput", "hardware",
                  "CPU-s"], body)


# ---- What coopt_bench does: a row for every run ----


def bench(tessera, *words):
    """Rows of coopt_bench, which are those of a part of a study: all that have its command."""
    command = [os.path.join(os.path.dirname(tessera), "bench/coopt_bench"), "--rows", *map(str, words)]
    output = subprocess.run(command, capture_output=True, text=True)
    if output.returncode != 0:
        sys.exit(f"results-agents: failed: {shlex.join(command)}\n{output.stderr}")
    return [{"command": command_of(*words), **json.loads(line)} for line in output.stdout.splitlines()]


def command_of(*words):
    return shlex.join(["coopt_bench", "--rows", *map(str, words)])


def bench_parts(tessera, commands):
    for words in commands:
        yield (command_of(*words),), lambda w=words: bench(tessera, *w)


# ResNet-18 C2 to C11 on fixed hardware: what parts of dcoc are worth, and other methods.
FIXED = {"dcoc": "all", "dcoc:team=one": "one agent", "dcoc:team=independent": "no central critic",
         "dcoc:team=independent:reward=local": "the same, local rewards", "dcoc:sampling=uniform": "uniform sampling",
         "dcoc:confidence=critic": "Confidence Sampling by the critic", "dcoc:roofline=false": "no analytical estimate",
         "dcoc:roofline=false:team=one": "the same, one agent",
         "dcoc:roofline=false:team=independent": "the same, no central critic",
         "dcoc:roofline=false:transfer=false": "the same, no transfer",
         "dcoc:transfer=false": "no transfer", "dcoc:ensemble=1": "one model",
         "dcoc:roofline=false:confidence=critic:transfer=false:ensemble=1": "as published"}
TUNERS = ["autotvm", "autotvm:features=knob", "chameleon", "chameleon:sampling=false", "ga-joint", "ppo-joint",
          "random-joint"]
PUBLISHED = ["!" + method for method in TUNERS if method != "chameleon:sampling=false"]
FIXED_SEEDS = 5
C = [f"C{number}" for number in range(2, 12)]


def fixed_commands():
    return [("fixed", FIXED_SEEDS, method) for method in [*FIXED, *TUNERS, *PUBLISHED]]


def fixed_line(rows, method):
    """Medians over seeds for each layer, their sum, and the most of any seed and layer."""
    own = [row["needed"] for row in rows if row["method"] == method]
    medians = [statistics.median(needed[layer] for needed in own) for layer in C]
    return [*medians, sum(medians), max(max(needed.values()) for needed in own)]


def fixed_table(rows):
    return table(["`dcoc` with", *C, "sum", "worst"],
                 [[FIXED[method], *fixed_line(rows, method)] for method in FIXED])


def tuners_table(rows):
    return table(["method", *C, "sum", "worst"],
                 [[f"`{method.replace('-joint', '')}`", *fixed_line(rows, method)]
                  for method in ["dcoc", *TUNERS, *PUBLISHED]])


# Hardware and schedules, 128 measurements per layer: network, MACs, methods. dcoc and autotvm with 256 MACs on
# TIMES_NETWORKS are in study times.
JOINT_MEASUREMENTS = 128
OTHERS = ["chameleon", "ga"]
VGGS = ["vgg11", "vgg13", "vgg16", "vgg19"]
LARGER = [(network, macs) for macs in (512, 1024) for network in [*TIMES_NETWORKS, "resnet34"]]
JOINED = [(network, 256) for network in [*TIMES_NETWORKS, "resnet34", *VGGS]] + LARGER
JOINT = [("alexnet", 256, OTHERS)] + [(network, macs, ["dcoc", "autotvm"]) for network, macs in JOINED
                                      if (network, macs) not in [(known, 256) for known in TIMES_NETWORKS]]
LAYERS = {"alexnet": 8, "resnet18": 12}  # distinct ones that VTA runs
TRUTH = [(network, 256) for network in [*TIMES_NETWORKS, "resnet34"]] + LARGER


def joint_commands():
    commands = [("joint", network, macs, JOINT_MEASUREMENTS, 1, method)
                for network, macs, methods in JOINT for method in methods]
    return sorted(commands, key=lambda words: words[-1] == "autotvm")  # the slow ones last


def truth_commands():
    return [("truth", network, macs) for network, macs in TRUTH]


def optimum(truths, network, macs):
    """The exhaustive optimum, or nothing."""
    return next((row["optimum"] for row in truths if (row["network"], row["macs"]) == (network, macs)), None)


def per_layer(row, value):
    """Measurements per layer until a value is reached."""
    return next((n / row["layers"] for n, found in row["curve"] if found <= value), math.inf)


def joint_runs(rows, network, macs, method):
    return [row for row in rows if (row["problem"], row["method"]) == (f"{network} {macs} MACs", method)]


def with_times(rows, times):
    """Rows of study joint, and those of study times in their form."""
    return rows + [row | {"problem": f"{row['network']} 256 MACs", "layers": LAYERS[row["network"]],
                          "curve": [[n, value] for n, _, value in row["curve"]]}
                   for row in times if row["hardware"] == "decided"]


def cycles_of(runs):
    return statistics.median(row["curve"][-1][1] for row in runs)


def joint_table(rows, truths):
    """A seed's target is what its AutoTVM ends with."""
    body = []
    for network, macs in JOINED:
        dcoc, autotvm = ({row["seed"]: row for row in joint_runs(rows, network, macs, method)}
                         for method in ("dcoc", "autotvm"))
        if not dcoc:
            continue
        best = optimum(truths, network, macs)
        cycles, cells = cycles_of(dcoc.values()), ["–"] * 4
        if autotvm:
            reach = [statistics.median(per_layer(runs[seed], autotvm[seed]["curve"][-1][1]) for seed in autotvm)
                     for runs in (dcoc, autotvm)]
            cells = [f"{cycles_of(autotvm.values()):,.0f}", f"{reach[0]:.1f}", f"{reach[1]:.1f}",
                     f"{100 * (reach[0] / reach[1] - 1):+.0f} %"]
        body.append([network, macs, len(dcoc), f"{cycles:,.0f}", f"{100 * (cycles / best - 1):.2f} %" if best else "–",
                     *cells])
    return table(["network", "MACs", "seeds", "`dcoc`", "above the optimum", "`autotvm`",
                  "to that: `dcoc`", "`autotvm`", "change"], body)


def others_table(rows):
    methods = ["dcoc", "autotvm", *OTHERS]
    cell = lambda runs: f"{cycles_of(runs):,.0f}" if runs else "–"
    return table(["network", *(f"`{method}`" for method in methods)],
                 [[network, *(cell(joint_runs(rows, network, 256, method)) for method in methods)]
                  for network, _, wanted in JOINT if wanted == OTHERS])


def truth_table(truths):
    networks = list(dict.fromkeys(row["network"] for row in truths))
    sizes = sorted({row["macs"] for row in truths})
    show = lambda value: f"{value:,.0f}" if value else "–"
    return table(["network", *(f"{macs} MACs" for macs in sizes)],
                 [[network, *(show(optimum(truths, network, macs)) for macs in sizes)] for network in networks])


# Schedules alone, for whole networks on the default hardware.
SOFTWARE_MEASUREMENTS = 64
SOFTWARE = ["dcoc", "autotvm", "chameleon", "ga-joint"]


def software_commands():
    return [("software", network, SOFTWARE_MEASUREMENTS, 1, *SOFTWARE) for network in PAPER]


def software_table(rows):
    """Cycles of a network, and measurements until all of its layers are within 1 % of their optima."""
    body = []
    for network in dict.fromkeys(row["network"] for row in rows):
        own = {row["method"]: row for row in rows if row["network"] == network}
        cell = lambda row: f"{row['value']:,.0f}; {row['needed']}"
        body.append([network, f"{own['dcoc']['optimum']:,.0f}", *(cell(own[method]) for method in SOFTWARE)])
    return table(["network", "optimum", *(f"`{method.removesuffix('-joint')}`" for method in SOFTWARE)], body)


# PE arrays.
ARRAYS = [("resnet18", 64, ["dcoc", "ga", "random"]), ("resnet18", 2048, ["ga"]),
          ("mobilenet-v2", 32, ["dcoc", "ga", "random"])]
ARRAYS_SEEDS = 3


def arrays_commands():
    return [("arrays", network, 256, measurements, ARRAYS_SEEDS, method)
            for network, measurements, methods in ARRAYS for method in methods]


def arrays_table(rows):
    body = []
    for network, measurements, methods in ARRAYS:
        for method in methods:
            runs = [row for row in rows if (row["problem"], row["measurements"], row["method"]) ==
                    (f"{network} 256 PEs", measurements, method)]
            if runs:
                ends = sorted(row["curve"][-1][1] for row in runs)
                first = next(row for row in runs if row["seed"] == 1)
                body.append([f"{network}, {measurements:,}", f"`{method}`", f"{statistics.median(ends):,.0f}",
                             f"{ends[0]:,.0f}", f"{ends[-1]:,.0f}", first["hardware"],
                             f"{statistics.fmean(row['seconds'] for row in runs):.1f}"])
    return table(["network, measurements per layer", "method", "cycles per image", "best", "worst", "array of seed 1",
                  "CPU-s"], body)


# What cost model and critic know along a run.
CRITIC_SEEDS = 5


def critic_commands():
    return [("critic", CRITIC_SEEDS)]


def critic_table(rows):
    body = []
    for measurements in sorted({row["measurements"] for row in rows}):
        cells = []
        for who in ("model", "critic"):
            for which in (0, 1):
                values = [row[who][which] for row in rows if row["measurements"] == measurements]
                cells.append(f"{statistics.fmean(values):.3f} ({min(values):.3f}, {max(values):.3f})")
        body.append([measurements, *cells])
    return table(["measurements per layer", "model: correlation", "model: recall@16", "critic: correlation",
                  "critic: recall@16"], body)


BENCHED = {"fixed": fixed_commands, "joint": joint_commands, "truth": truth_commands,
           "software": software_commands, "arrays": arrays_commands, "critic": critic_commands}


def shape(name):
    """Images, inputs and outputs of a matrix unit; 4x8_... is 4x8x8."""
    sizes = name.split("_")[0].split("x")
    return "x".join(sizes + sizes[-1:] * (3 - len(sizes)))


# ---- Networks against the default hardware, limits, objectives: tessera cooptimize ----


def designs_row(tessera, part, *words):
    """What a co-optimization ends with, and on which hardware."""
    usual = [] if "--generator" in words else ["--generator", "reference", "--measurements", "24"]
    command = ["cooptimize", *words, *usual, "--seed", "1", "--threads", "1"]
    output = subprocess.run([tessera, *command, "--times", "--json"], capture_output=True, text=True)
    if output.returncode != 0:
        sys.exit(f"results-agents: failed: {shlex.join(command)}\n{output.stderr}")
    found = json.loads(output.stdout)
    hardware, layers = found["hardware"], found["layers"]
    return [{"command": "tessera " + shlex.join(command), "part": part, "cycles": found["cycles"],
             "hardware": hardware["name"], "batch": hardware["batch"], "area": hardware["area"],
             "sram_bytes": hardware["sram_bytes"], "sram_power_mw": hardware["sram_power_mw"],
             "energy_uj": sum(layer["count"] * layer["energy_pj"] for layer in layers) / 1e6,
             "edp": sum(layer["count"] * layer["energy_pj"] * layer["cycles"] for layer in layers),
             "floor": found["floor_cycles"],
             "search_s": found["times"]["search_seconds"], "measuring_s": found["times"]["measuring_seconds"]}]


def designs_parts(tessera, runs):
    for part, words in runs.items():
        yield (part,), lambda p=part, w=words: designs_row(tessera, p, *w)


def of_part(rows, part):
    return next((row for row in rows if row["part"] == part), None)


PAPER = ["alexnet", "vgg11", "vgg13", "vgg16", "vgg19", "resnet18", "resnet34"]


def paper_runs():
    """The paper's comparison: baselines on the default hardware."""
    runs = {}
    for network in PAPER:
        runs[f"{network} default"] = [network, "--hardware", "default"]
        runs[f"{network} one"] = [network, *LIMITS, "--max-batch", "1"]
        runs[f"{network} eight"] = [network, *LIMITS]
    return runs


def paper_table(rows):
    body, gains = [], {"one": [], "eight": []}
    for network in PAPER:
        default = of_part(rows, f"{network} default")
        cells = []
        for images, made in gains.items():
            found = of_part(rows, f"{network} {images}")
            made.append(default["cycles"] / found["cycles"])
            cells += [f"{found['cycles']:,.0f}", f"{100 * (made[-1] - 1):+.1f} %", shape(found["hardware"])]
        body.append([network, f"{default['cycles']:,.0f}", *cells])
    means = [f"{statistics.geometric_mean(made):.2f}x" for made in gains.values()]
    body.append(["geometric mean", "", "", means[0], "", "", means[1], ""])
    return table(["network", "default hardware", "one image at a time", "", "design",
                  "up to eight images (no RTL exists)", "", "design"], body)


AREAS, POWERS, BATCHES = (2270208, 1600000, 1135104, 800000), (20, 16, 12, 8), (4, 2, 1)
LIMITED = ["dcoc", "autotvm", "ga"]


def limits_runs():
    runs = {}
    for method in LIMITED:
        first = ["resnet18", "--method", method, "--budget-macs", "256"]
        for area in AREAS:
            runs[f"{method} area {area:,} um2"] = [*first, "--budget-area", str(area)]
        for power in POWERS:
            runs[f"{method} SRAM 524,288 bytes, {power} mW"] = [*first, "--budget-sram", "524288", "--budget-power",
                                                                str(power)]
        for batch in BATCHES:
            runs[f"{method} area and SRAM of section 3, images at a time: {batch}"] = [
                "resnet18", "--method", method, *LIMITS, "--max-batch", str(batch)]
    return runs


def limits_table(rows):
    body = []
    for row in rows:
        method, limit = row["part"].split(" ", 1)
        if method == "dcoc":
            others = [of_part(rows, f"{other} {limit}") for other in LIMITED[1:]]
            body.append([limit, shape(row["hardware"]), f"{row['area']:,.0f}", f"{row['sram_bytes']:,}",
                         f"{row['cycles']:,.0f}", *(f"{other['cycles']:,.0f}" for other in others)])
    return table(["limit", "hardware", "area um2", "SRAM bytes", "cycles per image", "`autotvm`", "`ga`"], body)


OBJECTIVES = ["throughput", "latency", "edp-proxy"]


def objectives_runs():
    return {f"{network} {objective}": [network, *LIMITS, "--objective", objective]
            for network in ("resnet18", "alexnet") for objective in OBJECTIVES}


def objectives_table(rows):
    return table(["network, objective", "hardware", "cycles per image", "cycles per batch", "energy uJ", "EDP proxy"],
                 [[row["part"].replace(" ", ", "), row["hardware"], f"{row['cycles']:,.0f}",
                   f"{row['cycles'] * row['batch']:,.0f}", f"{row['energy_uj']:,.0f}", f"{row['edp']:.4g}"]
                  for row in rows])


GENERATOR_MEASUREMENTS = (16, 64)


def generator_runs():
    """All schedules that our own generator knows, not only those of the reference."""
    return {f"{generator} {measurements}": ["resnet18", *LIMITS, "--generator", generator, "--measurements",
                                            str(measurements)]
            for measurements in GENERATOR_MEASUREMENTS for generator in ("reference", "best")}


def generator_table(rows):
    return table(["measurements per layer", "generator", "hardware", "cycles per image", "above the floor", "CPU-s"],
                 [[row["part"].split()[1], f"`{row['part'].split()[0]}`", shape(row["hardware"]),
                   f"{row['cycles']:,.0f}", f"{100 * (row['cycles'] / row['floor'] - 1):.1f} %",
                   f"{row['search_s'] + row['measuring_s']:.1f}"] for row in rows])


DESIGNED = {"defaults": paper_runs, "limits": limits_runs, "objectives": objectives_runs,
            "generator": generator_runs}
