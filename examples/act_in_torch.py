"""Trains agents here, loads their policies from the checkpoint into PyTorch, and acts there.

Needs `pip install torch safetensors`.
"""
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

with tempfile.TemporaryDirectory() as folder:
    run = f"{folder}/run"
    result = tessera.train("cooperative_navigation", algo="mappo", agents=3, episodes=200, envs=8, out=run)
    tensors = load_file(f"{run}/checkpoint.safetensors")


def policy(unit):
    """The actor of an agent: linear layers with tanh between them, logits at the end."""
    names = sorted(name for name in tensors if f"unit{unit}.actor." in name and ".adam." not in name)
    weights = [tensors[name] for name in names if tensors[name].dim() == 2]
    biases = [tensors[name] for name in names if tensors[name].dim() == 1]
    layers = []
    for weight, bias in zip(weights, biases):
        rows, columns = weight.shape
        linear = torch.nn.Linear(columns if rows == len(bias) else rows, len(bias))
        with torch.no_grad():
            linear.weight.copy_(weight if rows == len(bias) else weight.T)
            linear.bias.copy_(bias)
        layers += [linear, torch.nn.Tanh()]
    return torch.nn.Sequential(*layers[:-1])


env = cooperative_navigation_v0.parallel_env()
seen, _ = env.reset(seed=1)
policies = {agent: policy(unit) for unit, agent in enumerate(env.possible_agents)}
total = 0.0
while env.agents:
    with torch.no_grad():
        actions = {a: int(policies[a](torch.from_numpy(np.asarray(seen[a]))).argmax()) for a in env.agents}
    seen, rewards, *_ = env.step(actions)
    total += sum(rewards.values())
print("return of the episode:", total, "| trained:", result.to_dict().get("episodes", "done"))
