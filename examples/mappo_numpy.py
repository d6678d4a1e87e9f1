"""MAPPO in sixty lines of NumPy on mapping_v0: linear softmax actors, one per decision, and a central linear critic.
The reward of a mapping does not depend on the next one, so returns are rewards, and the critic estimates those.
"""
import sys

import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Discrete
from tessera.pettingzoo import mapping_v0

Array = npt.NDArray[np.float64]
ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 15
EPOCHS, CLIP, ACTOR_RATE, CRITIC_RATE = 4, 0.2, 0.5, 0.2

env = mapping_v0.parallel_env(network="resnet18-gamma", layer="2", accelerator="maestro-256", objective="edp",
                              reward="log", max_cycles=64)
rng = np.random.default_rng(1)
agents = env.possible_agents
actors = {a: np.zeros((5, choices.n)) for a in agents if isinstance(choices := env.action_space(a), Discrete)}
critic = np.zeros(5)


def features(seen: npt.ArrayLike) -> Array:
    return np.append(np.tanh(seen), 1.0)

def policy(agent: str, states: Array) -> Array:
    logits = states @ actors[agent]
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))

means: list[float] = []
best = -np.inf
for round_ in range(ROUNDS):
    seen = env.reset(seed=round_)[0]
    rows: list[Array] = []
    earned: list[float] = []
    taken: dict[str, list[int]] = {agent: [] for agent in agents}
    while env.agents:  # an episode of the policies as they are
        rows.append(features(seen[agents[0]]))
        action = {a: int(rng.choice(actors[a].shape[1], p=policy(a, rows[-1]))) for a in agents}
        seen, reward, *_ = env.step(action)
        earned.append(reward[agents[0]])  # all agents share it
        for a in agents:
            taken[a].append(action[a])
    states, rewards, steps = np.array(rows), np.array(earned), np.arange(len(rows))
    advantage = rewards - states @ critic
    advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
    before = {a: policy(a, states)[steps, taken[a]] for a in agents}
    for _ in range(EPOCHS):
        critic += CRITIC_RATE * states.T @ (rewards - states @ critic) / len(rows)
        for a in agents:
            p = policy(a, states)
            ratio = p[steps, taken[a]] / before[a]
            inside = np.where(advantage > 0, ratio < 1 + CLIP, ratio > 1 - CLIP)  # where the clip has a gradient
            toward = np.eye(p.shape[1])[taken[a]] - p
            actors[a] += ACTOR_RATE * states.T @ (toward * (inside * ratio * advantage)[:, None]) / len(rows)
    best = max(best, float(rewards.max()))
    means.append(float(rewards.mean()))
    print(f"round {round_:3}: mean reward {means[-1]:7.3f}, best {best:6.3f} (decades below the reference)")
print("learned" if np.mean(means[-3:]) > np.mean(means[:3]) else "no better than at the start")
