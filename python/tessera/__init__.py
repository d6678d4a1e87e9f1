"""Tessera from Python: map deep networks onto accelerators, prove, compare, co-design, learn.

>>> import tessera
>>> result = tessera.map("resnet18", "eyeriss-256", objective="edp", samples=500)
>>> result.status, result.total["edp"]
>>> result.to_pandas()

Networks and accelerators are names, paths or objects; flags of the command line are keyword
arguments; `to_dict()` is what `--json` prints. docs/python.md is the tutorial.
"""

from __future__ import annotations

from typing import Any

from . import _core
from ._commands import function as _function
from ._core import Cost as Cost
from ._core import Mapping as Mapping
from ._core import MappingBatch as MappingBatch
from ._core import SearchSpace as SearchSpace
from ._core import Trial as Trial
from ._errors import BadValueError as BadValueError
from ._errors import BudgetError as BudgetError
from ._errors import Error as Error
from ._errors import InfeasibleError as InfeasibleError
from ._errors import InternalError as InternalError
from ._errors import InterruptedError as InterruptedError
from ._errors import IoError as IoError
from ._errors import OverflowError as OverflowError
from ._errors import SyntaxError as SyntaxError
from ._errors import UnknownNameError as UnknownNameError
from ._errors import UnsupportedError as UnsupportedError
from ._errors import UsageError as UsageError
from ._machines import Accelerator as Accelerator
from ._machines import Arithmetic as Arithmetic
from ._machines import Hierarchy as Hierarchy
from ._machines import LevelNetwork as LevelNetwork
from ._machines import MemoryLevel as MemoryLevel
from ._machines import PeArray as PeArray
from ._machines import accelerators as accelerators
from ._machines import load_accelerator as load_accelerator
from ._networks import Layer as Layer
from ._networks import Network as Network
from ._networks import NetworkLayer as NetworkLayer
from ._networks import load_network as load_network
from ._networks import replace_layer as replace_layer
from ._networks import zoo as zoo
from ._own import CostModel as CostModel
from ._own import Searcher as Searcher
from ._own import register as register
from ._results import Result as Result
from ._results import Rows as Rows
from ._spaces import Space as Space
from ._spaces import evaluate_batch as evaluate_batch
from ._spaces import mapping_from_dict as mapping_from_dict
from ._worlds import BatchedEnv as BatchedEnv

__version__: str = _core.__version__

evaluate = _function("evaluate", "evaluate", ["network", "accelerator", "mapping"])
bound = _function("bound", "bound", ["network", "accelerator"])
map = _function("map", "map", ["network", "accelerator"])
prove = _function("prove", "map", ["network", "accelerator"], {"method": "exact"})
compare = _function("compare", "compare", ["network", "accelerator"])
assign = _function("assign", "assign", ["network", "accelerator"])
cooptimize = _function("cooptimize", "cooptimize", ["network"])
compile = _function("compile", "compile", ["network"])
simulate = _function("simulate", "simulate", ["program"])
train = _function("train", "train", ["env"])
_resume = _function("resume", "resume", ["run"])
verify = _function("verify", "verify", ["run"])


def resume(run: Any, *, parts: Any = (), **keywords: Any) -> Result:
    """Goes on with the run of a folder to its end.

    `parts` are the classes of your own that the run uses: a searcher, a cost model, an environment.
    """
    for part in parts if isinstance(parts, (list, tuple)) else [parts]:
        register(part)
    result: Result = _resume(run, **keywords)
    return result


def methods() -> list[str]:
    """Names of the search methods, those that prove included."""
    import json

    outcome = _core.run_command(["list", "methods", "--json"], None, [])
    return [row["name"] for row in json.loads(outcome.output)["methods"]]


from . import gymnasium as _gymnasium  # noqa: E402

_gymnasium.register()
