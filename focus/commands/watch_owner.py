"""`focus watch me`, `focus watch vote` and `focus watch secret`."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from focus.commands.alert_access import AlertName, open_alerts, select_alerts
from focus.commands.options.channel import key_file, store_options
from focus.commands.options.option import Command, option, print_note
from focus.errors import ConfigError
from focus.text.formatting import format_count, printable

if TYPE_CHECKING:
    from focus.storage.alerts.records import Alert
    from focus.storage.alerts.store import AlertStore

_VOTES = {"yes": True, "no": False, "none": None}


@click.command(cls=Command)
@click.argument("name", type=AlertName())
@click.argument("url")
@click.argument("answer", metavar="yes|no|none", type=click.Choice(tuple(_VOTES)))
@store_options
def vote(db: Path, name: str, url: str, answer: str) -> None:
    """Say whether a page is relevant; its alert learns from it.

    It is a page that was found for the alert: `focus watch show` lists them. The next run
    judges by all votes, as after `focus label`; a few of them move little.

    \b
    Example:
        focus watch vote 欧冠 https://sports.sina.com.cn/a/1.html no
    """
    from focus.alerts.votes import vote_effect

    with open_alerts(db, time.time()) as store:
        stored_alert = select_alerts(store, (name,))[0]
        if not store.matches.set_vote(stored_alert.id, url, _VOTES[answer]):
            raise ConfigError(
                "alert {name!r} has no page {url}; see `focus watch show {name}`",
                name=printable(name),
                url=printable(url, 200),
            )
        on, off = store.matches.count_votes(stored_alert.id)
        effect = vote_effect(store, stored_alert, trusted=True)
    votes = format_count(on + off, "vote")
    print_note("{votes}: {on:,} relevant, {off:,} not", votes=votes, on=on, off=off)
    if effect is not None and effect.pages:
        pages = format_count(effect.pages, "other page")
        print_note(
            "By these, {lost:,} of {pages} found before would not be told of",
            lost=effect.lost,
            pages=pages,
        )
    if answer != "none":
        undo = f"focus watch vote {printable(name)} {printable(url, 200)} none"
        print_note("`{command}` takes it back", command=undo)


@click.command(cls=Command)
@click.argument("name", type=AlertName())
@option("--rotate", is_flag=True, help="Change them; those before go on to sign for a day.")
@store_options
def secret(db: Path, name: str, rotate: bool) -> None:
    """Show the secrets by which an alert's webhooks are signed.

    Receivers verify by them that a message is ours (docs/watch.md).

    \b
    Example:
        focus watch secret 欧冠
    """
    now = time.time()
    with open_alerts(db, now) as store:
        stored_alert = select_alerts(store, (name,))[0]
        lines = list(secret_lines(store, stored_alert.alert, now=now, rotate=rotate))
        if not lines:
            raise ConfigError(
                "alert {name!r} has no channel that is signed (--webhook)", name=printable(name)
            )
    for line in lines:
        click.echo(line)


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
@option("--language", type=click.Choice(("zh", "en")), help="Of messages.")
@option("--zone", metavar="NAME", help="Time zone of schedules, quiet hours and dates.")
@option(
    "--quiet",
    metavar="HOURS",
    help='Deliver nothing in these hours, where an alert has none of its own; "" for none.',
)
@store_options
def me(db: Path, language: str | None, zone: str | None, quiet: str | None) -> None:
    """Show or change your language, time zone and quiet hours.

    At first they are those of the machine and the locale of the first `focus watch`. Checks by
    the clock (daily 07:30) move along with the time zone.

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
        store.users.update(LOCAL_USER, language=language, quiet=quiet)
        if zone is not None:
            change_zone(store, LOCAL_USER, zone, now=time.time())
        user = store.users.find_active(LOCAL_USER)
    assert user is not None, "nobody disables the user at the command line"
    for title in ("language", "zone", "quiet"):
        click.echo(f"{title:9} {getattr(user, title) or 'none'}")
