"""Visits of a site: what is asked for again, what is followed, how soon it is due again."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from focus.config import FetchConfig, PolitenessConfig
from focus.learn.gather import Web
from focus.watch import hubs
from focus.watch.book import LOCAL, Book, opened
from focus.watch.concern import Concern, checked
from focus.watch.stored import site_of
from focus.watch.visit import visit
from tests.web import TinyWeb

FRONT = "http://news.test/"


@pytest.fixture
async def served() -> AsyncIterator[tuple[TinyWeb, Web]]:
    web = TinyWeb()
    async with web.serve() as address:
        fetch = FetchConfig(connect_to=address, allow_net=("127.0.0.0/8",))
        yield web, Web(None, fetch, PolitenessConfig(delay_s=0.0), "focus")


@pytest.fixture
def book(tmp_path: Path) -> Iterator[Book]:
    with opened(tmp_path / "f.db", now=time.time(), language="zh", zone="Asia/Shanghai") as made:
        made.add(LOCAL, checked(Concern("足球", ("news.test",), words="足球")), now=time.time())
        yield made


def front(web: TinyWeb, *articles: str, etag: str) -> None:
    web.page(FRONT, title="新闻", links=[(a, "足球新闻") for a in articles], headers={"etag": etag})
    for path in articles:
        web.page(f"http://news.test{path}", title=f"足球 {path}", text="足球比赛今天开始。" * 9)


def asked(web: TinyWeb) -> list[str]:
    urls = web.urls()
    web.log.clear()
    return [url.removeprefix("http://news.test") for url in urls if not url.endswith(".xml")]


async def look(book: Book, web: Web) -> None:
    site = site_of(book, "news.test")
    assert site is not None
    await visit(book, site, web, clock=time.time)


async def test_only_news_is_asked_for(served: tuple[TinyWeb, Web], book: Book) -> None:
    web, how = served
    front(web, "/a", "/b", etag='"1"')
    await look(book, how)
    assert sorted(asked(web)) == ["/", "/a", "/b"]
    await look(book, how)
    assert asked(web) == ["/"] and web.unchanged == [FRONT]
    front(web, "/a", "/b", "/c", etag='"2"')
    await look(book, how)
    assert asked(web) == ["/", "/c"]
    site = site_of(book, "news.test")
    assert site is not None and site.crawl == 1 and not site.trouble
    rows = book.rows("SELECT url, title FROM page_text ORDER BY id")
    assert [urlsplit(url).path for url, _ in rows] == ["/", "/a", "/b", "/c"]
    assert book.rows("SELECT round(fresh, 2) FROM revisit") == [(1.0,)]


async def test_a_site_that_cannot_be_had_says_why(served: tuple[TinyWeb, Web], book: Book) -> None:
    _, how = served  # nothing is drawn: 404
    await look(book, how)
    site = site_of(book, "news.test")
    assert site is not None and "404" in site.trouble


@pytest.mark.parametrize(
    ("fresh", "watched_h", "hours"),
    [(6, 12, 3.7), (0, 0, 24), (0, 168, 168), (1000, 12, 0.25)],
)
def test_how_soon_a_page_is_due_again(fresh: float, watched_h: float, hours: float) -> None:
    assert hubs.interval_s(fresh, watched_h * 3600) / 3600 == pytest.approx(hours, abs=0.05)
