"""The driver: which unit goes to Ray next, and what happens when one does not come back."""

from __future__ import annotations

import collections
import importlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tessera.distributed import _units
from tessera.distributed._units import Plan, Sink, StudyError, Unit

# Units that wait at the cluster for every core it has: enough that none stands idle.
_PER_CORE = 3

# Losses before the first record after which the cluster itself is to blame: no package, another version.
_HOPELESS = 20


@dataclass
class Summary:
    """What a driver did; the results are in the folder."""

    units: int
    computed: int = 0
    retried: int = 0
    given_up: list[int] = field(default_factory=list)
    shown: str = ""

    @property
    def complete(self) -> bool:
        return not self.given_up


def _work(bundle: _units.Bundle, study: str, unit: Unit, version: str, allow_exec: bool) -> str:
    """Runs at a worker."""
    own = _units.version()
    if own != version:
        raise StudyError(f"a node has {own}, but the driver has {version}")
    return _units.compute(_units.unpack(bundle, study), unit.number, unit.cores, allow_exec)


class _Driver:
    def __init__(self, ray: Any, plan: Plan, retries: int, allow_exec: bool,
                 remark: Callable[[str], None]) -> None:
        self._ray = ray
        self._plan = plan
        self._retries = retries
        self._allow_exec = allow_exec
        self._remark = remark
        self._waiting = collections.deque(plan.open_units())
        self._running: dict[Any, Unit] = {}
        self._failures: collections.Counter[int] = collections.Counter()
        self._summary = Summary(units=len(plan.units))
        # Lost units are counted and sent again here, where the folder knows what is missing.
        self._task = ray.remote(max_retries=0)(_work)
        self._bundle = ray.put(_units.make_bundle(plan.folder))
        self._version = _units.version()

    def _submit(self) -> None:
        room = max(1, int(self._ray.cluster_resources().get("CPU", 1))) * _PER_CORE
        while self._waiting and len(self._running) < room:
            unit = self._waiting.popleft()
            task = self._task.options(num_cpus=unit.cores, memory=unit.memory_mib << 20,
                                      name=f"unit {unit.number}")
            reference = task.remote(self._bundle, self._plan.id, unit, self._version, self._allow_exec)
            self._running[reference] = unit

    def _lost(self, unit: Unit, error: Exception) -> None:
        """A worker died, a node went away, or a machine could not do it."""
        self._failures[unit.number] += 1
        said = str(error).strip() or type(error).__name__
        reason = said.splitlines()[0].split(". ")[0].rstrip(".")
        if self._summary.computed == 0 and self._failures.total() >= _HOPELESS:
            raise StudyError(f"no unit could be computed; the last one: {reason}")
        if self._failures[unit.number] <= self._retries:
            self._summary.retried += 1
            self._waiting.append(unit)
            self._remark(f"unit {unit.number} is tried again: {reason}")
        else:
            self._summary.given_up.append(unit.number)
            self._remark(f"unit {unit.number} is given up after {self._retries} more tries: {reason}")

    def _take(self, sink: Sink) -> None:
        ready, _ = self._ray.wait(list(self._running), num_returns=1, timeout=1.0)
        for reference in ready:
            unit = self._running.pop(reference)
            try:
                record = self._ray.get(reference)
            except (self._ray.exceptions.RayError, StudyError) as error:
                self._lost(unit, getattr(error, "cause", None) or error)
                continue
            sink.add(record)
            self._summary.computed += 1

    def _warn_about_size(self) -> None:
        """Units that fit nowhere would wait for ever unless the cluster grows."""
        nodes = [node["Resources"] for node in self._ray.nodes() if node["Alive"]]
        for unit in self._waiting:
            fits = any(node.get("CPU", 0) >= unit.cores and node.get("memory", 0) >= unit.memory_mib << 20
                       for node in nodes)
            if not fits:
                self._remark(f"unit {unit.number} needs {unit.cores} cores and {unit.memory_mib} MiB, "
                             "which no node has now; it waits until one has")
                return

    def run(self) -> Summary:
        self._warn_about_size()
        sink = Sink(self._plan.folder, self._allow_exec)
        try:
            while self._waiting or self._running:
                self._submit()
                self._take(sink)
        finally:
            for reference in self._running:
                self._ray.cancel(reference, force=True)
            self._summary.shown = sink.close()
        return self._summary


def run(file: str, out: str, *, ray_address: str | None = None, retries: int = 5,
        allow_exec: bool = False, remark: Callable[[str], None] = lambda text: None) -> Summary:
    """Computes the units of a study on a Ray cluster; the folder `out` takes the results.

    ray_address: of the cluster ("auto", "host:6379", "ray://host:10001"); None starts Ray on this
    machine, or takes the connection that is there. retries: how often a unit may be lost.
    """
    try:
        ray: Any = importlib.import_module("ray")
    except ImportError as error:
        raise StudyError("Ray is not installed: pip install 'tessera[ray]'") from error
    plan = _units.make_plan(file, out, allow_exec)
    if not ray.is_initialized():
        ray.init(address=ray_address, log_to_driver=False, configure_logging=False)
    return _Driver(ray, plan, retries, allow_exec, remark).run()
