"""Writes rows into an SQLite file with one table, of which every program reads every column.

The view `pages` of a crawl's database has no texts, as these are packed and made when they are
asked for; here they stand.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

TABLE = "pages"

_KINDS: dict[Any, str] = {str: "TEXT", int: "INTEGER", float: "REAL", bool: "INTEGER"}


def write_table(
    parts: Iterable[Sequence[tuple[Any, ...]]], columns: Mapping[str, Any], path: Path
) -> None:
    """Make the file, with the rows of all parts; instants are ISO 8601, nested fields JSON.

    columns   names of the fields, with a type each; what is not text or a number is TEXT
    sqlite3.Error or OSError where it cannot be written.
    """
    fields = ", ".join(f'"{name}" {_KINDS.get(kind, "TEXT")}' for name, kind in columns.items())
    places = ", ".join("?" * len(columns))
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode = off")  # half a file is no file: it is made anew
        db.execute("PRAGMA synchronous = off")
        db.execute(f"CREATE TABLE {TABLE} ({fields})")
        db.execute("BEGIN")
        for part in parts:
            db.executemany(f"INSERT INTO {TABLE} VALUES ({places})", part)
        db.execute("COMMIT")
