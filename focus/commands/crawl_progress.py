"""Samples a running crawl, and passes the figures to progress displays and logs.

    CrawlMeter   reads the figures of a running crawl
    Reporter     a `Watcher` that also gets a line of figures at intervals, and the final report

`crawl_log` and `crawl_live_line` contain the reporters. None of them changes a crawl.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping

from focus.commands.crawl_summary import time_of_day
from focus.crawler import Crawl, Event
from focus.engine.outages import Outage
from focus.i18n import plural, say, translate
from focus.records import UrlState
from focus.session import RunReport, Watcher
from focus.store import CrawlInfo
from focus.text.formatting import (
    cell_width,
    format_count,
    format_duration,
    format_percent,
    printable,
)

WINDOW_S = 15.0  # rates are averages over this time
LOG_EVERY_S = 60.0


class CrawlMeter:
    """Measures a running crawl; `now` returns seconds of real time."""

    def __init__(self, crawl: Crawl, now: Callable[[], float] = time.monotonic) -> None:
        self._crawl = crawl
        self._now = now
        self._started_at = crawl.transport.now()
        self._samples: deque[tuple[float, dict[str, float]]] = deque()
        self.sample()

    def now(self) -> float:
        """Return the time on the crawl's clock."""
        return self._crawl.transport.now()

    def sample(self) -> None:
        """Store the current counts; rates are computed from the oldest sample in the window."""
        now = self._now()
        self._samples.append((now, self._values()))
        while len(self._samples) > 2 and self._samples[1][0] <= now - WINDOW_S:
            self._samples.popleft()

    def _values(self) -> dict[str, float]:
        """Return the number of pages, and each limited count by its name in `LimitConfig`."""
        totals = self._crawl.unit_of_work.totals
        return {
            "pages": totals.pages,
            "max_pages": totals.requested_pages,
            "max_requests": totals.requests,
            "max_bytes": totals.bytes,
            "target": totals.relevant,
            "max_time_s": self._crawl.transport.now() - self._started_at,
        }

    def line(self) -> str:
        """Return the current figures as one line, the most important ones first."""
        crawl, totals = self._crawl, self._crawl.unit_of_work.totals
        recent, rates = crawl.recent_harvest, self._rates()
        requests = totals.requests - totals.looked - totals.unanswered
        rate_text = f"{rates['pages']:.1f}/s"
        if (nearest := self._nearest_limit(rates)) is not None:
            left_s, limit = nearest
            limit = limit.removesuffix("_s").replace("_", "-")
            rate_text += say(", {left_s} to {limit}", left_s=format_duration(left_s), limit=limit)
        harvest = say(
            "harvest {harvest}, last 500 {last_500}, last 100 {last_100}",
            harvest=format_percent(totals.relevant / max(1, requests)),
            last_500=format_percent(recent.rate(500)),
            last_100=format_percent(recent.rate(100)),
        )
        return " · ".join(
            (
                *self._outage_texts(),
                f"{format_count(totals.pages, 'page')} ({rate_text})",
                say("{relevant:,} relevant", relevant=totals.relevant),
                harvest,
                say("{waiting:,} waiting", waiting=crawl.url_table.counts[UrlState.WAITING]),
                format_count(len(crawl.frontier.hosts), "host"),
                say("{failed:,} failed", failed=sum(crawl.unit_of_work.failures.values())),
            )
        )

    def _outage_texts(self) -> Iterator[str]:
        """Yield since when the network is down, if it is."""
        if (outage := self._crawl.outages.current) is not None:
            next_try_s = outage.next_at - self.now()
            when = (
                say("now")
                if next_try_s < 1
                else say("in {next_try_s}", next_try_s=format_duration(next_try_s))
            )
            since = time_of_day(outage.since)
            yield say("offline since {clock}, next try {when}", clock=since, when=when)

    def _rates(self) -> dict[str, float]:
        """Return the growth of each count per second."""
        since, earlier = self._samples[0]
        seconds = self._now() - since
        return {
            name: (value - earlier[name]) / seconds if seconds > 0 else 0.0
            for name, value in self._values().items()
        }

    def _nearest_limit(self, rates: Mapping[str, float]) -> tuple[float, str] | None:
        """Return the seconds to the first limit at these rates, and its name, or None."""
        times = [
            (max(0.0, (limit - value) / rates[name]), name)
            for name, value in self._values().items()
            if (limit := getattr(self._crawl.config.limits, name, None)) is not None
            and rates[name] > 0
        ]
        return min(times, default=None)


def outage_line(outage: Outage | None, since: float, now: float) -> str:
    """Return a line about the begin of an outage, or about its end if `outage` is None."""
    if outage is None:
        return say("Online again after {now}", now=format_duration(now - since))
    return say(
        "Offline since {clock} ({reason}): no host can be reached. Nothing is lost; the crawl "
        "continues when the network is back",
        clock=time_of_day(outage.since),
        reason=printable(translate(outage.reason), 100),
    )


def page_line(event: Event) -> str:
    """Return a finished request as one line: number, outcome, URL, title."""
    if event.state is None:
        outcome = f"robots.txt {say(event.reason)}".rstrip()
    elif event.is_revisit:
        outcome = f"{say('again')} {say(event.reason)}".rstrip()
    elif event.state is UrlState.DONE:
        outcome = f"{say('relevant' if event.relevant else 'page')} {event.relevance:.2f}"
    else:
        outcome = f"{say(event.state.name.lower())} {say(event.reason)}".rstrip()
    title = f"  {printable(event.title, 60)}" if event.title else ""
    padding = " " * (16 - cell_width(outcome))
    return f"{event.nth:>6}  {outcome}{padding}  {printable(event.url)}{title}"


def started_line(crawl: Crawl, info: CrawlInfo) -> str:
    """Return a line about the crawl that begins or continues."""
    counts = crawl.url_table.counts
    if info.is_resumed:
        return say(
            "Continuing crawl {number} ({url_table:,} known, {counts:,} waiting)",
            number=info.id,
            url_table=len(crawl.url_table),
            counts=counts[UrlState.WAITING],
        )
    topic = printable(str(crawl.config.analysis.topic.get("name", "")))
    return translate(
        plural(
            "Crawl {crawl}: {topic} by {strategy} from {n} seed",
            "Crawl {crawl}: {topic} by {strategy} from {n} seeds",
            n=len(crawl.config.seeds),
            crawl=info.id,
            topic=topic,
            strategy=crawl.config.strategy,
        )
    )


class Reporter(Watcher):
    """A watcher that also gets a line of figures at intervals, and the final report."""

    every_s = LOG_EVERY_S

    def __init__(self) -> None:
        self.meter: CrawlMeter | None = None
        self._offline_since = 0.0

    def started(self, crawl: Crawl, info: CrawlInfo) -> None:
        """Start to measure; `update` follows every `every_s` seconds while the loop runs."""
        self.meter = CrawlMeter(crawl)
        loop = asyncio.get_running_loop()

        def measure() -> None:
            assert self.meter is not None
            self.meter.sample()
            self.update(self.meter.line())
            loop.call_later(self.every_s, measure)

        loop.call_later(self.every_s, measure)

    def outage(self, outage: Outage | None) -> None:
        """Report the begin or the end of an outage."""
        if outage is not None:
            self._offline_since = outage.since
        now = 0.0 if self.meter is None else self.meter.now()
        self.say(outage_line(outage, self._offline_since, now))

    def update(self, line: str) -> None:
        """Show the current figures; called every `every_s` seconds."""

    def ended(self, report: RunReport) -> None:
        """Show the final report."""

    def close(self) -> None:
        """Release resources; nothing follows, also after an error."""
