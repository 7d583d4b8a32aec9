"""Import of a dump of millions of lines, with constant memory, sorted on disk.

Adjacent lines of one entity become one row. An entity that occurs again later gets another row;
both are combined on reading. SQLite sorts the names.
"""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import msgspec

from focus.errors import KnowledgeError
from focus.learn.kb.dump import Fact, FactReader
from focus.learn.kb.schema import CACHE_KIB, SCHEMA, check_file, explain_errors, list_names
from focus.records import ReportProgress, ignore_progress
from focus.score.statistics.entities import HEAD_CHARS, is_linkable

_BATCH = 5_000  # entities per statement


class ImportResult(NamedTuple):
    """The result of an import: the reader with its counts, and what was written."""

    reader: FactReader
    entities: int
    aliases: int


def import_dump(
    file: Path, kb: Path, report_progress: ReportProgress = ignore_progress
) -> ImportResult:
    """Add a dump to a knowledge base, which is created if necessary; on errors nothing is added.

    A dump that ends early (compressed, copied partly) is imported as far as it can be read, see
    `FactReader.damage`. Raises KnowledgeError if the dump cannot be read at all or the base cannot
    be written.
    """
    with explain_errors(kb):
        check_file(kb, must_exist=False)
        is_new = not kb.exists()
        db = sqlite3.connect(kb, isolation_level=None)
        try:
            return import_into(db, file, report_progress)
        except BaseException:
            if is_new:
                kb.unlink(missing_ok=True)
            raise
        finally:
            db.close()


def import_into(
    db: sqlite3.Connection, file: Path, report_progress: ReportProgress
) -> ImportResult:
    """Add a dump to an open database, as `import_dump`."""
    db.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
    db.execute("PRAGMA temp_store = FILE")
    db.execute("PRAGMA cache_spill = ON")
    for statement in filter(str.strip, SCHEMA.split(";\n")):
        db.execute(statement)
    reader = FactReader(file, report_progress)
    db.execute("BEGIN IMMEDIATE")
    try:
        db.execute("DROP INDEX IF EXISTS alias_text")
        (last,) = db.execute("SELECT ifnull(max(id), 0) FROM entity").fetchone()
        rows, names = _insert_entities(db, reader.read_facts(), last)
        if not rows:
            raise KnowledgeError(_describe_empty_dump(file, reader))
        db.execute("CREATE INDEX alias_text ON alias (text, entity)")
        db.execute("DELETE FROM head")
        db.executemany("INSERT INTO head VALUES (?, ?)", _read_heads(db))
        db.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):
            db.execute("ROLLBACK")
        raise
    return ImportResult(reader, rows, names)


def _describe_empty_dump(file: Path, reader: FactReader) -> str:
    if reader.damage:
        return reader.damage
    first = f"; the first: {reader.complaints[0]}" if reader.complaints else ""
    return f"{file}: not one of its {reader.lines:,} lines is a fact or an alias{first}"


def _insert_entities(db: sqlite3.Connection, facts: Iterable[Fact], last: int) -> tuple[int, int]:
    """Write entities and their names; return the numbers of both."""
    encode = msgspec.json.Encoder().encode
    written = names = 0
    grouped = itertools.groupby(facts, key=lambda fact: fact[0])
    numbered = (
        (n, name, [f[1:] for f in group]) for n, (name, group) in enumerate(grouped, last + 1)
    )
    while batch := list(itertools.islice(numbered, _BATCH)):
        rows = [(n, name, len(own)) for n, name, own in batch]
        fact_rows = [(n, encode(own).decode()) for n, _, own in batch]
        aliases = [(text, n) for n, name, own in batch for text in list_names(name, own)]
        db.executemany("INSERT INTO entity VALUES (?, ?, ?)", rows)
        db.executemany("INSERT INTO fact VALUES (?, ?)", fact_rows)
        db.executemany("INSERT INTO alias VALUES (?, ?)", aliases)
        written += len(rows)
        names += len(aliases)
    return written, names


def _read_heads(db: sqlite3.Connection) -> Iterator[tuple[str, int]]:
    """Yield the first characters and length bits of all names, from the sorted index."""
    texts = (row[0] for row in db.execute("SELECT DISTINCT text FROM alias ORDER BY text"))
    for head, names in itertools.groupby(
        filter(is_linkable, texts), key=lambda text: text[:HEAD_CHARS]
    ):
        bits = 0
        for name in names:
            bits |= 1 << len(name)
        yield head, bits
