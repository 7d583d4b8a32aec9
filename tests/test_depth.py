"""Depth counts by the shortest way, and a later run fetches what a wider scope allows."""

from pathlib import Path

import pytest

from focus.config import ScopeConfig
from focus.urls.normal_form import url_fingerprint
from tests.support.cases import cases
from tests.support.command import Focus, record
from tests.support.web import TinyWeb
from tests.test_crawl import crawl

A = "http://a.test"
LATE = {"/": ["/1", "/late"], "/1": ["/2"], "/2": ["/x"], "/x": ["/y"], "/late": ["/x"], "/y": []}
BY_REDIRECT = {"/": ["/1", "/r"], "/1": ["/x"], "/x": ["/y"], "/y": [], "/r": "/x"}
CHAIN = {"/": ["/1", "/r"], "/1": ["/2"], "/2": ["/s"], "/s": "/x", "/x": ["/y"], "/y": [],
         "/r": ["/s"]}  # fmt: skip
DIAMOND = {"/": ["/1", "/5"], "/1": ["/2"], "/2": ["/3"], "/3": ["/4"], "/4": ["/6"], "/5": ["/3"],
           "/6": []}  # fmt: skip


def make_web(pages: dict[str, list[str] | str]) -> TinyWeb:
    web = TinyWeb()
    for path, links in pages.items():
        if isinstance(links, str):
            web.redirect(A + path, links)
        else:
            web.page(A + path, links=links)
    return web


@pytest.mark.parametrize("strategy", ["bfs", "dfs", "yield"])
@cases(
    "pages, max_depth, depths",
    (LATE, 3, {"/x": 2, "/y": 3}),
    (LATE, 2, {"/x": 2}),
    (BY_REDIRECT, 2, {"/x": 1, "/y": 2}),
    (CHAIN, 3, {"/x": 2, "/y": 3}),
    (DIAMOND, 4, {"/3": 2, "/4": 3, "/6": 4}),
)
async def test_depth_counts_by_shortest_way(
    pages: dict[str, list[str] | str], max_depth: int, depths: dict[str, int], strategy: str
) -> None:
    scope = ScopeConfig(max_depth=max_depth)
    run = await crawl(make_web(pages), [f"{A}/"], strategy=strategy, scope=scope)
    table = run.crawl.url_table
    depths_by_path = {path: table.depth[table.find(url_fingerprint(A + path))] for path in depths}
    assert depths_by_path == depths
    pages_within = {path for path, links in pages.items() if not isinstance(links, str)}
    too_deep = {"/y"} if max_depth == 2 and pages is LATE else set()
    assert {url.removeprefix(A) for url in run.pages} == pages_within - too_deep


# Later runs


@pytest.fixture
def focus(focus: Focus, tmp_path: Path) -> Focus:
    html = "<title>football</title><p>football {}"
    pages = {
        f"{A}/": '<a href="/old/1">football</a><a href="http://b.test/">football</a>',
        f"{A}/old/1": '<a href="/2">football</a>',
        f"{A}/2": '<a href="/3">football</a>',
        f"{A}/3": '<a href="/5.pdf">football</a>',
        f"{A}/5.pdf": "football",
        "http://b.test/": '<a href="/4">football</a>',
        "http://b.test/4": "the other end",
    }
    record(tmp_path / "web.warc.gz", {url: html.format(links) for url, links in pages.items()})
    return focus


@cases(
    "narrow, wider",
    (["--max-depth", "1"], ["--max-depth", "2"]),
    (["--max-depth", "1"], []),
    (["--scope", "host"], []),
    (["--deny", "/old/"], []),
    (["--allow", "b.test"], []),
    (["--deny", "/old/", "--max-depth", "1"], ["--max-depth", "2"]),
    (["--deny", "/2$"], ["--max-depth", "2"]),
    ([], ["--documents"]),
)
def test_later_run_obeys_wider_scope(narrow: list[str], wider: list[str], focus: Focus) -> None:
    command = ["crawl", f"{A}/", "--topic", "football", "--archive", "web.warc.gz", "-q"]

    def urls(database: str) -> list[str]:
        exported = focus("export", "--db", database, "--fields", "url", "--format", "csv").out
        return sorted(exported.split()[1:])

    assert focus(*command, "--db", "a.db", *narrow).code == 0
    before = urls("a.db")
    assert focus(*command, "--db", "a.db", *wider).code == 0
    assert focus(*command, "--db", "b.db", *wider).code == 0
    assert urls("a.db") == urls("b.db") != before
    focus(*command, "--db", "a.db", *wider)
    assert urls("a.db") == urls("b.db")
