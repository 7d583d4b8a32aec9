"""The options of `focus watch add` and `focus watch edit`."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from focus.commands.options.channel import HOW, chosen
from focus.commands.options.option import adding, option
from focus.errors import ConfigError
from focus.text.formatting import parse_duration, printable

if TYPE_CHECKING:
    from focus.storage.alerts.records import Alert

what_option = partial(option, section="What about")
_when_option = partial(option, section="When")
_how_option = partial(option, section=HOW)


alert_options = adding(
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
"""The options that say what an alert is; none has a default of its own."""


def changed(before: Alert, options: dict[str, Any], *, now: float) -> Alert:
    """An alert with what was typed put into it, checked."""
    import msgspec

    from focus.alerts.alert import validate_alert

    told = {
        "sites": options["site"],
        "words": options["words"],
        "topic": _topic(options["topic"]),
        "min_relevance": options["min_relevance"],
        "languages": options["language"],
        "schedule": options["every"],
        "quiet": options["quiet"],
        "digest": options["digest"],
        "max_items": options["max_items"],
        "channels": chosen(options),
    }
    given = {name: value for name, value in told.items() if value is not None and value != ()}
    if options["expires"] is not None:
        given["expires_at"] = _expiry(options["expires"], now)
    made = validate_alert(msgspec.structs.replace(before, **given))
    try_topic(made)
    return made


def _topic(text: str | None) -> str | None:
    """A topic as it is kept: words, or the whole path of a file, wherever cron calls from."""
    if text is None or not text.strip():
        return text
    path = Path(text).expanduser()
    return str(path.absolute()) if text.endswith(".toml") else text


def try_topic(alert: Alert) -> None:
    """Complain of a topic that cannot be used now, not when it is due."""
    from focus.alerts.page_match import alert_topic

    alert_topic(alert, trusted=True)


def _expiry(text: str, now: float) -> float | None:
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
