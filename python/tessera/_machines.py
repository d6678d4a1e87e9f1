"""Accelerators: PE arrays and memory hierarchies."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from . import _core
from ._core import Arithmetic as Arithmetic
from ._core import Hierarchy as Hierarchy
from ._core import LevelNetwork as LevelNetwork
from ._core import MemoryLevel as MemoryLevel
from ._core import PeArray as PeArray
from ._errors import UnknownNameError, UsageError

_FIELDS: dict[type, tuple[str, ...]] = {
    PeArray: (
        "num_pes", "simd_lanes", "l1_elements", "l2_elements", "noc_elements_per_cycle",
        "noc_hops", "noc_hop_latency_cycles", "offchip_elements_per_cycle",
    ),
    LevelNetwork: (
        "hop_pj", "router_pj", "ingress_pj", "fill_latency_cycles", "drain_latency_cycles",
    ),
    MemoryLevel: (
        "name", "technology", "entries", "word_bits", "block_words", "cluster_size", "mesh_x",
        "mesh_y", "read_words_per_cycle", "write_words_per_cycle", "shared_words_per_cycle",
        "multiple_buffering", "read_pj", "fill_pj", "update_pj", "address_pj", "area_um2",
        "leakage_mw", "reduces_in_place", "network",
    ),
    Arithmetic: (
        "name", "mesh_x", "mesh_y", "word_bits", "mac_pj", "area_um2", "leakage_mw",
        "vector_op_pj", "vector_lanes",
    ),
    Hierarchy: ("arithmetic", "levels", "links", "bypass", "keeps"),
}  # fmt: skip


def _replaced(part: Any, changes: Mapping[str, Any]) -> Any:
    """A part of a machine with other values; a dict changes a part of it in turn."""
    fields = {name: getattr(part, name) for name in _FIELDS[type(part)]}
    for name, value in changes.items():
        if name not in fields:
            raise UnknownNameError(
                f"{type(part).__name__} has no {name!r}", hint="it has " + ", ".join(fields)
            )
        if name == "levels" and isinstance(value, Mapping):
            fields[name] = _levels(fields[name], value)
        elif isinstance(value, Mapping):
            fields[name] = _replaced(fields[name], value)
        else:
            fields[name] = value
    return type(part)(**fields)


def _levels(
    levels: list[MemoryLevel], changes: Mapping[str, Mapping[str, Any]]
) -> list[MemoryLevel]:
    names = [level.name for level in levels]
    for name in changes:
        if name not in names:
            raise UnknownNameError(f"there is no level {name!r}", hint="there are " + ", ".join(names))
    return [_replaced(level, changes.get(level.name, {})) for level in levels]


class Accelerator:
    """A machine: a PE array, a memory hierarchy, or both. It does not change; `replace` makes another."""

    def __init__(
        self,
        name: str,
        *,
        source: str = "",
        pe_array: PeArray | None = None,
        hierarchy: Hierarchy | None = None,
    ) -> None:
        self._value = _core.AcceleratorValue(
            name, source=source, pe_array=pe_array, hierarchy=hierarchy
        )
        self._preset: str | None = None

    @classmethod
    def _of(cls, value: _core.AcceleratorValue, preset: str | None = None) -> Accelerator:
        machine = cls.__new__(cls)
        machine._value = value
        machine._preset = preset
        return machine

    @property
    def name(self) -> str:
        """Its name."""
        return self._value.name

    @property
    def source(self) -> str:
        """Where the numbers come from."""
        return self._value.source

    @property
    def notes(self) -> list[str]:
        """What an importer could not use or had to assume."""
        return self._value.notes

    @property
    def pe_array(self) -> PeArray | None:
        """The machine as MAESTRO sees it, if it has such a form."""
        return self._value.pe_array

    @property
    def hierarchy(self) -> Hierarchy | None:
        """The machine as a memory hierarchy, if it has such a form."""
        return self._value.hierarchy

    @property
    def levels(self) -> list[MemoryLevel]:
        """Memory levels, next to the MACs first; empty without a hierarchy."""
        return self.hierarchy.levels if self.hierarchy else []

    def level(self, name: str) -> MemoryLevel:
        """A memory level by name."""
        for level in self.levels:
            if level.name == name:
                return level
        raise UnknownNameError(
            f"there is no level {name!r}",
            hint="there are " + ", ".join(level.name for level in self.levels),
        )

    def replace(self, **changes: Any) -> Accelerator:
        """Another machine with some parts of this one changed.

        Keywords are `name`, `source`, `pe_array`, `hierarchy`, `levels`, `arithmetic`, `links`,
        `bypass`, `keeps`, or a field of the PE array; a dict changes a part. Everything else stays,
        the machine's constraints on mappings included; sizes may have units:

        >>> machine.replace(levels={"GLB": {"entries": 131072}})
        >>> machine.replace(levels={"GLB": {"entries": "256KB"}})
        >>> machine.replace(num_pes=512)
        """
        fields: dict[str, Any] = {
            "source": self.source,
            "pe_array": self.pe_array,
            "hierarchy": self.hierarchy,
        }
        name = changes.pop("name", self.name)
        for key, value in changes.items():
            if key in fields and not isinstance(value, Mapping):
                fields[key] = value
                continue
            part = key
            inner: Mapping[str, Any] = value if isinstance(value, Mapping) else {}
            if key in _FIELDS[PeArray]:
                part, inner = "pe_array", {key: value}
            elif key in _FIELDS[Hierarchy]:
                part, inner = "hierarchy", {key: value}
            elif key not in ("pe_array", "hierarchy"):
                known = ("name", *fields, *_FIELDS[Hierarchy], *_FIELDS[PeArray])
                raise UnknownNameError(f"a machine has no {key!r}", hint="it has " + ", ".join(known))
            if fields[part] is None:
                raise UsageError(f"accelerator {self.name!r} has no {part} to change")
            fields[part] = _replaced(fields[part], inner)
        return Accelerator._of(self._value.replaced(name, **fields))

    def with_energies(self, path: str | os.PathLike[str]) -> Accelerator:
        """The machine with the energies of a file: Tessera's table, or an ERT of Accelergy."""
        return Accelerator._of(self._value.with_energies(os.fspath(path)))

    def to(self, format: str | None = None) -> bytes:
        """The file of a format (`formats()`); the native one by default."""
        return self._value.written(format or self.formats()[0])[0][1]

    def write(self, path: str | os.PathLike[str], format: str | None = None) -> list[str]:
        """Writes the files of a format, the native one by default, and returns their paths.

        `path` is the machine's file; tables that go with it (energies and areas of Timeloop) get
        their names beside it.
        """
        (first, machine), *tables = self._value.written(format or self.formats()[0])
        named, stem = os.path.splitext(first)[0], os.path.splitext(os.fspath(path))[0]
        paths = [(os.fspath(path), machine)]
        paths += [(stem + name.removeprefix(named), contents) for name, contents in tables]
        for where, contents in paths:
            with open(where, "wb") as file:
                file.write(contents)
        return [where for where, _ in paths]

    @staticmethod
    def formats() -> list[str]:
        """All formats that accelerators are written in, the native one first."""
        return _core.accelerator_formats()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Accelerator) and self._value == other._value

    def __hash__(self) -> int:
        return hash(self._value)

    def __reduce__(self) -> tuple[Any, ...]:
        return (_parse_accelerator, (self.to(self.formats()[0]), self.name))

    def __repr__(self) -> str:
        levels = ", ".join(level.name for level in reversed(self.levels))
        return f"<Accelerator {self.name}{': ' if levels else ''}{levels}>"


def _parse_accelerator(data: bytes, name: str) -> Accelerator:
    return Accelerator._of(_core.parse_accelerator(data, name))


def load_accelerator(name: str | os.PathLike[str]) -> Accelerator:
    """A machine by preset name (`eyeriss-256`) or by path: native YAML, MAESTRO or Timeloop."""
    text = os.fspath(name)
    return Accelerator._of(
        _core.load_accelerator(text), text if text in _core.accelerator_names() else None
    )


def accelerators() -> list[str]:
    """Names of the machines that ship with Tessera."""
    return _core.accelerator_names()
