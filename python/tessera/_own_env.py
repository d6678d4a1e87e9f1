"""Environments written in Python for `train`: many copies of one behind the library's interface.

A Gymnasium environment is a team of one; a PettingZoo parallel environment is a team. Observations
are Boxes; actions are Discrete, or Boxes, which learners reach by numbers from -1 to 1.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from ._errors import UnsupportedError

_TERMINATED, _TRUNCATED = 1, 2


class _Reader(pickle.Unpickler):
    """Reads environments back. A checkpoint is data: it may name classes of the environment's own
    package, of Gymnasium and of NumPy's arrays and generators, and nothing else."""

    _PLAIN = frozenset({"set", "frozenset", "bytearray", "complex", "range", "slice", "object"})
    _PACKAGES = ("gymnasium.", "pettingzoo.", "numpy._core.", "numpy.core.", "numpy.random.")

    def __init__(self, file: io.BytesIO, home: str) -> None:
        super().__init__(file)
        self._home = home

    def find_class(self, module: str, name: str) -> Any:
        own = module.split(".")[0] == self._home
        array = module == "numpy" and name in ("ndarray", "dtype")
        plain = module == "builtins" and name in self._PLAIN
        counted = module == "collections" and name in ("OrderedDict", "deque", "defaultdict")
        if own or array or plain or counted or (module + ".").startswith(self._PACKAGES):
            return super().find_class(module, name)
        raise UnsupportedError(f"a checkpoint may not name {module}.{name}")


class _Team:
    """One environment of either kind as a team of agents."""

    def __init__(self, made: Any) -> None:
        self.env = made
        self.parallel = hasattr(made, "possible_agents")
        self.names = list(made.possible_agents) if self.parallel else ["agent"]
        self.seeded = False

    def spaces(self, name: str) -> tuple[Any, Any]:
        if self.parallel:
            return self.env.observation_space(name), self.env.action_space(name)
        return self.env.observation_space, self.env.action_space

    def reset(self, seed: int | None) -> list[Any]:
        seen = self.env.reset(seed=seed)[0]
        return [seen[name] for name in self.names] if self.parallel else [seen]

    def step(self, actions: list[Any]) -> tuple[list[Any], list[float], int]:
        if not self.parallel:
            seen, reward, terminated, truncated, _ = self.env.step(actions[0])
            end = _TERMINATED if terminated else _TRUNCATED if truncated else 0
            return [seen], [float(reward)], end
        seen, rewards, terminations, truncations, _ = self.env.step(dict(zip(self.names, actions)))
        over = all(terminations.values())
        cut = not over and all(t or terminations[a] for a, t in truncations.items())
        end = _TERMINATED if over else _TRUNCATED if cut else 0
        return [seen[n] for n in self.names], [float(rewards[n]) for n in self.names], end


class Adapter:
    """A batch of copies, with arrays that the library reads."""

    def __init__(self, make: Callable[[], Any], batch: int) -> None:
        self._teams = [_Team(make()) for _ in range(batch)]
        first = self._teams[0]
        self._actions: list[tuple[str, Any]] = []
        self.agents: list[tuple[str, int, str, int]] = []
        for name in first.names:
            seen, acts = first.spaces(name)
            if not isinstance(seen, spaces.Box):
                raise UnsupportedError(f"observations of {name!r} are no Box")
            if isinstance(acts, spaces.Discrete):
                self.agents.append((name, int(np.prod(seen.shape)), "choice", int(acts.n)))
            elif isinstance(acts, spaces.Box):
                size = int(np.prod(acts.shape))
                self.agents.append((name, int(np.prod(seen.shape)), "box", size))
            else:
                raise UnsupportedError(f"actions of {name!r} are neither Discrete nor a Box")
            self._actions.append((name, acts))
        self.horizon = 0
        width = sum(size for _, size, _, _ in self.agents)
        self.observations: npt.NDArray[np.float32] = np.zeros((batch, width), np.float32)
        self.rewards: npt.NDArray[np.float32] = np.zeros((batch, len(self.agents)), np.float32)
        self.ends: npt.NDArray[np.uint8] = np.zeros(batch, np.uint8)

    def _show(self, e: int, seen: list[Any]) -> None:
        self.observations[e] = np.concatenate([np.asarray(o, np.float32).ravel() for o in seen])

    def reset(self, seed: int) -> None:
        for e, team in enumerate(self._teams):
            self._show(e, team.reset((seed + e) % 2**31))
        self.rewards[:] = 0
        self.ends[:] = 0

    def step(self, actions: npt.NDArray[np.float32]) -> None:
        for e, team in enumerate(self._teams):
            at, taken = 0, []
            for _, space in self._actions:
                if isinstance(space, spaces.Discrete):
                    taken.append(int(actions[e, at]) + int(space.start))
                    at += 1
                else:
                    size = int(np.prod(space.shape))
                    part = (np.clip(actions[e, at : at + size], -1, 1) + 1) / 2
                    low, high = space.low.ravel(), space.high.ravel()
                    taken.append((low + part * (high - low)).reshape(space.shape).astype(space.dtype))
                    at += size
            seen, rewards, end = team.step(taken)
            self._show(e, seen)
            self.rewards[e] = rewards
            self.ends[e] = end

    def reset_finished(self) -> None:
        for e in np.flatnonzero(self.ends):
            self._show(int(e), self._teams[e].reset(None))
            self.ends[e] = 0

    def save(self) -> bytes:
        return pickle.dumps([team.env for team in self._teams])

    def load(self, state: bytes) -> None:
        home = type(self._teams[0].env).__module__.split(".")[0]
        for team, env in zip(self._teams, _Reader(io.BytesIO(state), home).load()):
            team.env = env


def adapter(part: Any) -> Callable[[int], Adapter]:
    """What the library makes of a class, or of a function that makes environments."""
    return lambda batch: Adapter(part, batch)
