"""The commands of the program as functions: flags are keyword arguments, JSON is the result."""

from __future__ import annotations

import contextlib
import inspect
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from . import _core, _own
from ._errors import Error, InterruptedError, UsageError
from ._machines import Accelerator
from ._networks import Network
from ._results import Result, Rows
from .progress import observer

_GLOBAL = {
    "seed": ("int", "seed of everything random (default: 1)"),
    "threads": ("int", "threads, 0 for one per core; results do not depend on it"),
    "out": ("str", "folder of the run, for resume and verify; or where results go"),
}


class _Flag:
    """A flag of a command, and the keyword that it is in Python."""

    def __init__(self, described: dict[str, Any]) -> None:
        self.option: str = described["name"]
        self.positional = not self.option.startswith("-")
        self.names = [_keyword(name) for name in described["names"]]
        # The last one is what the help of the program calls it, and what Python does.
        self.name = self.names[-1]
        self.type: str = "list" if self.option.endswith("...") else described["type"]
        self.help: str = described["help"]


def _keyword(option: str) -> str:
    return option.lstrip("-").rstrip(".").replace("-", "_").lower()


class _Command:
    def __init__(self, described: dict[str, Any]) -> None:
        self.name: str = described["name"]
        self.summary: str = described["summary"]
        self.details: str = described["details"]
        self.writes_out: bool = described["writes_out"]
        self.flags = [_Flag(flag) for flag in described["flags"] if not flag["hidden"]]
        self.by_name = {name: flag for flag in self.flags for name in flag.names}


COMMANDS = {one["name"]: _Command(one) for one in _core.commands()}


class _Line:
    """A command line in the making: words, files that it needs, parts of the user's."""

    def __init__(self, command: _Command, folder: str) -> None:
        self.command = command
        self.options: list[str] = [command.name]
        self.arguments: list[str] = []
        self.parts: list[_own.Part] = []
        self._folder = folder

    def words(self) -> list[str]:
        return [*self.options, "--", *self.arguments] if self.arguments else self.options

    def add(self, name: str, value: Any) -> None:
        if value is None:
            return
        if name in _GLOBAL:
            self._add_option("--" + name, _GLOBAL[name][0], name, value)
            return
        flag = self.command.by_name.get(name)
        if flag is None:
            # A flag that only switches off: bypass=False is --no-bypass.
            opposite = self.command.by_name.get("no_" + name)
            if opposite is None or not isinstance(value, bool):
                raise _unknown(self.command, name)
            self._add_option(opposite.option, opposite.type, name, not value)
            return
        if flag.positional:
            many = value if flag.type == "list" and isinstance(value, (list, tuple)) else [value]
            self.arguments += [self._word(name, one) for one in many]
        else:
            self._add_option(flag.option, flag.type, name, value)

    def _add_option(self, option: str, kind: str, name: str, value: Any) -> None:
        if kind == "bool":
            if not isinstance(value, bool):
                raise UsageError(f"{name} is {value!r}, but must be True or False")
            opposite = self.command.by_name.get("no_" + name)
            if value:
                self.options.append(option)
            elif opposite is not None:
                self.options.append(opposite.option)
        elif kind == "list":
            for one in _items(value):
                self.options.append(f"{option}={self._word(name, one)}")
        elif kind == "int":
            if isinstance(value, bool) or not hasattr(value, "__index__"):
                raise UsageError(f"{name} is {value!r}, but must be an integer")
            self.options.append(f"{option}={value.__index__()}")
        elif kind == "float":
            if isinstance(value, (bool, str)) or not hasattr(value, "__float__"):
                raise UsageError(f"{name} is {value!r}, but must be a number")
            self.options.append(f"{option}={float(value)!r}")
        else:
            self.options.append(f"{option}={self._word(name, value)}")
            if option == "--env" and self.parts and self.parts[-1][0] == "env":
                self.options.append(f"--env-set=name={self.parts[-1][1]}")

    def _word(self, name: str, value: Any) -> str:
        """A value as a word: text, a path, or an object as a file."""
        if isinstance(value, str):
            return value
        if isinstance(value, os.PathLike):
            return str(os.fspath(value))
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, (int, float)) or hasattr(value, "__index__"):
            return repr(float(value)) if isinstance(value, float) else str(int(value))
        if isinstance(value, Network):
            return value._zoo or self._file(value.name + ".yaml", value.to("yaml").popitem()[1])
        if isinstance(value, Accelerator):
            return value._preset or self._file(value.name + ".yaml", value.to(value.formats()[0]))
        if isinstance(value, _core.Mapping):
            for file, contents in value.files("mapping"):
                if file.endswith((".map.yaml", ".m")):
                    return self._file(file, contents.encode())
        kind = {"method": "method", "methods": "method", "collect_with": "method", "model": "model"}
        if name in kind or name == "env":
            word, part = _own.word_for(value, kind.get(name, "env"))
            self.parts.append(part)
            return word
        if isinstance(value, Mapping):
            return ",".join(_items(value))
        raise UsageError(f"{name} is {value!r}, which is neither text nor something to be named")

    def _file(self, name: str, contents: bytes) -> str:
        path = os.path.join(self._folder, f"{len(os.listdir(self._folder))}-{os.path.basename(name)}")
        with open(path, "wb") as file:
            file.write(contents)
        return path


def _items(value: Any) -> list[Any]:
    if isinstance(value, Mapping):
        return [f"{key}={_plain(one)}" for key, one in value.items()]
    if isinstance(value, (list, tuple, set, frozenset)):
        return list(value)
    return [value]


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return ",".join(_plain(one) for one in value)
    return str(value)


def _unknown(command: _Command, name: str) -> Error:
    """As the program says it, with the nearest name."""
    outcome = _core.run_command([command.name, "--" + name.replace("_", "-")], None, [])
    hint = ""
    try:
        outcome.errors[0].throw_it()
    except Error as error:
        hint = (error.hint or "").replace("'--", "'")
    return UsageError(f"{command.name}() has no keyword {name!r}", hint=hint)


def call(name: str, values: Mapping[str, Any], lines: bool = False) -> Any:
    """Runs a command. `lines`: it prints a line of JSON for every row."""
    command = COMMANDS[name]
    values = dict(values)
    told = observer(values.pop("progress", None))
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="tessera-"))
        line = _Line(command, folder)
        for key, value in values.items():
            line.add(key, value)
        kept = _keep(line, values, name)
        if not lines:
            line.options.insert(1, "--json")
        try:
            outcome = _core.run_command(line.words(), told, line.parts)
        except BaseException as error:
            _tell_where(error, kept or values.get("out"), command)
            raise
        finally:
            if told is not None:
                told.close()
        if kept:
            shutil.rmtree(kept, ignore_errors=True)
        return _result(command, outcome, values, lines)


def _keep(line: _Line, values: Mapping[str, Any], name: str) -> str | None:
    """Code of the user's may fail at any time: its runs have a folder, so that nothing is lost."""
    if not line.parts or values.get("out") is not None or not line.command.writes_out:
        return None
    if name not in ("map", "compare", "train"):
        return None
    kept = os.path.join(tempfile.mkdtemp(prefix="tessera-run-"), "run")
    line.options.insert(1, f"--out={kept}")
    return kept


def _tell_where(error: BaseException, run: object, command: _Command) -> None:
    if run is not None and command.writes_out and hasattr(error, "add_note"):
        error.add_note(f"what there was is kept in {run}; go on with tessera.resume({str(run)!r})")
    if run is not None:
        with contextlib.suppress(AttributeError):
            error.run = str(run)  # type: ignore[attr-defined]


def _result(
    command: _Command, outcome: _core.Outcome, values: Mapping[str, Any], lines: bool
) -> Any:
    text = outcome.output.decode("utf-8", "replace")
    remarks = outcome.remarks.decode("utf-8", "replace")
    errors = [_exception(error) for error in outcome.errors]
    if not text and not errors and values.get("out") is not None and not command.writes_out:
        form = "txt" if lines else "json"
        with open(os.path.join(values["out"], f"{command.name}.{form}"), encoding="utf-8") as file:
            text = file.read()
    result: Any = None
    if lines:
        result = Rows(text.splitlines())
    elif text:
        result = Result(text, outcome.page.decode("utf-8", "replace"), remarks)
    if errors:
        first = errors[0]
        first.result, first.errors = result, errors
        if outcome.interrupted:
            stopped = InterruptedError(first.message, hint=first.hint)
            stopped.result = result
            raise stopped from None
        # A verdict is a result, whatever it is.
        if not (command.name == "verify" and result is not None and "verified" in result):
            raise first
    return result


def _exception(error: _core.ErrorValue) -> Error:
    try:
        error.throw_it()
    except Error as raised:
        raised.__traceback__ = None
        return raised
    raise AssertionError("an error without an exception")


def function(
    name: str, command: str, order: Sequence[str], fixed: Mapping[str, Any] | None = None
) -> Callable[..., Any]:
    """A command as a Python function; `order` are the arguments that may go without a keyword."""
    described = COMMANDS[command]
    keywords = [flag.name for flag in described.flags if flag.name not in order]
    keywords += [key for key in _GLOBAL if key not in keywords]
    positional = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [inspect.Parameter(key, positional, default=None) for key in order]
    fixed = dict(fixed or {})
    for key in [*keywords, "progress"]:
        if key not in fixed:
            parameters.append(inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY, default=None))

    def run(*arguments: Any, **values: Any) -> Any:
        if len(arguments) > len(order):
            raise UsageError(f"{name}() takes {len(order)} arguments without keywords")
        for key, value in zip(order, arguments):
            if key in values:
                raise UsageError(f"{name}() got {key!r} twice")
            values[key] = value
        for key in fixed:
            if key in values:
                raise UsageError(f"{name}() has no keyword {key!r}")
        return call(command, {**values, **fixed})

    run.__name__ = run.__qualname__ = name
    run.__module__ = "tessera"
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__doc__ = _doc(described, order, fixed)
    return run


def _doc(command: _Command, order: Sequence[str], fixed: Mapping[str, Any]) -> str:
    lines = [command.summary[:1].upper() + command.summary[1:] + ".", ""]
    if command.details:
        lines += [command.details.strip(), ""]
    lines.append(f"The same as `tessera {command.name} --json`; keywords are its flags:")
    lines.append("")
    flags = [flag for flag in command.flags if flag.name not in fixed]
    flags.sort(key=lambda flag: order.index(flag.name) if flag.name in order else len(order))
    lines += [f"* `{flag.name}`: {flag.help}" for flag in flags]
    lines += [f"* `{key}`: {text}" for key, (_, text) in _GLOBAL.items() if key not in command.by_name]
    lines.append("* `progress`: a function that is told of it, or True for a bar of tqdm")
    return "\n".join(lines)


def rows_file(rows: Any, folder: str) -> str:
    """Rows as the path of a file: a path, lines of JSON, or objects that are such lines."""
    if isinstance(rows, (str, os.PathLike)):
        return os.fspath(rows)
    path = os.path.join(folder, "rows.jsonl")
    with open(path, "w", encoding="utf-8") as file:
        for row in rows:
            file.write(row if isinstance(row, str) else json.dumps(row))
            file.write("\n")
    return path
