"""What commands return: the JSON that the command line prints, as dict, table and page."""

from __future__ import annotations

import html
import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, overload

if TYPE_CHECKING:
    import pandas

# From the strongest claim about a mapping to none.
_STATUSES = ("OPTIMAL", "BOUNDED", "HEURISTIC", "NOTHING")


class Result:
    """A result. Keys of its JSON form are attributes: `result.layers`, `result.total`."""

    def __init__(self, text: str, page: str = "", remarks: str = "") -> None:
        self._text = text
        self._page = page
        self._data: dict[str, Any] | None = None
        #: Remarks of the command for people, line by line.
        self.remarks: list[str] = remarks.splitlines()

    def _read(self) -> dict[str, Any]:
        if self._data is None:
            self._data = json.loads(self._text)
        return self._data

    def to_dict(self) -> dict[str, Any]:
        """What `--json` prints, as a dict of your own."""
        data: dict[str, Any] = json.loads(self._text)
        return data

    def to_json(self) -> str:
        """What `--json` prints, byte for byte."""
        return self._text

    def to_pandas(self) -> pandas.DataFrame:
        """A row per entry of `layers`, or of the first list of records if there are no layers."""
        import pandas

        return pandas.DataFrame(self._rows())

    def _rows(self) -> list[dict[str, Any]]:
        data = self._read()
        lists = [data["layers"]] if "layers" in data else list(data.values())
        for rows in lists:
            if isinstance(rows, list) and rows and all(isinstance(row, dict) for row in rows):
                return rows
        return []

    @property
    def status(self) -> str:
        """What is known about all layers together: the weakest status of a layer."""
        data = self._read()
        if isinstance(data.get("status"), str):
            return str(data["status"])
        found = [row["status"] for row in self._rows() if row.get("status") in _STATUSES]
        if not found:
            raise AttributeError("this result has no status")
        return max(found, key=_STATUSES.index)

    @property
    def interrupted(self) -> bool:
        """Whether somebody stopped the work before its end; the result is what there was."""
        return bool(self._read().get("interrupted", False))

    @property
    def page(self) -> str:
        """The HTML page that a folder of this run would have, or nothing."""
        return self._page

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_") and name in self._read():
            return self._read()[name]
        raise AttributeError(f"this result has no {name!r}; it has {', '.join(self._read())}")

    def __getitem__(self, key: str) -> Any:
        return self._read()[key]

    def __contains__(self, key: object) -> bool:
        return key in self._read()

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._read()]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Result) and self._text == other._text

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        plain = {k: v for k, v in self._read().items() if isinstance(v, (str, int, float))}
        shown = ", ".join(f"{key}={value!r}" for key, value in plain.items())
        return f"<tessera result: {shown}>"

    def _repr_html_(self) -> str:
        table = _table(self._rows())
        if not self._page:
            return table
        # The page has its own style, which must not reach the notebook.
        frame = html.escape(self._page, quote=True)
        return (
            f'<iframe srcdoc="{frame}" style="width:100%;height:42em;border:0" '
            f'title="tessera"></iframe><details><summary>rows</summary>{table}</details>'
        )


class Rows(Sequence[dict[str, Any]]):
    """Answers to rows, one JSON object each; a list of dicts that are read when they are asked for."""

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines

    def __len__(self) -> int:
        return len(self._lines)

    @overload
    def __getitem__(self, index: int) -> dict[str, Any]: ...

    @overload
    def __getitem__(self, index: slice) -> Rows: ...

    def __getitem__(self, index: int | slice) -> dict[str, Any] | Rows:
        if isinstance(index, slice):
            return Rows(self._lines[index])
        row: dict[str, Any] = json.loads(self._lines[index])
        return row

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return map(json.loads, self._lines)

    def to_json(self) -> str:
        """What the command line prints, line for line."""
        return "".join(line + "\n" for line in self._lines)

    def to_dict(self) -> dict[str, Any]:
        """What `--json` prints."""
        return {"rows": list(self)}

    def to_pandas(self) -> pandas.DataFrame:
        """A row per answer."""
        import pandas

        return pandas.DataFrame(list(self))

    def __repr__(self) -> str:
        return f"<{len(self)} answers>"

    def _repr_html_(self) -> str:
        return _table(list(self[:50]))


def _table(rows: list[dict[str, Any]]) -> str:
    """An HTML table of the plain values of rows."""
    keys = [
        key
        for key, value in (rows[0] if rows else {}).items()
        if value is None or isinstance(value, (str, int, float))
    ]
    head = "".join(f"<th>{html.escape(key)}</th>" for key in keys)
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(_text(row.get(key)))}</td>" for key in keys) + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _text(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)
