"""`focus watch inbox` and `focus watch mark`: the matches of alerts."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from focus.commands.alert_access import AlertName, open_alerts, select_alerts, user_zone
from focus.commands.options.channel import store_options
from focus.commands.options.option import JSON, Command, option, print_note, print_result
from focus.errors import ConfigError
from focus.text.formatting import format_count, printable

if TYPE_CHECKING:
    from focus.storage.alerts.store import AlertStore

_VOTES = {"yes": True, "no": False, "none": None}


@click.command(cls=Command)
@click.argument("name", required=False, type=AlertName())
@option(
    "--days",
    type=click.FloatRange(0.01, 3660),
    metavar="N",
    help="List only pages of the last N days.",
)
@option(
    "--words",
    metavar="WORDS",
    default="",
    help="List only pages with these words in title, passage or URL.",
)
@option("--unread", is_flag=True, help="List only unread pages.")
@option("--existing", is_flag=True, help="Also list pages that existed at the first check.")
@option("--limit", kind="count", default=30, help="List at most N pages.")
@JSON
@store_options
def inbox(
    db: Path,
    name: str | None,
    days: float | None,
    words: str,
    unread: bool,
    existing: bool,
    limit: int,
    as_json: bool,
) -> None:
    """List the pages found for all alerts, or for one.

    \b
    Example:
        focus watch inbox 欧冠 --days 7 --unread
    """
    from focus.commands.watch_output import inbox_lines
    from focus.storage.alerts.records import LOCAL_USER, InboxFilter

    now = time.time()
    with open_alerts(db, now) as store:
        alert = select_alerts(store, (name,))[0].id if name else None
        since = 0.0 if days is None else now - days * 86400.0
        inbox_filter = InboxFilter(alert, since, words, unread, existing)
        entries = store.inbox.list_entries(LOCAL_USER, inbox_filter, per_page=limit)
        zone = user_zone(store)
    shown = entries[:limit]
    print_result(
        [entry._asdict() for entry in shown] if as_json else inbox_lines(shown, zone), as_json
    )
    if len(entries) > limit:
        print_note("There are more; see --limit and --days")


@click.command(cls=Command)
@click.argument("name", required=False, type=AlertName())
@click.argument("urls", metavar="[URL]...", nargs=-1)
@option("--read", is_flag=True, help="Mark all pages as read, of all alerts or of one.")
@option("--delete", is_flag=True, help="Delete these pages of the alert for good.")
@option(
    "--relevant",
    "vote",
    type=click.Choice(tuple(_VOTES)),
    help="Judge these pages; the alert learns from it. none: take the judgment back.",
)
@store_options
def mark(
    db: Path, name: str | None, urls: tuple[str, ...], read: bool, delete: bool, vote: str | None
) -> None:
    """Mark pages of the inbox as read or relevant, or delete them.

    Pages are named by their URLs, which `focus watch inbox` lists. Either all of them are
    changed or none.

    \b
    Example:
        focus watch mark 欧冠 --read
        focus watch mark 欧冠 https://sports.sina.com.cn/a/1.html --relevant no
    """
    if read + delete + (vote is not None) != 1:
        raise ConfigError("give one of --read, --delete and --relevant")
    if read == bool(urls) or not (read or name):
        raise ConfigError(
            "--read takes an alert or nothing; --delete and --relevant take an alert and URLs"
        )
    with open_alerts(db, time.time()) as store:
        if read:
            _mark_as_read(store, name)
        elif delete:
            _delete_matches(store, str(name), urls)
        else:
            _judge_matches(store, str(name), urls, str(vote))


def _mark_as_read(store: AlertStore, name: str | None) -> None:
    from focus.storage.alerts.records import LOCAL_USER

    alert_id = select_alerts(store, (name,))[0].id if name else None
    store.inbox.mark_all_read(LOCAL_USER, alert_id, now=time.time())


def _delete_matches(store: AlertStore, name: str, urls: Sequence[str]) -> None:
    from focus.storage.alerts.records import LOCAL_USER

    with store.transaction():
        stored_alert = select_alerts(store, (name,))[0]
        for url in dict.fromkeys(urls):
            match_id = store.matches.find_id(stored_alert.id, url)
            if match_id is None:
                raise _unknown_page(name, url)
            store.inbox.apply_action(LOCAL_USER, [match_id], "delete", now=time.time())
    print_note("{pages} deleted", pages=format_count(len(set(urls)), "page"))


def _judge_matches(store: AlertStore, name: str, urls: Sequence[str], vote: str) -> None:
    from focus.alerts.votes import vote_effect

    with store.transaction():
        stored_alert = select_alerts(store, (name,))[0]
        for url in dict.fromkeys(urls):
            if not store.matches.set_vote(stored_alert.id, url, _VOTES[vote]):
                raise _unknown_page(name, url)
    on, off = store.matches.count_votes(stored_alert.id)
    votes = format_count(on + off, "vote")
    print_note("{votes}: {on:,} relevant, {off:,} not", votes=votes, on=on, off=off)
    effect = vote_effect(store, stored_alert, trusted=True)
    if effect is not None and effect.pages:
        print_note(
            "With these votes, {lost:,} of {pages} that were reported before would not be reported",
            lost=effect.lost,
            pages=format_count(effect.pages, "other page"),
        )


def _unknown_page(name: str, url: str) -> ConfigError:
    return ConfigError(
        "alert {name!r} has no page {url}; see `focus watch inbox {name}`",
        name=printable(name),
        url=printable(url, 200),
    )
