"""Opens the alert database for a command, as one of its users."""

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
from focus.commands.options.config_file import database, find
from focus.errors import FocusError
from focus.i18n import current_language

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

    from focus.storage.alerts.records import StoredAlert
    from focus.storage.alerts.store import AlertStore


@contextmanager
def opened(db: Path, now: float, *, makes: bool = False) -> Iterator[AlertStore]:
    """The store of --db, with the user at the command line as this machine knows them.

    makes  whether a database that is not there is made; else an empty one stands for it
    """
    from focus.alerts.sealed_channels import SealedChannels
    from focus.storage.alerts import store

    path = db.expanduser()
    sealed = SealedChannels.from_key_file(path, key_file())
    with ExitStack() as stack:
        if not makes and not path.exists():
            path = Path(stack.enter_context(TemporaryDirectory())) / path.name
        found = store.open_store(
            path, now=now, language=current_language(), zone=own_zone(), channels=sealed
        )
        yield stack.enter_context(found)


class AlertName(click.ParamType[str]):
    """The name of an alert; a shell completes those that the database has."""

    name = "text"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """The alerts of who types; none without a database, which is not made."""
        db = ctx.params.get("db") or database(find(Path.cwd()))
        if not db.expanduser().is_file():
            return []
        with suppress(FocusError), opened(db, time.time()) as store:
            names = [owned.alert.name for owned in chosen(store, ())]
            return [CompletionItem(name) for name in names if name.startswith(incomplete)]
        return []


def own_zone() -> str:
    """The time zone of this machine by its IANA name; UTC when it does not say."""
    from zoneinfo import ZoneInfo

    link = str(Path("/etc/localtime").resolve())
    for name in (os.environ.get("TZ", "").lstrip(":"), link.partition("zoneinfo/")[2]):
        try:
            return ZoneInfo(name).key
        except (ValueError, OSError, KeyError):
            continue
    return "UTC"


def here(store: AlertStore) -> ZoneInfo:
    """The time zone of the user at the command line."""
    from focus.alerts.schedule import find_zone
    from focus.storage.alerts.records import LOCAL_USER

    return find_zone(store.users.load_zones()[LOCAL_USER])


def chosen(store: AlertStore, names: Sequence[str]) -> list[StoredAlert]:
    """The alerts of these names, all for none; ConfigError for one that is not there."""
    from focus.storage.alerts.records import LOCAL_USER

    if not names:
        return store.alerts.list_alerts(LOCAL_USER)
    return [store.alerts.get(LOCAL_USER, name) for name in dict.fromkeys(names)]
