"""Networks: layers with how often each occurs."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from . import _core
from ._core import Layer as Layer
from ._core import NetworkLayer as NetworkLayer
from ._errors import BadValueError

_LAYER_FIELDS = (
    "type", "n", "k", "c", "y", "x", "r", "s", "h", "m",
    "stride", "dilation", "pad", "output_pad", "groups", "bias",
)  # fmt: skip


def replace_layer(layer: Layer, **changes: Any) -> Layer:
    """A layer with other sizes: `replace_layer(layer, k=128)`."""
    fields = {name: getattr(layer, name) for name in _LAYER_FIELDS}
    if fields["type"] == "dwconv":
        fields["type"] = "conv"
    return Layer(**{**fields, **changes})


class Network:
    """A network: different layers with their counts. It does not change; `replace` makes another.

    >>> tessera.Network("mine", [tessera.NetworkLayer("conv", tessera.Layer(k=64, c=3, y=32, x=32, r=3, s=3))])
    """

    def __init__(self, name: str, layers: Iterable[NetworkLayer]) -> None:
        given = list(layers)
        if not given:
            raise BadValueError(f"network {name!r} has no layers")
        self._value = _core.NetworkValue(name, given)
        self._zoo: str | None = None

    @classmethod
    def _of(cls, value: _core.NetworkValue, zoo: str | None = None) -> Network:
        network = cls.__new__(cls)
        network._value = value
        network._zoo = zoo
        return network

    @classmethod
    def from_onnx(
        cls, path: str | os.PathLike[str], bind: Mapping[str, int | str] | None = None
    ) -> Network:
        """Reads an ONNX file; `bind` gives values to symbolic sizes."""
        with open(path, "rb") as file:
            return cls.parse(file.read(), os.fspath(path), bind)

    @classmethod
    def parse(cls, data: bytes, name: str, bind: Mapping[str, int | str] | None = None) -> Network:
        """Reads the bytes of a file of any format; its extension is that of `name`."""
        return cls._of(_core.parse_network(data, name, dict(bind or {})))

    @property
    def name(self) -> str:
        """Its name."""
        return self._value.name

    @property
    def source(self) -> str:
        """Where the sizes come from."""
        return self._value.source

    @property
    def layers(self) -> list[NetworkLayer]:
        """Different layers, in the order of their first occurrence."""
        return self._value.layers

    @property
    def macs(self) -> int:
        """Multiply-accumulates of all occurrences."""
        return self._value.macs

    @property
    def parameters(self) -> int:
        """Weights and biases of all occurrences."""
        return self._value.parameters

    @property
    def ignored(self) -> dict[str, int]:
        """Operators of an imported graph that carry no MACs, with their counts."""
        return self._value.ignored

    @property
    def unknown(self) -> dict[str, int]:
        """Operators of an imported graph that are not known, with their counts."""
        return self._value.unknown

    def layer(self, selector: str | int) -> NetworkLayer:
        """A layer by its name, or by its number from 1."""
        return self._value.layer(str(selector))

    def replace(
        self,
        *,
        name: str | None = None,
        source: str | None = None,
        layers: Iterable[NetworkLayer] | None = None,
    ) -> Network:
        """Another network with some parts of this one changed."""
        return Network._of(
            self._value.replaced(
                self.name if name is None else name,
                self.source if source is None else source,
                self.layers if layers is None else list(layers),
            )
        )

    def to(self, format: str) -> dict[str, bytes]:
        """The files of a format (`formats()`): names and contents."""
        return dict(self._value.written(format))

    def write(self, folder: str | os.PathLike[str], format: str = "yaml") -> list[str]:
        """Writes the files of a format into a folder, made if need be, and returns their paths."""
        paths = []
        os.makedirs(folder, exist_ok=True)
        for name, contents in self.to(format).items():
            path = os.path.join(folder, name)
            with open(path, "wb") as file:
                file.write(contents)
            paths.append(path)
        return paths

    @staticmethod
    def formats() -> list[str]:
        """All formats that networks are written in."""
        return _core.network_formats()

    def __len__(self) -> int:
        return len(self.layers)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Network) and self._value == other._value

    def __hash__(self) -> int:
        return hash(self._value)

    def __repr__(self) -> str:
        return f"<Network {self.name}: {len(self)} different layers, {self.macs:,} MACs>"

    def __reduce__(self) -> tuple[Any, ...]:
        ((name, contents),) = self.to("yaml").items()
        return (Network.parse, (contents, name))


def load_network(
    name: str | os.PathLike[str], bind: Mapping[str, int | str] | None = None
) -> Network:
    """A network by zoo name (`resnet18`, `bert-base:seq=384`) or by path: ONNX, MAESTRO, GAMMA,
    Timeloop or native YAML. `bind` gives values to symbolic sizes."""
    text = os.fspath(name)
    known = text.split(":")[0] in _core.zoo_names()
    value = _core.load_network(text, dict(bind or {}))
    return Network._of(value, text if known and not bind else None)


def zoo() -> list[str]:
    """Names of the networks that ship with Tessera."""
    return _core.zoo_names()
