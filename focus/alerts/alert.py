"""Checks what somebody wants to be told of (an alert), and reads and writes files of alerts."""

from __future__ import annotations

from collections.abc import Iterable
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


def checked(alert: Alert) -> Alert:
    """The alert with its sites as they will be asked for. ConfigError says what is wrong."""
    where = msg("alert {name!r}", name=alert.name)
    if not alert.name.strip() or len(alert.name) > 100:
        raise ConfigError("{where}: give it a name of 1 to 100 characters", where=where)
    if not 1 <= len(alert.sites) <= MAX_SITES:
        raise ConfigError(
            "{where}: give 1 to {max_sites} sites, as --site https://example.org/",
            where=where,
            max_sites=MAX_SITES,
        )
    if not alert.words.strip() and not alert.topic.strip():
        raise ConfigError("{where}: say what about, with --words or --topic", where=where)
    if alert.words.strip():
        words.parse(alert.words)
    if alert.min_relevance is not None and not 0.0 <= alert.min_relevance <= 1.0:
        raise ConfigError(
            "{where}: relevance {min_relevance} is not within 0 to 1",
            where=where,
            min_relevance=alert.min_relevance,
        )
    if not 1 <= alert.max_items <= MAX_ITEMS:
        raise ConfigError(
            "{where}: a digest has 1 to {max_items} pages, not {n}",
            where=where,
            max_items=MAX_ITEMS,
            n=alert.max_items,
        )
    schedule.parse(alert.schedule)
    schedule.parse_quiet(alert.quiet)
    for channel in alert.channels:
        check_channel(channel)
    sites = tuple(dict.fromkeys(_site(site) for site in alert.sites))
    return msgspec.structs.replace(alert, sites=sites)


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
