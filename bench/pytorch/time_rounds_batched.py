"""time_rounds_batched.py AGENTS FILL ROUNDS: ms per MADDPG update round of a program that PyTorch likes.

Replay is one tensor per field, all trainers draw at once, and the networks of all agents are batched
matrix products; plain (eager) and with torch.compile. All trainers see the targets of the round before, as
batching wants it (our `together=true`). CPU, one thread; processor time, each phase in its fastest round.

  time_rounds_batched.py check     one round from the same weights, data and noise as trainers of team.py
"""
import copy
import json
import sys
import time

import torch
import torch.nn.functional as F

from team import CLIP, GAMMA, LOGIT_PENALTY, RATE, TAU, Team, gumbel

BATCH, CHOICES = 1024, 5
torch.set_num_threads(1)


def forward(tensors, x):
    """tensors: w1 [agent, in, out], b1 [agent, 1, out], ...; x: [agent, rows, in]."""
    for layer in range(0, len(tensors), 2):
        x = torch.baddbmm(tensors[layer + 1], x, tensors[layer])
        if layer + 2 < len(tensors):
            x = F.relu(x)
    return x


def stacked(nets):
    return [torch.stack([t.detach() for t in ts]).reshape(len(nets), -1, ts[0].shape[-1])
            for ts in zip(*(net.tensors for net in nets))]


def adam(w, g, m, v, rate):
    norm = g.flatten(1).norm(dim=1).clamp_min(CLIP)[:, None, None]  # each tensor of each agent on its own
    g = g * (CLIP / norm)
    m.mul_(.9).add_(g, alpha=.1)
    v.mul_(.999).addcmul_(g, g, value=.001)
    w.sub_(rate * m / (v.sqrt() + 1e-8))


class Round:
    """All trainers of a team of equal agents; preset openai."""

    def __init__(self, team):
        self.actors, self.target_actors = stacked(team.actors), stacked(team.target_actors)
        self.critics = stacked([c[0] for c in team.critics])
        self.target_critics = stacked([c[0] for c in team.target_critics])
        self.moments = [[torch.zeros_like(t) for t in net] for net in (self.actors, self.critics) for _ in "mv"]
        self.n, self.t = len(team.actors), 0

    def update(self, obs, act, reward, next_obs, live, noise, own_noise, rate):
        """obs, next_obs: [trainer, row, agent, size]; act and noise likewise; reward, live: [trainer, row, 1]."""
        n, rows = self.n, obs.shape[1]
        by_agent = lambda x: x.permute(2, 0, 1, 3).reshape(n, n * rows, -1)
        joint = lambda o, a: torch.cat([o.flatten(2), a.flatten(2)], 2)
        with torch.no_grad():
            logits = forward(self.target_actors, by_agent(next_obs)).reshape(n, n, rows, CHOICES).permute(1, 2, 0, 3)
            next_act = F.softmax(logits + noise, -1)
            target = reward + GAMMA * live * forward(self.target_critics, joint(next_obs, next_act))
        critics = [t.requires_grad_() for t in self.critics]
        loss = ((forward(critics, joint(obs, act)) - target) ** 2).mean((1, 2)).sum()
        gradients = torch.autograd.grad(loss, critics)
        with torch.no_grad():
            for w, g, m, v in zip(self.critics, gradients, self.moments[2], self.moments[3]):
                adam(w, g, m, v, rate)
        actors = [t.requires_grad_() for t in self.actors]
        own_obs = torch.stack([obs[i, :, i] for i in range(n)])
        logits = forward(actors, own_obs)
        own = F.softmax(logits + own_noise, -1)
        mine = torch.eye(n)[:, None, :, None]
        played = act * (1 - mine) + own[:, :, None, :] * mine
        values = forward([t.detach() for t in self.critics], joint(obs, played))
        loss = (LOGIT_PENALTY * (logits ** 2).mean((1, 2)) - values.mean((1, 2))).sum()
        gradients = torch.autograd.grad(loss, actors)
        with torch.no_grad():
            for w, g, m, v in zip(self.actors, gradients, self.moments[0], self.moments[1]):
                adam(w, g, m, v, rate)
            for slow, fast in ((self.target_actors, self.actors), (self.target_critics, self.critics)):
                for own, theirs in zip(slow, fast):
                    own.mul_(1 - TAU).add_(theirs, alpha=TAU)


def rate_of(t):
    return RATE * (1 - .999 ** t) ** .5 / (1 - .9 ** t)


def check():
    n, size, rows = 3, 7, 64
    team = Team("maddpg", "openai", [size] * n, CHOICES)
    new = Round(team)
    torch.manual_seed(1)
    obs, next_obs = torch.randn(n, rows, n, size), torch.randn(n, rows, n, size)
    act = F.softmax(torch.randn(n, rows, n, CHOICES), -1)
    noise, own_noise = gumbel(torch.empty(n, rows, n, CHOICES)), gumbel(torch.empty(n, rows, CHOICES))
    reward, live = torch.randn(n, rows, 1), (torch.rand(n, rows, 1) < .9).float()
    new.update(obs, act, reward, next_obs, live, noise, own_noise, rate_of(1))
    worst = 0.0
    for i in range(n):
        one = copy.deepcopy(team)  # trainers see the targets of the round before
        per = lambda x: [x[i, :, a] for a in range(n)]
        one.update(i, per(obs), per(act), reward[i, :, 0], per(next_obs), live[i, :, 0], per(noise), own_noise[i])
        for net, all_of in ((one.actors[i], new.actors), (one.critics[i][0], new.critics),
                            (one.target_actors[i], new.target_actors),
                            (one.target_critics[i][0], new.target_critics)):
            for a, b in zip(net.tensors, all_of):
                worst = max(worst, ((a.detach() - b[i].detach().reshape(a.shape)).norm() / (a.norm() + 1e-9)).item())
    print(f"largest difference of a tensor from team.py: {worst:.1e}")
    sys.exit(0 if worst < 1e-4 else 1)


def main():
    agents, fill, rounds = (int(x) for x in sys.argv[1:4])
    prey, obstacles = max(1, agents // 3), 2 if agents < 6 else 3 if agents < 12 else agents // 3
    size = 4 + 2 * obstacles + 2 * (agents + prey - 1) + 2 * prey
    obs, next_obs = torch.randn(fill, agents, size), torch.randn(fill, agents, size)
    act, reward = F.softmax(torch.randn(fill, agents, CHOICES), -1), torch.randn(fill, agents)
    live = torch.ones(fill, 1)
    for compiled in (False, True):
        team = Round(Team("maddpg", "openai", [size] * agents, CHOICES))
        update = torch.compile(team.update) if compiled else team.update
        sampling, learning = [], []
        for r in range(rounds + 3):
            team.t += 1
            begin = time.process_time()
            index = torch.randint(fill, (agents, BATCH))
            flat = index.flatten()
            pick = lambda x: x.index_select(0, flat).reshape(agents, BATCH, *x.shape[1:])
            own = torch.stack([reward[index[i], i] for i in range(agents)])[:, :, None]
            batch = pick(obs), pick(act), own, pick(next_obs), pick(live)
            middle = time.process_time()
            noise, own_noise = gumbel(torch.empty(agents, BATCH, agents, CHOICES)), \
                gumbel(torch.empty(agents, BATCH, CHOICES))
            try:
                update(*batch, noise, own_noise, torch.tensor(rate_of(team.t)))
            except torch._dynamo.exc.BackendCompilerFailed as error:  # 2.15's cannot on every machine
                print(json.dumps({"agents": agents, "compiled": True, "error": str(error).splitlines()[0]}))
                return
            end = time.process_time()
            if r >= 3:  # the first ones compile and warm up
                sampling.append(middle - begin)
                learning.append(end - middle)
        print(json.dumps({"agents": agents, "fill": fill, "compiled": compiled,
                          "sampling_ms": round(1e3 * min(sampling), 2),
                          "learning_ms": round(1e3 * min(learning), 2)}), flush=True)


if __name__ == "__main__":
    check() if sys.argv[1:] == ["check"] else main()
