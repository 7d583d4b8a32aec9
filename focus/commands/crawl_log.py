"""Logs a crawl on standard error and in a log file, with the handlers of `logging`.

open_reporters  the reporters that -q, -v and --log-file ask for
TextLog         lines for people; lines of requests have the level DEBUG
ReporterGroup   several reporters as one
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from functools import partial
from logging.handlers import WatchedFileHandler
from pathlib import Path
from typing import Any, TextIO

from focus.commands.crawl_progress import Reporter, page_line, started_line
from focus.commands.crawl_summary import summary_lines
from focus.crawler import Crawl, Event
from focus.errors import ConfigError
from focus.i18n import say, translate
from focus.session import RunReport
from focus.store import CrawlInfo

LEVEL_OFF = logging.CRITICAL + 1  # level of a handler that failed: a log must not disturb the crawl


class StderrHandler(logging.StreamHandler[TextIO]):
    """Handler for standard error that writes nothing more after a failure (closed pipe)."""

    def handleError(self, record: logging.LogRecord) -> None:
        self.setLevel(LEVEL_OFF)


class LogFileHandler(WatchedFileHandler):
    """Handler for --log-file, which logrotate may rename; it reports its first failure."""

    def __init__(self, path: Path) -> None:
        try:
            super().__init__(path, encoding="utf-8", errors="backslashreplace")
        except OSError as error:
            raise ConfigError(
                "--log-file {path}: cannot be written: {error}", path=path, error=error
            ) from None
        self.setFormatter(logging.Formatter("%(asctime)s  %(message)s", "%Y-%m-%d %H:%M:%S"))

    def emit(self, record: logging.LogRecord) -> None:
        try:
            super().emit(record)
        except OSError:  # the renamed file cannot be opened again
            self.handleError(record)

    def handleError(self, record: logging.LogRecord) -> None:
        self.setLevel(LEVEL_OFF)
        error = sys.exc_info()[1]
        reason = getattr(error, "strerror", None) or error
        line = say(
            "focus: --log-file {file}: {reason}; the log ends here",
            file=self.baseFilename,
            reason=reason,
        )
        with suppress(OSError, ValueError):
            print(line, file=sys.stderr)

    def close(self) -> None:
        with suppress(OSError):  # a full disk was reported when it filled up
            super().close()


class TextLog(Reporter):
    """Writes lines to handlers; a handler for DEBUG gets a line for each request, too."""

    def __init__(self, handlers: Sequence[logging.Handler]) -> None:
        super().__init__()
        self._logger = logging.Logger("focus")
        for handler in handlers:
            self._logger.addHandler(handler)
        self._logs_requests = any(handler.level <= logging.DEBUG for handler in handlers)

    def started(self, crawl: Crawl, info: CrawlInfo) -> None:
        super().started(crawl, info)
        self._logger.info(started_line(crawl, info))

    def event(self, event: Event) -> None:
        if self._logs_requests:
            self._logger.debug(page_line(event))

    def update(self, line: str) -> None:
        self._logger.info(line)

    def stopping(self, how: str) -> None:
        self._logger.info(say("Stopping: {how}", how=how))

    def say(self, text: str) -> None:
        self._logger.info(translate(text))

    def ended(self, report: RunReport) -> None:
        for line in summary_lines(report):
            self._logger.info(line)

    def close(self) -> None:
        for handler in self._logger.handlers:
            handler.close()


class ReporterGroup(Reporter):
    """Passes each call to several reporters, in order."""

    def __init__(self, reporters: Sequence[Reporter]) -> None:
        super().__init__()

        def tell_all(name: str, *said: Any) -> None:
            for reporter in reporters:
                getattr(reporter, name)(*said)

        for name in ("started", "event", "stopping", "outage", "say", "ended", "close"):
            setattr(self, name, partial(tell_all, name))


@contextmanager
def open_reporters(
    *, quiet: bool = False, verbose: bool = False, log_file: Path | None = None
) -> Iterator[Reporter]:
    """Open the reporters that the options ask for, and close them at the end.

    Standard error gets a live line if it is a terminal, otherwise log lines; nothing if `quiet`.
    A log file gets a line for each request in any case.
    """
    level = logging.DEBUG if verbose else logging.INFO
    handlers: list[logging.Handler] = [] if log_file is None else [LogFileHandler(log_file)]
    live = None if quiet else _live_line(pages=verbose)
    if not quiet and live is None:
        handlers.append(StderrHandler(sys.stderr))
        handlers[-1].setLevel(level)
    reporters: list[Reporter] = [TextLog(handlers)] if handlers else []
    with closing(ReporterGroup(reporters if live is None else [*reporters, live])) as group:
        yield group


def _live_line(*, pages: bool) -> Reporter | None:
    """Return a live line if standard error is a terminal that can show it."""
    if not sys.stderr.isatty():
        return None
    from rich.console import Console  # heavy, and of use on a terminal only

    from focus.commands.crawl_live_line import LiveLine

    console = Console(stderr=True, highlight=False, markup=False, emoji=False)
    usable = console.is_terminal and not console.is_dumb_terminal
    return LiveLine(console, pages=pages) if usable else None
