"""What does every request of the web pages need? The database, the settings, a clock."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Empty, LifoQueue
from threading import Lock

import msgspec

from focus.config import FetchConfig
from focus.db import database
from focus.watch import book as books
from focus.watch import settings
from focus.watch.book import WAIT_S, Book
from focus.watch.settings import Settings
from focus.watch.web.accounts import Passwords

_KEPT = 8  # connections that wait for the next request


class Ways(msgspec.Struct, frozen=True):
    """How to send, as the command line says; None and "": as was stored."""

    smtp_url: str | None = None
    mail_from: str | None = None
    base_url: str | None = None
    fetch: FetchConfig = FetchConfig()


class Office:
    """The database of a server, opened once per request under way.

    home  where the pages are reached when neither command line nor settings say; "": unknown
    zone  the time zone of who registers, until they choose another
    """

    def __init__(
        self,
        path: Path,
        *,
        clock: Callable[[], float],
        ways: Ways | None = None,
        home: str = "",
        zone: str = "UTC",
        passwords: Passwords | None = None,
    ) -> None:
        self.path, self.clock, self.home, self.zone = path, clock, home, zone
        self.ways = ways or Ways()
        self.passwords = passwords or Passwords()
        self.previewing = Lock()  # a preview reads thousands of pages: one at a time
        self._free: LifoQueue[Book] = LifoQueue(_KEPT)
        with books.opened(path, now=clock(), language="en", zone="UTC"):
            pass  # made, or brought up to date
        self.base_url = self.settings().base_url

    @contextmanager
    def book(self) -> Iterator[Book]:
        """A book for one request; its connection goes on to the next."""
        try:
            book = self._free.get_nowait()
        except Empty:
            book = self._connected()
        try:
            yield book
        except BaseException:
            _close(book)
            raise
        if self._free.full():
            _close(book)
        else:
            self._free.put(book)

    def _connected(self) -> Book:
        connection = sqlite3.connect(
            self.path, timeout=WAIT_S, isolation_level=None, check_same_thread=False
        )
        try:
            database.prepare(connection, self.path)
            connection.execute("PRAGMA foreign_keys = ON")
        except BaseException:
            connection.close()
            raise
        return Book(connection, self.path)

    def settings(self) -> Settings:
        """As they are now: an administrator may change them at any time."""
        with self.book() as book:
            ways = msgspec.structs.asdict(self.ways)
            found = settings.read(book, **ways)
        self.base_url = found.base_url or self.home
        return msgspec.structs.replace(found, base_url=self.base_url)

    def close(self) -> None:
        """Let go of the database."""
        while True:
            try:
                _close(self._free.get_nowait())
            except Empty:
                return


def _close(book: Book) -> None:
    book._db.close()
