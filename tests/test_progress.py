"""A crawl is told of truly, safely and without ever disturbing it."""

import asyncio
import io
import logging
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from rich.console import Console

from focus.commands.crawl_live_line import LiveLine, wrap_at_dots
from focus.commands.crawl_log import ReporterGroup, StderrHandler, TextLog, open_reporters
from focus.commands.crawl_progress import CrawlMeter, Reporter, outage_line, page_line, started_line
from focus.commands.crawl_summary import (
    OFFLINE,
    error_rate,
    exit_code,
    failure_lines,
    summary_lines,
    time_of_day,
)
from focus.config import AnalysisConfig, CrawlConfig, LimitConfig
from focus.crawler import Event
from focus.engine.outages import Outage
from focus.engine.recent_harvest import RecentHarvest
from focus.engine.unit_of_work import Totals
from focus.records import UrlState
from focus.session import RunReport
from focus.store import CrawlInfo
from focus.text.formatting import cell_width
from tests.support.cases import cases
from tests.support.timetravel import OWN_TIME

pytestmark = OWN_TIME


class FakeCrawl(SimpleNamespace):
    """As much of a crawl as tellers look at; `clock` is the crawl's own."""

    def __init__(self, **limits: Any) -> None:
        self.clock = 1000.0
        analysis = AnalysisConfig(topic={"name": "足球"})
        limit_config = LimitConfig(**limits)
        super().__init__(
            config=CrawlConfig(("a.test",), "bfs", limits=limit_config, analysis=analysis),
            unit_of_work=SimpleNamespace(totals=Totals(), failures=Counter({"timeout": 2})),
            url_table=Known(),
            frontier=SimpleNamespace(hosts=[1, 2, 3]),
            transport=SimpleNamespace(now=lambda: self.clock, in_flight=4),
            outages=SimpleNamespace(current=None),
            recent_harvest=RecentHarvest(),
        )


class Known:
    """12,345 known URLs, 410 of them waiting."""

    counts = dict.fromkeys(UrlState, 0) | {UrlState.WAITING: 410}

    def __len__(self) -> int:
        return 12_345


def page(nth: int = 7, **fields: Any) -> Event:
    values: dict[str, Any] = {
        "at": 1.0, "url": "http://a.test/", "state": UrlState.DONE, "relevance": 0.834,
        "relevant": True, "title": "足球\x1b[2J新闻", **fields,
    }  # fmt: skip
    return Event(nth=nth, **values)


def info(**fields: Any) -> CrawlInfo:
    blank: dict[str, Any] = dict.fromkeys(CrawlInfo._fields, 0)
    return CrawlInfo(**(blank | {"id": 7, "is_resumed": False, "counters": {}} | fields))


def report(**fields: Any) -> RunReport:
    totals = Totals(**fields.pop("totals", {"requests": 1200, "pages": 1000, "relevant": 313}))
    values: dict[str, Any] = {
        "crawl": 7, "resumed": False, "stop_reason": "max-pages reached", "strategy": "bfs",
        "topic": "足球", "totals": totals, "run_requests": 1200, "run_pages": 1000,
        "run_seconds": 125.0, "pages_per_second": 8.0, "harvest_rate": 0.313,
        "states": {"waiting": 410}, "hosts": 3, "failures": {}, "dropped": {},
        "seed_failures": {}, "database": "/x/focus.db",
    }  # fmt: skip
    return RunReport(**(values | fields))


# -- numbers ------------------------------------------------------------------------


def test_line_contains_current_figures() -> None:
    crawl, wall = FakeCrawl(), 50.0
    pulse = CrawlMeter(crawl, now=lambda: wall)
    crawl.unit_of_work.totals = Totals(requests=3000, pages=2000, relevant=1200)
    wall = 60.0
    assert pulse.line() == (
        "2,000 pages (200.0/s) · 1,200 relevant · harvest 40.0%, last 500 0.0%, last 100 0.0% · "
        "410 waiting · 3 hosts · 2 failed"
    )


def test_line_contains_total_and_recent_harvest() -> None:
    crawl = FakeCrawl()
    crawl.unit_of_work.totals = Totals(requests=1000, pages=900, relevant=700)
    crawl.recent_harvest.add([True] * 75 + [False] * 400 + [True] * 25)
    assert "harvest 70.0%, last 500 20.0%, last 100 25.0%" in CrawlMeter(crawl).line()


def test_rate_covers_last_seconds_only() -> None:
    crawl, wall = FakeCrawl(), 0.0
    pulse = CrawlMeter(crawl, now=lambda: wall)
    for second in range(1, 101):
        wall = float(second)
        crawl.unit_of_work.totals.pages += 10 if second <= 50 else 1
        pulse.sample()
    assert pulse.line().startswith("550 pages (1.0/s) ")


def test_line_contains_time_to_nearest_limit() -> None:
    crawl, wall = FakeCrawl(max_pages=100, target=30, max_time_s=1000.0), 0.0
    pulse = CrawlMeter(crawl, now=lambda: wall)
    crawl.unit_of_work.totals = Totals(pages=20, page_requests=20, relevant=10)
    wall, crawl.clock = 10.0, 1010.0
    assert "(2.0/s, 20s to target)" in pulse.line()  # 20 more at 1/s
    crawl.unit_of_work.totals = Totals(pages=20, page_requests=20, relevant=0)
    assert "(2.0/s, 40s to max-pages)" in pulse.line()


def test_time_limit_on_virtual_clock_is_shown_in_real_time() -> None:
    crawl, wall = FakeCrawl(max_time_s=1000.0), 0.0
    pulse = CrawlMeter(crawl, now=lambda: wall)
    wall, crawl.clock = 1.0, 1100.0  # 100 virtual seconds went by in one
    assert "9s to max-time" in pulse.line()


# -- lines --------------------------------------------------------------------------


def test_page_line_escapes_control_characters() -> None:
    assert page_line(page()) == "     7  relevant 0.83     http://a.test/  足球 [2J新闻"
    failed = page(8, state=UrlState.FAILED, reason="timeout", title="")
    assert page_line(failed) == "     8  failed timeout    http://a.test/"
    robots = page(9, state=None, title="")
    assert page_line(robots) == "     9  robots.txt        http://a.test/"


def test_started_line_new_and_continued_crawl() -> None:
    crawl = FakeCrawl()
    assert started_line(crawl, info()) == "Crawl 7: 足球 by bfs from 1 seed"
    line = started_line(crawl, info(is_resumed=True))
    assert line == "Continuing crawl 7 (12,345 known, 410 waiting)"


# -- tellers ------------------------------------------------------------------------


class Lines(logging.Handler):
    """A handler that keeps the lines."""

    def __init__(self, level: int = logging.INFO) -> None:
        super().__init__(level)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(self.format(record))


async def test_text_log_writes_figures_at_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TextLog, "every_s", 0.01)
    shown = Lines()
    lines, log = shown.lines, TextLog([shown])
    log.started(FakeCrawl(), info())
    log.event(page())
    await asyncio.sleep(0.1)
    log.stopping("letting 3 requests finish")
    assert lines[0].startswith("Crawl 7: ")
    assert lines[1].startswith("0 pages (0.0/s) · 0 relevant")
    assert len(lines) > 3
    assert lines[-1] == "Stopping: letting 3 requests finish"


async def test_text_log_verbose_has_line_per_request() -> None:
    shown = Lines(logging.DEBUG)
    lines, log = shown.lines, TextLog([shown])
    log.started(FakeCrawl(), info())
    log.event(page())
    assert lines[1:] == [page_line(page())]


def console(width: int = 60) -> Console:
    return Console(file=io.StringIO(), force_terminal=True, width=width, color_system=None)


async def test_live_line_fits_terminal_width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LiveLine, "every_s", 0.01)
    live = LiveLine(console(40), pages=True)
    live.started(FakeCrawl(max_pages=10), info())
    live.event(page(title="足" * 40))
    await asyncio.sleep(0.05)
    live.ended(report())
    text = live._console.file.getvalue()
    assert text.startswith("Crawl 7: ")
    assert "     7  relevant 0.83     http://a.test/  足" in text
    frames = [part for part in text.split("\x1b[2K") if part.startswith("0 pages")]
    assert frames
    assert max(cell_width(frame.split("\r")[0].split("\n")[0]) for frame in frames) < 40
    assert text.rstrip().endswith("database  /x/focus.db")


async def test_live_line_closed_terminal_does_not_end_crawl() -> None:
    live = LiveLine(console(), pages=True)
    live.started(FakeCrawl(), info())
    live._console.file.close()
    live.event(page())
    live.update("12 pages")
    live.ended(report())


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux has this device")
def test_log_file_on_full_disk_reports_once(capsys: pytest.CaptureFixture[str]) -> None:
    with open_reporters(quiet=True, log_file=Path("/dev/full")) as teller:
        teller.say("a")
        teller.say("b")
    line = "focus: --log-file /dev/full: No space left on device; the log ends here\n"
    assert capsys.readouterr().err == line


def test_log_file_in_deleted_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    with open_reporters(quiet=True, log_file=folder / "crawl.log") as teller:
        teller.say("a")
        folder.rename(tmp_path / "gone")
        teller.say("b")
        teller.say("c")
    assert capsys.readouterr().err.count("the log ends here") == 1


class Broken(io.StringIO):
    """A pipe that nobody reads any more."""

    def write(self, text: str) -> int:
        raise BrokenPipeError


def test_broken_standard_error_does_not_end_crawl() -> None:
    stream = Broken()
    log = TextLog([StderrHandler(stream)])
    log.say("a")
    stream.close()
    log.say("b")


def test_wrap_at_dots_breaks_long_line_at_dots() -> None:
    assert wrap_at_dots("12 pages · 3 relevant · 4 hosts", 80) == "12 pages · 3 relevant · 4 hosts"
    assert wrap_at_dots("12 pages · 3 relevant · 4 hosts", 22) == "12 pages · 3 relevant\n4 hosts"


async def test_reporter_group_passes_calls_to_all() -> None:
    handlers = Lines(logging.DEBUG), Lines()
    both = ReporterGroup([TextLog([handler]) for handler in handlers])
    both.started(FakeCrawl(), info())
    both.event(page())
    both.say("x")
    both.stopping("y")
    both.ended(report())
    both.close()
    first, second = (handler.lines for handler in handlers)
    assert len(first) == len(second) + 1
    assert second[-1] == "  database  /x/focus.db"


def test_open_reporters_quiet_prints_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with open_reporters(quiet=True, verbose=True) as teller:
        teller.say("x")
        teller.ended(report())
    assert capsys.readouterr() == ("", "")


def test_renamed_log_file_is_created_again(tmp_path: Path) -> None:
    path = tmp_path / "crawl.log"
    with open_reporters(quiet=True, log_file=path) as teller:
        teller.say("one")
        path.rename(tmp_path / "crawl.log.1")
        teller.say("two")
        path.unlink()
        teller.say("three")
        teller.say("four")
    assert [line.split()[-1] for line in path.read_text("utf-8").splitlines()] == ["three", "four"]
    assert (tmp_path / "crawl.log.1").read_text("utf-8").split()[-1] == "one"


async def test_log_file_contains_all_requests_even_if_quiet(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "focus.log"
    path.write_text("before\n")
    with open_reporters(quiet=True, log_file=path) as teller:
        teller.started(FakeCrawl(), info())
        teller.event(page())
    lines = path.read_text(encoding="utf-8").splitlines()
    assert (lines[0], len(lines)) == ("before", 3)
    assert "http://a.test/" in lines[2]
    assert capsys.readouterr() == ("", "")


def test_reporter_without_started_crawl_is_silent() -> None:
    Reporter().event(page())


# -- summary and exit codes ---------------------------------------------------------


def test_summary_lines_contain_all_figures() -> None:
    result = report(
        totals={"requests": 1200, "pages": 1000, "relevant": 313, "bytes": 33_000_000,
                "first_relevant": 12},
        failures={"http-4xx": 14, "timeout": 20},
        seed_failures={"b.test\x1b": "dns: no such host"},
    )  # fmt: skip
    assert summary_lines(result) == [
        "Crawl 7 ended: max-pages reached.",
        "  pages     1,000, 313 relevant (harvest rate 31.3%), the first after 12 requests",
        "  this run  1,000 pages in 2m05s, 8.0 pages/s",
        "  received  31.5M in 1,200 requests",
        "  waiting   410 URLs on 3 hosts",
        "  failed    34: timeout 20, http-4xx 14",
        "  database  /x/focus.db",
        "Seeds without a page:",
        "  b.test  the host name does not exist: no such host",
    ]


def test_summary_lines_interrupted_crawl_tells_how_to_continue() -> None:
    assert summary_lines(report(stop_reason="interrupted"))[-1] == "The same command continues it."
    assert summary_lines(report(stop_reason="terminated"))[-1] == "The same command continues it."


@cases(
    "reason, line",
    ("max-pages reached", "has its 1,000 pages already, so this run fetched nothing; raise "),
    ("target reached", "already has its 313 relevant pages; raise --target or use --fresh."),
    ("max-requests reached", "already made its 1,200 requests; raise --max-requests or"),
    ("frontier empty", "is complete: no URLs are waiting after 1,000 pages; use --fresh"),
)
def test_summary_lines_finished_crawl_says_nothing_to_do(reason: str, line: str) -> None:
    result = report(resumed=True, run_requests=0, run_pages=0, stop_reason=reason)
    assert len(summary_lines(result)) == 1
    assert line in summary_lines(result)[0]
    assert exit_code(result) == 0


def test_exit_code_for_each_stop_reason() -> None:
    none = report(totals={"requests": 3}, run_pages=0, stop_reason="frontier empty")
    assert exit_code(report()) == 0
    assert exit_code(none) == 3
    for reason, code in (("interrupted", 130), ("terminated", 0)):
        assert exit_code(msgspec.structs.replace(none, stop_reason=reason)) == code


def test_error_rate_counts_requested_urls_only() -> None:
    result = report(run_pages=60, failures={"timeout": 40, "host-given-up": 1000})
    assert error_rate(result) == 0.4
    assert exit_code(result) == exit_code(result, 0.4) == 0
    assert exit_code(result, 0.39) == 4
    assert error_rate(report(run_pages=0)) == 0.0


def test_failure_lines_for_failed_crawls() -> None:
    result = report(totals={}, seed_failures={"b.test": "dns: no such host"})
    assert failure_lines(result, 3) == [
        "focus: error: not one page was fetched",
        "Seeds without a page:",
        "  b.test  the host name does not exist: no such host",
    ]
    assert failure_lines(report(run_pages=1, failures={"dns": 3}), 4)[0].startswith(
        "focus: error: 75.0% of the URLs failed"
    )
    assert failure_lines(result, 0) == []


def test_outage_is_shown_in_line_and_logs() -> None:
    outage = Outage(1_000.0, 1_030.0, "Network is unreachable")
    crawl = FakeCrawl()
    crawl.outages = SimpleNamespace(current=outage)
    crawl.clock = 1_022.0
    pulse = CrawlMeter(crawl)  # type: ignore[arg-type]
    since = time_of_day(1_000.0)
    assert pulse.line().startswith(f"offline since {since}, next try in 8")
    assert outage_line(outage, 0.0, 0.0).startswith(f"Offline since {since} (Network is unreach")
    assert outage_line(None, 1_000.0, 1_075.0) == "Online again after 1m15s"
    shown = Lines()
    teller = TextLog([shown])
    teller.outage(outage)
    teller.outage(None)
    assert [line.split()[0] for line in shown.lines] == ["Offline", "Online"]


def test_offline_run_has_exit_code_and_message() -> None:
    result = report(stop_reason="offline", outage=Outage(1_000.0, 1_030.0, "no route"))
    assert exit_code(result) == OFFLINE == 8
    assert f"offline since {time_of_day(1_000.0)} (no route)" in failure_lines(result, OFFLINE)[0]
    assert summary_lines(result)[-1] == "The same command continues it."
