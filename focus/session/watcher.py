"""The interface that receives the events of a run."""

from __future__ import annotations

from focus.crawler import Crawl, Event
from focus.engine.outages import Outage
from focus.store import CrawlInfo


class Watcher:
    """Listener to the events of a run, such as a user interface. All methods do nothing here."""

    def started(self, crawl: Crawl, info: CrawlInfo) -> None:
        """Called when the crawl is open, before its first request."""

    def event(self, event: Event) -> None:
        """Called for each finished request."""

    def stopping(self, message: str) -> None:
        """Called when a signal was received; `message` says what happens next."""

    def outage(self, outage: Outage | None) -> None:
        """Called when no host can be reached, and with None when one can be reached again."""

    def say(self, text: str) -> None:
        """Called with a note for the user."""
