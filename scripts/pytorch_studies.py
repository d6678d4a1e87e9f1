"""Update rounds of the learning engine beside PyTorch's, and the same tensors: docs/results/efficient-marl.md.

scripts/results-agents runs and keeps them (studies rounds and tensors) and makes the tables. Both need .venv-torch,
which scripts/bench-pytorch makes.
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

PYTHON = ".venv-torch/bin/python"

# ---- Update rounds ----

# Transitions in replay and rounds measured: per number of agents of the program with lists, of the batched one.
LISTS = {3: (200_000, 8), 6: (200_000, 6), 12: (100_000, 3), 24: (30_000, 2), 48: (10_000, 1)}
BATCHED = {3: (200_000, 10), 6: (100_000, 8), 12: (50_000, 5), 24: (20_000, 3)}
SITTINGS = {3: 3, 6: 3, 12: 3, 24: 2, 48: 1}
REPLAYS = ["per_agent", "joint", "compact"]


def output_of(command):
    shown = shlex.join(command)
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"OMP_NUM_THREADS": "1"})
    if done.returncode != 0:
        sys.exit(f"results-agents: failed: {shown}\n{done.stderr}")
    return done.stdout, shown


def rounds_row(tessera, program, agents, sitting):
    """Both programs one after the other, in processor milliseconds, each phase in its fastest round."""
    fill, rounds = {"lists": LISTS, "batched": BATCHED}[program][agents]
    script = "time_rounds.py" if program == "lists" else "time_rounds_batched.py"
    printed, theirs = output_of([PYTHON, f"bench/pytorch/{script}", str(agents), str(fill), str(rounds)])
    replays = REPLAYS if program == "lists" else ["compact"]
    words = ["profile", "--agents", str(agents), "--replay", ",".join(replays), "--fill", str(fill), "--rounds",
             str(3 * rounds if agents < 24 else rounds), "--preset", "openai", "--set", f"capacity={fill}", "--set",
             "warmup=1024", "--clock", "processor", "--threads", "1"]
    profiled, _ = output_of([tessera, *words, "--json"])
    rows = [json.loads(line) for line in printed.splitlines()]
    profile = json.loads(profiled)
    found = {row["replay"]: row for row in profile["profile"]}
    return [{"part": f"{program} {agents} {sitting}", "command": [theirs, "tessera " + shlex.join(words)],
             "load": round(os.getloadavg()[0], 1), "pytorch": rows[0],
             "gflop_per_s": [round(found["compact"]["gflop_per_s"], 1), round(profile["fma_gflop_per_s"], 1)],
             # What does not run is kept as well: torch.compile.
             **({"compiled": rows[1]} if len(rows) > 1 else {}),
             "engine": {replay: {"sampling_ms": round(found[replay]["sampling_ms"], 3),
                                 # Moving targets is "other"; PyTorch's time has it.
                                 "round_ms": round(found[replay]["update_ms"] + found[replay]["other_ms"], 3)}
                        for replay in replays}}]


def rounds_parts(tessera):
    for program, sizes in {"lists": LISTS, "batched": BATCHED}.items():
        for agents in sizes:
            for sitting in range(1, SITTINGS[agents] + 1):
                yield (f"{program} {agents} {sitting}",), (
                    lambda p=program, a=agents, s=sitting: rounds_row(tessera, p, a, s))


def sittings(rows, program, agents):
    return [row for row in rows if row["part"].startswith(f"{program} {agents} ")]


def pytorch_ms(row):
    return row["pytorch"]["sampling_ms"] + row["pytorch"]["learning_ms"]


def ratios_of(own):
    """PyTorch's time over the engine's with compact replay, in each sitting."""
    return [pytorch_ms(row) / row["engine"]["compact"]["round_ms"] for row in own]


def ratio_text(ratios):
    text = f"{statistics.median(ratios):.1f}"
    return f"{text} ({min(ratios):.1f} to {max(ratios):.1f})" if len(ratios) > 1 else text


ASKED = {3: 10, 6: 10, 12: 20, 24: 25, 48: 25}


def ms(value):
    return f"{value:.2f}" if value < 10 else f"{value:,.1f}" if value < 1000 else f"{value:,.0f}"


def lists_table(rows):
    """The best of either program over all sittings, and the ratios of single sittings."""
    body = []
    for agents in LISTS:
        own = sittings(rows, "lists", agents)
        if own:
            engine = [ms(min(row["engine"][replay]["round_ms"] for row in own)) for replay in REPLAYS]
            body.append([agents, len(own), f"{LISTS[agents][0]:,}", ms(min(map(pytorch_ms, own))),
                         ms(min(row["pytorch"]["sampling_ms"] for row in own)), *engine, ratio_text(ratios_of(own)),
                         ASKED[agents]])
    return table(["agents", "sittings", "replay", "PyTorch", "of which sampling", *REPLAYS, "ratio (range)", "asked for"],
                 body)


def batched_table(rows):
    body = []
    for agents in BATCHED:
        own = sittings(rows, "batched", agents)
        if own:
            body.append([agents, len(own), f"{BATCHED[agents][0]:,}", ms(min(map(pytorch_ms, own))),
                         ms(min(row["pytorch"]["sampling_ms"] for row in own)), compiled_ms(own),
                         ms(min(row["engine"]["compact"]["round_ms"] for row in own)), ratio_text(ratios_of(own))])
    return table(["agents", "sittings", "replay", "batched PyTorch", "of which sampling", "`torch.compile`", "engine",
                  "ratio (range)"], body)


def compiled_ms(own):
    times = [row["compiled"]["sampling_ms"] + row["compiled"]["learning_ms"] for row in own
             if "learning_ms" in row.get("compiled", {})]
    return ms(min(times)) if times else "fails"


# ---- The same tensors ----

CASES = [("maddpg", "openai"), ("maddpg", "tf2marl"), ("masac", "tf2marl")]
JUDGED, SEEDS = 3, 12
PRINTED = re.compile(r"(\d+) tensors after .* largest difference (\S+) \(.*of norms (\S+),")


def tensors_rows(tessera, algorithm, preset):
    """Seeds until enough of them could be judged; the others, which rounding decides, are kept as well."""
    rows, judged = [], 0
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(1, SEEDS + 1):
            trace = [os.path.join(os.path.dirname(tessera), "bench/engine_trace"), f"{folder}/t", algorithm, preset, "3",
                     "3", str(seed)]
            check = [PYTHON, "bench/pytorch/check_semantics.py", f"{folder}/t", algorithm, preset]
            output_of(trace)
            done = subprocess.run(check, capture_output=True, text=True, env=os.environ | {"OMP_NUM_THREADS": "1"})
            found = PRINTED.search(done.stdout)
            if done.returncode not in (0, 1, 3) or not found:
                sys.exit(f"results-agents: failed: {shlex.join(check)}\n{done.stderr}")
            shown = f"engine_trace {shlex.join(trace[1:])}; {shlex.join(check)}".replace(folder + "/", "")
            rows.append({"part": f"{algorithm}, {preset}", "command": shown, "seed": seed,
                         "judged": done.returncode != 3, "tensors": int(found[1]), "largest": float(found[2]),
                         "of_norms": float(found[3])})
            judged += done.returncode != 3
            if judged == JUDGED:
                return rows
    sys.exit(f"results-agents: too few seeds of {algorithm} {preset} could be judged")


def tensors_parts(tessera):
    for case in CASES:
        yield (", ".join(case),), lambda c=case: tensors_rows(tessera, *c)


def tensors_table(rows):
    body = []
    for part in dict.fromkeys(row["part"] for row in rows):
        own = [row for row in rows if row["part"] == part]
        judged = [row for row in own if row["judged"]]
        body.append([part, judged[0]["tensors"], f"{len(judged)} of {len(own)}",
                     f"{max(row['largest'] for row in judged):.1e}", f"{max(row['of_norms'] for row in judged):.1e}"])
    return table(["algorithm, preset", "tensors", "seeds judged", "largest difference of a value", "of norms"], body)


PARTS = {"rounds": rounds_parts, "tensors": tensors_parts}
