"""Holds what every request of the web pages needs: the store, the settings, a clock."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from pathlib import Path
from queue import Empty, Full, LifoQueue
from threading import Lock, Thread
from typing import Generic, TypeVar

import msgspec

from focus.alerts import settings
from focus.alerts.sealed_channels import SealedChannels
from focus.alerts.settings import DeliverySettings
from focus.errors import FocusError
from focus.serve.accounts import Passwords
from focus.serve.scheduler import SendingOptions
from focus.storage.alerts.database import connected
from focus.storage.alerts.store import AlertStore, opened
from focus.storage.search_index import SearchIndex
from focus.text.formatting import printable

INDEX_CACHE_KIB = 8 * 1024  # of each file of an index that is kept; more finds nothing sooner

T = TypeVar("T")

_log = logging.getLogger("focus.serve")


class Kept(Generic[T]):
    """Connections that go on from one request to the next, each in one thread at a time.

    most  that wait for the next request
    fits  whether one that waited may still be used
    """

    def __init__(
        self,
        make: Callable[[], T],
        close: Callable[[T], None],
        *,
        most: int,
        fits: Callable[[T], bool] = lambda each: True,
    ) -> None:
        self._make, self._close, self._fits = make, close, fits
        self._free: LifoQueue[T] = LifoQueue(most)

    @contextmanager
    def one(self) -> Iterator[T]:
        """One that waits, or a new one; closed when what is done with it fails."""
        each = self._waiting() or self._make()
        try:
            yield each
        except BaseException:
            self._close(each)
            raise
        try:
            self._free.put_nowait(each)
        except Full:
            self._close(each)

    def _waiting(self) -> T | None:
        with suppress(Empty):
            while True:
                each = self._free.get_nowait()
                if self._fits(each):
                    return each
                self._close(each)
        return None

    def close(self) -> None:
        """Close those that wait."""
        with suppress(Empty):
            while True:
                self._close(self._free.get_nowait())


class AppState:
    """The database of a server and its index, opened once per request under way.

    home  where the pages are reached when neither command line nor settings say; "": unknown
    zone  the time zone of who registers, until they choose another
    """

    def __init__(
        self,
        path: Path,
        *,
        clock: Callable[[], float],
        sending: SendingOptions | None = None,
        home: str = "",
        zone: str = "UTC",
        passwords: Passwords | None = None,
    ) -> None:
        self.path, self.clock, self.home, self.zone = path, clock, home, zone
        self.sending = sending or SendingOptions()
        self.passwords = passwords or Passwords()
        self._sealed = SealedChannels.from_key_file(path, self.sending.key_file)
        self.previewing = Lock()  # a preview reads thousands of pages: one at a time
        self._stores = Kept(self._connected, AlertStore.close, most=8)
        self._indexes = Kept(
            partial(SearchIndex, path, cache_kib=INDEX_CACHE_KIB),
            SearchIndex.close,
            most=4,
            fits=SearchIndex.is_current,
        )
        with opened(path, now=clock(), language="en", zone="UTC"):
            pass  # made, or brought up to date
        self.base_url = self.settings().base_url

    def store(self) -> AbstractContextManager[AlertStore]:
        """The store for one request; its connection goes on to the next."""
        return self._stores.one()

    def index(self) -> AbstractContextManager[SearchIndex]:
        """The search index, in the same way."""
        return self._indexes.one()

    def _connected(self) -> AlertStore:
        return AlertStore(connected(self.path, any_thread=True, channels=self._sealed))

    def settings(self) -> DeliverySettings:
        """As they are now: an administrator may change them at any time."""
        with self.store() as store:
            found = settings.read(store, **msgspec.structs.asdict(self.sending))
        self.base_url = found.base_url or self.home
        return msgspec.structs.replace(found, base_url=self.base_url)

    def soon(self, work: Callable[[], object], name: str) -> None:
        """Have something done beside the answer, in a thread; a failure goes to the log."""

        def done() -> None:
            try:
                work()
            except FocusError as error:
                _log.warning("%s: %s", name, printable(str(error)))

        Thread(target=done, name=name).start()

    def close(self) -> None:
        """Let go of the database."""
        self._stores.close()
        self._indexes.close()
