"""The commands as functions. Their signatures and docs follow from the flags of the program; the
types are in _surface.pyi, which the build writes from the same flags (python/stubs.py)."""

from __future__ import annotations

import contextlib
import json
import os
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
]

for _name, _command, _order, _fixed in FUNCTIONS:
    globals()[_name] = function(_name, _command, _order, _fixed)

_resume = function("resume", "resume", ["run"])
_verify = function("verify", "verify", ["run"])


def _with_parts(run: Any, parts: Any, keywords: dict[str, Any]) -> dict[str, Any]:
    """Makes classes of the user's known; a run that prices with one of them may do so."""
    given = [register(part) for part in (parts if isinstance(parts, (list, tuple)) else [parts])]
    models = {name for kind, name in given if kind == "model"}
    if not models or "allow_exec" in keywords:
        return keywords
    with contextlib.suppress(OSError, ValueError, TypeError, AttributeError):
        with open(os.path.join(run, "run.json"), encoding="utf-8") as file:
            settings = json.load(file)["settings"]
        # `compare` has the settings of its problem in turn.
        model = str(settings.get("problem", settings).get("model"))
        language, _, name = model.partition(":")
        if language in ("python", "python-dataflow") and name in models:
            return {**keywords, "allow_exec": True}
    return keywords


def verify(run: Any, *, parts: Any = (), **keywords: Any) -> Result:
    """Computes the run of a folder again and compares; keywords are the flags of `tessera verify`.

    `parts` are the classes of your own that the run uses: a searcher, a cost model, an environment.
    """
    result: Result = _verify(run, **_with_parts(run, parts, keywords))
    return result


def resume(run: Any, *, parts: Any = (), **keywords: Any) -> Result:
    """Goes on with the run of a folder to its end; keywords are the flags of `tessera resume`.

    `parts` are the classes of your own that the run uses: a searcher, a cost model, an environment.
    """
    result: Result = _resume(run, **_with_parts(run, parts, keywords))
    return result


def methods() -> list[str]:
    """Names of the search methods, those that prove included."""
    outcome = _core.run_command(["list", "methods", "--json"], None, [])
    return [row["name"] for row in json.loads(outcome.output)["methods"]]
