"""Work units by the command line: what a driver plans, what a worker computes, what a folder takes.

Nothing here knows Ray, so any other engine can use it the same way.
"""

from __future__ import annotations

import ctypes
import json
import os
import pathlib
import shlex
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from typing import Any

# A folder of a study, as far as computing a unit needs it: names and contents of files.
Bundle = dict[str, bytes]

_PR_SET_PDEATHSIG = 1


class StudyError(RuntimeError):
    """A command of a study failed; the text is what it said."""


def command() -> list[str]:
    """The words that start the command line: TESSERA_COMMAND, or this package's own."""
    given = os.environ.get("TESSERA_COMMAND")
    return shlex.split(given) if given else [sys.executable, "-m", "tessera"]


@dataclass(frozen=True)
class Unit:
    """A piece of work, and what it needs."""

    number: int
    name: str
    cores: int
    memory_mib: int
    done: bool


@dataclass(frozen=True)
class Plan:
    """A study in its folder."""

    folder: pathlib.Path
    id: str
    units: list[Unit]

    def open_units(self) -> list[Unit]:
        return [unit for unit in self.units if not unit.done]


def _said(output: bytes) -> str:
    return output.decode("utf-8", "replace").strip()


def _call(words: list[str]) -> bytes:
    """Standard output of a command; what it says on failure is the error."""
    done = subprocess.run([*command(), *words], capture_output=True, check=False)
    if done.returncode != 0:
        raise StudyError(_said(done.stderr) or f"exit code {done.returncode}")
    return done.stdout


def version() -> str:
    return _said(_call(["--version"]))


def make_plan(file: str, out: str, allow_exec: bool = False) -> Plan:
    """Makes the folder of a study, or finds the one that is there."""
    words = ["study", file, "--out", out, "--plan", "--json"]
    answer: dict[str, Any] = json.loads(_call(words + ["--allow-exec"] * allow_exec))
    units = [
        Unit(
            number=row["unit"],
            name=" ".join(str(row[key]) for key in ("network", "layer", "accelerator", "objective",
                                                    "method", "seed") if row[key] is not None),
            cores=row["cores"],
            memory_mib=row["memory_mib"],
            done=row["state"] != "open",
        )
        for row in answer["units"]
    ]
    return Plan(folder=pathlib.Path(out), id=answer["id"], units=units)


def make_bundle(folder: pathlib.Path) -> Bundle:
    """The files that units are computed from."""
    names = ["run.json", *json.loads((folder / "run.json").read_text())["inputs"]]
    return {name: (folder / name).read_bytes() for name in names}


_unpacked: dict[str, tempfile.TemporaryDirectory[str]] = {}


def unpack(bundle: Bundle, study: str) -> str:
    """The bundle as a folder of this process; once per study."""
    if study not in _unpacked:
        folder = tempfile.TemporaryDirectory(prefix="tessera-study-")
        for name, contents in bundle.items():
            path = pathlib.Path(folder.name, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(contents)
        _unpacked[study] = folder
    return _unpacked[study].name


def _die_with_parent() -> None:
    """A worker that is killed must not leave its program behind."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def compute(folder: str, number: int, cores: int, allow_exec: bool = False) -> str:
    """The record of a unit. An error is the machine's, not the unit's: another may succeed."""
    words = ["study", folder, "--unit", str(number), "--threads", str(cores)]
    done = subprocess.run([*command(), *words, *["--allow-exec"] * allow_exec], capture_output=True,
                          check=False, preexec_fn=_die_with_parent if sys.platform == "linux" else None)
    if done.returncode != 0:
        raise StudyError(_said(done.stderr) or f"unit {number}: exit code {done.returncode}")
    return done.stdout.decode("utf-8").strip()


class Sink:
    """The folder of a study that takes records while it is open; it alone writes there."""

    def __init__(self, folder: pathlib.Path, allow_exec: bool = False) -> None:
        words = [*command(), "study", str(folder), "--add", *["--allow-exec"] * allow_exec]
        # A session of its own: Ctrl-C ends the driver, which then ends this in order.
        self._process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                         stderr=None, start_new_session=True)

    def add(self, record: str) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(record.encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            self._process.wait()
            raise StudyError("the folder takes no more records") from None

    def close(self) -> str:
        """Ends the study if nothing is left; returns what the command shows."""
        output, _ = self._process.communicate()
        if self._process.returncode != 0:
            raise StudyError(f"the folder was not finished: exit code {self._process.returncode}")
        return output.decode("utf-8", "replace")
