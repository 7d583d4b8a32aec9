"""Opens the alert store: what is known of people, alerts, sites and matches."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from focus.storage import file_check, private
from focus.storage.alerts.alerts import Alerts
from focus.storage.alerts.browsers import Browsers
from focus.storage.alerts.database import AlertDatabase, ChannelSeal, connected
from focus.storage.alerts.inbox import Inbox
from focus.storage.alerts.installation import Attempts, Audit, Settings
from focus.storage.alerts.matches import Matches
from focus.storage.alerts.outbox import Outbox
from focus.storage.alerts.pages import Pages
from focus.storage.alerts.revisits import Revisits
from focus.storage.alerts.search_access import SearchAccess
from focus.storage.alerts.sites import Sites
from focus.storage.alerts.tokens import Tokens
from focus.storage.alerts.users import Users
from focus.storage.search_file import index_path


class AlertStore:
    """The statements of all subjects, over one connection."""

    def __init__(self, database: AlertDatabase) -> None:
        self.database, self.path = database, database.path
        self.alerts = Alerts(database)
        self.sites = Sites(database)
        self.revisits = Revisits(database)
        self.pages = Pages(database)
        self.matches = Matches(database)
        self.inbox = Inbox(database)
        self.outbox = Outbox(database)
        self.search = SearchAccess(database)
        self.users = Users(database)
        self.tokens = Tokens(database)
        self.browsers = Browsers(database)
        self.attempts = Attempts(database)
        self.settings = Settings(database)
        self.audit = Audit(database)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Everything that is written in it, or nothing."""
        with self.database.transaction():
            yield

    def close(self) -> None:
        """Let go of the file."""
        self.database.close()


@contextmanager
def opened(
    path: Path, *, now: float, language: str, zone: str, channels: ChannelSeal | None = None
) -> Iterator[AlertStore]:
    """The store of a database, made if there is none, with the local user in it.

    `channels` seals channels; None: they are kept as they are.

    StoreError if the file is another program's, of a newer focus, or cannot be written.
    """
    private.create_folder(path)
    file_check.check_file(path)
    private.create_private_file(path)
    for file in (path, index_path(path)):
        private.restrict_to_owner(file)
    store = AlertStore(connected(path, channels=channels))
    try:
        store.users.add_local(language, zone, now=now)
        yield store
    finally:
        store.close()
