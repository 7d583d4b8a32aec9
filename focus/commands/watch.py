"""`focus watch add`, `edit`, `list`, `show`, `preview`, `log` and the like."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from focus.commands.alert_access import AlertName, open_alerts, select_alerts, user_zone
from focus.commands.options.alert import (
    alert_options,
    apply_options,
    check_topic,
    private_addresses,
    what_option,
)
from focus.commands.options.channel import ChannelCommand, store_options
from focus.commands.options.help import Group
from focus.commands.options.option import (
    JSON,
    OUTPUT_FILE,
    Command,
    option,
    print_note,
    print_result,
)
from focus.commands.watch_inbox import inbox, mark
from focus.commands.watch_owner import has_stored_mail_server, me, secret_lines
from focus.commands.watch_send import run, test
from focus.errors import ConfigError
from focus.text.formatting import escape_json_controls, format_count, printable


@click.group(cls=Group)
def watch() -> None:
    """Get notified of new pages about a topic.

    An alert consists of sites, words and channels. `focus watch run`, started by cron, checks the
    alerts that are due and sends what is new.

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
    """Add an alert.

    The first check marks existing pages as seen and sends the five best as examples. After that,
    each new page is sent once. `focus watch preview NAME` shows what would have been sent in the
    last days.

    \b
    Example:
        focus watch add 欧冠 --site https://sports.sina.com.cn/ --words "+欧冠 决赛 抽签 -彩票" \\
            --every "daily 07:30" --mail me@example.org
    """
    from focus.commands.watch_output import alert_summary
    from focus.storage.alerts.records import LOCAL_USER, Alert

    now = time.time()
    alert = apply_options(Alert(name, ()), options, now=now)
    with open_alerts(db, now, creates=True) as store:
        store.alerts.add(LOCAL_USER, alert, now=now)
        secrets = list(secret_lines(store, alert, now=now))
        has_mail_server = has_stored_mail_server(store)
    print_note("Alert {name}: {what}", name=printable(name), what=alert_summary(alert))
    _print_secrets(name, secrets)
    if not has_mail_server and any(channel.startswith("mail:") for channel in alert.channels):
        print_note(
            "No mail server is set, so no mail can be sent; give one to `focus watch run` with "
            "--smtp-url, or set FOCUS_SMTP_URL"
        )
    print_note(
        "The next `focus watch run` checks it, the first time for up to ten minutes; let cron "
        "start that"
    )
    for address in private_addresses(alert):
        print_note(
            "{address} is not public; allow it: `focus watch edit {name} --allow-net {address}`",
            address=address,
            name=printable(name),
        )
    if "feed" in alert.channels:
        print_note("`focus serve` provides the feed; `--feed FILE.xml` writes a file instead")


@watch.command(cls=ChannelCommand, takes="alert")
@click.argument("name", type=AlertName())
@what_option("--name", "new_name", metavar="NAME", help="Rename the alert.")
@option("--pause/--resume", "paused", default=None, help="Stop or continue its checks.")
@option(
    "--rotate-secrets", is_flag=True, help="Make new secrets; the old ones also sign for one day."
)
@alert_options
@store_options
def edit(
    db: Path,
    name: str,
    new_name: str | None,
    paused: bool | None,
    rotate_secrets: bool,
    **options: Any,
) -> None:
    """Change an alert; settings that are not given stay as they are.

    Sites, languages and channels replace all earlier ones. Pages found so far stay. Pages that
    appear while an alert is paused are not reported later.

    \b
    Example:
        focus watch edit 欧冠 --every hourly --quiet 22:00-07:00
        focus watch edit 欧冠 --pause
    """
    import msgspec

    from focus.commands.watch_output import alert_summary
    from focus.storage.alerts.records import LOCAL_USER

    now = time.time()
    with open_alerts(db, now) as store:
        stored_alert = store.alerts.get(LOCAL_USER, name)
        alert = apply_options(stored_alert.alert, options, now=now)
        if new_name is not None:
            alert = msgspec.structs.replace(alert, name=new_name)
        store.alerts.replace(stored_alert.id, alert, now=now)
        if paused is not None:
            store.alerts.set_paused(stored_alert.id, paused, now=now)
        shows_secrets = rotate_secrets or set(alert.channels) - set(stored_alert.alert.channels)
        secrets = (
            list(secret_lines(store, alert, now=now, rotate=rotate_secrets))
            if shows_secrets
            else []
        )
    print_note("Alert {name}: {what}", name=printable(alert.name), what=alert_summary(alert))
    _print_secrets(alert.name, secrets)


def _print_secrets(name: str, secrets: Sequence[str]) -> None:
    """Print the signing secrets once, and how to see them again."""
    for line in secrets:
        print_note("Signing secret: {line}", line=line)
    if secrets:
        command_line = f"focus watch show {printable(name)} --secrets"
        print_note("`{command}` shows it again", command=command_line)


@watch.command(cls=Command)
@click.argument("name", type=AlertName())
@store_options
def rm(db: Path, name: str) -> None:
    """Remove an alert and all pages found for it.

    Crawled pages stay in the database. `focus watch export` saves the alert itself.

    \b
    Example:
        focus watch rm 欧冠
    """
    from focus.storage.alerts.records import LOCAL_USER

    with open_alerts(db, time.time()) as store:
        store.alerts.remove(store.alerts.get(LOCAL_USER, name).id)


@watch.command(name="import", cls=Command)
@click.argument("file", type=click.Path(allow_dash=True, dir_okay=False, path_type=Path))
@option("--replace", is_flag=True, help="Replace alerts of the same name.")
@store_options
def import_(db: Path, file: Path, replace: bool) -> None:
    """Add the alerts of a JSON file; - is standard input.

    All of them are added, or none if one is invalid or its name exists.

    \b
    Example:
        focus watch import alerts.json
    """
    from focus.alerts.alert import from_json
    from focus.commands.settings import read_text
    from focus.storage.alerts.records import LOCAL_USER

    alerts = from_json(read_text(file, "alerts").encode(), str(file))
    for alert in alerts:
        check_topic(alert)
    now = time.time()
    with open_alerts(db, now, creates=True) as store:
        store.alerts.add_all(LOCAL_USER, alerts, replace=replace, now=now)
    click.echo(format_count(len(alerts), "alert"), err=True)


@watch.command(cls=Command)
@click.argument("names", metavar="[NAME]...", nargs=-1, type=AlertName())
@OUTPUT_FILE
@store_options
def export(db: Path, names: tuple[str, ...], output: Path) -> None:
    """Write alerts as JSON.

    The file contains secrets: the URLs of webhooks and of apprise. `focus watch import` reads it.

    \b
    Example:
        focus watch export > alerts.json
    """
    from focus.alerts.alert import to_json
    from focus.storage.whole_file import write_whole

    with open_alerts(db, time.time()) as store:
        text = to_json(stored_alert.alert for stored_alert in select_alerts(store, names))
    if str(output) == "-":
        click.echo(escape_json_controls(text), nl=False)
    else:
        write_whole(output, text)


# -- looking ------------------------------------------------------------------------


@watch.command(name="list", cls=Command)
@JSON
@store_options
def list_(db: Path, as_json: bool) -> None:
    """List the alerts with their next check and number of pages.

    \b
    Example:
        focus watch list
    """
    from focus.alerts.health import alert_health
    from focus.commands.watch_output import list_lines

    now = time.time()
    with open_alerts(db, now) as store:
        healths = [
            alert_health(store, stored_alert, now=now) for stored_alert in select_alerts(store, ())
        ]
        zone = user_zone(store)
    print_result(healths if as_json else list_lines(healths, zone), as_json)


@watch.command(cls=Command)
@click.argument("name", type=AlertName())
@option("--limit", type=click.IntRange(0), default=10, metavar="N", help="Show N pages.")
@option("--secrets", is_flag=True, help="Show the secrets that sign its webhooks instead.")
@JSON
@store_options
def show(db: Path, name: str, limit: int, secrets: bool, as_json: bool) -> None:
    """Show an alert: its state and its latest pages.

    \b
    Example:
        focus watch show 欧冠
    """
    from focus.alerts.health import alert_health
    from focus.commands.watch_output import show_lines

    now = time.time()
    with open_alerts(db, now) as store:
        stored_alert = select_alerts(store, (name,))[0]
        if secrets:
            lines = list(secret_lines(store, stored_alert.alert, now=now))
            if not lines:
                raise ConfigError(
                    "alert {name!r} has no channel that is signed (--webhook)", name=printable(name)
                )
            print_result(lines, as_json=False)
            return
        health = alert_health(store, stored_alert, now=now)
        matches = store.matches.list_new(stored_alert.id, limit=limit)
        zone = user_zone(store)
    if as_json:
        print_result({"health": health, "matches": matches}, as_json)
        return
    print_result(show_lines(health, matches, zone), as_json)


@watch.command(cls=Command)
@click.argument("name", type=AlertName())
@option(
    "--days", type=click.FloatRange(0.1, 366), default=7, metavar="N", help="Cover the last N days."
)
@JSON
@store_options
def preview(db: Path, name: str, days: float, as_json: bool) -> None:
    """Show what would have been sent in the last days, and why.

    Uses the stored pages. Nothing is requested, stored or sent.

    \b
    Example:
        focus watch preview 欧冠 --days 7
    """
    from focus.alerts.preview import preview_alert
    from focus.commands.watch_output import preview_lines

    now = time.time()
    with open_alerts(db, now) as store:
        stored_alert = select_alerts(store, (name,))[0]
        zone = user_zone(store)
        preview_result = preview_alert(store, stored_alert, now=now, zone=zone, days=days)
    print_result(preview_result if as_json else preview_lines(preview_result, days, zone), as_json)


@watch.command(cls=Command)
@option("--limit", kind="count", default=50, help="Show at most N lines.")
@JSON
@store_options
def log(db: Path, limit: int, as_json: bool) -> None:
    """Show messages that were sent, failed or will be retried.

    \b
    Example:
        focus watch log
    """
    from focus.alerts.delivery import mask_channel
    from focus.commands.watch_output import log_lines
    from focus.storage.alerts.records import LOCAL_USER

    with open_alerts(db, time.time()) as store:
        deliveries = store.outbox.list_deliveries(LOCAL_USER, limit=limit)
        zone = user_zone(store)
    masked = [delivery._replace(channel=mask_channel(delivery.channel)) for delivery in deliveries]
    if as_json:
        print_result([delivery._asdict() for delivery in masked], as_json)
        return
    print_result(log_lines(masked, zone), as_json)


for command in (inbox, mark, run, test, me):
    watch.add_command(command)
