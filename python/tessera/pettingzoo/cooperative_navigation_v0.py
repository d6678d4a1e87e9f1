"""Agents cover all landmarks without touching each other: `simple_spread` of the particle worlds.

Settings: `agents` (or `N`), `landmarks`, `local_ratio`; `mode` "openai" or "mpe2", whose rules
apply; `continuous_actions`; `max_cycles`.
"""

from __future__ import annotations

from typing import Any

from ._base import aec
from ._particles import ParticleEnv


def parallel_env(
    *, continuous_actions: bool = False, render_mode: str | None = None, **settings: Any
) -> ParticleEnv:
    """The environment with all agents acting at once."""
    return ParticleEnv("cooperative_navigation", settings, continuous_actions, render_mode)


def env(**settings: Any) -> Any:
    """The environment agent by agent."""
    return aec(parallel_env(**settings))
