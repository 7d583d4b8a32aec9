"""Validation of alerts, and their JSON files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec

from focus.alerts import query, schedule
from focus.alerts.delivery import check_channel
from focus.errors import ConfigError, refuse_deep_nesting
from focus.http.ssrf_guard import parse_network
from focus.i18n import msg
from focus.storage.alerts.records import Alert
from focus.urls.normal_form import read_url

MAX_SITES, MAX_ITEMS = 50, 200


_OPTIONS = {"sites": "--site", "words": "--words, --topic"}
"""Options of the command line for fields that may have been omitted."""


MAX_LENGTHS = {"words": 2_000, "topic": 2_000, "schedule": 100, "quiet": 50}
"""Field -> maximum number of characters."""
MAX_LANGUAGES, MAX_CHANNELS = 50, 100
MAX_TAGS, MAX_TAG_LENGTH = 20, 40


def validate_alert(alert: Alert) -> Alert:
    """Return the alert with its sites as URLs. Raises ConfigError for the first problem."""
    for field, what in find_problems(alert).items():
        where = msg("alert {name!r}", name=alert.name)
        if options := _OPTIONS.get(field):
            what = msg("{what} ({options})", what=what, options=options)
        raise ConfigError("{where}: {what}", where=where, what=what)
    sites = tuple(dict.fromkeys(read_url(site) for site in alert.sites))
    return msgspec.structs.replace(alert, sites=sites)


def find_problems(alert: Alert) -> dict[str, str]:
    """Return the problems of an alert by field; an empty dict for a valid alert."""
    problems: dict[str, str] = {}
    if not alert.name.strip() or len(alert.name) > 100:
        problems["name"] = msg("give it a name of 1 to 100 characters")
    if not 1 <= len(alert.sites) <= MAX_SITES:
        problems["sites"] = msg(
            "give 1 to {max_sites} sites, such as https://example.org/", max_sites=MAX_SITES
        )
    for field, maximum in MAX_LENGTHS.items():
        if len(getattr(alert, field)) > maximum:
            problems[field] = msg("at most {n:,} characters", n=maximum)
    if len(alert.languages) > MAX_LANGUAGES or len(alert.channels) > MAX_CHANNELS:
        problems["channels"] = msg(
            "at most {languages} languages and {channels} channels",
            languages=MAX_LANGUAGES,
            channels=MAX_CHANNELS,
        )
    if len(alert.tags) > MAX_TAGS or any(len(tag) > MAX_TAG_LENGTH for tag in alert.tags):
        problems["tags"] = msg(
            "at most {n} tags of {length} characters", n=MAX_TAGS, length=MAX_TAG_LENGTH
        )
    if not alert.words.strip() and not alert.topic.strip():
        problems["words"] = msg("give words or a topic")
    if alert.min_relevance is not None and not 0.0 <= alert.min_relevance <= 1.0:
        problems["min_relevance"] = msg(
            "relevance {min_relevance} is not within 0 to 1", min_relevance=alert.min_relevance
        )
    if not 1 <= alert.max_items <= MAX_ITEMS:
        problems["max_items"] = msg(
            "a digest lists 1 to {max_items} pages, not {n}", max_items=MAX_ITEMS, n=alert.max_items
        )
    for field, check, value in _parsed_fields(alert):
        if field in problems:
            continue
        try:
            check(value)
        except ConfigError as error:
            problems.setdefault(field, error.message)
    return problems


def _parsed_fields(alert: Alert) -> Iterator[tuple[str, Callable[[str], object], str]]:
    """Yield the name, the parser and the value of each field that is parsed."""
    yield from (("sites", read_url, site) for site in alert.sites)
    if alert.words.strip():
        yield "words", query.parse, alert.words
    yield "schedule", schedule.parse, alert.schedule
    yield "quiet", schedule.parse_quiet, alert.quiet
    yield from (("channels", check_channel, channel) for channel in alert.channels)
    yield from (("networks", parse_network, network) for network in alert.networks)


def to_json(alerts: Iterable[Alert]) -> bytes:
    """Return alerts as JSON that people can read and edit."""
    text = msgspec.json.format(msgspec.json.encode(list(alerts)), indent=2)
    return text + b"\n"


def from_json(data: bytes, where: str, *, maximum: int | None = None) -> list[Alert]:
    """Return the alerts of a file. Raises ConfigError with file, alert and problem.

    A file of more than `maximum` alerts is refused before they are checked, which takes time.
    """
    try:
        with refuse_deep_nesting():
            rows: list[dict[str, Any]] = msgspec.json.decode(data, type=list[dict[str, Any]])
    except ValueError as error:
        raise ConfigError(
            "{where}: no JSON list of alerts ({error})", where=where, error=error
        ) from None
    if maximum is not None and len(rows) > maximum:
        raise ConfigError("You can have at most {n} alerts.", n=maximum)
    alerts = []
    for number, row in enumerate(rows, 1):
        try:
            alerts.append(validate_alert(msgspec.convert(row, Alert)))
        except (msgspec.ValidationError, ConfigError) as error:
            raise ConfigError(
                "{where}: alert {number}: {error}", where=where, number=number, error=error
            ) from None
    return alerts
