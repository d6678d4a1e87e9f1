"""Simulated misses of sampling behind a table of docs/results/efficient-marl.md, and cachegrind's beside them.

scripts/results-agents runs and keeps them (studies misses and cachegrind) and makes the tables.
"""
import json
import subprocess
import sys

from pages import table

LEVELS = {"accesses": "lines touched", "l1_misses": "L1", "l2_misses": "L2", "last_misses": "last level",
          "dtlb_misses": "data TLB"}
ENVS = ["predator_prey", "cooperative_navigation"]


def output_of(command):
    output = subprocess.run(command, capture_output=True, text=True)
    if output.returncode != 0:
        sys.exit(f"results-agents: failed: {' '.join(command)}\n{output.stderr}")
    return output.stdout


def misses_parts(tessera):
    for env in ENVS:
        yield (env,), lambda e=env: misses_rows(tessera, e)


def misses_rows(tessera, env):
    command = ["profile", "--env", env, "--agents", "3,6", "--replay", "per_agent", "--caches", "zen2"]
    found = json.loads(output_of([tessera, *command, "--json"]))
    return [{"command": "tessera " + " ".join(command), "env": env, "agents": row["agents"],
             **{level: row[f"simulated_{level}"] for level in LEVELS}} for row in found["profile"]]


def misses_table(rows):
    body = []
    for env in ENVS:
        three, six = (next(row for row in rows if (row["env"], row["agents"]) == (env, n)) for n in (3, 6))
        for agents, row in ((3, three), (6, six)):
            body.append([env, agents] + [f"{row[level]:,}" for level in LEVELS])
        body.append([env, "growth"] + [f"{six[level] / three[level]:.2f}" for level in LEVELS])
    return table(["environment", "agents"] + list(LEVELS.values()), body)


def cachegrind_parts(_):
    for model in ("zen2", "skylake-x"):
        yield (model,), lambda m=model: cachegrind_rows(m)


def cachegrind_rows(model):
    command = ["scripts/check-caches", "--model", model]
    return [{"command": " ".join(command), **json.loads(line)} for line in output_of([*command, "--json"]).splitlines()]


def cachegrind_table(rows):
    return table(["model, agents", "addresses", "level", "tessera", "cachegrind", "difference"],
                 [[f"{row['model']}, {row['agents']}", f"{row['addresses']:,}", row["level"], f"{row['tessera']:,}",
                   f"{row['cachegrind']:,}", f"{100 * (row['tessera'] / row['cachegrind'] - 1):+.3f} %"]
                  for row in rows])
