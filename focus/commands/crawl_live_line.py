"""Shows a running crawl as one line, redrawn at most 4 times a second.

Where the terminal is too narrow for it, it takes more lines.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from rich.console import Console
from rich.live import Live
from rich.text import Text

from focus.commands.crawl_progress import Teller, page_line, started_line
from focus.commands.crawl_summary import summary
from focus.crawler import Crawl, Event
from focus.i18n import msg, translate
from focus.session import RunReport
from focus.store import CrawlInfo
from focus.text.formatting import truncate

FRAMES_PER_S = 4
DOT = " · "


def wrapped(text: str, width: int) -> str:
    """A row of things between dots, broken at the dots into lines of that width."""
    lines: list[str] = []
    for part in text.split(DOT):
        if lines and len(lines[-1]) + len(DOT) + len(part) <= width:
            lines[-1] += DOT + part
        else:
            lines.append(part)
    return "\n".join(truncate(line, width) for line in lines)


class LiveLine(Teller):
    """Progress on a terminal; other lines scroll by above it. `pages`: one per request."""

    every_s = 1.0 / FRAMES_PER_S

    def __init__(self, console: Console, *, pages: bool) -> None:
        super().__init__()
        self._console, self._pages = console, pages
        self._live = Live(
            console=console,
            auto_refresh=False,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )

    def started(self, crawl: Crawl, info: CrawlInfo) -> None:
        super().started(crawl, info)
        self.say(started_line(crawl, info))
        self._quietly(self._live.start)

    def event(self, event: Event) -> None:
        if self._pages:
            self.say(page_line(event))

    def update(self, line: str) -> None:
        lines = wrapped(line, max(20, self._console.width - 1))
        self._quietly(lambda: self._live.update(Text(lines, no_wrap=True), refresh=True))

    def stopping(self, how: str) -> None:
        self.say(msg("Stopping: {how}", how=how))

    def say(self, text: str) -> None:
        self._quietly(lambda: self._console.print(Text(translate(text)), soft_wrap=True))

    def ended(self, report: RunReport) -> None:
        self.close()
        for line in summary(report):
            self.say(line)

    def close(self) -> None:
        self._quietly(self._live.stop)

    @staticmethod
    def _quietly(draw: Callable[[], object]) -> None:
        """A terminal that has gone away (SIGHUP, closed window) must not end the crawl."""
        with suppress(OSError, ValueError):
            draw()
