"""time_rounds.py AGENTS FILL ROUNDS: ms per MADDPG update round of a reference-style program.

One replay buffer per agent, a Python list of tuples of NumPy arrays, as the reference codes keep
it; every trainer draws 1024 indices and walks all buffers. CPU, one thread;
processor time, each phase in its fastest round.
"""
import gc
import json
import random
import sys
import time

import numpy as np
import torch

from team import Team

agents, fill, rounds = (int(x) for x in sys.argv[1:4])
torch.set_num_threads(1)
prey, obstacles = max(1, agents // 3), 2 if agents < 6 else 3 if agents < 12 else agents // 3
size = 4 + 2 * obstacles + 2 * (agents + prey - 1) + 2 * prey
team = Team("maddpg", "openai", [size] * agents, 5)

rng = np.random.default_rng(0)
pool = rng.standard_normal((4096, size))
actions = rng.dirichlet(np.ones(5), 4096).astype(np.float32)
buffers = [[] for _ in range(agents)]
gc.disable()  # a collection would walk millions of tuples while the buffers fill
for t in range(fill):  # objects allocated in time order; what follows a step is the next one's start
    if t % 25 == 0:
        now = [pool[(t * 17 + a) & 4095].copy() for a in range(agents)]
    after = [pool[(t * 31 + a * 7) & 4095].copy() for a in range(agents)]
    for a, buffer in enumerate(buffers):
        buffer.append((now[a], actions[(t + a) & 4095].copy(), float(t % 3), after[a], 0.0))
    now = after


def gather(buffer, indices):
    """A mini-batch row by row, with an array made of every element, as the reference codes do it."""
    observations, taken, rewards, following, ends = [], [], [], [], []
    for i in indices:
        observation, action, reward, next_observation, end = buffer[i]
        observations.append(np.array(observation, copy=False))
        taken.append(np.array(action, copy=False))
        rewards.append(reward)
        following.append(np.array(next_observation, copy=False))
        ends.append(end)
    return [np.array(column) for column in (observations, taken, rewards, following, ends)]


as_tensor = lambda x: torch.from_numpy(np.asarray(x, np.float32))
seconds = {"sampling": [], "learning": []}
for r in range(rounds + 1):
    sampling = learning = 0.0
    for i in range(agents):
        begin = time.process_time()
        indices = [random.randint(0, fill - 1) for _ in range(1024)]
        parts = [gather(buffer, indices) for buffer in buffers]
        own = gather(buffers[i], indices)
        middle = time.process_time()
        team.update(i, [as_tensor(p[0]) for p in parts], [as_tensor(p[1]) for p in parts],
                    as_tensor(own[2]), [as_tensor(p[3]) for p in parts], 1 - as_tensor(own[4]))
        sampling += middle - begin
        learning += time.process_time() - middle
    if r > 0:  # the first round warms up
        seconds["sampling"].append(sampling)
        seconds["learning"].append(learning)
best = {name: 1e3 * min(values) for name, values in seconds.items()}
print(json.dumps({"agents": agents, "fill": fill, "sampling_ms": round(best["sampling"], 2),
                  "learning_ms": round(best["learning"], 2)}))
