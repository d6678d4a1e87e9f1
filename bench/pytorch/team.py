"""MADDPG and MASAC in PyTorch, written from the description of the reference codes, for comparison.

A team holds plain tensors, so that an update can start from the engine's weights and noise and be
compared with the engine's result tensor by tensor.
"""
import torch
import torch.nn.functional as F

GAMMA, TAU, RATE, CLIP, ALPHA, LOGIT_PENALTY, LOG_FLOOR = .95, .01, .01, .5, .05, 1e-3, 1e-6


class Net:
    """in-64-64-out with ReLU; weights are [in, out] as the engine stores them."""

    # The input of a ReLU nearest to zero so far, relative to the terms it was summed from. Only
    # kept where a gradient follows, and only if it was set to a number.
    nearest_kink = None

    def __init__(self, sizes, generator=None):
        self.tensors = []
        for inputs, outputs in zip(sizes, sizes[1:]):
            limit = (6 / (inputs + outputs)) ** .5
            self.tensors.append((2 * torch.rand(inputs, outputs, generator=generator) - 1) * limit)
            self.tensors.append(torch.zeros(outputs))
        for tensor in self.tensors:
            tensor.requires_grad_()

    def __call__(self, x):
        for layer in range(0, len(self.tensors), 2):
            weights, bias = self.tensors[layer:layer + 2]
            z = x @ weights + bias
            if layer + 2 == len(self.tensors):
                return z
            if Net.nearest_kink is not None and torch.is_grad_enabled():
                terms = x.detach().abs() @ weights.detach().abs() + bias.detach().abs()
                Net.nearest_kink = min(Net.nearest_kink, (z.detach().abs() / terms).min().item())
            x = F.relu(z)

    def load(self, tensors):
        self.tensors = [torch.tensor(t).requires_grad_() for t in tensors]

    def copy_from(self, other):
        self.tensors = [t.detach().clone().requires_grad_() for t in other.tensors]

    def follow(self, other):
        with torch.no_grad():
            for own, theirs in zip(self.tensors, other.tensors):
                own.mul_(1 - TAU).add_(theirs, alpha=TAU)


class Adam:
    """TensorFlow's and Keras' form: epsilon is added before the bias correction is folded in."""

    def __init__(self, net, epsilon):
        self.net, self.epsilon, self.t = net, epsilon, 0
        self.m = [torch.zeros_like(t) for t in net.tensors]
        self.v = [torch.zeros_like(t) for t in net.tensors]

    def step(self, gradients):
        self.t += 1
        rate = RATE * (1 - .999 ** self.t) ** .5 / (1 - .9 ** self.t)
        with torch.no_grad():
            for w, g, m, v in zip(self.net.tensors, gradients, self.m, self.v):
                g = g * (CLIP / max(CLIP, g.norm().item()))  # each tensor on its own
                m.mul_(.9).add_(g, alpha=.1)
                v.mul_(.999).addcmul_(g, g, value=.001)
                w.sub_(rate * m / (v.sqrt() + self.epsilon))


def soft(logits, noise):
    return F.softmax(logits + noise, -1)


def gumbel(logits):
    u = torch.rand_like(logits).clamp_min(1e-20)
    return -torch.log((-torch.log(u)).clamp_min(1e-20))


def entropy(logits):
    p = F.softmax(logits, -1)
    return -(p * torch.log(p + LOG_FLOOR)).sum(-1)


class Team:
    """One actor and one (MADDPG) or two (MASAC) critics per agent, with targets."""

    def __init__(self, algorithm, preset, sizes, choices, hidden=64, seed=0):
        generator = torch.Generator().manual_seed(seed)
        self.masac, self.preset = algorithm == "masac", preset
        epsilon = 1e-7 if preset == "tf2marl" else 1e-8
        joint = sum(sizes) + len(sizes) * choices
        make = lambda inputs, outputs: Net([inputs, hidden, hidden, outputs], generator)
        self.actors = [make(size, choices) for size in sizes]
        self.critics = [[make(joint, 1) for _ in range(2 if self.masac else 1)] for _ in sizes]
        self.target_actors = [make(size, choices) for size in sizes]
        self.target_critics = [[make(joint, 1) for _ in c] for c in self.critics]
        if preset != "openai":
            for target, net in zip(self.target_actors, self.actors):
                target.copy_from(net)
            for targets, nets in zip(self.target_critics, self.critics):
                for target, net in zip(targets, nets):
                    target.copy_from(net)
        self.epsilon = epsilon
        self.make_optimizers()

    def make_optimizers(self):
        self.actor_adams = [Adam(net, self.epsilon) for net in self.actors]
        self.critic_adams = [[Adam(net, self.epsilon) for net in nets] for nets in self.critics]

    def act(self, observations):
        actors = self.target_actors if self.preset == "tf2marl" else self.actors
        with torch.no_grad():
            logits = [actor(o) for actor, o in zip(actors, observations)]
            return [soft(l, gumbel(l)) for l in logits]

    def update(self, i, obs, act, reward, next_obs, live, noise=None, own_noise=None):
        """One trainer's update from a mini-batch; noise is drawn if it is not given."""
        with torch.no_grad():
            logits = [actor(o) for actor, o in zip(self.target_actors, next_obs)]
            noises = noise or [gumbel(l) for l in logits]
            next_act = [soft(l, n) for l, n in zip(logits, noises)]
            x = torch.cat(next_obs + next_act, 1)
            value = torch.min(torch.cat([net(x) for net in self.target_critics[i]], 1), 1)[0]
            if self.masac:  # a broadcast in tf2marl gives every row the batch's mean entropy
                value = value + ALPHA * entropy(self.actors[i](next_obs[i])).mean()
            if self.preset == "tf2marl":
                live = torch.ones_like(live)
            target = reward + GAMMA * live * value
        x = torch.cat(obs + act, 1)
        for net, adam in zip(self.critics[i], self.critic_adams[i]):
            loss = ((net(x)[:, 0] - target) ** 2).mean()
            adam.step(torch.autograd.grad(loss, net.tensors))
        logits = self.actors[i](obs[i])
        own = list(act)
        own[i] = soft(logits, gumbel(logits) if own_noise is None else own_noise)
        loss = -self.critics[i][0](torch.cat(obs + own, 1)).mean()
        if self.masac:
            loss = loss - ALPHA * entropy(logits).mean()
        else:
            loss = loss + LOGIT_PENALTY * (logits ** 2).mean()
        self.actor_adams[i].step(torch.autograd.grad(loss, self.actors[i].tensors))
        self.target_actors[i].follow(self.actors[i])
        for target, net in zip(self.target_critics[i], self.critics[i]):
            target.follow(net)
