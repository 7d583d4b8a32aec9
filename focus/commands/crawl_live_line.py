"""Shows a running crawl as one line, redrawn at most 4 times a second.

On a narrow terminal the text takes several lines.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from rich.console import Console
from rich.live import Live
from rich.text import Text

from focus.commands.crawl_progress import Reporter, page_line, started_line
from focus.commands.crawl_summary import summary_lines
from focus.crawler import Crawl, Event
from focus.i18n import msg, translate
from focus.session import RunReport
from focus.store import CrawlInfo
from focus.text.formatting import truncate

FRAMES_PER_S = 4
SEPARATOR = " · "


def wrap_at_dots(text: str, width: int) -> str:
    """Return items between dots, broken at the dots into lines of at most `width`."""
    lines: list[str] = []
    for part in text.split(SEPARATOR):
        if lines and len(lines[-1]) + len(SEPARATOR) + len(part) <= width:
            lines[-1] += SEPARATOR + part
        else:
            lines.append(part)
    return "\n".join(truncate(line, width) for line in lines)


class LiveLine(Reporter):
    """Progress on a terminal, with other lines above it; `pages` adds a line for each request."""

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
        self._ignoring_errors(self._live.start)

    def event(self, event: Event) -> None:
        if self._pages:
            self.say(page_line(event))

    def update(self, line: str) -> None:
        lines = wrap_at_dots(line, max(20, self._console.width - 1))
        self._ignoring_errors(lambda: self._live.update(Text(lines, no_wrap=True), refresh=True))

    def stopping(self, how: str) -> None:
        self.say(msg("Stopping: {how}", how=how))

    def say(self, text: str) -> None:
        self._ignoring_errors(lambda: self._console.print(Text(translate(text)), soft_wrap=True))

    def ended(self, report: RunReport) -> None:
        self.close()
        for line in summary_lines(report):
            self.say(line)

    def close(self) -> None:
        self._ignoring_errors(self._live.stop)

    @staticmethod
    def _ignoring_errors(draw: Callable[[], object]) -> None:
        """Draw, ignoring errors: a terminal that was closed (SIGHUP) must not end the crawl."""
        with suppress(OSError, ValueError):
            draw()
