"""What a study has found so far, for notebooks: rows, pandas, Parquet.

    import tessera.study
    rows = tessera.study.query("runs/buffers", "SELECT network, min(edp) FROM units GROUP BY network")
    frame = tessera.study.to_pandas("runs/buffers")
    tessera.study.to_parquet("runs/buffers", "units.parquet")

The store is the SQLite file study.sqlite of the folder (docs/cluster.md has its tables); everything
here only reads, also while the study runs. DuckDB, Polars and others can read the same file.
"""

from __future__ import annotations

import importlib
import os
import pathlib
import sqlite3
from typing import Any

__all__ = ["query", "to_pandas", "to_parquet"]

_UNITS = "SELECT * FROM units ORDER BY unit"


def _connect(folder: str | os.PathLike[str]) -> sqlite3.Connection:
    file = pathlib.Path(folder, "study.sqlite").absolute()
    if not file.exists():
        raise FileNotFoundError(f"{folder} has no study.sqlite: it is not the folder of a study that has begun")
    return sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True, timeout=10)


def query(folder: str | os.PathLike[str], sql: str = _UNITS) -> list[dict[str, Any]]:
    """The rows of a query, as dictionaries."""
    connection = _connect(folder)
    try:
        cursor = connection.execute(sql)
        columns = [column[0] for column in cursor.description]
        return [dict(zip(columns, row)) for row in cursor]
    finally:
        connection.close()


def to_pandas(folder: str | os.PathLike[str], sql: str = _UNITS) -> Any:
    """The rows of a query as a pandas.DataFrame; without a query, a row per unit. Needs pandas."""
    pandas: Any = importlib.import_module("pandas")
    connection = _connect(folder)
    try:
        return pandas.read_sql_query(sql, connection)
    finally:
        connection.close()


def to_parquet(folder: str | os.PathLike[str], file: str | os.PathLike[str], sql: str = _UNITS) -> None:
    """Writes the rows of a query as Parquet. Needs pyarrow, or else DuckDB and pandas."""
    try:
        parquet: Any = importlib.import_module("pyarrow.parquet")
    except ImportError:
        importlib.import_module("duckdb").from_df(to_pandas(folder, sql)).write_parquet(str(file))
        return
    table = importlib.import_module("pyarrow").Table.from_pylist(query(folder, sql))
    parquet.write_table(table, file)
