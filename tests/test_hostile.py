"""One crawl through everything that tests/hostile does to it, and it comes home.

The crawl is the real one: session, network, workers, database and WARC; only time limits
and the waits between tries are shortened. What is expected of each behaviour is checked
against the database and, above all, against the server's own log.
"""

from __future__ import annotations

import argparse
import asyncio
import csv
import io
import json
import logging
import re
import resource
import socket
import sqlite3
import ssl
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from aiohttp.abc import ResolveResult
from warcio.archiveiterator import ArchiveIterator
from warcio.checker import Checker

from focus import fetch, session
from focus.__main__ import main
from focus.commands.crawl_log import TextLog
from focus.config import (
    AnalysisConfig,
    CrawlConfig,
    FetchConfig,
    PolitenessConfig,
    RunPaths,
    ScopeConfig,
)
from focus.fetch import WebFetcher
from focus.http import connection
from focus.http.tls import make_client_context
from focus.records import FailureKind, UrlState
from focus.scheduling import retries
from focus.session import RunReport
from focus.topic.topic import from_words, to_builtins
from focus.urls.normal_form import normalise
from tests.hostile.case import MIB, Case
from tests.hostile.secure import authority
from tests.hostile.server import PRIVATE, PUBLIC, TLS, Hit, HostileServer, Names
from tests.hostile.table import prepare, table
from tests.support.cases import cases
from tests.support.timetravel import SteadyTime

pytestmark = pytest.mark.slow

CASES = table()
MAX_GROWTH = 384 * MIB
"""Of this process during the crawl, on top of the tests that ran in it before."""
MAX_S = 180.0  # of a clock that stands still while the machine does


@dataclass
class HostileCrawl:
    """What a crawl has left behind."""

    server: HostileServer
    folder: Path
    report: RunReport
    seconds: float
    faults: list[dict[str, Any]]
    said: list[str]
    growth: int
    urls: dict[str, tuple[str, str]] = field(default_factory=dict)
    titles: dict[str, str] = field(default_factory=dict)
    links: dict[str, int] = field(default_factory=dict)

    def read(self) -> None:
        states = {state.value: state.name.lower() for state in UrlState}
        with sqlite3.connect(self.folder / "hostile.db") as db:
            for url, state, reason in db.execute("SELECT url, state, reason FROM url"):
                self.urls[url] = (states[state], reason or "")
            self.titles = dict(db.execute("SELECT url, title FROM page_text"))
            self.links = dict(
                db.execute(
                    "SELECT page_text.url, length(targets) / 4 FROM link JOIN page_text "
                    "ON page_text.id = (link.id >> 32 << 32 | link.source)"
                )
            )
        db.close()

    def outcome(self, url: str) -> str:
        state, reason = self.urls.get(url, ("unknown", ""))
        return f"{state}:{reason}" if reason else state

    def hits(self, case: Case) -> list[Hit]:
        """Requests for the very URL of a case."""
        url = normalise(case.address(self.server.port)) or ""
        path = url[url.find("/", 8) :]
        return [hit for hit in self.server.hits(case.name) if hit.path == path]


@pytest.fixture(scope="module")
def hostile_crawl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HostileCrawl]:
    prepare()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("focus.session.runtime.WebFetcher", partial(WebFetcher, resolver=Names()))
        patch.setattr(fetch, "make_client_context", _trusting)
        patch.setattr(retries, "MAX_WAIT_S", 3.0)
        quick = {kind: row._replace(wait_s=0.05) for kind, row in retries.POLICIES.items()}
        patch.setattr(retries, "POLICIES", quick)
        folder = tmp_path_factory.mktemp("hostile")
        faults: list[dict[str, Any]] = []
        said: list[str] = []
        memory = Memory()
        with memory, asyncio.Runner(loop_factory=SteadyTime) as runner:
            loop = runner.get_loop()
            loop.set_exception_handler(lambda _, context: faults.append(context))
            server, report = runner.run(_served_and_crawled(folder, said))
            done = HostileCrawl(server, folder, report, loop.time(), faults, said, memory.growth)
        done.read()
        yield done


async def _served_and_crawled(folder: Path, said: list[str]) -> tuple[HostileServer, RunReport]:
    """Both in one loop, so that neither stands still while the other does not."""
    async with HostileServer(CASES).serve() as server:
        return server, await _crawl(server, folder, said)


def _trusting(*, insecure: bool) -> ssl.SSLContext:
    """As a crawl has it, with the tests' authority for the system's."""
    context = make_client_context(insecure=insecure)
    authority().trust(context)
    return context


class Memory:
    """How much memory this process takes at most, beyond what it had (Linux; else 0)."""

    def __init__(self) -> None:
        self.growth = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> Memory:
        self._before = self._now()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._over.wait(0.1):
            self.growth = max(self.growth, self._now() - self._before)

    @staticmethod
    def _now() -> int:
        try:
            return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
        except OSError:
            return 0


async def _crawl(server: HostileServer, folder: Path, said: list[str]) -> RunReport:
    seeds = [f"http://hub.test:{server.port}/"]
    seeds += [f"http://{case.name}:{server.port}/" for case in CASES.values() if case.seed]
    topic = to_builtins(from_words("足球"))
    config = CrawlConfig(
        seeds=tuple(seeds),
        strategy="bfs",
        concurrency=64,
        workers=2,
        fetch=FetchConfig(
            connect_timeout_s=2.0, read_timeout_s=2.0, total_timeout_s=5.0, min_rate_window_s=1.5,
            max_body_bytes=MIB, max_raw_bytes=MIB, allow_net=(f"{PUBLIC}/32",), sitemaps=True,
            concurrency=64,
        ),
        politeness=PolitenessConfig(
            delay_s=0.02, max_crawl_delay_s=0.2, max_slowdown_s=0.2, per_ip=0
        ),
        scope=ScopeConfig(max_depth=20, deny=(r"\.test:\d+/l/\d", "/a/a/a/a/a/")),
        analysis=AnalysisConfig(topic=topic, relevance="position"),
    )  # fmt: skip
    places = RunPaths(db=folder / "hostile.db", warc=folder / "hostile.warc.gz")
    log = io.StringIO()
    handler = logging.StreamHandler(log)
    handler.setLevel(logging.DEBUG)
    teller = TextLog([handler])
    report = await session.run(config, places, teller)
    teller.ended(report)
    said += log.getvalue().split("\n")
    return report


# -- the crawl as a whole ---------------------------------------------------------------


def test_table_has_at_least_120_behaviours() -> None:
    assert len(CASES) >= 120


def test_crawl_ends_within_time_and_memory(hostile_crawl: HostileCrawl) -> None:
    assert hostile_crawl.report.stop_reason == "frontier empty"
    assert hostile_crawl.seconds < MAX_S
    assert hostile_crawl.growth < MAX_GROWTH


def test_neither_side_raised_an_error(hostile_crawl: HostileCrawl) -> None:
    assert (hostile_crawl.faults, hostile_crawl.server.errors) == ([], [])


def test_private_network_received_no_request(hostile_crawl: HostileCrawl) -> None:
    assert hostile_crawl.server.tripped == []


def test_no_cookie_or_password_was_sent(hostile_crawl: HostileCrawl) -> None:
    sent = {name for hit in hostile_crawl.server.log for name in hit.headers}
    assert not sent & {"cookie", "authorization", "proxy-authorization", "referer"}


# -- what is left behind ----------------------------------------------------------------

ACTIVE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""What may act on a terminal, or turn the direction of writing."""


def test_recording_is_valid_and_marks_truncated_bodies(hostile_crawl: HostileCrawl) -> None:
    file = hostile_crawl.folder / "hostile.warc.gz"
    checker = Checker(argparse.Namespace(inputs=[str(file)], verbose=False))
    checker.process_all()
    assert checker.exit_value == 0
    subprocess.run(["gunzip", "-t", str(file)], check=True)
    cut: dict[str, str] = {}
    with file.open("rb") as stream:
        for record in ArchiveIterator(stream):
            url = record.rec_headers.get_header("WARC-Target-URI") or ""
            if record.rec_type == "response":
                cut[urlsplit(url).hostname or ""] = (
                    record.rec_headers.get_header("WARC-Truncated") or ""
                )
                cut[url] = cut[urlsplit(url).hostname or ""]
    port = hostile_crawl.server.port
    assert cut[f"http://endless-body.test:{port}/x"] == "length"
    assert cut[f"http://drip-body.test:{port}/x"] == "time"
    assert cut[f"http://reset-in-body.test:{port}/x"] == "disconnect"
    assert cut[f"http://endless-film.test:{port}/x"] == "unspecified"
    assert cut[f"http://html-as-image.test:{port}/x"] == ""


def test_messages_contain_no_terminal_controls(hostile_crawl: HostileCrawl) -> None:
    assert any("parser-title" in line for line in hostile_crawl.said)
    assert [line for line in hostile_crawl.said if ACTIVE.search(line)] == []


@cases(
    "command",
    ("status",),
    ("status", "--json"),
    ("why", "http://parser-title.test:{port}/x"),
    ("why", "http://parser-title.test:{port}/x", "--json"),
    ("why", "http://header-escape.test:{port}/x"),
    ("why", "http://to-crlf.test:{port}/x"),
    ("export", "--format", "jsonl"),
    ("export", "--format", "csv"),
    ids=" ".join,
)
def test_commands_print_no_terminal_controls(
    hostile_crawl: HostileCrawl, command: tuple[str, ...], capfd: pytest.CaptureFixture[str]
) -> None:
    filled = [item.format(port=hostile_crawl.server.port) for item in command]
    assert main([*filled, "--db", str(hostile_crawl.folder / "hostile.db")]) == 0
    out, err = capfd.readouterr()
    assert out
    assert [line for line in (out + err).split("\n") if ACTIVE.search(line.rstrip("\r"))] == []


def test_exports_have_no_formula_and_one_line_per_record(hostile_crawl: HostileCrawl) -> None:
    database = str(hostile_crawl.folder / "hostile.db")
    for kind in ("csv", "jsonl"):
        assert (
            main(
                [
                    "export", "--db", database, "--format", kind, "-o",
                    str(hostile_crawl.folder / kind),
                ]
            )
            == 0
        )  # fmt: skip
    with (hostile_crawl.folder / "csv").open(newline="", encoding="utf-8") as file:
        cells = [cell for row in csv.reader(file) for cell in row]
    assert any("HYPERLINK" in cell for cell in cells)
    assert [c for c in cells if c.startswith(("=", "+", "@", "\t", "\r"))] == []
    lines = (hostile_crawl.folder / "jsonl").read_text(encoding="utf-8").splitlines()
    assert len(lines) == hostile_crawl.report.totals.pages
    assert all(json.loads(line)["url"] for line in lines)


def test_report_contains_no_script_of_pages(hostile_crawl: HostileCrawl) -> None:
    page = hostile_crawl.folder / "report.html"
    assert main(["report", "--db", str(hostile_crawl.folder / "hostile.db"), "-o", str(page)]) == 0
    assert "<script>alert(1)" not in page.read_text(encoding="utf-8")


# -- rebinding --------------------------------------------------------------------------


class Rebinding(Names):
    """A name that is the server's at first and a private address from then on."""

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        again = host in self.asked
        answers = await super().resolve(host, port, family)
        return [{**item, "host": PRIVATE} for item in answers] if again else answers


async def test_name_that_turns_private_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "_DNS_TTL_S", 0)
    config = FetchConfig(allow_net=(f"{PUBLIC}/32",), sitemaps=True)
    async with (
        HostileServer(CASES).serve() as server,
        WebFetcher(config, resolver=Rebinding()) as fetcher,
    ):
        # It closes its connection, so that each request needs a new one. Whether that was
        # noticed before the second request was written is chance.
        base = f"http://keeps-then-drops.test:{server.port}"
        first = await fetcher.fetch(f"{base}/x")
        second = await fetcher.fetch(f"{base}/y")
        if second.failure is FailureKind.CLOSED:
            second = await fetcher.fetch(f"{base}/y")
        later = [second, await fetcher.fetch(f"{base}/sitemap.xml")]
        later.append(await fetcher.fetch(f"{base}/robots.txt", robots=True))
    assert first.failure is None
    assert [item.failure for item in later] == [FailureKind.GUARD] * 3
    assert server.tripped == []


# -- each behaviour ---------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_behaviour(hostile_crawl: HostileCrawl, case: Case) -> None:
    expect, server = case.expect, hostile_crawl.server
    url = normalise(case.address(server.port))
    assert url is not None
    assert hostile_crawl.outcome(url) in expect.ends
    hits = hostile_crawl.hits(case)
    assert len(hits) <= expect.tries
    hits += server.hits(case.name, TLS)
    assert all(hit.sent <= expect.bytes for hit in hits)
    assert all(hit.seconds <= expect.seconds for hit in hits)
    assert len(server.hits(case.name)) <= expect.visits
    if expect.title is not None:
        assert hostile_crawl.titles.get(url) == expect.title
    if expect.links is not None:
        assert hostile_crawl.links.get(url, 0) <= expect.links
    asked = {hit.path for hit in server.hits(case.name)}
    assert set(expect.asked) <= asked
    assert not set(expect.unasked) & asked
    if expect.after:
        assert hostile_crawl.outcome(f"http://{case.name}:{server.port}/after") == "done"
