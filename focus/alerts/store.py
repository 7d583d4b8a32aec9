"""What do we know of people, concerns, sites and hits? All SQL of `watch` about them.

A `Book` is a connection of its own to the database that crawls are stored in. Its
transactions are short and wait for each other, so that a command, the scheduler and the
web pages may all write; only a visit (a crawl) holds the database's lock.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from focus.alerts.alert import Concern
from focus.errors import ConfigError, StoreError, StoreLocked
from focus.storage import schema, writer
from focus.storage.lock import held

LOCAL = 1
"""The user at the command line."""

WAIT_S = 10.0  # for another program that writes
MIGRATION_TRIES, MIGRATION_PAUSE_S = 20, 0.1  # for another one that brings the file up to date


class Owned(msgspec.Struct, frozen=True):
    """A concern as it is kept."""

    id: int
    user: int
    concern: Concern
    paused: bool
    created_at: float
    checked_at: float | None
    next_at: float


class Site(msgspec.Struct, frozen=True):
    """A site as it is kept; see the table."""

    id: int
    host: str
    crawl: int | None
    matched: int
    visited_at: float | None
    next_at: float
    pages: int
    trouble: str
    news_from: int | None


class Hit(msgspec.Struct, frozen=True):
    """A page that concerns somebody; `id` 0 until it is kept. See the table."""

    concern: int
    page: int
    url: str
    title: str
    language: str
    published_at: float | None
    found_at: float
    relevance: float
    snippet: str
    why: dict[str, Any]
    simhash: int = 0
    twin: int | None = None
    baseline: bool = False
    id: int = 0
    read_at: float | None = None
    vote: int | None = None


_HIT = (
    "concern, page, url, title, language, published_at, found_at, relevance, snippet, why, "
    "simhash, twin, baseline, id, read_at, vote"
)
SITE_COLUMNS = ", ".join(f"s.{name}" for name in Site.__struct_fields__)
"""Columns of `site s`, in the order of a `Site`."""
_CONCERN = "id, user, definition, paused, created_at, checked_at, next_at"


class Book:
    """Made by `opened` only."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._db = connection
        self.path = path

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Everything in it, or nothing."""
        with self._explained():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
                self._db.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):  # SQLite has rolled back by itself on some errors
                    self._db.execute("ROLLBACK")
                raise

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            clear = schema.explained(error, self.path)
            if clear is None:
                raise
            raise clear from error

    def rows(self, sql: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """What a query answers."""
        with self._explained():
            return self._db.execute(sql, values).fetchall()

    # -- concerns -------------------------------------------------------------------

    def add(self, user: int, concern: Concern, *, now: float) -> int:
        """Keep a new concern, due at once; its id. ConfigError if the name is taken."""
        with self.transaction():
            return self._add(user, concern, now)

    def _add(self, user: int, concern: Concern, now: float) -> int:
        self._refuse_taken(user, concern.name)
        number: int = self._db.execute(
            "INSERT INTO concern (user, name, definition, paused, created_at, next_at) "
            "VALUES (?, ?, ?, ?, ?, ?) RETURNING id",
            (user, concern.name, _text(concern), concern.paused, now, now),
        ).fetchone()[0]
        self._watch(number, concern.sites, now)
        return number

    def take_in(self, user: int, concerns: Iterable[Concern], *, replace: bool, now: float) -> None:
        """Keep many concerns, or none on an error. `replace`: those of the same name change,
        else ConfigError.
        """
        with self.transaction():
            known = {each.concern.name: each.id for each in self.concerns(user)} if replace else {}
            for concern in concerns:
                if concern.name in known:
                    self._change(known[concern.name], concern, now)
                else:
                    self._add(user, concern, now)

    def _refuse_taken(self, user: int, name: str, *, but: int = 0) -> None:
        sql = "SELECT 1 FROM concern WHERE user = ? AND name = ? AND id <> ?"
        if self._db.execute(sql, (user, name, but)).fetchone():
            raise ConfigError(
                f"there is a concern {name!r} already; choose another name, or `focus watch edit`"
            )

    def change(self, number: int, concern: Concern, *, now: float) -> None:
        """Replace what a concern says; it is due at once, its history stays.

        ConfigError if another concern of its owner has the new name.
        """
        with self.transaction():
            self._change(number, concern, now)

    def _change(self, number: int, concern: Concern, now: float) -> None:
        db = self._db
        owner = db.execute("SELECT user FROM concern WHERE id = ?", (number,)).fetchone()
        self._refuse_taken(owner[0] if owner else 0, concern.name, but=number)
        db.execute(
            "UPDATE concern SET name = ?, definition = ?, paused = ?, next_at = ? WHERE id = ?",
            (concern.name, _text(concern), concern.paused, now, number),
        )
        begun = db.execute(
            "SELECT site, max(begun_at) FROM concern_site WHERE concern = ? GROUP BY site",
            (number,),
        ).fetchall()
        db.execute("DELETE FROM concern_site WHERE concern = ?", (number,))
        self._watch(number, concern.sites, now)
        db.executemany(
            "UPDATE concern_site SET begun_at = ? WHERE concern = ? AND site = ?",
            [(at, number, site) for site, at in begun],
        )

    def _watch(self, number: int, sites: Iterable[str], now: float) -> None:
        for url in sites:
            host = urlsplit(url).netloc
            self._db.execute(
                "INSERT INTO site (host, matched, next_at, pages, trouble) "
                "VALUES (?, 0, ?, 0, '') ON CONFLICT (host) DO UPDATE SET next_at = ?",
                (host, now, now),
            )
            self._db.execute(
                "INSERT OR IGNORE INTO concern_site (concern, site, url) "
                "SELECT ?, id, ? FROM site WHERE host = ?",
                (number, url, host),
            )

    def pause(self, number: int, paused: bool, *, now: float) -> None:
        """Stop looking after a concern, or go on with it at once."""
        with self.transaction() as db:
            db.execute(
                "UPDATE concern SET paused = ?, next_at = ?, "
                "definition = json_set(definition, '$.paused', json(?)) WHERE id = ?",
                (paused, now, "true" if paused else "false", number),
            )

    def remove(self, number: int) -> None:
        """Forget a concern with all that was found for it."""
        with self.transaction() as db:
            db.execute("DELETE FROM concern WHERE id = ?", (number,))

    def concerns(self, user: int | None = None) -> list[Owned]:
        """The concerns of one user, or all, in order of making."""
        where = "" if user is None else "WHERE user = ?"
        values = () if user is None else (user,)
        sql = f"SELECT {_CONCERN} FROM concern {where} ORDER BY id"
        return [_owned(row) for row in self.rows(sql, values)]

    def named(self, user: int, name: str) -> Owned:
        """A user's concern. ConfigError when there is none."""
        mine = self.concerns(user)
        for each in mine:
            if each.concern.name == name:
                return each
        known = ", ".join(each.concern.name for each in mine) or "none; `focus watch add` makes one"
        raise ConfigError(f"no concern {name!r}; there is {known}")

    def due(self, now: float) -> list[Owned]:
        """Concerns whose time has come, first come first."""
        sql = (
            f"SELECT {_CONCERN} FROM concern WHERE paused = 0 AND next_at <= ? ORDER BY next_at, id"
        )
        found = [_owned(row) for row in self.rows(sql, (now,))]
        return [each for each in found if (each.concern.expires_at or now) >= now]

    # -- sites ----------------------------------------------------------------------

    def sites_of(self, concerns: Iterable[int]) -> list[Site]:
        """The sites of these concerns, each once, in order of id."""
        marks = list(concerns)
        sql = (
            f"SELECT DISTINCT {SITE_COLUMNS} FROM site s JOIN concern_site c ON c.site = s.id "
            f"WHERE c.concern IN ({', '.join('?' * len(marks))}) ORDER BY s.id"
        )
        return [Site(*row) for row in self.rows(sql, marks)]

    def concerns_on(self, site: int) -> list[Owned]:
        """The concerns that watch a site and are not paused."""
        sql = (
            f"SELECT {_CONCERN} FROM concern WHERE paused = 0 AND id IN "
            "(SELECT concern FROM concern_site WHERE site = ?) ORDER BY id"
        )
        return [_owned(row) for row in self.rows(sql, (site,))]

    def sections(self, site: int) -> list[str]:
        """The URLs at which a site is looked into, as the concerns on it say."""
        sql = (
            "SELECT DISTINCT url FROM concern_site WHERE site = ? AND concern IN "
            "(SELECT id FROM concern WHERE paused = 0) ORDER BY url"
        )
        return [url for (url,) in self.rows(sql, (site,))]

    # -- hits -----------------------------------------------------------------------

    def hits(self, concern: int, *, since: float = 0.0, limit: int = 100) -> list[Hit]:
        """What was found for a concern, newest first, without repetitions and deleted ones."""
        sql = (
            f"SELECT {_HIT} FROM hit WHERE concern = ? AND found_at >= ? AND deleted = 0 "
            "AND twin IS NULL ORDER BY found_at DESC, relevance DESC, id LIMIT ?"
        )
        return [hit_of(row) for row in self.rows(sql, (concern, since, limit))]


def hit_of(row: Sequence[Any]) -> Hit:
    """A hit of its columns (`HIT_COLUMNS`)."""
    values = list(row)
    values[9] = msgspec.json.decode(values[9])
    values[12] = bool(values[12])
    return Hit(*values)


HIT_COLUMNS = _HIT


def _text(concern: Concern) -> str:
    return msgspec.json.encode(concern).decode()


def _owned(row: Sequence[Any]) -> Owned:
    number, user, definition, paused, created_at, checked_at, next_at = row
    concern = msgspec.json.decode(definition, type=Concern)
    return Owned(number, user, concern, bool(paused), created_at, checked_at, next_at)


@contextmanager
def opened(path: Path, *, now: float, language: str, zone: str) -> Iterator[Book]:
    """The book of a database, made if there is none, with the local user in it.

    StoreError if the file is another program's, of a newer focus, or cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(
            f"cannot make the folder {path.parent}: {error.strerror}; choose another --db"
        ) from error
    schema.check_file(path)
    connection = sqlite3.connect(path, timeout=WAIT_S, isolation_level=None)
    book = Book(connection, path)
    try:
        with book._explained():
            _prepare(connection, path)
            connection.execute("PRAGMA foreign_keys = ON")
        with book.transaction() as db:
            db.execute(
                "INSERT OR IGNORE INTO user (id, name, language, zone, quiet, admin, disabled, "
                "created_at) VALUES (?, 'local', ?, ?, '', 1, 0, ?)",
                (LOCAL, language, zone, now),
            )
        yield book
    finally:
        connection.close()


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    """Set the connection up; a new or older file is made or updated by one process only.

    StoreLocked if a crawl is under way on an older file, for as long as that is.
    """
    for attempt in range(MIGRATION_TRIES):
        if connection.execute("PRAGMA user_version").fetchone()[0] >= schema.VERSION:
            break
        try:
            with held(path, pid=os.getpid()):
                writer.prepare(connection, path)
            return
        except StoreLocked:
            if attempt == MIGRATION_TRIES - 1:
                raise
        time.sleep(MIGRATION_PAUSE_S)
    writer.prepare(connection, path)
