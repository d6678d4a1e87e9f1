"""Studies on a Ray cluster: the units of ``tessera study``, computed wherever there is room.

    python -m tessera.distributed study.yaml --out runs/study --ray auto

The driver plans the study in its folder, as ``tessera study`` does, sends units to Ray by what they
need (cores and memory), and hands every record to the folder as it arrives, so that partial results
can be asked for at any time. Workers and nodes may get lost: their units are tried again. A driver
that was killed goes on when it is started again. The folder ends with the same bytes as a study on
one machine. Nodes need nothing but this package: inputs travel with the units.
"""

from tessera.distributed._driver import Summary, run
from tessera.distributed._units import StudyError

__all__ = ["StudyError", "Summary", "run"]
