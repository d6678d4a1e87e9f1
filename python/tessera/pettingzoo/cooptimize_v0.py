"""Hardware and schedules of a layer: one agent for the hardware, one for scheduling, one for mapping.

At every step each agent may move one of its knobs by one; the state is measured, and all get the
objective of a reference over its own. Settings: `network`, `layer`, `target`, `objective`, `macs`,
`penalty`; `max_cycles`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..gymnasium import _picture
from ._base import Array, WorldEnv, aec


class CooptimizeEnv(WorldEnv):
    """One walk through accelerators and schedules."""

    exact = False

    def __init__(self, settings: dict[str, Any], render_mode: str | None) -> None:
        if "max_cycles" in settings:
            settings["horizon"] = settings.pop("max_cycles")
        super().__init__("cooptimize", settings, render_mode)
        self.metadata = {**WorldEnv.metadata, "name": "cooptimize_v0"}
        self._history: list[float] = []

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Array], dict[str, dict[str, Any]]]:
        """Starts somewhere among the accelerators and schedules."""
        self._history = []
        return super().reset(seed, options)

    def step(self, actions: dict[str, Any]) -> Any:
        """Moves, and measures where that leads."""
        result = super().step(actions)
        self._history.append(float(self._rewards[0]))
        return result

    def _picture(self) -> npt.NDArray[np.uint8]:
        return _picture(self._history)

    def _text(self) -> str:
        seen = zip(self.possible_agents, self._slices)
        knobs = [f"  {agent}: {np.round(self._observations[part], 3)}" for agent, part in seen]
        reward = f"reward {self._history[-1]:.6g}" if self._history else "a new walk"
        return "\n".join([reward, *knobs]) + "\n"


def parallel_env(*, render_mode: str | None = None, **settings: Any) -> CooptimizeEnv:
    """The environment with all agents acting at once."""
    return CooptimizeEnv(settings, render_mode)


def env(**settings: Any) -> Any:
    """The environment agent by agent."""
    return aec(parallel_env(**settings))
