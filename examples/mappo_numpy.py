"""MAPPO in sixty lines of NumPy on mapping_v0: one softmax per agent, a shared baseline, clipped updates.

The observation says little here (a mapping's cost does not depend on the one before), so policies are plain
logits per agent and the central critic is a running mean of the team's reward.
"""
import sys

import numpy as np

from tessera.pettingzoo import mapping_v0

rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 15
env = mapping_v0.parallel_env(network="resnet18-gamma", layer="2", accelerator="maestro-256", objective="edp",
                              reward="log", max_cycles=64)
rng = np.random.default_rng(1)
agents = env.possible_agents
logits = {a: np.zeros(env.action_space(a).n) for a in agents}
baseline, best, clip, rate = 0.0, -np.inf, 0.2, 0.5


def policy(agent):
    p = np.exp(logits[agent] - logits[agent].max())
    return p / p.sum()


first = None
for round_ in range(rounds):
    env.reset(seed=round_)
    taken, old, rewards = {a: [] for a in agents}, {a: policy(a) for a in agents}, []
    while env.agents:
        action = {a: rng.choice(len(old[a]), p=old[a]) for a in agents}
        reward = env.step(action)[1][agents[0]]  # all agents share it
        rewards.append(reward)
        for a in agents:
            taken[a].append(action[a])
    rewards = np.array(rewards)
    baseline += 0.3 * (rewards.mean() - baseline)  # the critic
    advantage = (rewards - baseline) / (rewards.std() + 1e-8)
    for a in agents:
        chosen = np.array(taken[a])
        for _ in range(4):  # epochs
            p = policy(a)
            ratio = p[chosen] / old[a][chosen]
            active = np.where(advantage > 0, ratio < 1 + clip, ratio > 1 - clip)
            gradient = np.zeros_like(p)
            np.add.at(gradient, chosen, active * ratio * advantage)
            gradient -= p * (active * ratio * advantage).sum()
            logits[a] += rate * gradient / len(chosen)
    best = max(best, rewards.max())
    first = rewards.mean() if first is None else first
    print(f"round {round_:3}: mean reward {rewards.mean():7.3f}, best {best:6.3f} (decades below the reference)")
print("learned" if rewards.mean() > first else "no better than at the start")
