"""The interface that receives the events of a run."""

from __future__ import annotations

from focus.crawler import Crawl, Event
from focus.engine.outages import Outage
from focus.store import CrawlInfo


class Watcher:
    """A listener to a run, such as a user interface; every method may be replaced."""

    def started(self, crawl: Crawl, info: CrawlInfo) -> None:
        """The crawl is open and about to go."""

    def event(self, event: Event) -> None:
        """A request came to an end."""

    def stopping(self, how: str) -> None:
        """A signal was taken in; `how` says what happens now."""

    def outage(self, outage: Outage | None) -> None:
        """No host at all can be reached any more; None: one has answered again."""

    def say(self, text: str) -> None:
        """A remark of the program's own."""
