"""`focus status`: lists the crawls of a database, and shows the state of one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from focus.commands.options.option import CRAWL, DB, JSON, Command, print_json, print_lines
from focus.i18n import say, say_all
from focus.text.formatting import (
    format_count,
    format_duration,
    format_local_time,
    format_percent,
    format_size,
    format_table,
    printable,
)
from focus.text.reason_labels import reason_label

if TYPE_CHECKING:
    from focus.storage.request_uses import PatternUse, RequestUses
    from focus.storage.term_uses import TermUses
    from focus.storage.views import CrawlStatus, CrawlSummary, ReasonCount

_MAX_TERMS = 10


@click.command(cls=Command)
@DB
@CRAWL
@JSON
def status(db: Path, crawl: str, as_json: bool) -> None:
    """List the crawls of a database and show the status of one.

    \b
    Example:
        focus status --json | jq .status.states
    """
    from focus.storage.reader import DatabaseReader

    with DatabaseReader(db.expanduser()) as reader:
        crawls = reader.crawls()
        statuses = [reader.status(number, crawls) for number in reader.crawl_ids(crawl)[-1:]]
    status_, name = statuses[0] if statuses else None, str(db)
    if as_json:
        print_json({"database": name, "crawls": crawls, "status": status_})
        return
    print_lines(status_lines(name, crawls, status_))


def status_lines(
    database: str, crawls: Sequence[CrawlSummary], status: CrawlStatus | None
) -> list[str]:
    """Return a table of all crawls, and the details of one of them."""
    lines = [say("Database {database}", database=database)]
    if status is None:
        return [*lines, say("  no crawl yet; `focus crawl` begins one")]
    head = say_all("crawl", "topic", "strategy", "started", "pages", "relevant", "harvest", "state")
    lines += [
        "",
        *format_table([head, *map(_crawl_row, crawls)], right_aligned={0, 4, 5, 6}),
        "",
        say("Crawl {number}", number=status.crawl.id),
    ]
    counters = status.counters
    requests, received = int(counters.get("requests", 0)), int(counters.get("bytes", 0))
    rows = [
        (say("URLs"), ", ".join(f"{n:,} {say(state)}" for state, n in status.states.items())),
        (say("harvest"), _harvest_text(status)),
        (
            say("received"),
            say(
                "{received} in {requests}",
                received=format_size(received),
                requests=format_count(requests, "request"),
            ),
        ),
        (say("limits"), limits_text(status.limits)),
        (say("failures"), _reasons_text(status.failures)),
        (say("dropped"), _reasons_text(status.drops)),
        (
            say("repeated"),
            say(
                "{duplicates} near-duplicates of other pages",
                duplicates=format_count(status.duplicates, "page"),
            ),
        ),
    ]
    if status.term_uses.pages:
        rows.append((say("by terms"), _term_uses_text(status.term_uses)))
    if status.due is not None:
        rows.append((say("again"), _revisits_text(status)))
    lines += format_table(rows)
    if status.hosts:
        hosts = [
            (printable(h.name, 50), f"{h.yielded:,.1f}", f"{h.fetched:,}") for h in status.hosts
        ]
        lines += [
            "",
            say("  Best hosts"),
            *format_table(
                [(say("host"), say("yield"), say("requests")), *hosts],
                indent="    ",
                right_aligned={1, 2},
            ),
        ]
    return lines + request_use_lines(status.request_uses)


def _term_uses_text(uses: TermUses) -> str:
    terms = [f"{printable(term, 32)} {pages:,}" for term, pages in uses.terms[:_MAX_TERMS]]
    return say(
        "{pages} without a word of the topic: {terms}",
        pages=format_count(uses.pages, "relevant page"),
        terms=", ".join(terms),
    )


def request_use_lines(uses: RequestUses) -> list[str]:
    """Return what the requests returned, the poorest URL patterns, and how to avoid these."""
    if not uses.kinds:
        return []
    total = sum(uses.kinds.values())
    kinds = [(say(kind), f"{n:,}", format_percent(n / total)) for kind, n in uses.kinds.items()]
    lines = ["", say("  Where requests went")]
    lines += format_table(kinds, indent="    ", right_aligned={1, 2})
    patterns = [poor_pattern_row(use) for use in uses.patterns]
    if patterns:
        head = say_all("URL pattern", "without a page", "requests", "mostly")
        lines += ["", say("  Requests without a new page")]
        lines += format_table([head, *patterns], indent="    ", right_aligned={1, 2})
    if uses.denials:
        denials = [(f"--deny '{denial.regex}'", f"{denial.requests:,}") for denial in uses.denials]
        lines += ["", say("  Options that would have saved requests")]
        lines += format_table(denials, indent="    ", right_aligned={1})
    return lines


def poor_pattern_row(use: PatternUse) -> tuple[str, ...]:
    """Return the cells of a URL pattern with useless requests."""
    pattern = printable(use.host + use.pattern, 60)
    return pattern, f"{use.useless:,}", f"{use.requests:,}", say(use.kind)


def _crawl_row(crawl: CrawlSummary) -> tuple[str, ...]:
    return (
        str(crawl.id),
        printable(crawl.topic, 24),
        crawl.strategy,
        format_local_time(crawl.started_at),
        f"{crawl.pages:,}",
        f"{crawl.relevant:,}",
        format_percent(crawl.harvest_rate),
        say(reason_label(crawl.state)),
    )


def _harvest_text(status: CrawlStatus) -> str:
    return say(
        "{last_100} of the last 100 requests, {last_500} of the last 500, {rate} of all",
        last_100=format_percent(status.harvest_last_100),
        last_500=format_percent(status.harvest_last_500),
        rate=format_percent(status.harvest_all),
    )


def limits_text(limits: Mapping[str, Any]) -> str:
    """Return the limits of a crawl by name: `max-pages 1,000, max-time 30m00s`."""
    formatters = {"max_time_s": format_duration, "max_bytes": format_size}
    texts = [
        f"{name.removesuffix('_s').replace('_', '-')} {formatters.get(name, '{:,}'.format)(value)}"
        for name, value in limits.items()
        if value is not None
    ]
    return ", ".join(texts) or say("none")


def _reasons_text(reasons: Sequence[ReasonCount]) -> str:
    return ", ".join(
        f"{say(reason.reason or 'other')} {reason.urls:,}" for reason in reasons
    ) or say("none")


def _revisits_text(status: CrawlStatus) -> str:
    return say(
        "{looks} so far, {gone} gone; {due} due now",
        looks=format_count(int(status.counters.get("looked", 0)), "look"),
        gone=format_count(status.gone, "page"),
        due=format_count(status.due or 0, "page"),
    )
