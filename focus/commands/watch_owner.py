"""`focus watch me`, and the secrets that sign webhooks."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from focus.commands.alert_access import open_alerts
from focus.commands.options.channel import key_file, store_options
from focus.commands.options.option import Command, option
from focus.errors import ConfigError
from focus.text.formatting import printable

if TYPE_CHECKING:
    from focus.storage.alerts.records import Alert
    from focus.storage.alerts.store import AlertStore


def has_stored_mail_server(store: AlertStore) -> bool:
    """Return whether a mail server is stored, or set by the variable of --smtp-url."""
    return bool(os.environ.get("FOCUS_SMTP_URL") or store.settings.read("smtp"))


def secret_lines(
    store: AlertStore, alert: Alert, *, now: float, rotate: bool = False
) -> Iterator[str]:
    """Yield a line for each signed channel: the channel, masked, and its secret."""
    from focus.alerts import settings
    from focus.alerts.delivery import mask_channel, signed_channels, signing_secrets
    from focus.storage.alerts.records import LOCAL_USER

    if not (signed := signed_channels(alert.channels)):
        return
    delivery_settings = settings.read(store, key_file=key_file())
    for channel in signed:
        if rotate:
            signing_secrets.rotate_secret(store, delivery_settings, LOCAL_USER, channel, now=now)
        newest, *_ = signing_secrets.current_secrets(
            store, delivery_settings, LOCAL_USER, channel, now=now
        )
        yield f"{printable(mask_channel(channel))}  {newest}"


@click.command(cls=Command)
@option("--language", type=click.Choice(("zh", "en")), help="Set the language of messages.")
@option("--zone", metavar="NAME", help="Set the time zone of schedules, quiet hours and dates.")
@option(
    "--quiet",
    metavar="HOURS",
    help='Send nothing in these hours unless an alert has its own; "" for none.',
)
@store_options
def me(db: Path, language: str | None, zone: str | None, quiet: str | None) -> None:
    """Show or change your language, time zone and quiet hours.

    The defaults are the machine's time zone and the locale of the first `focus watch`. Schedules
    such as daily 07:30 follow the time zone.

    \b
    Example:
        focus watch me --language zh --zone Asia/Shanghai --quiet 22:00-07:00
    """
    from zoneinfo import available_timezones

    from focus.alerts.clock_change import change_zone
    from focus.alerts.schedule import parse_quiet
    from focus.storage.alerts.records import LOCAL_USER

    if zone is not None and zone not in available_timezones():
        raise ConfigError(
            "--zone {zone!r}: no such time zone; write Asia/Shanghai", zone=printable(zone)
        )
    if quiet is not None:
        parse_quiet(quiet)
    quiet = None if quiet is None else quiet.strip()
    has_changes = not (language is zone is quiet is None)
    with open_alerts(db, time.time(), creates=has_changes) as store:
        if has_changes:
            store.users.update(LOCAL_USER, language=language, quiet=quiet)
        if zone is not None:
            change_zone(store, LOCAL_USER, zone, now=time.time())
        user = store.users.find_active(LOCAL_USER)
    assert user is not None, "nobody disables the user at the command line"
    for title in ("language", "zone", "quiet"):
        click.echo(f"{title:9} {getattr(user, title) or 'none'}")
