"""Progress of long work: functions that are told of it, and a bar of tqdm."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Progress:
    """The state of one piece of work: a layer, a training run."""

    event: str  #: started, advanced, improved, milestone or done
    name: str
    best: float | None
    bound: float | None
    gap: float | None
    samples: int
    budget: int  #: samples to do; 0: not known


class _Told:
    """Hands on what the bindings report."""

    def __init__(self, tell: Callable[[Progress], object]) -> None:
        self._tell = tell

    def __call__(
        self,
        event: str,
        name: str,
        best: float | None,
        bound: float | None,
        gap: float | None,
        samples: int,
        budget: int,
    ) -> None:
        self._tell(Progress(event, name, best, bound, gap, samples, budget))

    def close(self) -> None:
        close = getattr(self._tell, "close", None)
        if callable(close):
            close()


class Tqdm:
    """A bar of tqdm over the samples of all rows: `tessera.map(..., progress=Tqdm())`.

    Keywords are those of `tqdm.auto.tqdm`.
    """

    def __init__(self, **settings: Any) -> None:
        from tqdm.auto import tqdm

        self._bar = tqdm(**{"unit": "sample", **settings})
        self._samples: dict[str, int] = {}
        self._budgets: dict[str, int] = {}

    def __call__(self, progress: Progress) -> None:
        before = self._samples.get(progress.name, 0)
        self._samples[progress.name] = progress.samples
        self._budgets[progress.name] = progress.budget
        if all(self._budgets.values()):
            self._bar.total = sum(self._budgets.values())
        self._bar.set_description(progress.name, refresh=False)
        self._bar.update(progress.samples - before)

    def close(self) -> None:
        """Ends the bar."""
        self._bar.close()


def observer(progress: Any) -> _Told | None:
    """What the bindings call, of what a user gave as `progress`."""
    if progress is None or progress is False:
        return None
    if progress is True:
        return _Told(Tqdm())
    if not callable(progress):
        from ._errors import UsageError

        raise UsageError(f"progress is {progress!r}, but must be a function, True or None")
    return _Told(progress)
