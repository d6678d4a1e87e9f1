"""Mapping a layer by several agents with a shared reward: an agent per decision, or per group.

Settings: `network`, `layer`, `accelerator`, `objective`, `reward`, `penalty`, `repair` as of the
environment `mapping` (`tessera list envs mapping`); `groups`, lists of names of decisions, one per
agent (what is left out gets an agent each); `max_cycles`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from .._errors import BadValueError, UnknownNameError
from ..gymnasium import _picture
from ._base import Array, WorldEnv, aec


class MappingGroups(WorldEnv):
    """Mapping a layer; agents of several decisions choose a value for each."""

    exact = False

    def __init__(
        self,
        settings: dict[str, Any],
        groups: Sequence[Sequence[str]] | None,
        render_mode: str | None,
    ) -> None:
        if "max_cycles" in settings:
            settings["horizon"] = settings.pop("max_cycles")
        super().__init__("mapping", settings, render_mode)
        self.metadata = {**WorldEnv.metadata, "name": "mapping_v0"}
        names = self.possible_agents
        sizes = {name: size for name, _, _, size in self._agents}
        grouped = [list(group) for group in groups or []]
        for name in [name for group in grouped for name in group]:
            if name not in sizes:
                raise UnknownNameError(f"there is no decision {name!r}", hint=", ".join(names))
        taken = [name for group in grouped for name in group]
        if len(taken) != len(set(taken)) or not all(grouped):
            raise BadValueError("a decision belongs to one agent, and an agent has decisions")
        grouped += [[name] for name in names if name not in taken]
        self._members = {"+".join(group): [names.index(name) for name in group] for group in grouped}
        self.possible_agents = list(self._members)
        self._decisions = names
        box = spaces.Box(-np.inf, np.inf, (4,), np.float32)
        self.observation_spaces = {agent: box for agent in self._members}
        self.action_spaces = {
            agent: spaces.Discrete(sizes[names[members[0]]])
            if len(members) == 1
            else spaces.MultiDiscrete([sizes[names[i]] for i in members])
            for agent, members in self._members.items()
        }
        self.state_space = box
        self._history: list[float] = []

    def state(self) -> Array:
        """What all agents see."""
        return self._observations[:4].copy()

    def _seen(self) -> dict[str, Array]:
        return {agent: self._observations[:4].copy() for agent in self.possible_agents}

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Array], dict[str, dict[str, Any]]]:
        """Starts an episode; nothing in it is random."""
        self._history = []
        return super().reset(seed, options)

    def step(self, actions: dict[str, Any]) -> Any:
        """Prices the mapping that the actions of all agents make."""
        if not self.agents:
            raise BadValueError("the episode is over", hint="call reset()")
        for agent, members in self._members.items():
            values = np.asarray(actions[agent]).reshape(-1)
            if values.dtype.kind not in "iu" or len(values) != len(members):
                raise BadValueError(f"the action of {agent} must be {len(members)} whole numbers")
            self._choices[0, members] = values
        self._env.step_choices(self._choices)
        reward = float(self._rewards[0])
        self._history.append(reward)
        end, agents = int(self._ends[0]), self.agents
        self.agents = [] if end else agents
        return (
            self._seen(),
            dict.fromkeys(agents, reward),
            dict.fromkeys(agents, end == 1),
            dict.fromkeys(agents, end == 2),
            {agent: {} for agent in agents},
        )

    def _picture(self) -> npt.NDArray[np.uint8]:
        return _picture(self._history)

    def _text(self) -> str:
        reward = f"reward {self._history[-1]:.6g}" if self._history else "no mapping yet"
        choices = zip(self._decisions, self._choices[0])
        return reward + "".join(f"\n  {name} = {choice}" for name, choice in choices) + "\n"


def parallel_env(
    *,
    groups: Sequence[Sequence[str]] | None = None,
    render_mode: str | None = None,
    **settings: Any,
) -> MappingGroups:
    """The environment with all agents acting at once."""
    return MappingGroups(settings, groups, render_mode)


def env(**settings: Any) -> Any:
    """The environment agent by agent."""
    return aec(parallel_env(**settings))
