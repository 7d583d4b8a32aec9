"""Logs a crawl: lines for people, JSON events, or both.

telling   the tellers that -q, -v, --log-file and log-format ask for
TextLog   lines for people       JsonLog   one JSON object per line
Several   more than one of them at once
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import IO, Any

import msgspec

from focus.commands.crawl_progress import Moment, Teller, page_line, spelled, started_line
from focus.commands.crawl_summary import summary
from focus.crawler import Crawl, Event
from focus.engine.outages import Outage
from focus.errors import ConfigError
from focus.i18n import say, told
from focus.records import UrlState
from focus.session import RunReport
from focus.store import CrawlInfo
from focus.text.formatting import inert_json


class LogFile:
    """A file that is appended to, and made anew when it was renamed or removed (logrotate)."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._open()

    def _open(self) -> None:
        self._file = self._path.open("a", encoding="utf-8", errors="backslashreplace")
        self._held = os.fstat(self._file.fileno())

    def write(self, text: str) -> None:
        """Append a line; OSError when that fails."""
        if not self._is_there():
            self._file.close()
            self._open()
        self._file.write(text)

    def _is_there(self) -> bool:
        try:
            return os.path.samestat(self._path.stat(), self._held)
        except FileNotFoundError:
            return False

    def flush(self) -> None:
        """Bring what was written to the file."""
        self._file.flush()

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()


class Printer:
    """Lines to a stream. If that fails (closed pipe, full disk) the rest is left unsaid.

    `complain` is called with the reason, once.
    """

    def __init__(
        self,
        stream: IO[str] | LogFile,
        complain: Callable[[str], object] = lambda reason: None,
    ) -> None:
        self._stream: IO[str] | LogFile | None = stream
        self._complain = complain

    def __call__(self, line: str) -> None:
        if self._stream is None:
            return
        try:
            self._stream.write(line + "\n")
            self._stream.flush()
        except (OSError, ValueError) as error:
            self._stream = None
            self._complain(getattr(error, "strerror", None) or str(error))


class TextLog(Teller):
    """Lines for people. `pages`: one per request, too."""

    def __init__(self, write: Callable[[str], None], *, pages: bool) -> None:
        super().__init__()
        self._write, self._pages = write, pages

    def started(self, crawl: Crawl, info: CrawlInfo) -> None:
        super().started(crawl, info)
        self._write(started_line(crawl, info))

    def event(self, event: Event) -> None:
        if self._pages:
            self._write(page_line(event))

    def update(self, moment: Moment) -> None:
        self._write(spelled(moment))

    def stopping(self, how: str) -> None:
        self._write(say("Stopping: {how}", how=how))

    def say(self, text: str) -> None:
        self._write(told(text))

    def ended(self, report: RunReport) -> None:
        for line in summary(report):
            self._write(line)


class JsonLog(Teller):
    """Events as JSON, one a line; each has `event` and `at`. `pages`: one per request, too."""

    def __init__(
        self,
        write: Callable[[str], None],
        *,
        pages: bool,
        clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__()
        self._write, self._pages, self._clock = write, pages, clock

    def _put(self, name: str, fields: dict[str, Any]) -> None:
        at = datetime.fromtimestamp(self._clock(), UTC).isoformat(timespec="milliseconds")
        line = msgspec.json.encode({"event": name, "at": at, **fields}, enc_hook=str)
        self._write(inert_json(line).decode())

    def started(self, crawl: Crawl, info: CrawlInfo) -> None:
        super().started(crawl, info)
        fields = {
            "crawl": info.id,
            "resumed": info.resumed,
            "topic": crawl.config.analysis.topic.get("name", ""),
            "strategy": crawl.config.strategy,
            "seeds": list(crawl.config.seeds),
            "known": len(crawl.url_table),
            "waiting": crawl.url_table.counts[UrlState.WAITING],
        }
        self._put("started", fields)

    def event(self, event: Event) -> None:
        if self._pages:
            fields = msgspec.structs.asdict(event) | {"crawl_at": event.at}
            fields["state"] = None if event.state is None else event.state.name.lower()
            del fields["at"]
            self._put("request", fields)

    def update(self, moment: Moment) -> None:
        self._put("progress", msgspec.structs.asdict(moment))

    def stopping(self, how: str) -> None:
        self._put("stopping", {"how": str(how)})

    def outage(self, outage: Outage | None) -> None:
        fields = {} if outage is None else msgspec.structs.asdict(outage)
        self._put("online" if outage is None else "offline", fields)

    def say(self, text: str) -> None:
        self._put("note", {"text": text})

    def ended(self, report: RunReport) -> None:
        self._put("ended", msgspec.to_builtins(report, enc_hook=str))


class Several(Teller):
    """All of several tellers, in order."""

    def __init__(self, tellers: Sequence[Teller]) -> None:
        super().__init__()

        def tell_all(name: str, *said: Any) -> None:
            for teller in tellers:
                getattr(teller, name)(*said)

        for name in ("started", "event", "stopping", "outage", "say", "ended", "close"):
            setattr(self, name, partial(tell_all, name))


@contextmanager
def telling(
    *,
    quiet: bool = False,
    verbose: bool = False,
    log_format: str = "text",
    log_file: Path | None = None,
) -> Iterator[Teller]:
    """Who is to be told, as the options say; closed at the end.

    On standard error a live line if that is a terminal, else lines or JSON; nothing if
    `quiet`. A log file gets a line per request whatever the others say.
    """
    with ExitStack() as stack:
        tellers: list[Teller] = []
        if log_file is not None:

            def complain(reason: str, file: Path = log_file) -> None:
                with suppress(OSError, ValueError):
                    print(
                        say(
                            "focus: --log-file {file}: {reason}; it ends here",
                            file=file,
                            reason=reason,
                        ),
                        file=sys.stderr,
                    )

            write = Printer(stack.enter_context(_appended(log_file)), complain)
            tellers.append(
                JsonLog(write, pages=True)
                if log_format == "json"
                else TextLog(
                    lambda line: write(f"{time.strftime('%Y-%m-%d %H:%M:%S')}  {line}"), pages=True
                )
            )
        if not quiet:
            as_json = log_format == "json" and log_file is None
            tellers.append(_on_stderr(verbose, as_json))
        several = Several(tellers)
        stack.callback(several.close)
        yield several


def _on_stderr(verbose: bool, as_json: bool) -> Teller:
    if as_json:
        return JsonLog(Printer(sys.stderr), pages=verbose)
    if sys.stderr.isatty():
        from rich.console import Console  # heavy, and of use on a terminal only

        from focus.commands.crawl_live_line import LiveLine

        console = Console(stderr=True, highlight=False, markup=False, emoji=False)
        if console.is_terminal and not console.is_dumb_terminal:
            return LiveLine(console, pages=verbose)
    return TextLog(Printer(sys.stderr), pages=verbose)


@contextmanager
def _appended(path: Path) -> Iterator[LogFile]:
    try:
        file = LogFile(path)
    except OSError as error:
        raise ConfigError(
            "--log-file {path}: cannot be written: {error}", path=path, error=error
        ) from None
    try:
        yield file
    finally:
        with suppress(OSError):  # a full disk: it was complained of when it filled up
            file.close()
