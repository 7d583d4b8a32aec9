"""The alert store: all tables of users, alerts, sites and matches over one connection."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from focus.storage import file_check, private
from focus.storage.alerts.alerts import Alerts
from focus.storage.alerts.database import AlertDatabase, ChannelSeal, can_write, connect_database
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

_CLOCK_TOLERANCE_S = 60.0  # a clock is set back by less all the time
_PAST_TIMES = (("alert", "checked_at"), ("site", "visited_at"), ("revisit", "checked_at"))
_FUTURE_TIMES = (
    ("alert", "next_at"),
    ("site", "next_at"),
    ("site", "free_at"),
    ("revisit", "next_at"),
    ("outbox", "due_at"),
)


class AlertStore:
    """Access to all tables of alerts over one connection."""

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
        self.attempts = Attempts(database)
        self.settings = Settings(database)
        self.audit = Audit(database)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Write everything in one transaction."""
        with self.database.transaction():
            yield

    def correct_future_times(self, now: float) -> None:
        """Move times back that were stored while the clock was ahead of `now`.

        Otherwise nothing would be due until the clock reaches these times again.
        """
        columns = " UNION ALL ".join(f"SELECT {past} t FROM {table}" for table, past in _PAST_TIMES)
        latest = self.database.fetch_value(f"SELECT ifnull(max(t), 0) FROM ({columns})")
        ahead_s = latest - now
        if ahead_s < _CLOCK_TOLERANCE_S:
            return
        with self.transaction():
            for table, column in (*_PAST_TIMES, *_FUTURE_TIMES):
                self.database.execute(
                    f"UPDATE {table} SET {column} = max(:now, {column} - :ahead) "
                    f"WHERE {column} > :now",
                    {"now": now, "ahead": ahead_s},
                )

    def close(self) -> None:
        """Close the file."""
        self.database.close()


@contextmanager
def open_store(
    path: Path, *, now: float, language: str, zone: str, channels: ChannelSeal | None = None
) -> Iterator[AlertStore]:
    """Open the alert store of a database, and add the local user if it is new.

    Args:
        path: The database, which is created if it is missing.
        now: Unix seconds.
        language: Language of the local user.
        zone: Time zone of the local user, an IANA name.
        channels: Seal of channels. None stores them unencrypted.

    Raises:
        StoreError: The file belongs to another program or a newer version, or cannot be written.
    """
    private.create_folder(path)
    file_check.check_file(path)
    private.create_private_file(path)
    for file in (path, index_path(path)):
        private.restrict_to_owner(file)
    store = AlertStore(connect_database(path, channels=channels))
    try:
        if can_write(path):
            store.users.add_local(language, zone, now=now)
        yield store
    finally:
        store.close()
