"""What do we know of people, alerts, sites and hits? All SQL of `watch` about them.

A `AlertStore` is a connection of its own to the database that crawls are stored in. Its
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

from focus.alerts.alert import Alert
from focus.errors import ConfigError, StoreError, StoreLocked
from focus.storage import private, schema, writer
from focus.storage.lock import held
from focus.storage.search_file import index_path

LOCAL = 1
"""The user at the command line."""

WAIT_S = 10.0  # for another program that writes
MIGRATION_TRIES, MIGRATION_PAUSE_S = 20, 0.1  # for another one that brings the file up to date


class StoredAlert(msgspec.Struct, frozen=True):
    """An alert as it is kept."""

    id: int
    user: int
    alert: Alert
    paused: bool
    created_at: float
    checked_at: float | None
    next_at: float


class WatchedSite(msgspec.Struct, frozen=True):
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
    failing_since: float | None = None
    failures: int = 0


class Match(msgspec.Struct, frozen=True):
    """A page that matches an alert; `id` 0 until it is kept. See the table."""

    alert: int
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
    "alert, page, url, title, language, published_at, found_at, relevance, snippet, why, "
    "simhash, twin, baseline, id, read_at, vote"
)
SITE_COLUMNS = ", ".join(f"s.{name}" for name in WatchedSite.__struct_fields__)
"""Columns of `site s`, in the order of a `WatchedSite`."""
_CONCERN = "id, user, definition, paused, created_at, checked_at, next_at"


class AlertStore:
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

    # -- alerts -------------------------------------------------------------------

    def add(self, user: int, alert: Alert, *, now: float) -> int:
        """Keep a new alert, due at once; its id. ConfigError if the name is taken."""
        with self.transaction():
            return self._add(user, alert, now)

    def _add(self, user: int, alert: Alert, now: float) -> int:
        self._refuse_taken(user, alert.name)
        number: int = self._db.execute(
            "INSERT INTO alert (user, name, definition, paused, created_at, next_at) "
            "VALUES (?, ?, ?, ?, ?, ?) RETURNING id",
            (user, alert.name, _text(alert), alert.paused, now, now),
        ).fetchone()[0]
        self._watch(number, alert.sites, now)
        return number

    def take_in(self, user: int, alerts: Iterable[Alert], *, replace: bool, now: float) -> None:
        """Keep many alerts, or none on an error. `replace`: those of the same name change,
        else ConfigError.
        """
        with self.transaction():
            known = {each.alert.name: each.id for each in self.alerts(user)} if replace else {}
            for alert in alerts:
                if alert.name in known:
                    self._change(known[alert.name], alert, now)
                else:
                    self._add(user, alert, now)

    def _refuse_taken(self, user: int, name: str, *, but: int = 0) -> None:
        sql = "SELECT 1 FROM alert WHERE user = ? AND name = ? AND id <> ?"
        if self._db.execute(sql, (user, name, but)).fetchone():
            raise ConfigError(
                f"there is an alert {name!r} already; choose another name, or `focus watch edit`"
            )

    def change(self, number: int, alert: Alert, *, now: float) -> None:
        """Replace what an alert says; it is due at once, its history stays.

        ConfigError if another alert of its owner has the new name.
        """
        with self.transaction():
            self._change(number, alert, now)

    def _change(self, number: int, alert: Alert, now: float) -> None:
        db = self._db
        owner = db.execute("SELECT user FROM alert WHERE id = ?", (number,)).fetchone()
        self._refuse_taken(owner[0] if owner else 0, alert.name, but=number)
        db.execute(
            "UPDATE alert SET name = ?, definition = ?, paused = ?, next_at = ? WHERE id = ?",
            (alert.name, _text(alert), alert.paused, now, number),
        )
        begun = db.execute(
            "SELECT site, max(begun_at) FROM alert_site WHERE alert = ? GROUP BY site",
            (number,),
        ).fetchall()
        db.execute("DELETE FROM alert_site WHERE alert = ?", (number,))
        self._watch(number, alert.sites, now)
        db.executemany(
            "UPDATE alert_site SET begun_at = ? WHERE alert = ? AND site = ?",
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
                "INSERT OR IGNORE INTO alert_site (alert, site, url) "
                "SELECT ?, id, ? FROM site WHERE host = ?",
                (number, url, host),
            )

    def pause(self, number: int, paused: bool, *, now: float) -> None:
        """Stop looking after an alert, or go on with it at once."""
        with self.transaction() as db:
            db.execute(
                "UPDATE alert SET paused = ?, next_at = ?, "
                "definition = json_set(definition, '$.paused', json(?)) WHERE id = ?",
                (paused, now, "true" if paused else "false", number),
            )

    def remove(self, number: int) -> None:
        """Forget an alert with all that was found for it."""
        with self.transaction() as db:
            db.execute("DELETE FROM alert WHERE id = ?", (number,))

    def alerts(self, user: int | None = None) -> list[StoredAlert]:
        """The alerts of one user, or all, in order of making."""
        where = "" if user is None else "WHERE user = ?"
        values = () if user is None else (user,)
        sql = f"SELECT {_CONCERN} FROM alert {where} ORDER BY id"
        return [_owned(row) for row in self.rows(sql, values)]

    def named(self, user: int, name: str) -> StoredAlert:
        """A user's alert. ConfigError when there is none."""
        mine = self.alerts(user)
        for each in mine:
            if each.alert.name == name:
                return each
        known = ", ".join(each.alert.name for each in mine) or "none; `focus watch add` makes one"
        raise ConfigError(f"no alert {name!r}; there is {known}")

    def due(self, now: float) -> list[StoredAlert]:
        """Alerts whose time has come, first come first."""
        sql = f"SELECT {_CONCERN} FROM alert WHERE paused = 0 AND next_at <= ? ORDER BY next_at, id"
        found = [_owned(row) for row in self.rows(sql, (now,))]
        return [each for each in found if (each.alert.expires_at or now) >= now]

    # -- sites ----------------------------------------------------------------------

    def sites_of(self, alerts: Iterable[int]) -> list[WatchedSite]:
        """The sites of these alerts, each once, in order of id."""
        marks = list(alerts)
        sql = (
            f"SELECT DISTINCT {SITE_COLUMNS} FROM site s JOIN alert_site c ON c.site = s.id "
            f"WHERE c.alert IN ({', '.join('?' * len(marks))}) ORDER BY s.id"
        )
        return [WatchedSite(*row) for row in self.rows(sql, marks)]

    def alerts_on(self, site: int) -> list[StoredAlert]:
        """The alerts that watch a site and are not paused."""
        sql = (
            f"SELECT {_CONCERN} FROM alert WHERE paused = 0 AND id IN "
            "(SELECT alert FROM alert_site WHERE site = ?) ORDER BY id"
        )
        return [_owned(row) for row in self.rows(sql, (site,))]

    def sections(self, site: int) -> list[str]:
        """The URLs at which a site is looked into, as the alerts on it say."""
        sql = (
            "SELECT DISTINCT url FROM alert_site WHERE site = ? AND alert IN "
            "(SELECT id FROM alert WHERE paused = 0) ORDER BY url"
        )
        return [url for (url,) in self.rows(sql, (site,))]

    # -- hits -----------------------------------------------------------------------

    def hits(self, alert: int, *, since: float = 0.0, limit: int = 100) -> list[Match]:
        """What was found for an alert, newest first, without repetitions and deleted ones."""
        sql = (
            f"SELECT {_HIT} FROM hit WHERE alert = ? AND found_at >= ? AND deleted = 0 "
            "AND twin IS NULL ORDER BY found_at DESC, relevance DESC, id LIMIT ?"
        )
        return [hit_of(row) for row in self.rows(sql, (alert, since, limit))]


def hit_of(row: Sequence[Any]) -> Match:
    """A hit of its columns (`HIT_COLUMNS`)."""
    values = list(row)
    values[9] = msgspec.json.decode(values[9])
    values[12] = bool(values[12])
    return Match(*values)


HIT_COLUMNS = _HIT


def _text(alert: Alert) -> str:
    return msgspec.json.encode(alert).decode()


def _owned(row: Sequence[Any]) -> StoredAlert:
    number, user, definition, paused, created_at, checked_at, next_at = row
    alert = msgspec.json.decode(definition, type=Alert)
    return StoredAlert(number, user, alert, bool(paused), created_at, checked_at, next_at)


@contextmanager
def opened(path: Path, *, now: float, language: str, zone: str) -> Iterator[AlertStore]:
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
    private.make(path)
    for file in (path, index_path(path)):
        private.narrow(file)
    connection = sqlite3.connect(path, timeout=WAIT_S, isolation_level=None)
    book = AlertStore(connection, path)
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
