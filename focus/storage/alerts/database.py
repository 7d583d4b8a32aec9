"""Connection to a database for alerts, with short transactions.

Transactions wait for each other, so that a command, the scheduler and the web pages can all write.
Only a visit (a crawl) holds the lock of the database.
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
from focus.storage.reader import connect_read_only

LOCK_TIMEOUT_S = 10.0  # for another program that is writing
MIGRATION_TRIES, MIGRATION_PAUSE_S = 20, 0.1  # for another process that is migrating the file


Values = Sequence[object] | Mapping[str, object]


class ChannelSeal(Protocol):
    """Encryption of channels, which contain secret addresses.

    Equal channels give equal results. `open` reverses `seal` and returns other texts unchanged.
    """

    def seal(self, channel: str) -> str: ...
    def open(self, sealed: str) -> str: ...


class NoSeal:
    """Seal that does not encrypt."""

    def seal(self, channel: str) -> str:
        """Return the channel unchanged."""
        return channel

    def open(self, sealed: str) -> str:
        """Return the channel unchanged."""
        return sealed


class AlertDatabase:
    """Connection for one thread at a time."""

    def __init__(
        self, connection: sqlite3.Connection, path: Path, channels: ChannelSeal | None = None
    ) -> None:
        self.connection, self.path = connection, path
        self.channels: ChannelSeal = channels or NoSeal()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Run statements in one transaction, or as a part of the open one."""
        if self.connection.in_transaction:
            yield self.connection
            return
        with file_check.store_errors(self.path), writer.transaction(self.connection):
            yield self.connection

    def fetch_rows(self, sql: str, values: Values = ()) -> list[tuple[Any, ...]]:
        """Return all rows of a query."""
        with file_check.store_errors(self.path):
            return self.connection.execute(sql, values).fetchall()

    def fetch_row(self, sql: str, values: Values = ()) -> tuple[Any, ...] | None:
        """Return the first row of a query; None if there is none."""
        return next(iter(self.fetch_rows(sql, values)), None)

    def fetch_value(self, sql: str, values: Values = ()) -> Any:
        """Return the first column of the first row; None if there is none."""
        return next(iter(self.fetch_row(sql, values) or ()), None)

    def execute(self, sql: str, values: Values = ()) -> int:
        """Execute a statement that writes; return the number of changed rows."""
        with self.transaction() as connection:
            return connection.execute(sql, values).rowcount

    def execute_many(self, sql: str, rows: Iterable[Sequence[object]]) -> int:
        """Execute a statement for each row of values; return the number of changed rows."""
        with self.transaction() as connection:
            return max(0, connection.executemany(sql, rows).rowcount)

    def close(self) -> None:
        """Close the file."""
        self.connection.close()


class Statements:
    """Base of the classes with the statements about one subject."""

    def __init__(self, database: AlertDatabase) -> None:
        self._db = database


def connect_database(
    path: Path, *, any_thread: bool = False, channels: ChannelSeal | None = None
) -> AlertDatabase:
    """Connect to a database; create or migrate it first unless it can only be read.

    any_thread  whether several threads may use it, though never at the same time
    channels    seal of channels; None stores them unencrypted
    """
    database = AlertDatabase(_connect(path, any_thread=any_thread), path, channels)
    connection = database.connection
    try:
        with file_check.store_errors(path):
            if can_write(path):
                _prepare_connection(connection, path)
            connection.execute("PRAGMA foreign_keys = ON")
            connection.create_function("casefold", 1, str.casefold, deterministic=True)
    except BaseException:
        connection.close()
        raise
    return database


def can_write(path: Path) -> bool:
    """Return whether a database may be written, or created where it is missing."""
    return not path.exists() or all(os.access(place, os.W_OK) for place in (path, path.parent))


def _connect(path: Path, *, any_thread: bool) -> sqlite3.Connection:
    if not can_write(path):
        with file_check.store_errors(path):
            return connect_read_only(path)
    return sqlite3.connect(
        path, timeout=LOCK_TIMEOUT_S, isolation_level=None, check_same_thread=not any_thread
    )


def _prepare_connection(connection: sqlite3.Connection, path: Path) -> None:
    """Configure the connection; one process only creates or migrates the file.

    Raises StoreLocked while a crawl uses a file of an older version.
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
