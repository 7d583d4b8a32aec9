"""Each limit on what a server may do: its option, what it changes, and what `status` calls it."""

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from focus.__main__ import main
from focus.config import CrawlConfig
from focus.records import DropReason, FailureKind
from focus.urls.normal_form import MAX_URL
from tests.support.web import TinyWeb
from tests.test_settings import BASE, Ordered, home, ordered

__all__ = ["home", "ordered"]

ROOT = Path(__file__).parents[1]
OPTIONS: list[tuple[str, str, Callable[[CrawlConfig], object], object]] = [
    ("--timeout", "7s", lambda config: config.fetch.total_timeout_s, 7.0),
    ("--connect-timeout", "2s", lambda config: config.fetch.connect_timeout_s, 2.0),
    ("--read-timeout", "3s", lambda config: config.fetch.read_timeout_s, 3.0),
    ("--min-rate", "0", lambda config: config.fetch.min_rate_bytes_s, 0),
    ("--min-rate", "4K", lambda config: config.fetch.min_rate_bytes_s, 4096),
    ("--max-body", "1M", lambda config: config.fetch.max_body_bytes, 1 << 20),
    ("--max-body", "1M", lambda config: config.fetch.max_raw_bytes, 1 << 20),
    ("--max-raw", "2M", lambda config: config.fetch.max_raw_bytes, 2 << 20),
    ("--max-headers", "8K", lambda config: config.fetch.max_header_bytes, 8192),
    ("--max-redirects", "0", lambda config: config.max_redirects, 0),
    ("--max-url", "100", lambda config: config.scope.max_url, 100),
    ("--max-links", "9", lambda config: config.analysis.max_links, 9),
    ("--parse-timeout", "500ms", lambda config: config.parse_limit_s, 0.5),
]


@pytest.mark.parametrize(("option", "value", "field", "expected"), OPTIONS)
def test_every_limit_has_an_option(
    ordered: Ordered,
    option: str,
    value: str,
    field: Callable[[CrawlConfig], object],
    expected: object,
) -> None:
    assert field(ordered(*BASE, option, value).config) == expected


@pytest.mark.parametrize(
    ("option", "value"),
    [("--max-url", str(MAX_URL + 1)), ("--max-raw", "0"), ("--max-links", "-1")],
)
def test_limits_that_make_no_sense_are_told(
    option: str, value: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["crawl", *BASE, option, value]) == 2
    assert option in capsys.readouterr().err


async def test_status_names_the_limits_that_were_hit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    web = TinyWeb()
    long = f"http://a.test/{'x' * 90}"
    web.page("http://a.test/", links=["/big", "/r", "/flood", long], title="足球")
    web.page("http://a.test/big", text="w" * 3000)
    web.redirect("http://a.test/r", "/r2")
    web.redirect("http://a.test/r2", "/")
    web.status("http://a.test/flood", 200, headers={"x-flood": "y" * 1500}, body=b"<p>x")
    database = str(tmp_path / "x.db")
    arguments = ["--seed", "http://a.test/", "--topic", "足球", "--db", database, "--delay", "0"]
    limits = ["--max-body", "2K", "--max-headers", "1K", "--max-redirects", "1", "--max-url", "64"]
    async with web.serve() as address:
        reach = ["--connect-to", address, "--allow-net", "127.0.0.0/8", "--workers", "1", "-q"]
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "focus", "crawl", *arguments, *limits, *reach), cwd=ROOT
        )
        assert await process.wait() == 0
    capsys.readouterr()
    assert main(["status", "--db", database]) == 0
    out = capsys.readouterr().out
    for name in (
        FailureKind.TOO_LARGE,
        FailureKind.HEADERS_TOO_LARGE,
        FailureKind.REDIRECT,
        DropReason.URL_TOO_LONG,
    ):
        assert f"{name} 1" in out, out
