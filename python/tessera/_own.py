"""Parts that users write in Python: searchers, cost models, environments."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias

from . import _core
from ._core import MappingBatch, SearchSpace, Trial
from ._errors import BadValueError


class Searcher(Protocol):
    """A search method of your own: a class that is made as `Mine(space, seed)` for every layer."""

    def __init__(self, space: SearchSpace, seed: int) -> None: ...

    def propose(self, n: int) -> Sequence[Sequence[int]]:
        """Up to n points to evaluate next; none once nothing is left to try."""
        ...

    def observe(self, trials: list[Trial]) -> None:
        """All of them with what they cost, in the order of the proposals."""
        ...


class CostModel(Protocol):
    """A cost model of your own: made as `Mine(layer, accelerator)` for every layer.

    Instead of `evaluate` it may have `evaluate_batch(mappings)`, which gets a MappingBatch and
    returns a cost for each, or a dict of NumPy arrays, one per field, with `feasible` where some
    have none. A class attribute `form` says what it prices: "loops" (default) or
    "dataflow".
    """

    def __init__(self, layer: _core.Layer, accelerator: Any) -> None: ...

    def evaluate(self, mapping: _core.Mapping) -> dict[str, float] | _core.Cost | str | None:
        """A Cost or a dict with some of its fields; text, or None: infeasible."""
        ...


Part: TypeAlias = tuple[str, str]  # kind and name
Batched: TypeAlias = Callable[[MappingBatch], Sequence[Any]]

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")


def name_of(part: Any) -> str:
    """What a class is called in runs: its attribute `name`, or its own name."""
    given = getattr(part, "name", None)
    name = given if isinstance(given, str) else str(getattr(part, "__name__", type(part).__name__))
    if not _NAME.fullmatch(name):
        raise BadValueError(f"{name!r} cannot be the name of a part: letters, digits, . _ -")
    return name


def kind_of(part: Any) -> str:
    """Whether a class is a searcher ("method"), a cost model or an environment ("env")."""
    if hasattr(part, "propose") and hasattr(part, "observe"):
        return "method"
    if hasattr(part, "evaluate") or hasattr(part, "evaluate_batch"):
        return "model"
    if hasattr(part, "step") and hasattr(part, "reset"):
        return "env"
    raise BadValueError(
        f"{part!r} is no searcher (propose, observe), no cost model (evaluate or evaluate_batch) "
        "and no environment (reset, step)"
    )


def register(part: Any, kind: str | None = None) -> Part:
    """Makes a class known by its name, so that runs in folders that need it can go on."""
    kind = kind or kind_of(part)
    name = name_of(part)
    made_by = part
    if kind == "env":
        from ._own_env import adapter

        made_by = adapter(part)
    if not callable(made_by):
        raise BadValueError(f"{part!r} is not a class")
    _core.add_part(kind, name, made_by)
    return kind, name


def word_for(part: Any, kind: str) -> tuple[str, Part]:
    """How the command line names a part of the user's."""
    if kind != "env" and kind_of(part) != kind:
        raise BadValueError(f"{part!r} is not a {kind}")
    known = register(part, kind)
    if kind == "method":
        return f"python:name={known[1]}", known
    if kind == "model":
        dataflow = getattr(part, "form", "loops") == "dataflow"
        return f"{'python-dataflow' if dataflow else 'python'}:{known[1]}", known
    return "python", known
