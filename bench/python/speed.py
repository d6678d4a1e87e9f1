"""Speed of the Python package, ratios of one run on one core: `make bench`, `make test-full`.

  bench/python/speed.py [--seconds S] [--check]

Each measurement is the best of five of S/5 seconds (default: 1), what is compared takes turns. `--check`: exit code 1
if a limit is missed.
"""
import argparse
import os
import sys
import time

import gymnasium
import numpy as np

import tessera
from tessera.pettingzoo import predator_prey_v0

TURNS = 5


def rates(seconds, *steps):
    """Steps per second of each (function, worlds per call): the best of several turns, one after another, so that
    what else the machine does meets all of them alike."""
    best = [0.0] * len(steps)
    for step, _ in steps:
        step()
    for _ in range(TURNS):
        for i, (step, worlds) in enumerate(steps):
            count, start = 0, time.perf_counter()
            while (now := time.perf_counter()) - start < seconds / TURNS:
                step()
                count += worlds
            best[i] = max(best[i], count / (now - start))
    return best


class Report:
    """Rows with what was promised, and whether it holds."""

    def __init__(self):
        self.missed = 0

    def row(self, name, value, unit, least=None, most=None):
        holds = (least is None or value >= least) and (most is None or value <= most)
        self.missed += not holds
        promised = f"at least {least:,}" if least is not None else f"at most {most:,}" if most is not None else ""
        print(f"{name:44} {value:14,.2f} {unit:12} {promised:16} {'' if not promised else 'holds' if holds else 'MISSED'}"
              .rstrip(), flush=True)


def around(values):
    """One value after another, for ever."""
    at = -1

    def following():
        nonlocal at
        at = (at + 1) % len(values)
        return values[at]

    return following


def single_mapping():
    env = gymnasium.make("tessera/Mapping-v0", horizon=10**9)
    env.reset(seed=1)
    action = around([env.action_space.sample() for _ in range(64)])
    return (lambda: env.step(action())), 1


def vector_mapping(worlds=256):
    env = gymnasium.make_vec("tessera/Mapping-v0", worlds, vectorization_mode="vector_entry_point", horizon=10**9)
    env.reset(seed=1)
    actions = around([env.action_space.sample() for _ in range(8)])
    return (lambda: env.step(actions())), worlds


def player(env):
    """A step of a parallel environment with random actions, episodes in a row."""
    env.reset(seed=1)
    rng = np.random.default_rng(1)
    action = around([{a: int(rng.integers(5)) for a in env.possible_agents} for _ in range(64)])

    def step():
        if not env.agents:
            env.reset()
        env.step(action())

    return step, 1


def batched(worlds=4096):
    """Episodes of 25 steps as those of the others, with their resets."""
    env = tessera.BatchedEnv("predator_prey", worlds, compat="mpe2", controller="learned")
    env.reset(seed=1)
    rng = np.random.default_rng(1)
    actions = around([rng.integers(0, 5, (worlds, 4)) for _ in range(8)])

    def step():
        if env.step(actions())[2].any():
            env.reset_finished()

    return step, worlds


def evaluations(seconds, count=20_000):
    """Mappings per second through evaluate_batch, and by the library's batch in C++ on the same mappings."""
    space = tessera.Space("resnet18", "eyeriss-256", layer=2)
    mappings = space.mappings(np.array([space.sample(seed) for seed in range(count)]))
    python = native = 0.0
    for _ in range(TURNS):
        python = max(python, rates(seconds / TURNS, ((lambda: tessera.evaluate_batch(mappings, threads=1)), count))[0])
        native = max(native, tessera._core.batch_rate(mappings, None, [], seconds / TURNS))
    return python, native


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    core = min(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {core})
    print(f"on core {core} of {os.cpu_count()}, {options.seconds} s each")
    report = Report()
    single, vector = rates(options.seconds, single_mapping(), vector_mapping())
    report.row("mapping, single steps", single, "steps/s", least=20_000)
    report.row("mapping, vector API, 256 worlds", vector, "steps/s", least=50_000)
    try:
        from mpe2 import simple_tag_v3
    except ImportError:
        print("mpe2 is not installed: its ratios are left out")
    else:
        original, parallel, many = rates(options.seconds, player(simple_tag_v3.parallel_env()),
                                         player(predator_prey_v0.parallel_env(mode="mpe2")), batched())
        report.row("simple_tag of mpe2 1.1.1, parallel API", original, "steps/s")
        report.row("predator_prey, parallel API", parallel / original, "times mpe2", least=10)
        report.row("predator_prey, batched, 4,096 worlds", many / original, "times mpe2", least=100)
    python, native = evaluations(options.seconds)
    report.row("evaluate_batch", python, "per second")
    report.row("the C++ batch over evaluate_batch", native / python, "times", most=1.3)
    sys.exit(1 if options.check and report.missed else 0)


if __name__ == "__main__":
    main()
