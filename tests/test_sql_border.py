"""Holds that every SQL statement about crawls and alerts stands in focus/storage/.

A knowledge base is a database of its own: its statements stand in focus/learn/kb/.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

FOCUS = Path(__file__).parents[1] / "focus"
ROOMS = ("storage", "learn/kb")
STATEMENT = re.compile(
    r"\s*(SELECT|INSERT|UPDATE|DELETE|REPLACE|CREATE|DROP|ALTER|PRAGMA|WITH|BEGIN|COMMIT|ROLLBACK"
    r"|SAVEPOINT|RELEASE|VACUUM|ATTACH|DETACH|ANALYZE|EXPLAIN)\b"
)
TALKERS = ("alerts", "serve", "commands")
"""They ask the store by what its methods mean, and know no connection."""


def outside() -> Iterator[Path]:
    for path in sorted(FOCUS.rglob("*.py")):
        if not path.relative_to(FOCUS).as_posix().startswith(ROOMS):
            yield path


def statements(tree: ast.Module) -> list[str]:
    """The strings of a module that begin as a statement of SQL does."""
    texts = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
    return [text for text in texts if isinstance(text, str) and STATEMENT.match(text)]


def connections(tree: ast.Module) -> list[str]:
    """What a module has of sqlite3 or of a store's own connection."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [alias.name for alias in node.names] + [getattr(node, "module", "") or ""]
            found += [name for name in names if name.partition(".")[0] == "sqlite3"]
        elif isinstance(node, ast.Attribute) and node.attr in ("database", "connection"):
            found.append(ast.unparse(node))
    return [name for name in found if name != "report.database"]  # the name of a file


@pytest.mark.parametrize("path", list(outside()), ids=lambda path: str(path.relative_to(FOCUS)))
def test_no_sql_stands_outside_its_rooms(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert not statements(tree), "give focus/storage/ a method that is named by what it means"
    if path.relative_to(FOCUS).parts[0] in TALKERS:
        assert not connections(tree), "ask the store, not its connection"


@pytest.mark.parametrize(
    "line",
    [
        'db.execute("SELECT 1")',
        'sql = f"UPDATE {table} SET x = 1"',
        'sql = """\nWITH new (id) AS (VALUES (1)) SELECT id FROM new"""',
        'db.execute("BEGIN IMMEDIATE")',
        'db.execute("COMMIT")',
    ],
)
def test_what_counts_as_sql(line: str) -> None:
    assert statements(ast.parse(line))


def test_what_counts_as_a_connection() -> None:
    assert connections(ast.parse("import sqlite3")) == ["sqlite3"]
    assert connections(ast.parse("store.database.rows(sql)")) == ["store.database"]
    assert not connections(ast.parse("store.outbox.next_due()"))
