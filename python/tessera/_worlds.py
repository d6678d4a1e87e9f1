"""Environments of the library as batches: names, settings as keywords, arrays."""

from __future__ import annotations

import json
import os
import tempfile
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _core
from ._errors import BadValueError, UsageError
from ._machines import Accelerator
from ._networks import Network

_KNOWN: dict[str, dict[str, Any]] = {one["name"]: one for one in _core.envs()}


def settings_of(name: str) -> dict[str, str]:
    """The settings of an environment with their defaults, as text."""
    return {one["name"]: one["default"] for one in _KNOWN[name]["parameters"]}


def make(name: str, settings: dict[str, Any], batch: int, threads: int = 1) -> _core.BatchEnv:
    """Equal worlds of an environment; objects among the settings become files for its making."""
    if isinstance(batch, bool) or not hasattr(batch, "__index__"):
        raise UsageError(f"the number of worlds is {batch!r}, but must be an integer")
    with tempfile.TemporaryDirectory(prefix="tessera-") as folder:
        words = [(key, _word(key, value, folder)) for key, value in settings.items()]
        return _core.BatchEnv(name, words, batch.__index__(), threads)


def _word(key: str, value: Any, folder: str) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (str, int, float, np.integer, np.floating)):
        return str(value)
    if isinstance(value, os.PathLike):
        return str(os.fspath(value))
    path = os.path.join(folder, key + ".yaml")
    if isinstance(value, Network):
        contents = value.to("yaml").popitem()[1]
    elif isinstance(value, Accelerator):
        contents = value.to()
    elif isinstance(value, (list, dict)):
        return json.dumps(value)
    else:
        raise UsageError(f"{key} is {value!r}, which is neither text nor a number")
    with open(path, "wb") as file:
        file.write(contents)
    return path


def array_of(values: Any) -> npt.NDArray[Any]:
    """Values as a NumPy array: tensors of other libraries through DLPack, without a copy."""
    if isinstance(values, np.ndarray) or not hasattr(values, "__dlpack__"):
        return np.asarray(values)
    try:
        return np.from_dlpack(values)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise BadValueError(
            f"a tensor of {type(values).__module__} cannot be read: {error}",
            hint="it has to lie in the memory of the CPU, without gradients",
        ) from error


def choices_of(actions: Any, shape: tuple[int, int]) -> npt.NDArray[np.int64]:
    """Actions as whole numbers of a shape; anything else is an exception."""
    array = array_of(actions)
    if array.dtype.kind not in "iu":
        raise BadValueError(f"actions are choices, but their type is {array.dtype}")
    if array.size != shape[0] * shape[1]:
        raise BadValueError(f"actions have the shape {array.shape}, but must have {shape}")
    return np.ascontiguousarray(array, dtype=np.int64).reshape(shape)


class BatchedEnv:
    """Thousands of worlds per call. Arrays are views of the library's memory: copy what you keep.

    >>> worlds = tessera.BatchedEnv("predator_prey", 4096, agents=3, compat="mpe2")
    >>> worlds.reset(seed=1)
    >>> observations, rewards, ends = worlds.step(actions)
    """

    def __init__(self, name: str, worlds: int, *, threads: int = 1, **settings: Any) -> None:
        self._env = make(name, settings, worlds, threads)
        #: Name, observation size, kind of action and its size of every agent.
        self.agents = self._env.agents
        #: [worlds, numbers of all agents], of the last step.
        self.observations = self._env.observations
        #: [worlds, agents].
        self.rewards = self._env.rewards
        #: [worlds]: 0 the episode goes on, 1 terminated, 2 truncated.
        self.ends = self._env.ends.reshape(-1)
        #: [worlds, numbers]: the compact state, where the environment has one.
        self.states = self._env.states
        self._width = sum(size if kind != "choice" else 1 for _, _, kind, size in self.agents)

    def __len__(self) -> int:
        return self._env.batch

    def reset(self, seed: int = 1) -> npt.NDArray[np.float32]:
        """Starts the first episode of every world; world e draws from seed + e."""
        self._env.reset(seed)
        return self.observations

    def step(
        self, actions: npt.ArrayLike
    ) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32], npt.NDArray[np.uint8]]:
        """One step of every world: choices [worlds, agents], or numbers [worlds, action_size].

        Actions are a NumPy array or what DLPack knows: a tensor of PyTorch or JAX in CPU memory.
        """
        array = array_of(actions)
        if array.dtype.kind in "iu":
            self._env.step_choices(np.ascontiguousarray(array, dtype=np.int64))
        elif array.dtype.kind == "f":
            self._env.step(np.ascontiguousarray(array, dtype=np.float32))
        else:
            raise BadValueError(f"actions are numbers, but their type is {array.dtype}")
        return self.observations, self.rewards, self.ends

    def reset_finished(self) -> npt.NDArray[np.float32]:
        """Starts a new episode wherever one has ended."""
        self._env.reset_finished()
        return self.observations
