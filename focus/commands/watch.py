"""`focus watch add`, `edit`, `list`, `show`, `preview`, `log` and the like."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from focus.commands.alert_access import AlertName, chosen, here, opened
from focus.commands.options.alert import alert_options, changed, try_topic, what_option
from focus.commands.options.channel import ChannelCommand, store_options
from focus.commands.options.help import Group
from focus.commands.options.option import JSON, OUTPUT_FILE, Command, answer, option, print_note
from focus.commands.watch_inbox import delete, inbox, read
from focus.commands.watch_owner import me, secret, secrets_of, vote
from focus.commands.watch_send import check, run, test
from focus.text.formatting import escape_json_controls, format_count, printable


@click.group(cls=Group)
def watch() -> None:
    """Be told of new pages about a topic, on sites of your choice.

    An alert names sites, words and a way to be told; `focus watch run`, called by cron, does
    what is due.

    \b
    Example:
        focus watch add 足球 --site sports.sina.com.cn --words 足球 --every "daily 07:30" \\
            --mail me@example.org
        focus watch run
    """


# -- making and changing ------------------------------------------------------------


@watch.command(cls=ChannelCommand, takes="alert")
@click.argument("name")
@alert_options
@store_options
def add(db: Path, name: str, **options: Any) -> None:
    """Begin an alert: sites, what about, when, and how to be told.

    The first check marks what exists as seen and sends the five best pages; after that each
    new page is sent once. `focus watch preview NAME` shows what the last days would have sent.

    \b
    Example:
        focus watch add 欧冠 --site https://sports.sina.com.cn/ --words "+欧冠 决赛 抽签 -彩票" \\
            --every "daily 07:30" --mail me@example.org
    """
    from focus.commands.watch_output import said
    from focus.storage.alerts.records import LOCAL_USER, Alert

    now = time.time()
    made = changed(Alert(name, ()), options, now=now)
    with opened(db, now, makes=True) as store:
        store.alerts.add(LOCAL_USER, made, now=now)
        secrets = list(secrets_of(store, made, now=now))
    print_note("Alert {name}: {what}", name=printable(name), what=said(made))
    _tell_secrets(name, secrets)
    print_note("The next `focus watch run` visits it; let cron call that")
    if "feed" in made.channels:
        print_note("The feed is read at `focus serve`; `--feed FILE.xml` writes a file")


@watch.command(cls=ChannelCommand, takes="alert")
@click.argument("name", type=AlertName())
@what_option("--name", "new_name", metavar="NAME", help="Call it so from now on.")
@alert_options
@store_options
def edit(db: Path, name: str, new_name: str | None, **options: Any) -> None:
    """Change an alert; what is not given stays as it is.

    Sites, languages and channels that are given take the place of all there were. What was
    found stays.

    \b
    Example:
        focus watch edit 欧冠 --every hourly --quiet 22:00-07:00
    """
    import msgspec

    from focus.commands.watch_output import said
    from focus.storage.alerts.records import LOCAL_USER

    now = time.time()
    with opened(db, now) as store:
        owned = store.alerts.get(LOCAL_USER, name)
        made = changed(owned.alert, options, now=now)
        if new_name is not None:
            made = msgspec.structs.replace(made, name=new_name)
        store.alerts.replace(owned.id, made, now=now)
        is_new = set(made.channels) - set(owned.alert.channels)
        secrets = list(secrets_of(store, made, now=now)) if is_new else []
    print_note("Alert {name}: {what}", name=printable(made.name), what=said(made))
    _tell_secrets(made.name, secrets)


def _tell_secrets(name: str, secrets: Sequence[str]) -> None:
    """Show once what signs, and say how to see it again."""
    for line in secrets:
        print_note("Signed by: {line}", line=line)
    if secrets:
        again = f"focus watch secret {printable(name)}"
        print_note("`{command}` shows that again", command=again)


@watch.command(cls=Command)
@click.argument("name", type=AlertName())
@store_options
def pause(db: Path, name: str) -> None:
    """Stop checking an alert; `resume` goes on.

    Pages that come in meanwhile are not told of later.

    \b
    Example:
        focus watch pause 欧冠
    """
    _pause(db, name, paused=True)


@watch.command(cls=Command)
@click.argument("name", type=AlertName())
@store_options
def resume(db: Path, name: str) -> None:
    """Go on with an alert that was paused; it is due at once.

    \b
    Example:
        focus watch resume 欧冠
    """
    _pause(db, name, paused=False)


def _pause(db: Path, name: str, *, paused: bool) -> None:
    from focus.storage.alerts.records import LOCAL_USER

    now = time.time()
    with opened(db, now) as store:
        store.alerts.set_paused(store.alerts.get(LOCAL_USER, name).id, paused, now=now)


@watch.command(cls=Command)
@click.argument("name", type=AlertName())
@store_options
def rm(db: Path, name: str) -> None:
    """Forget an alert with all that was found for it.

    Crawled pages stay; `focus watch export` keeps the alert itself.

    \b
    Example:
        focus watch rm 欧冠
    """
    from focus.storage.alerts.records import LOCAL_USER

    with opened(db, time.time()) as store:
        store.alerts.remove(store.alerts.get(LOCAL_USER, name).id)


@watch.command(name="import", cls=Command)
@click.argument("file", type=click.Path(allow_dash=True, dir_okay=False, path_type=Path))
@option("--replace", is_flag=True, help="Take the place of alerts of the same name.")
@store_options
def import_(db: Path, file: Path, replace: bool) -> None:
    """Begin the alerts of a JSON file; - is the standard input.

    All of them, or none if one makes no sense or has a name that is taken.

    \b
    Example:
        focus watch import alerts.json
    """
    from focus.alerts.alert import from_json
    from focus.commands.settings import read_text
    from focus.storage.alerts.records import LOCAL_USER

    made = from_json(read_text(file, "alerts").encode(), str(file))
    for each in made:
        try_topic(each)
    now = time.time()
    with opened(db, now, makes=True) as store:
        store.alerts.add_all(LOCAL_USER, made, replace=replace, now=now)
    click.echo(format_count(len(made), "alert"), err=True)


@watch.command(cls=Command)
@click.argument("names", metavar="[NAME]...", nargs=-1, type=AlertName())
@OUTPUT_FILE
@store_options
def export(db: Path, names: tuple[str, ...], output: Path) -> None:
    """Write alerts as JSON, for `import` and for editors.

    Mind that webhooks and apprise URLs are secrets.

    \b
    Example:
        focus watch export > alerts.json
    """
    from focus.alerts.alert import to_json
    from focus.storage.whole_file import write_whole

    with opened(db, time.time()) as store:
        text = to_json(each.alert for each in chosen(store, names))
    if str(output) == "-":
        click.echo(escape_json_controls(text), nl=False)
    else:
        write_whole(output, text)


# -- looking ------------------------------------------------------------------------


@watch.command(name="list", cls=Command)
@JSON
@store_options
def list_(db: Path, as_json: bool) -> None:
    """List the alerts, when they are due, and what they brought.

    \b
    Example:
        focus watch list
    """
    from focus.alerts.health import alert_health
    from focus.commands.watch_output import list_lines

    now = time.time()
    with opened(db, now) as store:
        found = [alert_health(store, owned, now=now) for owned in chosen(store, ())]
        zone = here(store)
    answer(found if as_json else list_lines(found, zone), as_json)


@watch.command(cls=Command)
@click.argument("name", type=AlertName())
@option("--limit", type=click.IntRange(0), default=10, metavar="N", help="So many pages.")
@JSON
@store_options
def show(db: Path, name: str, limit: int, as_json: bool) -> None:
    """Show an alert: how it fares, and what came last.

    \b
    Example:
        focus watch show 欧冠
    """
    from focus.alerts.health import alert_health
    from focus.commands.watch_output import show_lines

    now = time.time()
    with opened(db, now) as store:
        owned = chosen(store, (name,))[0]
        found = alert_health(store, owned, now=now)
        matches = store.matches.list_new(owned.id, limit=limit)
        zone = here(store)
    if as_json:
        answer({"health": found, "matches": matches}, as_json)
        return
    answer(show_lines(found, matches, zone), as_json)


@watch.command(cls=Command)
@click.argument("name", type=AlertName())
@option("--days", type=click.FloatRange(0.1, 366), default=7, metavar="N", help="Of so many days.")
@JSON
@store_options
def preview(db: Path, name: str, days: float, as_json: bool) -> None:
    """Show what the last days would have sent, and why.

    By the pages that are stored: nothing is asked for, kept or sent.

    \b
    Example:
        focus watch preview 欧冠 --days 7
    """
    from focus.alerts.preview import preview_alert
    from focus.commands.watch_output import preview_lines

    now = time.time()
    with opened(db, now) as store:
        owned = chosen(store, (name,))[0]
        zone = here(store)
        found = preview_alert(store, owned, now=now, zone=zone, days=days)
    answer(found if as_json else preview_lines(found, days, zone), as_json)


@watch.command(cls=Command)
@option("--limit", kind="count", default=50, help="So many lines.")
@JSON
@store_options
def log(db: Path, limit: int, as_json: bool) -> None:
    """Show what was delivered, what failed, and what is tried again.

    \b
    Example:
        focus watch log
    """
    from focus.alerts.delivery import mask_channel
    from focus.commands.watch_output import log_lines
    from focus.storage.alerts.records import LOCAL_USER

    with opened(db, time.time()) as store:
        found = store.outbox.list_deliveries(LOCAL_USER, limit=limit)
        zone = here(store)
    masked = [each._replace(channel=mask_channel(each.channel)) for each in found]
    if as_json:
        answer([each._asdict() for each in masked], as_json)
        return
    answer(log_lines(masked, zone), as_json)


for command in (inbox, read, delete, run, check, test, secret, vote, me):
    watch.add_command(command)
