"""train.py SCENARIO EPISODES SEED: MADDPG (preset openai) in PyTorch on a NumPy particle world.

Prints one JSON line per 1000 episodes with the mean return summed over agents. Three agents;
predator_prey has one prey that flees with unit force, as Tessera's controller `flee`.
"""
import json
import sys
import time

import numpy as np
import torch

from team import Team

scenario, episodes, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
torch.set_num_threads(1)
torch.manual_seed(seed)
rng = np.random.default_rng(seed)
TAG = scenario == "predator_prey"
N, PREY, L, H = 3, int(TAG), 2 if TAG else 3, 25
ALL = N + PREY
SIZE = np.array([.075] * N + [.05] * PREY + [.2] * L) if TAG else np.array([.15] * N)
CAP = np.array([1.0] * N + [1.3] * PREY)[:, None] if TAG else None
PAIRS = [(a, b) for a in range(len(SIZE)) for b in range(a + 1, len(SIZE)) if a < ALL]
A, B = (np.array(x) for x in zip(*PAIRS))
REACH = SIZE[A] + SIZE[B]


class World:
    def reset(self):
        self.p = rng.uniform(-1, 1, (ALL, 2))
        self.l = rng.uniform(-.9 if TAG else -1, .9 if TAG else 1, (L, 2))
        self.v = np.zeros((ALL, 2))

    def observe(self):
        out = []
        for i in range(N):
            others = [j for j in range(ALL) if j != i]
            tail = [self.v[N:].ravel()] if TAG else [np.zeros(2 * (N - 1))]
            out.append(np.concatenate([self.v[i], self.p[i], (self.l - self.p[i]).ravel(),
                                       (self.p[others] - self.p[i]).ravel()] + tail))
        return np.array(out, np.float32)

    def flee(self):
        d = self.p[N] - self.p[:N]
        near = d[np.argmin((d ** 2).sum(1))]
        wall = np.where(np.abs(self.p[N]) > .9, np.sign(self.p[N]), 0)
        return np.clip(near / max(np.linalg.norm(near), 1e-12) - 2 * wall, -1, 1)

    def step(self, a):
        f = np.zeros((len(SIZE), 2))
        f[:N, 0], f[:N, 1] = a[:, 1] - a[:, 2], a[:, 3] - a[:, 4]
        f[:N] *= 3.0 if TAG else 5.0
        if TAG:
            f[N] = self.flee()
        e = np.concatenate([self.p, self.l]) if TAG else self.p
        d = e[A] - e[B]
        r = np.sqrt((d ** 2).sum(1))
        push = (100 * d / r[:, None]) * (np.logaddexp(0, -(r - REACH) / 1e-3) * 1e-3)[:, None]
        np.add.at(f, A, push)
        np.add.at(f, B, -push)
        self.v = self.v * .75 + f[:ALL] * .1
        if TAG:
            speed = np.linalg.norm(self.v, axis=1, keepdims=True)
            self.v = np.where(speed > CAP, self.v / np.maximum(speed, 1e-12) * CAP, self.v)
        self.p = self.p + self.v * .1
        if TAG:
            return 10.0 * np.sum(np.linalg.norm(self.p[:N] - self.p[N], axis=1) < .125) * np.ones(N)
        cover = -np.linalg.norm(self.p[:, None] - self.l[None], axis=2).min(0).sum()
        touch = (np.linalg.norm(self.p[:, None] - self.p[None], axis=2) < .3).sum()
        return (N * cover - touch) * np.ones(N)


world = World()
world.reset()
o = world.observe()
size, CAPACITY = o.shape[1], 1_000_000
team = Team("maddpg", "openai", [size] * N, 5, seed=seed)
rows = min(CAPACITY, episodes * H)
OBS, NEXT = np.zeros((rows, N, size), np.float32), np.zeros((rows, N, size), np.float32)
ACT, REW = np.zeros((rows, N, 5), np.float32), np.zeros((rows, N), np.float32)
returns, begin = [], time.time()
weights = None  # of all actors, [N, in, out]: for one row, NumPy is faster than PyTorch


def act(o):
    x = o[:, None]
    for layer in range(0, len(weights), 2):
        x = x @ weights[layer] + weights[layer + 1][:, None]
        if layer + 2 < len(weights):
            x = np.maximum(x, 0)
    noise = -np.log(-np.log(np.maximum(rng.random(x.shape, np.float32), 1e-20)))
    e = np.exp(x + noise - (x + noise).max(2, keepdims=True))
    return (e / e.sum(2, keepdims=True))[:, 0].astype(np.float32)


for t in range(episodes * H):
    if weights is None:
        weights = [np.stack([net.tensors[k].detach().numpy() for net in team.actors])
                   for k in range(len(team.actors[0].tensors))]
    a = act(o)
    reward = world.step(a)
    n = world.observe()
    k = t % rows
    OBS[k], ACT[k], REW[k], NEXT[k] = o, a, reward, n
    returns.append(reward.sum())
    o = n
    if (t + 1) % H == 0:
        world.reset()
        o = world.observe()
    held = min(t + 1, rows)
    if held >= 1024 * H and (t + 1) % 100 == 0:
        for i in range(N):
            k = rng.integers(0, held, 1024)
            part = lambda x: [torch.from_numpy(x[k, j]) for j in range(N)]
            team.update(i, part(OBS), part(ACT), torch.from_numpy(REW[k, i]), part(NEXT),
                        torch.ones(1024))
        weights = None
    if (t + 1) % (1000 * H) == 0:
        print(json.dumps({"scenario": scenario, "seed": seed, "episodes": (t + 1) // H,
                          "team_return": float(np.sum(returns[-1000 * H:]) / 1000),
                          "seconds": round(time.time() - begin, 1)}), flush=True)
