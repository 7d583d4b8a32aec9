"""Where the requests of a crawl went, and why a crawl ended that could follow no link."""

import re
import sqlite3
from contextlib import closing
from pathlib import Path

from focus.engine.transports import ReplayTransport
from focus.records import FOLLOWING_FORBIDDEN, FRONTIER_EMPTY
from focus.storage.reader import DatabaseReader
from focus.storage.request_uses import (
    DUPLICATE,
    ERROR,
    LIST,
    OTHER,
    RESULT,
    read_request_uses,
    suggest_denials,
    summarise,
)
from tests.support.cases import cases
from tests.support.crawl_runs import SCORER, CrawlRuns
from tests.support.web import TinyWeb
from tests.test_crawl import World


def addresses(template: str, number: int = 9) -> list[str]:
    return [template.format(n) for n in range(number)]


@cases(
    "useful, useless, suggested",
    (addresses("http://h/{}/"), addresses("http://h/{0}/?reply={0}&x=1"), ["[?&]reply="]),
    (addresses("http://h/?id={}"), addresses("http://h/?id={}&do=edit"), ["[?&]do="]),
    (
        addresses("http://h/?do=show&id={}"),
        addresses("http://h/?do=edit&id={}"),
        ["[?&]do=edit(&|$)"],
    ),
    (addresses("http://h/a/{}"), addresses("http://h/edit/{}/x"), ["//h/edit/"]),
    (addresses("http://h/{}"), addresses("http://g-1.test/edit/{}"), [r"//g-1\.test/"]),
    (addresses("http://h/{}"), addresses("http://h/x{}"), []),
    ([], addresses("http://h/?a={}", 4), []),  # too few
)
def test_suggest_denials(useful: list[str], useless: list[str], suggested: list[str]) -> None:
    denials = suggest_denials(useful, useless)
    assert [denial.regex for denial in denials] == suggested
    for regex in suggested:
        assert all(re.search(regex, url) for url in useless)
        assert not any(re.search(regex, url) for url in useful)


def test_summarise_counts_kinds_and_patterns() -> None:
    uses = [(url, RESULT) for url in addresses("http://h/post/{}")]
    uses += [(url, "noindex") for url in addresses("http://h/post/{}?reply=1")]
    uses += [("http://h/post/99", DUPLICATE), ("http://h/post/98?reply=1", ERROR)]
    summary = summarise(uses)
    assert summary.kinds == {RESULT: 9, "noindex": 9, DUPLICATE: 1, ERROR: 1}
    assert [(use.pattern, use.requests, use.useless, use.kind) for use in summary.patterns] == [
        ("/post/N?reply=N", 10, 10, "noindex"),
        ("/post/N", 10, 1, DUPLICATE),
    ]


async def run(web: TinyWeb, folder: Path) -> str:
    runs = CrawlRuns(web, folder, "http://a.test/", at=1000.0)
    return await runs.run_with(ReplayTransport(World(web), SCORER, start=1000.0))


async def test_read_request_uses_of_a_crawl(tmp_path: Path) -> None:
    web = TinyWeb()
    web.page("http://a.test/", links=["/1", "/2", "/gone", "/a"], title="足球")
    web.page("http://a.test/a", title="足球")
    web.page("http://a.test/1", head='<meta name="robots" content="noindex">')
    web.page("http://a.test/2")
    await run(web, tmp_path)
    with DatabaseReader(tmp_path / "x.db") as reader:
        kinds = reader.read(lambda db: read_request_uses(db, 1)).kinds
    assert kinds == {LIST: 1, RESULT: 1, OTHER: 1, "noindex": 1, ERROR: 1}


@cases("robots, reason", ("nofollow", FOLLOWING_FORBIDDEN), ("index", FRONTIER_EMPTY))
async def test_crawl_ends_with_the_reason(tmp_path: Path, robots: str, reason: str) -> None:
    web = TinyWeb()
    head = f'<meta name="robots" content="{robots}">'
    web.page("http://a.test/", links=["/1"], head=head)
    web.page("http://a.test/1", links=["/"], head='<meta name="robots" content="nofollow">')
    assert await run(web, tmp_path) == reason
    with closing(sqlite3.connect(tmp_path / "x.db")) as db:
        (pages,) = db.execute("SELECT count(*) FROM page").fetchone()
    assert pages == (1 if reason is FOLLOWING_FORBIDDEN else 2)
