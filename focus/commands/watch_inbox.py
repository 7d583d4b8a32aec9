"""`focus watch inbox`, `focus watch read`, `focus watch delete`: the matches of alerts."""

from __future__ import annotations

import time
from pathlib import Path

import click

from focus.commands.alert_access import AlertName, open_alerts, select_alerts, user_zone
from focus.commands.options.channel import store_options
from focus.commands.options.option import JSON, Command, option, print_note, print_result
from focus.errors import ConfigError
from focus.text.formatting import format_count, printable


@click.command(cls=Command)
@click.argument("name", required=False, type=AlertName())
@option("--days", type=click.FloatRange(0.01, 3660), metavar="N", help="Found in so many days.")
@option("--words", metavar="WORDS", default="", help="With these in title, passage or address.")
@option("--unread", is_flag=True, help="Only what was not read yet.")
@option("--existing", is_flag=True, help="What existed when an alert began, too.")
@option("--limit", kind="count", default=30, help="So many pages.")
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
    """List the pages that were found, of all alerts or of one.

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
@store_options
def read(db: Path, name: str | None) -> None:
    """Mark all that was found as read, of all alerts or of one.

    \b
    Example:
        focus watch read 欧冠
    """
    from focus.storage.alerts.records import LOCAL_USER

    now = time.time()
    with open_alerts(db, now) as store:
        alert = select_alerts(store, (name,))[0].id if name else None
        store.inbox.mark_all_read(LOCAL_USER, alert, now=now)


@click.command(cls=Command)
@click.argument("name", type=AlertName())
@click.argument("urls", metavar="URL...", nargs=-1, required=True)
@store_options
def delete(db: Path, name: str, urls: tuple[str, ...]) -> None:
    """Delete pages of an alert; they do not come again.

    All of them, or none if the alert has one of them not. `focus watch inbox` lists them.

    \b
    Example:
        focus watch delete 欧冠 https://sports.sina.com.cn/a/1.html
    """
    from focus.storage.alerts.records import LOCAL_USER

    now = time.time()
    with open_alerts(db, now) as store, store.transaction():
        stored_alert = select_alerts(store, (name,))[0]
        for url in dict.fromkeys(urls):
            number = store.matches.find_id(stored_alert.id, url)
            if number is None:
                raise ConfigError(
                    "alert {name!r} has no page {url}; see `focus watch inbox {name}`",
                    name=printable(name),
                    url=printable(url, 200),
                )
            store.inbox.apply_action(LOCAL_USER, [number], "delete", now=now)
    print_note("{pages} deleted", pages=format_count(len(set(urls)), "page"))
