"""Tessera from Python: map deep networks onto accelerators, prove, compare, co-design, learn.

>>> import tessera
>>> result = tessera.map("resnet18", "eyeriss-256", objective="edp", samples=500)
>>> result.status, result.total["edp"]
>>> result.to_pandas()

Networks and accelerators are names, paths or objects; flags of the command line are keyword
arguments; `to_dict()` is what `--json` prints. docs/python.md is the tutorial.
"""

from __future__ import annotations

from . import _core
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
from ._surface import assign as assign
from ._surface import bound as bound
from ._surface import compare as compare
from ._surface import compile as compile
from ._surface import component as component
from ._surface import cooptimize as cooptimize
from ._surface import evaluate as evaluate
from ._surface import explore as explore
from ._surface import map as map
from ._surface import methods as methods
from ._surface import prove as prove
from ._surface import resume as resume
from ._surface import simulate as simulate
from ._surface import sweep as sweep
from ._surface import train as train
from ._surface import verify as verify
from ._worlds import BatchedEnv as BatchedEnv

__version__: str = _core.__version__

from . import gymnasium as _gymnasium  # noqa: E402

_gymnasium.register()
