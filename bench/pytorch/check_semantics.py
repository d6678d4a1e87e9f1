"""check_semantics.py TRACE ALGORITHM PRESET: repeats the engine's update rounds in PyTorch.

Starts from the engine's weights, mini-batches and Gumbel noise (bench/engine_trace) and compares
every tensor after the last round; exits 1 if a value differs by more than 1e-4.
The derivative of a ReLU jumps at zero. Where rounding decides on which side an input lies, two
correct programs may differ by more; such a trace proves nothing and exits 3.
"""
import sys

import torch

import tensors
from team import Net, Team

ROUNDING = 2 ** -21  # of a sum in float32, relative to its terms: a few units in the last place

path, algorithm, preset = sys.argv[1:4]
trace = tensors.read(path)
agents, rounds = int(trace["agents"][0]), int(trace["rounds"][0])
sizes = [trace[f"round0.trainer0.obs{a}"].shape[1] for a in range(agents)]
choices = trace["round0.trainer0.act0"].shape[1]
team = Team(algorithm, preset, sizes, choices)


def stored(prefix, name):
    return [trace[f"{prefix}.{name}.{t}"] for t in ("w1", "b1", "w2", "b2", "w3", "b3")]


def nets():
    for a in range(agents):
        yield f"agent{a}.actor", team.actors[a]
        yield f"agent{a}.actor.target", team.target_actors[a]
        for c, (net, target) in enumerate(zip(team.critics[a], team.target_critics[a])):
            yield f"agent{a}.critic{c}", net
            yield f"agent{a}.critic{c}.target", target


for name, net in nets():
    net.load(stored("before", name))
team.make_optimizers()

Net.nearest_kink = 1.0
tensor = lambda name: torch.tensor(trace[name])
for r in range(rounds):
    for i in range(agents):
        at = f"round{r}.trainer{i}."
        every = lambda kind: [tensor(f"{at}{kind}{a}") for a in range(agents)]
        team.update(i, every("obs"), every("act"), tensor(at + "reward")[:, 0], every("next"),
                    tensor(at + "live")[:, 0], every("noise"), tensor(at + "own_noise"))

worst, where, relative, count = 0.0, "", 0.0, 0
for name, net in nets():
    for got, t, want in zip(stored("after", name), ("w1", "b1", "w2", "b2", "w3", "b3"), net.tensors):
        error = torch.tensor(got) - want.detach()
        relative = max(relative, (error.norm() / want.detach().norm()).item())
        count += 1
        if error.abs().max() > worst:
            worst, where = error.abs().max().item(), f"{name}.{t}"
open_question = Net.nearest_kink < ROUNDING
print(f"{algorithm} {preset}: {count} tensors after {rounds} rounds of {agents} agents, "
      f"largest difference {worst:.1e} ({where}), of norms {relative:.1e}, nearest ReLU input "
      f"to 0 {Net.nearest_kink:.1e}{': not judged' if open_question else ''}")
sys.exit(3 if open_question else 0 if worst < 1e-4 else 1)
