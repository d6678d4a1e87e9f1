"""What the environments of PettingZoo share: one world of the library behind the parallel API."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from pettingzoo import AECEnv, ParallelEnv
from pettingzoo.utils import parallel_to_aec, wrappers

from .. import _worlds
from .._errors import BadValueError

Array = npt.NDArray[Any]


class WorldEnv(ParallelEnv[str, Array, Any]):
    """One world of an environment of the library."""

    metadata: dict[str, Any] = {
        "name": "tessera",
        "render_modes": ["human", "ansi", "rgb_array"],
        "is_parallelizable": True,
        "render_fps": 10,
    }
    #: Rewards as the originals compute them, in double precision.
    exact = True

    def __init__(self, name: str, settings: dict[str, Any], render_mode: str | None = None) -> None:
        if render_mode is not None and render_mode not in self.metadata["render_modes"]:
            raise BadValueError(f"render_mode is {render_mode!r}, but must be human, ansi or rgb_array")
        self.render_mode = render_mode
        self._env = _worlds.make(name, settings, 1)
        self._agents = self._env.agents
        self._continuous = False
        self.possible_agents = [name for name, _, _, _ in self._agents]
        self.agents: list[str] = []
        self._observations = self._env.observations[0]
        self._rewards = self._env.rewards[0]
        self._ends = self._env.ends[0]
        bounds = np.cumsum([0, *(size for _, size, _, _ in self._agents)])
        self._slices = [slice(a, b) for a, b in zip(bounds[:-1], bounds[1:])]
        self._choices = np.zeros((1, len(self._agents)), np.int64)
        self._started = False
        self._spaces()

    def _spaces(self) -> None:
        self.observation_spaces = {
            name: spaces.Box(-np.inf, np.inf, (size,), np.float32)
            for name, size, _, _ in self._agents
        }
        self.action_spaces: dict[str, spaces.Space[Any]] = {
            name: spaces.Box(0.0, 1.0, (size,), np.float32)
            if self._continuous
            else spaces.Discrete(size)
            for name, _, _, size in self._agents
        }
        width = sum(size for _, size, _, _ in self._agents)
        self.state_space = spaces.Box(-np.inf, np.inf, (width,), np.float32)

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """What an agent sees."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """What an agent can do."""
        return self.action_spaces[agent]

    def state(self) -> Array:
        """The observations of all agents in a row."""
        return self._observations.copy()

    def _seen(self) -> dict[str, Array]:
        row = self._observations.copy()
        return {agent: row[part] for agent, part in zip(self.possible_agents, self._slices)}

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Array], dict[str, dict[str, Any]]]:
        """Starts an episode; without a seed it goes on from the numbers that the last one drew."""
        if seed is None and not self._started:
            seed = int(np.random.SeedSequence().generate_state(1, np.uint32)[0])
        if seed is None:
            self._env.restart()
        else:
            if isinstance(seed, bool) or seed < 0:
                raise BadValueError(f"the seed is {seed!r}, but must not be negative")
            self._env.reset(int(seed))
        self._started = True
        self.agents = self.possible_agents[:]
        return self._seen(), {agent: {} for agent in self.agents}

    def step(
        self, actions: dict[str, Any]
    ) -> tuple[
        dict[str, Array],
        dict[str, float],
        dict[str, bool],
        dict[str, bool],
        dict[str, dict[str, Any]],
    ]:
        """One action of every agent."""
        if not self.agents:
            raise BadValueError("the episode is over", hint="call reset()")
        if self._continuous:
            numbers = [
                np.clip(np.asarray(actions[agent], np.float32), 0, 1) for agent in self.agents
            ]
            self._env.step(np.concatenate(numbers).reshape(1, -1))
        else:
            choices = self._choices
            for i, agent in enumerate(self.possible_agents):
                choices[0, i] = actions[agent]
            self._env.step_choices(choices)
        values = self._env.exact_rewards(0, np.exp) if self.exact else self._rewards.tolist()
        end = int(self._ends[0])
        agents = self.agents
        terminations = dict.fromkeys(agents, end == 1)
        truncations = dict.fromkeys(agents, end == 2)
        result = (
            self._seen(),
            dict(zip(agents, values)),
            terminations,
            truncations,
            {agent: {} for agent in agents},
        )
        if end:
            self.agents = []
        return result

    def render(self) -> Any:
        """Text, a picture, or (human) the text on standard output."""
        if self.render_mode == "rgb_array":
            return self._picture()
        if self.render_mode == "human":
            print(self._text(), end="", flush=True)
        return self._text() if self.render_mode == "ansi" else None

    def _picture(self) -> npt.NDArray[np.uint8]:
        raise NotImplementedError

    def _text(self) -> str:
        raise NotImplementedError

    def close(self) -> None:
        """Nothing is left open."""


def aec(env: WorldEnv) -> AECEnv[str, Array, Any]:
    """The environment agent by agent, with the checks that PettingZoo's own have."""
    turns = parallel_to_aec(env)
    return wrappers.OrderEnforcingWrapper(turns)
