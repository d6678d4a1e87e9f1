"""Predators catch faster prey among obstacles: `simple_tag` of the particle worlds.

Settings: `agents` (predators), `prey`, `landmarks` (obstacles), or as MPE2 calls them
`num_adversaries`, `num_good`, `num_obstacles`; `mode` "openai" or "mpe2", whose rules apply;
`controller` "learned" (prey are agents) or what moves the prey; `continuous_actions`; `max_cycles`.
"""

from __future__ import annotations

from typing import Any

from ._base import Array, aec
from ._particles import ParticleEnv


def parallel_env(
    *, continuous_actions: bool = False, render_mode: str | None = None, **settings: Any
) -> ParticleEnv:
    """The environment with all agents acting at once."""
    settings.setdefault("controller", "learned")
    return ParticleEnv("predator_prey", settings, continuous_actions, render_mode)


def env(**settings: Any) -> Any:
    """The environment agent by agent."""
    return aec(parallel_env(**settings))


__all__ = ["Array", "env", "parallel_env"]
