"""Takes the figures of a running crawl, and tells them to progress displays and logs.

    Pulse    reads them off a running crawl
    Teller   a `Watcher` that is told of the end as well, and of the time in between

`logs` and `live_line` have the tellers; none of them changes a crawl.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping

from focus.commands.crawl_summary import clock
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

WINDOW_S = 15.0  # rates are of so long, so that they follow the web's moods
LOG_EVERY_S = 60.0


class Pulse:
    """Measures a running crawl; `now` counts seconds of the user's own time."""

    def __init__(self, crawl: Crawl, now: Callable[[], float] = time.monotonic) -> None:
        self._crawl = crawl
        self._now = now
        self._began_at = crawl.transport.now()
        self._samples: deque[tuple[float, dict[str, float]]] = deque()
        self.sample()

    def now(self) -> float:
        """The crawl's clock."""
        return self._crawl.transport.now()

    def sample(self) -> None:
        """Note where the crawl stands; rates are taken from the oldest note in the window."""
        now = self._now()
        self._samples.append((now, self._values()))
        while len(self._samples) > 2 and self._samples[1][0] <= now - WINDOW_S:
            self._samples.popleft()

    def _values(self) -> dict[str, float]:
        """What limits count, by their names in `LimitConfig`."""
        totals = self._crawl.unit_of_work.totals
        return {
            "max_pages": totals.pages,
            "max_requests": totals.requests,
            "max_bytes": totals.bytes,
            "target": totals.relevant,
            "max_time_s": self._crawl.transport.now() - self._began_at,
        }

    def line(self) -> str:
        """Return the figures of now; what matters most comes first, as narrow terminals cut it."""
        crawl, totals = self._crawl, self._crawl.unit_of_work.totals
        recent, pace = crawl.recent_harvest, self._pace()
        speed = f"{pace['max_pages']:.1f}/s"
        if (nearest := self._nearest_limit(pace)) is not None:
            left_s, limit = nearest
            limit = limit.removesuffix("_s").replace("_", "-")
            speed += say(", {left_s} to {limit}", left_s=format_duration(left_s), limit=limit)
        harvest = say(
            "harvest {harvest}, last 500 {last_500}, last 100 {last_100}",
            harvest=format_percent(totals.relevant / totals.requests if totals.requests else 0.0),
            last_500=format_percent(recent.rate(500)),
            last_100=format_percent(recent.rate(100)),
        )
        return " · ".join(
            (
                *self._offline(),
                f"{format_count(totals.pages, 'page')} ({speed})",
                say("{relevant:,} relevant", relevant=totals.relevant),
                harvest,
                say("{waiting:,} waiting", waiting=crawl.url_table.counts[UrlState.WAITING]),
                format_count(len(crawl.frontier.hosts), "host"),
                say("{failed:,} failed", failed=sum(crawl.unit_of_work.failures.values())),
            )
        )

    def _offline(self) -> Iterator[str]:
        """Since when no host at all can be reached, if that is so."""
        if (outage := self._crawl.outages.current) is not None:
            next_try_s = outage.next_at - self.now()
            when = (
                say("now")
                if next_try_s < 1
                else say("in {next_try_s}", next_try_s=format_duration(next_try_s))
            )
            since = clock(outage.since)
            yield say("offline since {clock}, next try {when}", clock=since, when=when)

    def _pace(self) -> dict[str, float]:
        """How fast each counted thing grows, per second."""
        since, before = self._samples[0]
        seconds = self._now() - since
        return {
            name: (value - before[name]) / seconds if seconds > 0 else 0.0
            for name, value in self._values().items()
        }

    def _nearest_limit(self, pace: Mapping[str, float]) -> tuple[float, str] | None:
        """Seconds to the limit that comes first at this pace, and its name; None: none is near."""
        ends = [
            (max(0.0, (limit - value) / pace[name]), name)
            for name, value in self._values().items()
            if (limit := getattr(self._crawl.config.limits, name)) is not None and pace[name] > 0
        ]
        return min(ends, default=None)


def outage_line(outage: Outage | None, since: float, now: float) -> str:
    """That an outage of our network began, or (None) is over. `since`: when the last began."""
    if outage is None:
        return say("Online again after {now}", now=format_duration(now - since))
    return say(
        "Offline since {clock} ({reason}): no host can be reached. Nothing is failed; one is "
        "tried now and then, then the crawl goes on",
        clock=clock(outage.since),
        reason=printable(translate(outage.reason), 100),
    )


def page_line(event: Event) -> str:
    """A request that ended, as one line: number, what became of it, URL, title."""
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
    """What is about to happen."""
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


class Teller(Watcher):
    """A watcher that hears of the end as well, and may speak up at times of its own."""

    every_s = LOG_EVERY_S

    def __init__(self) -> None:
        self.pulse: Pulse | None = None
        self._offline_since = 0.0

    def started(self, crawl: Crawl, info: CrawlInfo) -> None:
        """Begin to measure; `update` follows every `every_s` seconds while the loop runs."""
        self.pulse = Pulse(crawl)
        loop = asyncio.get_running_loop()

        def measure() -> None:
            assert self.pulse is not None
            self.pulse.sample()
            self.update(self.pulse.line())
            loop.call_later(self.every_s, measure)

        loop.call_later(self.every_s, measure)

    def outage(self, outage: Outage | None) -> None:
        """Say so."""
        if outage is not None:
            self._offline_since = outage.since
        now = 0.0 if self.pulse is None else self.pulse.now()
        self.say(outage_line(outage, self._offline_since, now))

    def update(self, line: str) -> None:
        """Called at times of its own with the present figures."""

    def ended(self, report: RunReport) -> None:
        """The crawl is over."""

    def close(self) -> None:
        """Nothing more will be told; also after an error."""
