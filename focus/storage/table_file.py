"""Writes rows to an SQLite file with one table, for use by other programs.

Unlike the view `pages` of a crawl database it can contain the texts of pages, which the database
stores compressed.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

TABLE = "pages"

_SQL_TYPES: dict[Any, str] = {str: "TEXT", int: "INTEGER", float: "REAL", bool: "INTEGER"}


def write_table(
    parts: Iterable[Sequence[tuple[Any, ...]]], columns: Mapping[str, Any], path: Path
) -> None:
    """Write the rows of all parts to a new file; times are ISO 8601, nested fields JSON.

    columns   name -> type of each field; fields that are no text or number become TEXT

    Raises sqlite3.Error or OSError if the file cannot be written.
    """
    fields = ", ".join(f'"{name}" {_SQL_TYPES.get(kind, "TEXT")}' for name, kind in columns.items())
    places = ", ".join("?" * len(columns))
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode = off")  # an incomplete file is discarded anyway
        db.execute("PRAGMA synchronous = off")
        db.execute(f"CREATE TABLE {TABLE} ({fields})")
        db.execute("BEGIN")
        for part in parts:
            db.executemany(f"INSERT INTO {TABLE} VALUES ({places})", part)
        db.execute("COMMIT")
