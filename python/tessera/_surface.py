"""The commands as functions. Their signatures and docs follow from the flags of the program; the
types are in _surface.pyi, which the build writes from the same flags (python/stubs.py)."""

from __future__ import annotations

import json
from typing import Any

from . import _core
from ._commands import function
from ._own import register
from ._results import Result

#: Functions that are commands: name, command, arguments without keywords, fixed flags.
FUNCTIONS: list[tuple[str, str, list[str], dict[str, Any]]] = [
    ("evaluate", "evaluate", ["network", "accelerator", "mapping"], {}),
    ("bound", "bound", ["network", "accelerator"], {}),
    ("map", "map", ["network", "accelerator"], {}),
    ("prove", "map", ["network", "accelerator"], {"method": "exact"}),
    ("compare", "compare", ["network", "accelerator"], {}),
    ("assign", "assign", ["network", "accelerator"], {}),
    ("cooptimize", "cooptimize", ["network"], {}),
    ("explore", "explore", ["network", "machine"], {}),
    ("sweep", "sweep", ["network", "accelerator"], {}),
    ("component", "component", ["name"], {}),
    ("compile", "compile", ["network"], {}),
    ("simulate", "simulate", ["program"], {}),
    ("train", "train", ["env"], {}),
    ("verify", "verify", ["run"], {}),
]

for _name, _command, _order, _fixed in FUNCTIONS:
    globals()[_name] = function(_name, _command, _order, _fixed)

_resume = function("resume", "resume", ["run"])


def resume(run: Any, *, parts: Any = (), **keywords: Any) -> Result:
    """Goes on with the run of a folder to its end; keywords are the flags of `tessera resume`.

    `parts` are the classes of your own that the run uses: a searcher, a cost model, an environment.
    """
    for part in parts if isinstance(parts, (list, tuple)) else [parts]:
        register(part)
    result: Result = _resume(run, **keywords)
    return result


def methods() -> list[str]:
    """Names of the search methods, those that prove included."""
    outcome = _core.run_command(["list", "methods", "--json"], None, [])
    return [row["name"] for row in json.loads(outcome.output)["methods"]]
