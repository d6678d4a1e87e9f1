"""Gymnasium: `tessera/Mapping-v0`, mapping a layer; one world, or many that step in C++.

An action chooses a value of every decision of a mapping. The observation is what the mapping costs
as <latency, power, energy, area>, log10 over a reference mapping; the reward is high where the
objective is low. Keywords are the settings of the environment `mapping` of `tessera list envs`.
"""

from __future__ import annotations

from typing import Any, ClassVar

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from . import _worlds

ID = "tessera/Mapping-v0"
_Array = npt.NDArray[Any]


def _settings(settings: dict[str, Any]) -> dict[str, Any]:
    if "max_cycles" in settings:
        settings["horizon"] = settings.pop("max_cycles")
    settings.pop("agents", None)  # Gymnasium has one agent: it decides everything
    return {key: value for key, value in settings.items() if value is not None}


class MappingEnv(gymnasium.Env[_Array, _Array]):
    """Mapping a layer, one world."""

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["ansi", "rgb_array"], "render_fps": 4}

    def __init__(self, render_mode: str | None = None, **settings: Any) -> None:
        if render_mode is not None and render_mode not in self.metadata["render_modes"]:
            raise ValueError(f"render_mode is {render_mode!r}, but must be ansi or rgb_array")
        self.render_mode = render_mode
        self._env = _worlds.make("mapping", _settings(settings), 1)
        sizes = [size for _, _, _, size in self._env.agents]
        self._shape = (1, len(sizes))
        self._seen = self._env.observations[0, :4]  # all agents see the same
        self._rewards = self._env.rewards
        self._ends = self._env.ends
        self.action_space = spaces.MultiDiscrete(sizes)
        self.observation_space = spaces.Box(-np.inf, np.inf, (4,), np.float32)
        self._history: list[float] = []
        self._action: _Array | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[_Array, dict[str, Any]]:
        """Starts an episode; nothing in it is random."""
        super().reset(seed=seed)
        self._env.restart()
        self._history, self._action = [], None
        return self._seen.copy(), {}

    def step(self, action: _Array) -> tuple[_Array, float, bool, bool, dict[str, Any]]:
        """Prices the mapping that the action chooses."""
        choices = _worlds.choices_of(action, self._shape)
        self._env.step_choices(choices)
        reward = float(self._rewards[0, 0])
        if self.render_mode is not None:
            self._history.append(reward)
            self._action = choices[0].copy()
        end = self._ends[0, 0]
        return self._seen.copy(), reward, bool(end == 1), bool(end == 2), {}

    def render(self) -> Any:
        """The last mapping as text, or the rewards of the episode as a picture."""
        if self.render_mode == "ansi":
            return self._text()
        if self.render_mode == "rgb_array":
            return _picture(self._history)
        return None

    def _text(self) -> str:
        if self._action is None:
            return "a new episode: no mapping yet\n"
        lines = [f"step {len(self._history)}, reward {self._history[-1]:.6g}"]
        for (name, _, _, _), choice in zip(self._env.agents, self._action):
            lines.append(f"  {name} = {choice}")
        return "\n".join(lines) + "\n"


def _picture(rewards: list[float], height: int = 120, width: int = 240) -> npt.NDArray[np.uint8]:
    """The rewards of an episode as bars, the newest at the right."""
    image = np.full((height, width, 3), 255, np.uint8)
    shown = np.asarray(rewards[-width:], float)
    if shown.size:
        low, high = min(0.0, float(shown.min())), max(float(shown.max()), 1e-9)
        rows = ((shown - low) / (high - low) * (height - 1)).astype(int)
        for column, row in enumerate(rows, width - len(rows)):
            image[height - 1 - row :, column] = (60, 110, 180)
    return image


class MappingVectorEnv(gymnasium.vector.VectorEnv[_Array, _Array, _Array]):
    """Mapping a layer, many worlds that step together in C++."""

    metadata: dict[str, Any] = {
        "render_modes": ["ansi", "rgb_array"],
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }

    def __init__(
        self, num_envs: int = 1, render_mode: str | None = None, threads: int = 1, **settings: Any
    ) -> None:
        self.num_envs = num_envs
        self.render_mode = render_mode
        self._env = _worlds.make("mapping", _settings(settings), num_envs, threads)
        sizes = [size for _, _, _, size in self._env.agents]
        self._shape = (num_envs, len(sizes))
        self._seen = self._env.observations[:, :4]
        self._rewards = self._env.rewards
        self._ends = self._env.ends.reshape(-1)
        self.single_action_space = spaces.MultiDiscrete(sizes)
        self.single_observation_space = spaces.Box(-np.inf, np.inf, (4,), np.float32)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self._over = False

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[_Array, dict[str, Any]]:
        """Starts an episode in every world."""
        super().reset(seed=seed if isinstance(seed, int) else None)
        self._env.restart()
        self._over = False
        return self._seen.copy(), {}

    def step(self, actions: _Array) -> tuple[_Array, _Array, _Array, _Array, dict[str, Any]]:
        """One step of every world; after the last one of an episode, all begin anew."""
        choices = _worlds.choices_of(actions, self._shape)
        never = np.zeros(self.num_envs, np.bool_)
        if self._over:  # all worlds have the same horizon, so they end together
            self._env.restart()
            self._over = False
            return self._seen.copy(), np.zeros(self.num_envs), never, never.copy(), {}
        self._env.step_choices(choices)
        truncated = self._ends == 2
        self._over = bool(truncated.any())
        return self._seen.copy(), self._rewards[:, 0].astype(np.float64), never, truncated, {}

    def close_extras(self, **kwargs: Any) -> None:
        """Nothing is left open."""


def register() -> None:
    """Makes `tessera/Mapping-v0` known to Gymnasium; importing tessera does it."""
    if ID not in gymnasium.registry:
        gymnasium.register(
            id=ID,
            entry_point="tessera.gymnasium:MappingEnv",
            vector_entry_point="tessera.gymnasium:MappingVectorEnv",
        )
