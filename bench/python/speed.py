"""Speed of the Python package, ratios of one run on one core: `make bench`, `make test-full`.

  bench/python/speed.py [SECONDS]      seconds per measurement (default: 1)
"""
import sys
import time

import gymnasium
import numpy as np

import tessera
from tessera.pettingzoo import predator_prey_v0

SECONDS = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0


def rate(step, worlds=1):
    """Steps per second, the best of three."""
    best = 0.0
    step()
    for _ in range(3):
        count, start = 0, time.perf_counter()
        while (now := time.perf_counter()) - start < SECONDS / 3:
            step()
            count += worlds
        best = max(best, count / (now - start))
    return best


def row(name, value, unit, note=""):
    print(f"{name:42} {value:14,.1f} {unit:12} {note}", flush=True)


def single_mapping():
    env = gymnasium.make("tessera/Mapping-v0", horizon=10**9)
    env.reset(seed=1)
    actions = [env.action_space.sample() for _ in range(64)]
    at = iter(range(10**12))
    return rate(lambda: env.step(actions[next(at) % 64]))


def vector_mapping(worlds=256):
    env = gymnasium.make_vec("tessera/Mapping-v0", worlds, vectorization_mode="vector_entry_point", horizon=10**9)
    env.reset(seed=1)
    actions = [env.action_space.sample() for _ in range(8)]
    at = iter(range(10**12))
    return rate(lambda: env.step(actions[next(at) % 8]), worlds)


def player(env):
    """A step of a parallel environment with random actions, episodes in a row."""
    env.reset(seed=1)
    rng = np.random.default_rng(1)
    agents = env.possible_agents
    actions = [{a: int(rng.integers(5)) for a in agents} for _ in range(64)]
    at = iter(range(10**12))

    def step():
        if not env.agents:
            env.reset()
        env.step(actions[next(at) % 64])

    return rate(step)


def batched(worlds=4096):
    env = tessera.BatchedEnv("predator_prey", worlds, compat="mpe2", controller="learned", horizon=10**6)
    env.reset(seed=1)
    actions = np.random.default_rng(1).integers(0, 5, (worlds, 4))
    return rate(lambda: env.step(actions), worlds)


def evaluations(count=20_000):
    """Evaluations per second through evaluate_batch, and by the same library without Python."""
    space = tessera.Space("resnet18", "eyeriss-256", layer=2)
    points = np.array([space.sample(seed) for seed in range(count)])
    mappings = space.mappings(points)
    python = rate(lambda: tessera.evaluate_batch(mappings, threads=1), count)
    native = max(tessera._core.batch_rate(mappings, None, [], SECONDS / 3) for _ in range(3))
    return python, native


def main():
    row("mapping, single steps", single_mapping(), "steps/s", "at least 20,000")
    row("mapping, vector API", vector_mapping(), "steps/s", "at least 50,000")
    try:
        from mpe2 import simple_tag_v3
    except ImportError:
        print("mpe2 is not installed: its ratios are left out")
    else:
        original = player(simple_tag_v3.parallel_env())
        row("simple_tag of mpe2, parallel API", original, "steps/s")
        row("predator_prey, parallel API", player(predator_prey_v0.parallel_env(mode="mpe2")) / original,
            "times mpe2", "at least 10")
        row("predator_prey, batched", batched() / original, "times mpe2", "at least 100")
    python, native = evaluations()
    row("evaluate_batch", python, "per second")
    row("the C++ batch over evaluate_batch", native / python, "times", "at most 1.3")


if __name__ == "__main__":
    main()
