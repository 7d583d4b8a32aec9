"""Checks what somebody wants to be told of (an alert), and reads and writes files of alerts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec

from focus.alerts import query as words
from focus.alerts import schedule
from focus.alerts.delivery import check_channel
from focus.errors import ConfigError
from focus.i18n import msg
from focus.storage.alerts.records import Alert
from focus.urls.normal_form import seed_candidates

MAX_SITES, MAX_ITEMS = 50, 200


_OPTIONS = {"sites": "--site", "words": "--words, --topic"}
"""What the command line calls fields that may have been left out."""


def checked(alert: Alert) -> Alert:
    """The alert with its sites as they will be asked for. ConfigError says what is wrong."""
    for field, what in problems(alert).items():
        where = msg("alert {name!r}", name=alert.name)
        if options := _OPTIONS.get(field):
            what = msg("{what} ({options})", what=what, options=options)
        raise ConfigError("{where}: {what}", where=where, what=what)
    sites = tuple(dict.fromkeys(_site(site) for site in alert.sites))
    return msgspec.structs.replace(alert, sites=sites)


def problems(alert: Alert) -> dict[str, str]:
    """All that is wrong: a field's name -> a line on it; {} for an alert that can be kept."""
    found: dict[str, str] = {}
    if not alert.name.strip() or len(alert.name) > 100:
        found["name"] = msg("give it a name of 1 to 100 characters")
    if not 1 <= len(alert.sites) <= MAX_SITES:
        found["sites"] = msg(
            "give 1 to {max_sites} sites, as https://example.org/", max_sites=MAX_SITES
        )
    if not alert.words.strip() and not alert.topic.strip():
        found["words"] = msg("say what about, by words or a topic")
    if alert.min_relevance is not None and not 0.0 <= alert.min_relevance <= 1.0:
        found["min_relevance"] = msg(
            "relevance {min_relevance} is not within 0 to 1", min_relevance=alert.min_relevance
        )
    if not 1 <= alert.max_items <= MAX_ITEMS:
        found["max_items"] = msg(
            "a digest has 1 to {max_items} pages, not {n}", max_items=MAX_ITEMS, n=alert.max_items
        )
    for field, check, value in _typed(alert):
        try:
            check(value)
        except ConfigError as error:
            found.setdefault(field, error.line)
    return found


def _typed(alert: Alert) -> Iterator[tuple[str, Callable[[str], object], str]]:
    """Field, what it has to pass, its value."""
    yield from (("sites", _site, site) for site in alert.sites)
    if alert.words.strip():
        yield "words", words.parse, alert.words
    yield "schedule", schedule.parse, alert.schedule
    yield "quiet", schedule.parse_quiet, alert.quiet
    yield from (("channels", check_channel, channel) for channel in alert.channels)


def _site(text: str) -> str:
    """A site as a URL; one without a scheme is asked for by https."""
    url, *_ = seed_candidates(text)
    return url


def to_json(alerts: Iterable[Alert]) -> bytes:
    """A list of alerts as a file that people can read and edit."""
    text = msgspec.json.format(msgspec.json.encode(list(alerts)), indent=2)
    return text + b"\n"


def from_json(data: bytes, where: str) -> list[Alert]:
    """Alerts of a file; ConfigError names the file, the alert and what is wrong."""
    try:
        rows: list[dict[str, Any]] = msgspec.json.decode(data, type=list[dict[str, Any]])
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ConfigError(
            "{where}: no JSON list of alerts ({error})", where=where, error=error
        ) from None
    alerts = []
    for number, row in enumerate(rows, 1):
        try:
            alerts.append(checked(msgspec.convert(row, Alert)))
        except (msgspec.ValidationError, ConfigError) as error:
            raise ConfigError(
                "{where}: alert {number}: {error}", where=where, number=number, error=error
            ) from None
    return alerts
