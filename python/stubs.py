"""stubs.py FOLDER OUT: writes _core.pyi and _surface.pyi for the extension in FOLDER.

The types of the commands follow from their flags, so they cannot be out of date.
"""

import importlib.util
import pathlib
import re
import sys

HEAD = '''"""The commands as functions: written by python/stubs.py from the flags of the program."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from ._core import Mapping as TesseraMapping
from ._machines import Accelerator
from ._networks import Network
from ._results import Result
from .progress import Progress

_Name = str | os.PathLike[str]
_Progress = Callable[[Progress], object] | Literal[True] | None
'''

TYPES = {
    "bool": "bool | None",
    "int": "int | None",
    "float": "float | None",
    "str": "_Name | int | None",
    "list": "_Name | Mapping[str, Any] | Sequence[Any] | None",
}
# What takes objects as well.
OBJECTS = {
    "network": "_Name | Network | Sequence[_Name | Network] | None",
    "accelerator": "_Name | Accelerator | None",
    "machine": "_Name | Accelerator | None",
    "mapping": "_Name | TesseraMapping | None",
    "method": "str | type | Callable[..., Any] | None",
    "collect_with": "str | type | Callable[..., Any] | None",
    "methods": "str | Sequence[str | type | Callable[..., Any]] | None",
    "model": "str | type | Callable[..., Any] | None",
    "env": "str | type | Callable[..., Any] | None",
}
GLOBAL = {"seed": "int | None", "threads": "int | None", "out": "_Name | None"}


def load(path, name):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def keyword(option):
    return option.lstrip("-").rstrip(".").replace("-", "_").lower()


def functions(source):
    """The list FUNCTIONS of _surface.py, which cannot be imported without the package."""
    text = re.search(r"^FUNCTIONS[^=]*= (\[.*?^\])", source.read_text(), re.S | re.M)[1]
    return eval(text)  # noqa: S307: our own file


def surface(core, source):
    commands = {one["name"]: one for one in core.commands()}
    text = HEAD
    for name, command, order, fixed in functions(source):
        flags = {keyword(f["names"][-1]): f for f in commands[command]["flags"] if not f["hidden"]}
        lines = []
        rest = [key for key in flags if key not in order and key not in fixed]
        for key in [*order, "*", *rest, *(k for k in GLOBAL if k not in flags)]:
            if key == "*":
                lines.append("*")
                continue
            kind = "list" if key in flags and flags[key]["name"].endswith("...") else None
            kind = kind or (flags[key]["type"] if key in flags else None)
            lines.append(f"{key}: {OBJECTS.get(key) or GLOBAL.get(key) or TYPES[kind]} = ...")
        lines.append("progress: _Progress = ...")
        text += f"\ndef {name}(\n" + "".join(f"    {line},\n" for line in lines) + ") -> Result: ...\n"
    text += (
        "\ndef resume(run: _Name, *, parts: Any = ..., **keywords: Any) -> Result: ...\n"
        "\ndef verify(run: _Name, *, parts: Any = ..., **keywords: Any) -> Result: ...\n"
        "\ndef methods() -> list[str]: ...\n"
    )
    return text


def tidied(text):
    """What strict checkers want and the generator does not say."""
    text = re.sub(r"(def __eq__\(self, arg: )[\w.]+", r"\1object", text)
    text = re.sub(r"-> list:", "-> list[typing.Any]:", text)
    text = re.sub(r"-> dict:", "-> dict[str, typing.Any]:", text)
    if "import typing\n" not in text:
        text = "import typing\n" + text
    return text + "\n__version__: str\n"


def main():
    folder, out = map(pathlib.Path, sys.argv[1:])
    (path,) = folder.glob("_core*.so")
    core = load(path, "_core")
    from nanobind.stubgen import StubGen

    generator = StubGen(core)
    generator.put(core)
    out.mkdir(parents=True, exist_ok=True)
    (out / "_core.pyi").write_text(tidied(generator.get()))
    (out / "_surface.pyi").write_text(
        surface(core, pathlib.Path(__file__).parent / "tessera" / "_surface.py")
    )


if __name__ == "__main__":
    main()
