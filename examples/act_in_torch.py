"""Trains agents here, loads their policies from the checkpoint into PyTorch, and acts there: the same episode.

Needs `pip install torch safetensors`.
"""
import json
import subprocess
import sys
import tempfile

import numpy as np

import tessera
from tessera.pettingzoo import cooperative_navigation_v0

try:
    import torch
    from safetensors.torch import load_file
except ImportError as error:
    sys.exit(f"{error.name} is not installed")

SEED = 1
with tempfile.TemporaryDirectory() as folder:
    run = f"{folder}/run"
    tessera.train("cooperative_navigation", algo="mappo", agents=3, episodes=400, envs=8, out=run)
    tensors = load_file(f"{run}/checkpoint.safetensors")
    # What the agents earn when the program lets them act.
    words = [sys.executable, "-m", "tessera", "env", "--run", run, "--seed", str(SEED), "--json"]
    here = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)["team_return"]


def policy(unit: int) -> torch.nn.Sequential:
    """The actor of an agent: linear layers [inputs, outputs] with tanh between them, logits at the end."""
    layers: list[torch.nn.Module] = []
    while (name := f"learner.unit{unit}.actor.w{len(layers) // 2 + 1}") in tensors:
        weight, bias = tensors[name], tensors[name.replace(".w", ".b")]
        linear = torch.nn.Linear(*weight.shape)
        linear.load_state_dict({"weight": weight.T, "bias": bias})
        layers += [linear, torch.nn.Tanh()]
    return torch.nn.Sequential(*layers[:-1])


env = cooperative_navigation_v0.parallel_env()
seen = env.reset(seed=SEED)[0]
policies = {agent: policy(unit) for unit, agent in enumerate(env.possible_agents)}
there = 0.0
while env.agents:
    with torch.no_grad():
        actions = {a: int(policies[a](torch.from_numpy(np.asarray(seen[a]))).argmax()) for a in env.agents}
    seen, rewards, *_ = env.step(actions)
    there += sum(rewards.values())
print(f"return of the episode: {there:.4f} in PyTorch, {here:.4f} in tessera")
assert abs(there - here) < 1e-3 * abs(here)
