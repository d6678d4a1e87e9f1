"""train_batched.py SCENARIO EPISODES SEEDS [OUT [AGENTS [SAMPLERS]]]: many seeds at once.

The learner of train.py for any number of agents (default: 3) and for the samplers uniform (default)
and neighbor (radius 3, cut to 1024 rows), or both: uniform,neighbor.

All seeds are one batched model, and worlds, replay and updates stay on one device (a GPU if there is
one, where a round is one CUDA graph). Nothing else differs: between two updates lie 100 steps, which
are four whole episodes with one policy, so that they may run side by side.
Prints one JSON line per 1000 episodes with the mean team return of every seed (of the first sampler,
then of the next), and appends it to OUT.

  train_batched.py check     compares its updates with those of team.py on the same data and noise
"""
import json
import sys
import time

import torch
import torch.nn.functional as F

from team import CLIP, GAMMA, LOGIT_PENALTY, RATE, TAU, Team, gumbel, soft

N = int(sys.argv[5]) if len(sys.argv) > 5 else 3
H, BATCH, CAPACITY, EVERY, RADIUS = 25, 1024, 1_000_000, 100, 3
LANES = EVERY // H  # episodes between updates
device = "cuda" if torch.cuda.is_available() else "cpu"
torch.backends.cuda.matmul.allow_tf32 = False


def forward(tensors, x):
    """tensors: w1 [..., in, out], b1 [..., 1, out], ...; x: [..., rows, in]."""
    for layer in range(0, len(tensors), 2):
        x = x @ tensors[layer] + tensors[layer + 1]
        if layer + 2 < len(tensors):
            x = F.relu(x)
    return x


class Nets:
    """A network per seed and agent, with Adam's moments; weights are [seed, agent, in, out]."""

    def __init__(self, nets):
        first = [[t.detach() for t in net.tensors] for agents in nets for net in agents]
        shape = (len(nets), len(nets[0]))
        self.tensors = [torch.stack(ts).reshape(*shape, *(ts[0].shape if ts[0].dim() == 2 else
                                                          (1, len(ts[0])))).to(device)
                        for ts in zip(*first)]
        self.m = [torch.zeros_like(t) for t in self.tensors]
        self.v = [torch.zeros_like(t) for t in self.tensors]
        self.t = torch.zeros(shape[1], dtype=torch.float64, device=device)

    def of(self, i, train=False):
        parts = [t[:, i] for t in self.tensors]
        return [p.detach().clone().requires_grad_() for p in parts] if train else parts

    def step(self, i, gradients):
        self.t[i] += 1
        rate = (RATE * (1 - .999 ** self.t[i]).sqrt() / (1 - .9 ** self.t[i])).float()
        for w, g, m, v in zip(self.tensors, gradients, self.m, self.v):
            norm = g.flatten(1).norm(dim=1).clamp_min(CLIP)[:, None, None]
            g = g * (CLIP / norm)
            m[:, i] = .9 * m[:, i] + .1 * g
            v[:, i] = .999 * v[:, i] + .001 * g * g
            w[:, i] -= rate * m[:, i] / (v[:, i].sqrt() + 1e-8)

    def follow(self, i, other):
        for own, theirs in zip(self.tensors, other.tensors):
            own[:, i] = (1 - TAU) * own[:, i] + TAU * theirs[:, i]


class BatchedTeam:
    """MADDPG with preset openai: Team of team.py, for all seeds at once."""

    def __init__(self, teams):
        self.actors = Nets([t.actors for t in teams])
        self.critics = Nets([[c[0] for c in t.critics] for t in teams])
        self.target_actors = Nets([t.target_actors for t in teams])
        self.target_critics = Nets([[c[0] for c in t.target_critics] for t in teams])

    def update(self, i, obs, act, reward, next_obs, noise=None, own_noise=None):
        """obs, act, next_obs: [seed, agent, row, feature]; reward: [seed, row]; no state is final."""
        joint = lambda o, a: torch.cat([*o.unbind(1), *a.unbind(1)], 2)
        with torch.no_grad():
            logits = forward(self.target_actors.tensors, next_obs)
            next_act = soft(logits, gumbel(logits) if noise is None else noise)
            value = forward(self.target_critics.of(i), joint(next_obs, next_act))[..., 0]
            target = reward + GAMMA * value
        critic = self.critics.of(i, train=True)
        # Seeds do not mix: the gradient of a sum of losses holds that of each.
        loss = ((forward(critic, joint(obs, act))[..., 0] - target) ** 2).mean(1).sum()
        self.critics.step(i, torch.autograd.grad(loss, critic))
        actor = self.actors.of(i, train=True)
        logits = forward(actor, obs[:, i])
        own = soft(logits, gumbel(logits) if own_noise is None else own_noise)
        others = [own if j == i else a for j, a in enumerate(act.unbind(1))]
        value = forward(self.critics.of(i), torch.cat([*obs.unbind(1), *others], 2))
        loss = (LOGIT_PENALTY * (logits ** 2).mean((1, 2)) - value.mean((1, 2))).sum()
        self.actors.step(i, torch.autograd.grad(loss, actor))
        self.target_actors.follow(i, self.actors)
        self.target_critics.follow(i, self.critics)


class Worlds:
    """World of train.py for many worlds at once, in double."""

    def __init__(self, tag):
        double = lambda x: torch.tensor(x, dtype=torch.float64, device=device)
        self.tag, self.prey = tag, max(1, N // 3) if tag else 0
        self.marks = N if not tag else 2 if N < 6 else 3 if N < 12 else N // 3
        self.all = N + self.prey
        size = [.075] * N + [.05] * self.prey + [.2] * self.marks if tag else [.15] * N
        pairs = [(a, b) for a in range(len(size)) for b in range(a + 1, len(size)) if a < self.all]
        self.a, self.b = (torch.tensor(x, device=device) for x in zip(*pairs))
        self.reach = double([size[a] + size[b] for a, b in pairs])
        # Pushes on the first of a pair count plus, on the second minus.
        self.sign = torch.zeros(len(size), len(pairs), dtype=torch.float64, device=device)
        for k, (a, b) in enumerate(pairs):
            self.sign[a, k], self.sign[b, k] = 1, -1
        self.cap = double([1.0] * N + [1.3] * self.prey)[:, None]
        self.others = torch.tensor([[j for j in range(self.all) if j != i] for i in range(N)],
                                   device=device)

    def reset(self, shape):
        uniform = lambda *tail: 2 * torch.rand(*shape, *tail, dtype=torch.float64, device=device) - 1
        self.p, self.v = uniform(self.all, 2), torch.zeros(*shape, self.all, 2, dtype=torch.float64,
                                                           device=device)
        self.l = uniform(self.marks, 2) * (.9 if self.tag else 1)

    def observe(self):
        """[..., agent, feature]"""
        p, own = self.p, self.p[..., :N, None, :]
        marks = (self.l[..., None, :, :] - own).flatten(-2)
        others = (p[..., self.others, :] - own).flatten(-2)
        shape = (*p.shape[:-2], N)
        tail = (self.v[..., None, N:, :].expand(*shape, self.prey, 2).flatten(-2) if self.tag
                else torch.zeros(*shape, 2 * (N - 1), dtype=p.dtype, device=device))
        return torch.cat([self.v[..., :N, :], p[..., :N, :], marks, others, tail], -1).float()

    def flee(self):
        d = self.p[..., N:, None, :] - self.p[..., None, :N, :]
        nearest = (d ** 2).sum(-1, keepdim=True).argmin(-2, keepdim=True)
        near = d.gather(-2, nearest.expand(*nearest.shape[:-1], 2))[..., 0, :]
        prey = self.p[..., N:, :]
        wall = torch.where(prey.abs() > .9, prey.sign(), torch.zeros_like(prey))
        return (near / near.norm(dim=-1, keepdim=True).clamp_min(1e-12) - 2 * wall).clamp(-1, 1)

    def step(self, a):
        """a: [..., agent, 5]; returns the team's reward, the same for each agent."""
        a = a.double()
        f = torch.stack([a[..., 1] - a[..., 2], a[..., 3] - a[..., 4]], -1) * (3. if self.tag else 5.)
        e = torch.cat([self.p, self.l], -2) if self.tag else self.p
        if self.tag:
            f = torch.cat([f, self.flee()], -2)
        d = e[..., self.a, :] - e[..., self.b, :]
        r = d.norm(dim=-1)
        push = 100 * d / r[..., None] * (F.softplus(-(r - self.reach) / 1e-3, threshold=1e9) * 1e-3)[..., None]
        self.v = self.v * .75 + (f + (self.sign @ push)[..., :self.all, :]) * .1
        if self.tag:
            speed = self.v.norm(dim=-1, keepdim=True)
            self.v = torch.where(speed > self.cap, self.v / speed.clamp_min(1e-12) * self.cap, self.v)
        self.p = self.p + self.v * .1
        own = self.p[..., :N, :]
        if self.tag:
            reach = own[..., :, None, :] - self.p[..., None, N:, :]
            return 10. * (reach.norm(dim=-1) < .125).sum((-1, -2)).double()
        cover = -(own[..., :, None, :] - self.l[..., None, :, :]).norm(dim=-1).amin(-2).sum(-1)
        touch = ((own[..., :, None, :] - own[..., None, :, :]).norm(dim=-1) < .3).sum((-1, -2))
        return N * cover - touch


class Run:
    """Everything that a round changes lies in tensors, so that a CUDA graph can repeat it."""

    def __init__(self, scenario, episodes, seeds, samplers):
        self.samplers, per_sampler, seeds = samplers, seeds, seeds * len(samplers)
        self.worlds, self.seeds = Worlds(scenario == "predator_prey"), seeds
        self.worlds.reset((seeds, LANES))
        size = self.worlds.observe().shape[-1]
        self.team = BatchedTeam([Team("maddpg", "openai", [size] * N, 5,
                                      seed=s % per_sampler + 1) for s in range(seeds)])
        rows = min(CAPACITY, episodes * H)
        zeros = lambda *shape: torch.zeros(seeds, rows, *shape, device=device)
        self.rows, self.obs, self.next = rows, zeros(N, size), zeros(N, size)
        self.act, self.reward = zeros(N, 5), zeros()
        self.count = torch.zeros((), dtype=torch.int64, device=device)  # transitions so far
        self.returns = torch.zeros(episodes // LANES, seeds, dtype=torch.float64, device=device)

    def play(self):
        """Four episodes of every seed, into replay."""
        self.worlds.reset((self.seeds, LANES))
        total, steps, o = 0., [], self.worlds.observe()
        for _ in range(H):
            logits = forward(self.team.actors.tensors, o.transpose(1, 2)).transpose(1, 2)
            a = soft(logits, gumbel(logits))
            reward = self.worlds.step(a)
            n = self.worlds.observe()
            steps.append((o, a, reward.float(), n))
            total, o = total + N * reward, n
        slots = (self.count + torch.arange(EVERY, device=device)) % self.rows
        for kept, values in zip((self.obs, self.act, self.reward, self.next), zip(*steps)):
            # Episode after episode, so that neighbours in replay are neighbours in time.
            kept.index_copy_(1, slots, torch.stack(values, 2).flatten(1, 2))
        self.returns.index_copy_(0, (self.count // EVERY)[None], total.mean(1)[None])
        self.count += EVERY

    def sample(self):
        """Rows of replay [seed, BATCH]: independent ones, or the windows around references."""
        held, seeds, parts = self.count.clamp_max(self.rows), self.seeds // len(self.samplers), []
        uniform = lambda n: (torch.rand(seeds, n, dtype=torch.float64, device=device) * held).long()
        for sampler in self.samplers:
            if sampler == "uniform":
                parts.append(uniform(BATCH))
                continue
            offsets = [d for d in range(-RADIUS, RADIUS + 1) if d != 0]
            references = uniform(-(-BATCH // len(offsets)))[..., None]
            windows = torch.cat([references + d for d in offsets], 2)
            parts.append(windows.flatten(1)[:, :BATCH].clamp_min(0))
        return torch.minimum(torch.cat(parts), held - 1)

    def learn(self):
        for i in range(N):
            k = self.sample()
            part = lambda x: x[torch.arange(self.seeds, device=device)[:, None], k].transpose(1, 2)
            rewards = self.reward.gather(1, k)
            self.team.update(i, part(self.obs), part(self.act), rewards, part(self.next))

    def round(self):
        self.play()
        self.learn()


def graph_of(body, warm_ups):
    """`body` as a function that repeats it; the warm-ups count as runs."""
    if device == "cpu":
        for _ in range(warm_ups):
            body()
        return body
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(warm_ups):
            body()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        body()
    return graph.replay


def train(scenario, episodes, seeds, out, samplers):
    torch.manual_seed(1)
    run, begin = Run(scenario, episodes, seeds, samplers), time.time()
    warm = 2
    play = graph_of(run.play, warm)
    first = BATCH * H // EVERY  # rounds that only fill replay; the last of them already learns
    for _ in range(first - 1 - warm):
        play()
    both = graph_of(run.round, warm)
    for done in range(first - 1 + warm, episodes // LANES):
        both()
        if (done + 1) % (1000 // LANES) == 0:
            last = run.returns[done + 1 - 1000 // LANES:done + 1].mean(0)
            line = json.dumps({"scenario": scenario, "agents": N, "samplers": samplers,
                               "episodes": (done + 1) * LANES,
                               "team_return": [round(x, 3) for x in last.tolist()],
                               "seconds": round(time.time() - begin, 1)})
            print(line, flush=True)
            if out:
                with open(out, "a") as file:
                    file.write(line + "\n")


def check():
    """Three rounds of two seeds beside Team.update; the largest difference of a value."""
    torch.manual_seed(5)
    make = lambda: [Team("maddpg", "openai", [16] * N, 5, seed=s) for s in (1, 2)]
    teams, batched = make(), BatchedTeam(make())
    for i in [0, 1, 2] * 3:
        obs, nxt = torch.randn(2, N, 64, 16), torch.randn(2, N, 64, 16)
        act = torch.randn(2, N, 64, 5).softmax(-1)
        reward, noise, own = torch.randn(2, 64), torch.randn(2, N, 64, 5), torch.randn(2, 64, 5)
        to = lambda *xs: [x.to(device) for x in xs]
        batched.update(i, *to(obs, act, reward, nxt), *to(noise, own))
        for s, team in enumerate(teams):
            team.update(i, list(obs[s]), list(act[s]), reward[s], list(nxt[s]), torch.ones(64),
                        list(noise[s]), own[s])
    worst = 0.
    for nets, own in [(batched.actors, [t.actors for t in teams]),
                      (batched.target_actors, [t.target_actors for t in teams]),
                      (batched.critics, [[c[0] for c in t.critics] for t in teams]),
                      (batched.target_critics, [[c[0] for c in t.target_critics] for t in teams])]:
        for s in range(2):
            for i in range(N):
                for got, want in zip(nets.of(i), own[s][i].tensors):
                    error = (got[s].cpu().reshape(want.shape) - want.detach()).abs().max().item()
                    worst = max(worst, error)
    print(f"batched and single learner after 3 rounds: largest difference {worst:.1e}")
    return 0 if worst < 1e-4 else 1


if sys.argv[1] == "check":
    sys.exit(check())
train(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4] if len(sys.argv) > 4 else None,
      sys.argv[6].split(",") if len(sys.argv) > 6 else ["uniform"])
