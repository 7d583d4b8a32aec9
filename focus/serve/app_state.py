"""State shared by all requests of the web application: database, settings, clock."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from pathlib import Path
from queue import Empty, Full, LifoQueue
from threading import Lock, Thread
from typing import Generic, TypeVar
from urllib.parse import urlsplit

import msgspec

from focus.alerts import settings
from focus.alerts.delivery import DeliveryOutcome, NotDelivered
from focus.alerts.sealed_channels import SealedChannels
from focus.alerts.settings import DeliverySettings
from focus.errors import FocusError
from focus.serve.accounts import Passwords
from focus.serve.log import LOG
from focus.serve.scheduler import SendingOptions
from focus.storage.alerts.database import connect_database
from focus.storage.alerts.store import AlertStore, open_store
from focus.storage.search_index import SearchIndex
from focus.text.formatting import printable

INDEX_CACHE_KIB = 8 * 1024  # per file of an open index; a larger cache is not faster

T = TypeVar("T")


class ConnectionPool(Generic[T]):
    """A pool of connections that are reused by later requests, each in one thread at a time.

    max_idle   maximum number of idle connections
    is_usable  returns whether an idle connection may be used again
    """

    def __init__(
        self,
        make: Callable[[], T],
        close: Callable[[T], None],
        *,
        max_idle: int,
        is_usable: Callable[[T], bool] = lambda connection: True,
    ) -> None:
        self._make, self._close, self._is_usable = make, close, is_usable
        self._idle: LifoQueue[T] = LifoQueue(max_idle)

    @contextmanager
    def borrow(self) -> Iterator[T]:
        """Return a context manager with an idle or new connection, closed on an error."""
        connection = self._take_idle() or self._make()
        try:
            yield connection
        except BaseException:
            self._close(connection)
            raise
        try:
            self._idle.put_nowait(connection)
        except Full:
            self._close(connection)

    def _take_idle(self) -> T | None:
        with suppress(Empty):
            while True:
                connection = self._idle.get_nowait()
                if self._is_usable(connection):
                    return connection
                self._close(connection)
        return None

    def close(self) -> None:
        """Close the idle connections."""
        with suppress(Empty):
            while True:
                self._close(self._idle.get_nowait())


def log_outcome(name: str, outcome: DeliveryOutcome) -> None:
    """Log a message that was not delivered and for which nobody waits."""
    if isinstance(outcome, NotDelivered):
        LOG.warning("%s: %s", name, printable(outcome.reason))


class AppState:
    """The database of a server, its search index, and its settings.

    local_url  URL of the pages if neither command line nor settings have one; empty if unknown
    zone       time zone of new accounts until they choose another
    """

    def __init__(
        self,
        path: Path,
        *,
        clock: Callable[[], float],
        sending: SendingOptions | None = None,
        local_url: str = "",
        zone: str = "UTC",
        passwords: Passwords | None = None,
    ) -> None:
        self.path, self.clock, self.local_url, self.zone = path, clock, local_url, zone
        self.sending = sending or SendingOptions()
        self.passwords = passwords or Passwords()
        self._sealed = SealedChannels.from_key_file(path, self.sending.key_file)
        self.preview_lock = Lock()  # a preview reads thousands of pages, so only one runs at a time
        self._stores = ConnectionPool(self._connect, AlertStore.close, max_idle=8)
        self._indexes = ConnectionPool(
            partial(SearchIndex, path, cache_kib=INDEX_CACHE_KIB),
            SearchIndex.close,
            max_idle=4,
            is_usable=SearchIndex.is_current,
        )
        with open_store(path, now=clock(), language="en", zone="UTC"):
            pass  # create the database or update its schema
        self.base_url = self.settings().base_url

    def store(self) -> AbstractContextManager[AlertStore]:
        """Return a context manager with the store for one request; its connection is reused."""
        return self._stores.borrow()

    def index(self) -> AbstractContextManager[SearchIndex]:
        """Return a context manager with the search index for one request."""
        return self._indexes.borrow()

    def _connect(self) -> AlertStore:
        return AlertStore(connect_database(self.path, any_thread=True, channels=self._sealed))

    def settings(self) -> DeliverySettings:
        """Return the current delivery settings, which an administrator may change at any time."""
        with self.store() as store:
            current = settings.read(store, **msgspec.structs.asdict(self.sending))
        self.base_url = current.base_url or self.local_url
        return msgspec.structs.replace(current, base_url=self.base_url)

    @property
    def path_prefix(self) -> str:
        """Path of the base URL, such as `/focus` behind a proxy; empty for the root of a host."""
        return urlsplit(self.base_url).path.rstrip("/")

    def run_in_background(self, work: Callable[[], DeliveryOutcome], name: str) -> None:
        """Send a message in a thread without waiting for it; a failure is logged."""

        def run_and_log() -> None:
            try:
                outcome = work()
            except FocusError as error:
                LOG.warning("%s: %s", name, printable(str(error)))
            else:
                log_outcome(name, outcome)

        Thread(target=run_and_log, name=name).start()

    def close(self) -> None:
        """Close all database connections."""
        self._stores.close()
        self._indexes.close()
