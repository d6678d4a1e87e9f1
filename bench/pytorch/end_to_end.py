"""End-to-end training of the reference style on a GPU: one world stepped by NumPy, an actor at a time,
replay in lists on the host, agents updated one after another, a round per 100 steps.

Prints a line of JSON per number of agents: episodes per second, and where the time goes. What `tessera
train` does in the same setting is measured by cuda_bench training.

    python3 end_to_end.py [--agents 3,6,12,24,48] [--seconds 8]
"""
import argparse
import json
import random
import time

import numpy as np
import torch
import torch.nn.functional as F

BATCH, ACTIONS, EVERY, HORIZON, KEPT = 1024, 5, 100, 25, 20_000
LANDMARKS = {3: 2, 6: 3, 12: 4, 24: 8, 48: 16}


class World:
    """Predators that learn, prey that flee, landmarks that stand; forces pair by pair."""

    def __init__(self, predators, seed=0):
        self.predators, self.prey = predators, max(1, predators // 3)
        self.landmarks = LANDMARKS[predators]
        self.random = np.random.default_rng(seed)
        agents = self.predators + self.prey
        self.size = np.array([0.075] * self.predators + [0.05] * self.prey + [0.2] * self.landmarks)
        self.accel = np.array([3.0] * self.predators + [4.0] * self.prey)
        self.top = np.array([1.0] * self.predators + [1.3] * self.prey)
        self.agents = agents
        self.reset()

    def reset(self):
        self.place = self.random.uniform(-1, 1, (self.agents + self.landmarks, 2))
        self.place[self.agents:] *= 0.9
        self.speed = np.zeros((self.agents, 2))
        return self.observe()

    def observe(self):
        seen = []
        for i in range(self.predators):
            others = [j for j in range(self.agents) if j != i]
            seen.append(np.concatenate([self.speed[i], self.place[i]] +
                                       [self.place[k] - self.place[i]
                                        for k in range(self.agents, len(self.place))] +
                                       [self.place[j] - self.place[i] for j in others] +
                                       [self.speed[j] for j in others if j >= self.predators]))
        return seen

    def step(self, actions):
        force = np.zeros((self.agents, 2))
        for i, action in enumerate(actions):
            force[i] = self.accel[i] * np.array([action[1] - action[2], action[3] - action[4]])
        for i in range(self.predators, self.agents):
            away = self.place[i] - min(self.place[:self.predators],
                                       key=lambda p: np.sum((p - self.place[i])**2))
            force[i] = self.accel[i] * away / (np.linalg.norm(away) + 1e-9)
        for i in range(self.agents):
            for j in range(i + 1, len(self.place)):
                apart = self.place[i] - self.place[j]
                distance = np.sqrt(np.sum(apart**2))
                depth = np.logaddexp(0, -(distance - self.size[i] - self.size[j]) / 1e-3) * 1e-3
                push = 100 * apart / distance * depth
                force[i] += push
                if j < self.agents:
                    force[j] -= push
        self.speed = self.speed * 0.75 + force * 0.1
        fast = np.sqrt(np.sum(self.speed**2, 1))
        over = fast > self.top
        self.speed[over] *= (self.top / np.maximum(fast, 1e-9))[over, None]
        self.place[:self.agents] += self.speed * 0.1
        caught = sum(np.sum((self.place[i] - self.place[j])**2) < (0.125)**2
                     for i in range(self.predators) for j in range(self.predators, self.agents))
        return self.observe(), [10.0 * caught] * self.predators


def train(n, seconds, device):
    world = World(n)
    observed = len(world.observe()[0])
    joint = n * (observed + ACTIONS)

    def net(inputs, outputs):
        return torch.nn.Sequential(torch.nn.Linear(inputs, 64), torch.nn.ReLU(), torch.nn.Linear(64, 64),
                                   torch.nn.ReLU(), torch.nn.Linear(64, outputs)).to(device)

    agents = [dict(pi=net(observed, ACTIONS), tpi=net(observed, ACTIONS), q=net(joint, 1), tq=net(joint, 1))
              for _ in range(n)]
    for agent in agents:
        agent["op"] = torch.optim.Adam(agent["pi"].parameters(), 1e-2)
        agent["oq"] = torch.optim.Adam(agent["q"].parameters(), 1e-2)
    replay = [[] for _ in range(n)]

    def soft(logits):
        return F.softmax(logits - torch.log(-torch.log(torch.rand_like(logits).clamp_min(1e-20))), -1)

    def send(values):
        return torch.from_numpy(np.asarray(values, np.float32)).to(device)

    def move(target, source):
        with torch.no_grad():
            for x, y in zip(target.parameters(), source.parameters()):
                x.mul_(0.99).add_(y, alpha=0.01)

    def descend(loss, optimizer, module):
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(module.parameters(), 0.5)
        optimizer.step()

    def update():
        for i, agent in enumerate(agents):
            rows = [random.randrange(len(replay[0])) for _ in range(BATCH)]
            batch = [[np.array([b[k][field] for k in rows]) for field in range(4)] for b in replay]
            now, act, after = ([send(part[field]) for part in batch] for field in (0, 1, 3))
            with torch.no_grad():
                then = [soft(agents[j]["tpi"](after[j])) for j in range(n)]
                goal = send(batch[i][2])[:, None] + 0.95 * agent["tq"](torch.cat(after + then, 1))
            descend(F.mse_loss(agent["q"](torch.cat(now + act, 1)), goal), agent["oq"], agent["q"])
            act[i] = soft(agent["pi"](now[i]))
            descend(-agent["q"](torch.cat(now + act, 1)).mean(), agent["op"], agent["pi"])
            move(agent["tpi"], agent["pi"])
            move(agent["tq"], agent["q"])
        torch.cuda.synchronize()

    spent = dict(act=0.0, world=0.0, update=0.0)
    episodes = steps = rounds = 0
    begin = None
    seen = world.reset()
    while begin is None or time.perf_counter() - begin < seconds or rounds < 1:
        t0 = time.perf_counter()
        with torch.no_grad():
            actions = [soft(a["pi"](send(o)[None]))[0].cpu().numpy() for a, o in zip(agents, seen)]
        t1 = time.perf_counter()
        after, rewards = world.step(actions)
        for i in range(n):
            replay[i].append((seen[i], actions[i], rewards[i], after[i]))
        steps += 1
        seen = after if steps % HORIZON else world.reset()
        if begin is None and steps == HORIZON:
            # The rest of a warm-up: the same transitions over and over take as long to sample.
            for lists in replay:
                lists.extend(lists[k % HORIZON] for k in range(KEPT - HORIZON))
            update()
            begin, spent = time.perf_counter(), dict(act=0.0, world=0.0, update=0.0)
            continue
        t2 = time.perf_counter()
        if begin is not None and steps % EVERY == 0:
            update()
            rounds += 1
        spent["act"] += t1 - t0
        spent["world"] += t2 - t1
        spent["update"] += time.perf_counter() - t2
        episodes += steps % HORIZON == 0
    took = time.perf_counter() - begin
    return dict(agents=n, episodes_per_second=round(episodes / took, 3), episodes=episodes, rounds=rounds,
                seconds=round(took, 1), **{f"{k}_pct": round(100 * v / took, 1) for k, v in spent.items()})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--agents", default="3,6,12,24,48")
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--device", default="cuda")
    options = parser.parse_args()
    for n in options.agents.split(","):
        print(json.dumps(train(int(n), options.seconds, options.device)), flush=True)


if __name__ == "__main__":
    main()
