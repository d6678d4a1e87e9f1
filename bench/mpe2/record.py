"""record.py SEED EPISODES OUT.jsonl ACTIONS.jsonl: episodes of random worlds, played by MPE2 itself.

Writes rows as tests/golden has them: both scenarios, integer and continuous actions (some out of
range, which MPE2 clips), other numbers of agents and landmarks, lengths and seeds. ACTIONS gets the
same rows with nothing but what decides them: the world, its seed and the actions.
"""
import json
import sys

import numpy as np
from mpe2 import simple_spread_v3, simple_tag_v3
from pettingzoo.utils.env_logger import EnvLogger

EnvLogger.suppress_output()  # it warns about every action that is clipped

seed, episodes = int(sys.argv[1]), int(sys.argv[2])
rng = np.random.default_rng(seed)


def floats(values):
    return [float(v) for v in values]


def make_world(row, length, continuous):
    """A random world, described in `row`."""
    settings = {"max_cycles": length, "continuous_actions": continuous}
    if rng.random() < 0.6:
        predators, prey, landmarks = (int(rng.integers(low, 9)) for low in (1, 1, 0))
        row.update(scenario="predator_prey", predators=predators, prey=prey,
                   agents=predators + prey, landmarks=landmarks, local_ratio=None)
        return simple_tag_v3.parallel_env(num_good=prey, num_adversaries=predators,
                                          num_obstacles=landmarks, **settings)
    agents, ratio = int(rng.integers(1, 13)), float(rng.choice([0, 1, 0.5, rng.random()]))
    row.update(scenario="cooperative_navigation", predators=None, prey=None, agents=agents,
               landmarks=agents, local_ratio=ratio)
    return simple_spread_v3.parallel_env(N=agents, local_ratio=ratio, **settings)


def direction(agents, i, style, kept):
    """What agent `i` does: always the same (it leaves the arena), towards the next agent, or
    anything."""
    if style == "away":
        return kept[i]
    if style == "random":
        return int(rng.integers(0, 5))
    x, y = agents[(i + 1) % len(agents)].state.p_pos - agents[i].state.p_pos
    if abs(x) > abs(y):
        return 2 if x > 0 else 1
    return 4 if y > 0 else 3


def vector(choice, style):
    if style == "random":
        return rng.uniform(-0.5, 1.5, 5).astype(np.float32)
    return np.eye(5, dtype=np.float32)[choice]


def play(name):
    continuous, length = bool(rng.random() < 0.5), int(rng.choice([1, 25, 40, 100]))
    row = {"id": name, "compat": "mpe2", "seed": int(rng.integers(0, 2 ** int(rng.integers(1, 40)))),
           "actions": "continuous" if continuous else "discrete"}
    env = make_world(row, length, continuous)
    observations, _ = env.reset(seed=row["seed"])
    world, names = env.unwrapped.world, list(env.agents)
    row["pos"] = [floats(agent.state.p_pos) for agent in world.agents]
    row["lm"] = [floats(landmark.state.p_pos) for landmark in world.landmarks]
    row["obs0"] = [floats(observations[name]) for name in names]
    row["steps"] = []
    style = rng.choice(["random", "away", "chase"])
    kept = rng.integers(0, 5, len(names))
    for _ in range(length):
        choices = [int(direction(world.agents, i, style, kept)) for i in range(len(names))]
        actions = [vector(choice, style) for choice in choices] if continuous else choices
        observations, rewards, *_ = env.step(dict(zip(names, actions)))
        row["steps"].append({"a": [floats(a) for a in actions] if continuous else actions,
                             "p": [floats(agent.state.p_pos) for agent in world.agents],
                             "v": [floats(agent.state.p_vel) for agent in world.agents],
                             "r": [float(rewards[name]) for name in names],
                             "o": [floats(observations[name]) for name in names]})
    return row


with open(sys.argv[3], "w") as whole, open(sys.argv[4], "w") as actions:
    for e in range(episodes):
        row = play(f"{seed}-{e}")
        whole.write(json.dumps(row) + "\n")
        for computed in ("pos", "lm", "obs0"):
            del row[computed]
        row["steps"] = [{"a": step["a"]} for step in row["steps"]]
        actions.write(json.dumps(row) + "\n")
