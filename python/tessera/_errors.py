"""Exceptions: the kinds of errors of the library, each with its place and what to try instead."""

from __future__ import annotations

from typing import Any


class Error(Exception):
    """An error of Tessera: message, place in the input and hint, where they are known.

    `result` is what the command had to show in spite of it, and `errors` are all errors if there
    are several; this one is the first.
    """

    kind: str = "internal"

    def __init__(
        self,
        message: str,
        file: str | None = None,
        line: int | None = None,
        column: int | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.file = file or None
        self.line = line or None
        self.column = column or None
        self.hint = hint or None
        self.result: Any = None
        self.errors: list[Error] = [self]

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.file, self.line, self.column) if part)
        text = f"{place}: {self.message}" if place else self.message
        return f"{text}; {self.hint}" if self.hint else text

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.message, self.file, self.line, self.column, self.hint))


class UsageError(Error, ValueError):
    """A call that makes no sense: an unknown keyword, settings that exclude each other."""

    kind = "usage"


class IoError(Error, OSError):
    """A file that cannot be read or written."""

    kind = "io"

    def __str__(self) -> str:
        return Error.__str__(self)


class SyntaxError(Error, ValueError):  # noqa: A001
    """An input that does not follow its format's grammar."""

    kind = "syntax"


class UnknownNameError(Error, LookupError):
    """A key, dimension, layer or method that does not exist."""

    kind = "unknown_name"


class BadValueError(Error, ValueError):
    """A value of the wrong type or outside its range."""

    kind = "bad_value"


class OverflowError(Error, ArithmeticError):  # noqa: A001
    """A product or sum of the input exceeds 64 bits."""

    kind = "overflow"


class UnsupportedError(Error, NotImplementedError):
    """Well-formed, but outside what Tessera models."""

    kind = "unsupported"


class InfeasibleError(Error):
    """A constraint that cannot be met; the message holds the violated inequality."""

    kind = "infeasible"


class BudgetError(Error):
    """The budget ended without a solution."""

    kind = "budget"


class InterruptedError(Error, KeyboardInterrupt):  # noqa: A001
    """Somebody asked to stop before there was a result."""

    kind = "interrupted"


class InternalError(Error):
    """A defect of Tessera."""

    kind = "internal"


_BY_KIND: dict[str, type[Error]] = {
    one.kind: one
    for one in (
        UsageError,
        IoError,
        SyntaxError,
        UnknownNameError,
        BadValueError,
        OverflowError,
        UnsupportedError,
        InfeasibleError,
        BudgetError,
        InterruptedError,
        InternalError,
    )
}


def make(kind: str, message: str, file: str, line: int, column: int, hint: str) -> Error:
    """The exception of an error of the library; the bindings raise what it returns."""
    return _BY_KIND[kind](message, file, line, column, hint)
