"""Opens a database for alerts, and runs statements in short transactions.

Transactions wait for each other, so that a command, the scheduler and the web pages may all
write; only a visit (a crawl) holds the database's lock.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from focus.errors import StoreLocked
from focus.storage import file_check, schema, writer
from focus.storage.lock import database_lock

WAIT_S = 10.0  # for another program that writes
MIGRATION_TRIES, MIGRATION_PAUSE_S = 20, 0.1  # for another one that brings the file up to date


Values = Sequence[object] | Mapping[str, object]


class ChannelSeal(Protocol):
    """Writes channels so that the file alone does not tell secret addresses; the same to the same.

    `open` gives back what `seal` was given, and anything else as it is.
    """

    def seal(self, channel: str) -> str: ...
    def open(self, kept: str) -> str: ...


class Unsealed:
    """Keeps channels as they are."""

    def seal(self, channel: str) -> str:
        """The same."""
        return channel

    def open(self, kept: str) -> str:
        """The same."""
        return kept


class AlertDatabase:
    """A connection of its own; for one thread at a time."""

    def __init__(
        self, connection: sqlite3.Connection, path: Path, channels: ChannelSeal | None = None
    ) -> None:
        self.connection, self.path = connection, path
        self.channels: ChannelSeal = channels or Unsealed()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Everything in it, or nothing; inside another one it is a part of that."""
        if self.connection.in_transaction:
            yield self.connection
            return
        with file_check.store_errors(self.path), writer.transaction(self.connection):
            yield self.connection

    def rows(self, sql: str, values: Values = ()) -> list[tuple[Any, ...]]:
        """What a query answers."""
        with file_check.store_errors(self.path):
            return self.connection.execute(sql, values).fetchall()

    def row(self, sql: str, values: Values = ()) -> tuple[Any, ...] | None:
        """The first row that a query answers; None if there is none."""
        return next(iter(self.rows(sql, values)), None)

    def value(self, sql: str, values: Values = ()) -> Any:
        """The first column of it; None if there is none."""
        return next(iter(self.row(sql, values) or ()), None)

    def change(self, sql: str, values: Values = ()) -> int:
        """Write; how many rows it was."""
        with self.transaction() as connection:
            return connection.execute(sql, values).rowcount

    def change_all(self, sql: str, rows: Iterable[Sequence[object]]) -> int:
        """The same once for each of these rows of values."""
        with self.transaction() as connection:
            return max(0, connection.executemany(sql, rows).rowcount)

    def close(self) -> None:
        """Let go of the file."""
        self.connection.close()


class Statements:
    """The statements about one subject, over a store's connection."""

    def __init__(self, database: AlertDatabase) -> None:
        self._db = database


def connected(
    path: Path, *, any_thread: bool = False, channels: ChannelSeal | None = None
) -> AlertDatabase:
    """A connection to a database that is made, or brought up to date, first.

    any_thread  whoever uses it makes sure that two threads never do at once
    channels    seals channels; None: they are kept as they are
    """
    connection = sqlite3.connect(
        path, timeout=WAIT_S, isolation_level=None, check_same_thread=not any_thread
    )
    database = AlertDatabase(connection, path, channels)
    try:
        with file_check.store_errors(path):
            _prepare(connection, path)
            connection.execute("PRAGMA foreign_keys = ON")
    except BaseException:
        connection.close()
        raise
    return database


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    """Set the connection up; a new or older file is made or updated by one process only.

    StoreLocked if a crawl is under way on an older file, for as long as that is.
    """
    for attempt in range(MIGRATION_TRIES):
        if connection.execute("PRAGMA user_version").fetchone()[0] >= schema.VERSION:
            break
        try:
            with database_lock(path, pid=os.getpid()):
                writer.prepare_database(connection, path)
            return
        except StoreLocked:
            if attempt == MIGRATION_TRIES - 1:
                raise
        time.sleep(MIGRATION_PAUSE_S)
    writer.prepare_database(connection, path)
