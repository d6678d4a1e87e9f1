"""The particle worlds: settings by their names here and in MPE2, pictures."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ._base import WorldEnv

# What MPE2 calls the settings.
_ALIASES = {
    "num_adversaries": "agents",
    "num_good": "prey",
    "num_obstacles": "landmarks",
    "N": "agents",
    "mode": "compat",
    "max_cycles": "horizon",
}
_COLORS = np.array([(217, 89, 89), (89, 217, 89), (64, 64, 64)], np.uint8)
_REACH = 1.4  # of the view, from the middle


class ParticleEnv(WorldEnv):
    """One particle world."""

    def __init__(
        self,
        name: str,
        settings: dict[str, Any],
        continuous_actions: bool = False,
        render_mode: str | None = None,
    ) -> None:
        named = {_ALIASES.get(key, key): value for key, value in settings.items()}
        super().__init__(name, named, render_mode)
        self._continuous = bool(continuous_actions)
        self._spaces()
        self.metadata = {**WorldEnv.metadata, "name": name + "_v0"}

    def _picture(self) -> npt.NDArray[np.uint8]:
        return picture(self._env.entities(0))

    def _text(self) -> str:
        return text(self._env.entities(0))


def picture(entities: list[list[float]], size: int = 350) -> npt.NDArray[np.uint8]:
    """Discs on white: predators red, prey and agents green, landmarks dark."""
    image = np.full((size, size, 3), 255, np.uint8)
    axis = (np.arange(size) + 0.5) / size * 2 * _REACH - _REACH
    for x, y, radius, kind in entities:
        inside = (axis[None, :] - x) ** 2 + (axis[::-1, None] - y) ** 2 <= radius**2
        image[inside] = _COLORS[int(kind)]
    return image


def text(entities: list[list[float]], columns: int = 48, rows: int = 24) -> str:
    """'A' predators, 'o' prey and agents, '#' landmarks."""
    grid = [[" "] * columns for _ in range(rows)]
    for x, y, _, kind in entities:
        column = int(np.clip((x + _REACH) / (2 * _REACH) * columns, 0, columns - 1))
        row = int(np.clip((_REACH - y) / (2 * _REACH) * rows, 0, rows - 1))
        grid[row][column] = "Ao#"[int(kind)]
    return "\n".join("".join(line) for line in grid) + "\n"
