"""The mappings of a layer as a decision space, and batches of evaluations."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping as MappingType
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _core, _own
from ._commands import call, rows_file
from ._core import MappingBatch
from ._errors import BadValueError, UsageError
from ._machines import Accelerator, load_accelerator
from ._networks import Layer, Network, load_network
from ._results import Rows
from ._worlds import array_of


def network_of(network: str | os.PathLike[str] | Network) -> Network:
    """A network by name, path or object."""
    return network if isinstance(network, Network) else load_network(network)


def accelerator_of(accelerator: str | os.PathLike[str] | Accelerator) -> Accelerator:
    """A machine by name, path or object."""
    return accelerator if isinstance(accelerator, Accelerator) else load_accelerator(accelerator)


def layer_of(network: str | os.PathLike[str] | Network | Layer, layer: str | int | None) -> Layer:
    """One layer of a network; `layer` may be left out if there is only one."""
    if isinstance(network, Layer):
        return network
    whole = network_of(network)
    if layer is None:
        if len(whole) != 1:
            raise UsageError(
                f"network {whole.name!r} has {len(whole)} different layers", hint="choose one: layer="
            )
        return whole.layers[0].layer
    return whole.layer(layer).layer


def points_of(points: Any, columns: int) -> npt.NDArray[np.int32]:
    """Points as an array of indices, one row each; anything but whole numbers is an exception."""
    array = array_of(points)
    if array.dtype.kind not in "iu":
        raise BadValueError(f"points are indices, but their type is {array.dtype}")
    if array.ndim != 2 or array.shape[1] != columns:
        raise BadValueError(f"points have the shape {array.shape}, but must have (n, {columns})")
    if array.size and (array.min() < 0 or array.max() > np.iinfo(np.int32).max):
        raise BadValueError("an index of a point is negative or too large")
    return np.ascontiguousarray(array, dtype=np.int32)


class Space:
    """The mappings of one layer on one machine as a decision space.

    A point is a list with the index of the chosen value of every decision. Keywords are those of
    `map`; further ones are settings of the cost model.
    """

    def __init__(
        self,
        network: str | os.PathLike[str] | Network | Layer,
        accelerator: str | os.PathLike[str] | Accelerator,
        *,
        layer: str | int | None = None,
        model: Any = None,
        objective: str = "latency",
        sizes: str = "divisors",
        decide_pes: bool = False,
        bypass: bool = True,
        constraints: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = (),
        dataflow: str = "",
        **settings: Any,
    ) -> None:
        self.layer = layer_of(network, layer)
        self.accelerator = accelerator_of(accelerator)
        if model is not None and not isinstance(model, str):
            model = _own.word_for(model, "model")[0]
        self._value = _core.SpaceValue(
            self.layer, self.accelerator._value, model, objective, _assignments(settings), sizes,
            decide_pes, bypass, _files(constraints), dataflow,
        )  # fmt: skip

    @property
    def decisions(self) -> list[dict[str, Any]]:
        """Name, kind and number of values of every decision."""
        return self._value.decisions

    @property
    def sizes(self) -> list[int]:
        """Number of values of every decision."""
        return self._value.sizes

    @property
    def log10_size(self) -> float:
        """log10 of the number of legal points."""
        return self._value.log10_size

    @property
    def model(self) -> str:
        """The cost model by name."""
        return self._value.model

    def __len__(self) -> int:
        return len(self._value)

    def sample(self, seed: int) -> list[int]:
        """A random legal point; equal seeds give equal points."""
        return self._value.sample(seed)

    def neighbor(self, point: Sequence[int], seed: int) -> list[int]:
        """A legal point one step away."""
        return self._value.neighbor(list(point), seed)

    def repair(self, point: Sequence[int]) -> list[int]:
        """A legal point that differs as little as the space can arrange."""
        return self._value.repair(list(point))

    def check(self, point: Sequence[int]) -> None:
        """Raises what is wrong with a point; returns if it is legal."""
        self._value.check(list(point))

    def label(self, decision: int, index: int) -> str:
        """What a value of a decision is called: '64', 'K C Y X'."""
        return self._value.label(decision, index)

    def describe(self, point: Sequence[int]) -> str:
        """The decisions of a point by name."""
        return self._value.describe(list(point))

    def decode(self, point: Sequence[int]) -> _core.Mapping:
        """The mapping at a legal point."""
        return self._value.decode(list(point))

    def encode(self, mapping: _core.Mapping) -> list[int]:
        """The point of a mapping."""
        return self._value.encode(mapping)

    def mappings(self, points: npt.ArrayLike) -> MappingBatch:
        """The mappings at many legal points, for `evaluate_batch`."""
        return self._value.decode_batch(points_of(points, len(self)))

    def evaluate(self, points: npt.ArrayLike, threads: int = 1) -> dict[str, Any]:
        """What points cost: arrays `feasible`, `value` (the objective; NaN where infeasible),
        `cycles`, `energy_pj`, `power_mw`, `area_um2`, and the list `reason`."""
        found = self._value.evaluate(points_of(points, len(self)), threads)
        found["feasible"] = found["feasible"].view(np.bool_)
        return found


def _files(names: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> list[str]:
    many = [names] if isinstance(names, (str, os.PathLike)) else names
    return [os.fspath(name) for name in many if os.fspath(name)]


def _assignments(settings: MappingType[str, Any]) -> list[tuple[str, str]]:
    return [(name.replace("_", "-"), str(value)) for name, value in settings.items()]


def evaluate_batch(
    rows: Any, *, model: Any = None, threads: int = 0, **settings: Any
) -> Rows | dict[str, Any]:
    """What many mappings cost.

    * of rows (a path, or a list of dicts or lines of JSON, as `tessera evaluate --batch` takes
      them): one answer per row, the same as the command line's
    * of a MappingBatch or a list of Mapping, all of one layer and machine: arrays `feasible`,
      `cycles`, `macs`, `energy_pj`, `edp`, `power_mw`, `area_um2`, `utilization`

    `model` and `settings` are the flags of `tessera evaluate`.
    """
    if isinstance(rows, (list, tuple)) and rows and isinstance(rows[0], _core.Mapping):
        rows = MappingBatch.of(list(rows))
    if isinstance(rows, MappingBatch):
        if model is not None and not isinstance(model, str):
            raise UsageError("models written in Python price through Space.evaluate")
        found: dict[str, Any] = _core.evaluate_mappings(
            rows, model, _assignments(settings), threads
        )
        found["feasible"] = found["feasible"].view(np.bool_)
        return found
    with tempfile.TemporaryDirectory(prefix="tessera-") as folder:
        batch = rows_file(rows, folder)
        answers: Rows = call(
            "evaluate", {"batch": batch, "model": model, "threads": threads, **settings}, lines=True
        )
        return answers


def mapping_from_dict(
    data: Any,
    network: str | os.PathLike[str] | Network | Layer,
    accelerator: str | os.PathLike[str] | Accelerator,
    layer: str | int | None = None,
) -> _core.Mapping:
    """A mapping of a layer from its JSON form, as a result's `layers[i]["mapping"]` has it."""
    return _core.Mapping.parse(
        json.dumps(data), layer_of(network, layer), accelerator_of(accelerator)._value
    )
