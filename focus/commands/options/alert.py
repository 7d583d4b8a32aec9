"""The options of `focus watch add` and `focus watch edit`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import click

from focus.commands.options.channel import CHANNEL_SECTION, parse_channels
from focus.commands.options.option import add_options, option
from focus.errors import ConfigError
from focus.text.formatting import parse_duration, printable
from focus.topic.topic_file import names_file

if TYPE_CHECKING:
    from focus.storage.alerts.records import Alert

what_option = partial(option, section="Subject")
_when_option = partial(option, section="Schedule")
_how_option = partial(option, section=CHANNEL_SECTION)


alert_options = add_options(
    (
        what_option(
            "--site",
            multiple=True,
            metavar="URL",
            help="Check this site or section of a site (repeatable).",
        ),
        what_option(
            "--words",
            metavar="WORDS",
            help='Report pages with these words: +must -not "a phrase" a OR b.',
        ),
        what_option(
            "--topic",
            metavar="WORDS|FILE",
            help="Report pages about this topic, by words or related terms; default: the words.",
        ),
        what_option(
            "--min-relevance",
            type=click.FloatRange(0, 1),
            metavar="NUMBER",
            show_default="the model's threshold",
            help="Report pages with at least this relevance.",
        ),
        what_option(
            "--language",
            multiple=True,
            metavar="CODE",
            help="Report pages in this language, such as zh or en (repeatable).",
        ),
        what_option(
            "--tag",
            multiple=True,
            metavar="TEXT",
            help="Tag the alert, to filter the list in the browser (repeatable).",
        ),
        what_option(
            "--allow-net",
            "networks",
            multiple=True,
            kind="network",
            help="Allow visits to this private network, such as 127.0.0.0/8 (repeatable).",
        ),
        _when_option(
            "--every",
            metavar="WHEN",
            show_default="auto",
            help="Check at this schedule: 1m, 15m, hourly, daily 07:30, weekly mon 07:30, a cron "
            "expression, or auto (when news is likely).",
        ),
        _when_option(
            "--quiet",
            metavar="HOURS",
            help="Send nothing in these hours, such as 22:00-07:00; checks continue.",
        ),
        _when_option(
            "--expires",
            metavar="WHEN",
            help="Stop at this date (2026-12-31) or after this time (30d), or never.",
        ),
        _how_option(
            "--digest/--immediate",
            default=None,
            show_default="digest",
            help="Send one message for all new pages, or one for each.",
        ),
        _how_option(
            "--max-items",
            kind="count",
            show_default="20",
            help="List at most N pages in a digest; the others stay in the inbox.",
        ),
    )
)
"""Options that define an alert; none of them has a default."""


def apply_options(alert_before: Alert, options: dict[str, Any], *, now: float) -> Alert:
    """Return the alert with the values of the options. Raises ConfigError for invalid ones."""
    import msgspec

    from focus.alerts.alert import validate_alert

    values = {
        "sites": options["site"],
        "words": options["words"],
        "topic": _stored_topic(options["topic"]),
        "min_relevance": options["min_relevance"],
        "languages": options["language"],
        "tags": options["tag"],
        "networks": options["networks"],
        "schedule": options["every"],
        "quiet": options["quiet"],
        "digest": options["digest"],
        "max_items": options["max_items"],
        "channels": parse_channels(options),
    }
    new_values = {
        name: value for name, value in values.items() if value is not None and value != ()
    }
    if options["expires"] is not None:
        new_values["expires_at"] = _parse_expiry(options["expires"], now)
    alert = validate_alert(msgspec.structs.replace(alert_before, **new_values))
    check_topic(alert)
    return alert


def _stored_topic(text: str | None) -> str | None:
    """Return a topic as stored: words, or the absolute path of a file, for use by cron."""
    if text is None or not text.strip():
        return text
    if names_file(text) and not text.endswith(".toml"):
        raise ConfigError("topic file {path}: its name must end in .toml", path=text)
    path = Path(text).expanduser()
    return str(path.absolute()) if text.endswith(".toml") else text


def check_topic(alert: Alert) -> None:
    """Raise ConfigError for a topic that cannot be used, before it is needed."""
    from focus.alerts.page_match import alert_topic

    alert_topic(alert, trusted=True)


def private_addresses(alert: Alert) -> Iterator[str]:
    """Yield the addresses in the URLs of sites that neither the alert nor focus.toml allows."""
    from ipaddress import ip_address

    from focus.http.ssrf_guard import AddressGuard

    allowed = (click.get_current_context().default_map or {}).get("allow_net") or ()
    guard = AddressGuard((*alert.networks, *allowed))
    for host in {urlsplit(site).hostname or "" for site in alert.sites}:
        with suppress(ValueError):  # a name, which is not looked up
            address = ip_address("127.0.0.1" if host == "localhost" else host)
            if not guard.permits(str(address)):
                yield str(address)


def _parse_expiry(text: str, now: float) -> float | None:
    if text == "never":
        return None
    try:
        return datetime.fromisoformat(text).astimezone().timestamp()
    except ValueError:
        pass
    try:
        return now + parse_duration(text)
    except ConfigError:
        raise ConfigError(
            "--expires {text!r}: write a date like 2026-12-31, 30d or never", text=printable(text)
        ) from None
