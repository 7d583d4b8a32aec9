"""Opens the alert database for a command, for the user at the command line."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from focus.commands.options.channel import key_file
from focus.commands.options.config_file import database_path, find_config_file
from focus.errors import FocusError
from focus.i18n import current_language

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

    from focus.storage.alerts.records import StoredAlert
    from focus.storage.alerts.store import AlertStore


@contextmanager
def open_alerts(db: Path, now: float, *, creates: bool = False) -> Iterator[AlertStore]:
    """Open the store of --db for the user at the command line.

    `creates` says whether a missing database is created; otherwise an empty one replaces it.
    """
    from focus.alerts.sealed_channels import SealedChannels
    from focus.storage.alerts import store

    path = db.expanduser()
    sealed = SealedChannels.from_key_file(path, key_file())
    with ExitStack() as stack:
        if not creates and not path.exists():
            path = Path(stack.enter_context(TemporaryDirectory())) / path.name
        opened_store = store.open_store(
            path, now=now, language=current_language(), zone=machine_zone(), channels=sealed
        )
        yield stack.enter_context(opened_store)


class AlertName(click.ParamType[str]):
    """Type of an argument that names an alert; a shell completes the names in the database."""

    name = "text"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Return the user's alerts that begin with the text; none without a database."""
        db = ctx.params.get("db") or database_path(find_config_file())
        if not db.expanduser().is_file():
            return []
        with suppress(FocusError), open_alerts(db, time.time()) as store:
            names = [owned.alert.name for owned in select_alerts(store, ())]
            return [CompletionItem(name) for name in names if name.startswith(incomplete)]
        return []


def machine_zone() -> str:
    """Return the IANA name of this machine's time zone, or UTC if it is unknown."""
    from zoneinfo import ZoneInfo

    link = str(Path("/etc/localtime").resolve())
    for name in (os.environ.get("TZ", "").lstrip(":"), link.partition("zoneinfo/")[2]):
        try:
            return ZoneInfo(name).key
        except (ValueError, OSError, KeyError):
            continue
    return "UTC"


def user_zone(store: AlertStore) -> ZoneInfo:
    """Return the time zone of the user at the command line."""
    from focus.alerts.schedule import find_zone
    from focus.storage.alerts.records import LOCAL_USER

    return find_zone(store.users.load_zones().get(LOCAL_USER) or machine_zone())


def select_alerts(store: AlertStore, names: Sequence[str]) -> list[StoredAlert]:
    """Return the alerts with these names, or all without names.

    Raises ConfigError for a name that does not exist.
    """
    from focus.storage.alerts.records import LOCAL_USER

    if not names:
        return store.alerts.list_alerts(LOCAL_USER)
    return [store.alerts.get(LOCAL_USER, name) for name in dict.fromkeys(names)]
