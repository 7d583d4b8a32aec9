"""The interface that receives the events of a run."""

from __future__ import annotations

import logging

from focus.crawler import Crawl, Event
from focus.engine.outages import Outage
from focus.i18n import translate
from focus.store import CrawlInfo


class Watcher:
    """Listener to the events of a run, such as a user interface. All methods do nothing here."""

    def started(self, crawl: Crawl, info: CrawlInfo) -> None:
        """Handle the start of a crawl, before its first request."""

    def event(self, event: Event) -> None:
        """Handle a finished request."""

    def stopping(self, message: str) -> None:
        """Handle a signal; `message` says what happens next."""

    def outage(self, outage: Outage | None) -> None:
        """Handle an outage, or with None its end."""

    def say(self, text: str) -> None:
        """Handle a note for the user; here it is logged as a warning."""
        logging.getLogger(__name__).warning(translate(text))
