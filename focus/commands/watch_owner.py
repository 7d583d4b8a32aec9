"""`focus watch me` and `focus watch vote`."""

from __future__ import annotations

import time
from pathlib import Path

import click

from focus.commands.alert_access import AlertName, chosen, opened
from focus.commands.options.option import DB, Command, option
from focus.errors import ConfigError
from focus.text.formatting import count, printable

_VOTES = {"yes": True, "no": False, "none": None}


@click.command(cls=Command)
@click.argument("name", type=AlertName())
@click.argument("url")
@click.argument("says", metavar="yes|no|none", type=click.Choice(tuple(_VOTES)))
@DB
def vote(db: Path, name: str, url: str, says: str) -> None:
    """Say whether a page is relevant; its alert learns from it.

    It is a page that was found for the alert: `focus watch show` lists them. The next run
    judges by all votes, as after `focus label`.

    \b
    Example:
        focus watch vote 欧冠 https://sports.sina.com.cn/a/1.html no
    """
    with opened(db, time.time()) as store:
        owned = chosen(store, (name,))[0]
        if not store.matches.vote(owned.id, url, _VOTES[says]):
            raise ConfigError(
                f"alert {printable(name)!r} has no page {printable(url, 200)}; "
                f"see `focus watch show {printable(name)}`"
            )
        on, off = store.matches.count_votes(owned.id)
    click.echo(f"{count(on + off, 'vote')}: {on} relevant, {off} not", err=True)


@click.command(cls=Command)
@option("--language", type=click.Choice(("zh", "en")), help="Of messages.")
@option("--zone", metavar="NAME", help="Time zone of schedules, quiet hours and dates.")
@option(
    "--quiet",
    metavar="HOURS",
    help='Deliver nothing in these hours, where an alert has none of its own; "" for none.',
)
@DB
def me(db: Path, language: str | None, zone: str | None, quiet: str | None) -> None:
    """Show or change your language, time zone and quiet hours.

    At first they are those of the machine and the locale of the first `focus watch`.

    \b
    Example:
        focus watch me --language zh --zone Asia/Shanghai --quiet 22:00-07:00
    """
    from zoneinfo import available_timezones

    from focus.alerts.schedule import parse_quiet
    from focus.storage.alerts.records import LOCAL

    if zone is not None and zone not in available_timezones():
        raise ConfigError(f"--zone {printable(zone)!r}: no such time zone; write Asia/Shanghai")
    if quiet is not None:
        parse_quiet(quiet)
    quiet = None if quiet is None else quiet.strip()
    with opened(db, time.time()) as store:
        store.users.change(LOCAL, language=language, zone=zone, quiet=quiet)
        user = store.users.active(LOCAL)
    assert user is not None, "nobody disables the user at the command line"
    for title in ("language", "zone", "quiet"):
        click.echo(f"{title:9} {getattr(user, title) or 'none'}")
