"""The options of `focus watch add` and `focus watch edit`."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from focus.commands.options.channel import CHANNEL_SECTION, parse_channels
from focus.commands.options.option import add_options, option
from focus.errors import ConfigError
from focus.text.formatting import parse_duration, printable

if TYPE_CHECKING:
    from focus.storage.alerts.records import Alert

what_option = partial(option, section="What about")
_when_option = partial(option, section="When")
_how_option = partial(option, section=CHANNEL_SECTION)


alert_options = add_options(
    (
        what_option(
            "--site",
            multiple=True,
            metavar="URL",
            help="A site, or a section of one, to be looked at. Repeatable.",
        ),
        what_option(
            "--words",
            metavar="WORDS",
            help='What a page must have: +must -not "a phrase" a OR b; of bare words, any.',
        ),
        what_option(
            "--topic", metavar="WORDS|FILE", help="Judge by this topic; without it, by the words."
        ),
        what_option(
            "--min-relevance",
            type=click.FloatRange(0, 1),
            metavar="NUMBER",
            show_default="the judge's threshold",
            help="Tell of pages of at least this relevance.",
        ),
        what_option(
            "--language",
            multiple=True,
            metavar="CODE",
            help="Tell of pages in this language, as zh or en. Repeatable.",
        ),
        _when_option(
            "--every",
            metavar="WHEN",
            show_default="auto",
            help="1m, 15m, hourly, daily 07:30, weekly mon 07:30, a cron expression, or auto: when "
            "news is likely.",
        ),
        _when_option(
            "--quiet",
            metavar="HOURS",
            help="Deliver nothing in these hours, as 22:00-07:00; checks go on.",
        ),
        _when_option(
            "--expires",
            metavar="WHEN",
            help="Stop at this date (2026-12-31) or after this time (30d); never: do not.",
        ),
        _how_option(
            "--digest/--immediate",
            default=None,
            show_default="digest",
            help="One message for all that is new, or one for each page.",
        ),
        _how_option(
            "--max-items",
            kind="count",
            show_default="20",
            help="Pages in a digest at most; the rest stays in the inbox.",
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
    path = Path(text).expanduser()
    return str(path.absolute()) if text.endswith(".toml") else text


def check_topic(alert: Alert) -> None:
    """Raise ConfigError for a topic that cannot be used, before it is needed."""
    from focus.alerts.page_match import alert_topic

    alert_topic(alert, trusted=True)


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
