"""Sitemaps and feeds as sources of links: which are asked for, and what comes of them."""

from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from focus.config import CrawlConfig, FetchConfig, LimitConfig, PolitenessConfig, ScopeConfig
from focus.crawler import Crawl, Event
from focus.engine.transports import ReplayTransport
from focus.http.sitemap import read_url_source
from focus.records import Batch, FetchResult, UrlState
from focus.storage import writer
from focus.workers import InlineScorer
from tests.support.cases import cases
from tests.support.web import TinyWeb
from tests.test_crawl import TOPIC, World


class ListingWorld(World):
    """A tiny web where sitemaps and feeds are read."""

    def lookup(self, url: str, *, robots: bool, fetched_at: float, elapsed_s: float) -> FetchResult:
        result = super().lookup(url, robots=robots, fetched_at=fetched_at, elapsed_s=elapsed_s)
        answer = self.web.answers.get(url)
        listing = read_url_source(answer.body) if answer is not None and not robots else None
        if listing is None or answer is None or answer.status != 200:
            return result
        return msgspec.structs.replace(
            result, failure=None, detail="", body=b"", url_source=listing
        )


class Keeper:
    """Keeps what a crawl would write."""

    def __init__(self) -> None:
        self.batches: list[Batch] = []

    async def write(self, batch: Batch) -> None:
        self.batches.append(batch)

    async def load_addresses(self, ids: Sequence[int]) -> list[tuple[int, str]]:
        return []

    async def load_sources(self, ids: Sequence[int]) -> dict[int, bytes]:
        return {}


def sitemap(web: TinyWeb, url: str, *urls: str, root: str = "urlset", lastmod: str = "") -> None:
    entry = "url" if root == "urlset" else "sitemap"
    changed = f"<lastmod>{lastmod}</lastmod>" if lastmod else ""
    rows = "".join(f"<{entry}><loc>{item}</loc>{changed}</{entry}>" for item in urls)
    web.status(url, 200, body=f"<{root}>{rows}</{root}>".encode())


async def crawl(
    web: TinyWeb,
    *seeds: str,
    is_enabled: bool = True,
    per_host: int = 50,
    scope: ScopeConfig = ScopeConfig(),  # noqa: B008
    ignore_robots: bool = False,
) -> tuple[Crawl, list[Event], Keeper]:
    config = CrawlConfig(
        seeds=seeds, strategy="bfs", concurrency=1, sitemaps_per_host=per_host,
        fetch=FetchConfig(sitemaps=is_enabled),
        politeness=PolitenessConfig(ignore_robots=ignore_robots), scope=scope,
        limits=LimitConfig(max_requests=200), analysis=TOPIC,
    )  # fmt: skip
    events: list[Event] = []
    keeper = Keeper()
    world = ListingWorld(web) if is_enabled else World(web)
    transport = ReplayTransport(world, InlineScorer(TOPIC), start=1000.0)
    engine = Crawl(config, transport, observe=events.append, crawl_store=keeper)
    engine.add_seeds(seeds)
    await engine.run()
    return engine, events, keeper


@pytest.fixture
def web() -> TinyWeb:
    web = TinyWeb()
    web.page("http://a.test/")
    web.page("http://a.test/deep")
    web.page("http://b.test/")
    return web


@cases(
    "headers, validators",
    ({"last-modified": "Mon, 23 Nov 2026 00:00:00 GMT"}, [["", "Mon, 23 Nov 2026 00:00:00 GMT"]]),
    ({"etag": '"1"'}, [['"1"', ""]]),
    ({}, []),
)
async def test_validators_of_a_sitemap_are_stored(
    web: TinyWeb, headers: dict[str, str], validators: list[list[str]]
) -> None:
    web.robots("a.test", "Sitemap: http://a.test/s.xml")
    web.status("http://a.test/s.xml", 200, body=b"<urlset></urlset>", headers=headers)
    _, _, keeper = await crawl(web, "http://a.test/")
    batches = [batch.source_validators for batch in keeper.batches]
    assert [pair for batch in batches for _, *pair in batch] == validators


async def test_sitemaps_of_robots_txt_are_requested_and_followed(web: TinyWeb) -> None:
    web.robots("a.test", "Sitemap: http://a.test/maps/all.xml\nSitemap: /more.xml")
    sitemap(web, "http://a.test/maps/all.xml", "http://a.test/deep", lastmod="2026-01-01")
    engine, events, keeper = await crawl(web, "http://a.test/")
    assert "http://a.test/deep" in [e.url for e in events if e.state is UrlState.DONE]
    assert "http://a.test/more.xml" in web.urls()
    assert "http://a.test/sitemap.xml" not in web.urls()
    assert engine.unit_of_work.drops == {"listing": 1}
    lastmods = [lastmod for batch in keeper.batches for lastmod in batch.lastmods]
    assert [when for _, when in lastmods] == [1_767_225_600.0]


async def test_sitemap_xml_is_tried_where_none_is_named(web: TinyWeb) -> None:
    sitemap(web, "http://a.test/sitemap.xml", "http://a.test/deep")
    await crawl(web, "http://a.test/")
    assert "http://a.test/deep" in web.urls()
    await crawl(web, "http://b.test/", ignore_robots=True)
    assert "http://b.test/sitemap.xml" in web.urls()


async def test_no_sitemap_is_requested_without_the_option(web: TinyWeb) -> None:
    web.robots("a.test", "Sitemap: http://a.test/all.xml")
    await crawl(web, "http://a.test/", is_enabled=False)
    assert web.urls() == ["http://a.test/"]


async def test_sitemaps_of_other_hosts_are_not_requested(web: TinyWeb) -> None:
    web.page("http://a.test/", links=["http://b.test/"])
    await crawl(web, "http://a.test/")
    assert "http://b.test/" in web.urls()
    assert "http://b.test/sitemap.xml" not in web.urls()


async def test_sitemap_index_leads_to_latest_sitemap_first(web: TinyWeb) -> None:
    web.status(
        "http://a.test/sitemap.xml",
        200,
        body=b"<sitemapindex><sitemap><loc>http://a.test/old.xml</loc></sitemap><sitemap><loc>"
        b"http://a.test/new.xml</loc><lastmod>2026-01-01</lastmod></sitemap></sitemapindex>",
    )
    sitemap(web, "http://a.test/new.xml", "http://a.test/deep")
    await crawl(web, "http://a.test/")
    asked = web.urls()
    assert asked.index("http://a.test/new.xml") < asked.index("http://a.test/old.xml")
    assert "http://a.test/deep" in asked


async def test_sitemap_requests_per_host_are_limited(web: TinyWeb) -> None:
    many = [f"http://a.test/{n}.xml" for n in range(40)]
    sitemap(web, "http://a.test/sitemap.xml", *many, root="sitemapindex")
    await crawl(web, "http://a.test/", per_host=5)
    assert sum(url.endswith(".xml") for url in web.urls()) == 5


async def test_robots_txt_forbids_sitemaps_like_anything_else(web: TinyWeb) -> None:
    web.robots("a.test", "User-agent: *\nDisallow: /maps/\nSitemap: http://a.test/maps/all.xml")
    engine, _, _ = await crawl(web, "http://a.test/")
    assert "http://a.test/maps/all.xml" not in web.urls()
    assert engine.unit_of_work.drops == {"robots": 1}


async def test_scope_and_deny_hold_for_listings_and_allow_does_not(web: TinyWeb) -> None:
    web.robots("a.test", "Sitemap: http://b.test/all.xml\nSitemap: /no.xml\nSitemap: /yes.xml")
    scope = ScopeConfig(scope="host", deny=("no",), allow=("deep", "/$"))
    sitemap(web, "http://a.test/yes.xml", "http://a.test/deep", "http://a.test/else")
    await crawl(web, "http://a.test/", scope=scope)
    assert set(web.urls()) == {"http://a.test/", "http://a.test/yes.xml", "http://a.test/deep"}


async def test_sitemap_lists_urls_of_its_own_site_only(web: TinyWeb) -> None:
    sitemap(web, "http://a.test/sitemap.xml", "http://b.test/", "http://www.a.test/")
    await crawl(web, "http://a.test/")
    assert "http://b.test/" not in web.urls()
    assert "http://www.a.test/" in web.urls()


async def test_feeds_of_seeds_and_relevant_pages_are_read(web: TinyWeb) -> None:
    feed = '<link rel="alternate" type="application/rss+xml" href="/feed.xml">'
    web.page("http://a.test/", head=feed, links=["/dull", "/good"])
    web.page("http://a.test/dull", head=feed.replace("feed", "dull"))
    web.page("http://a.test/good", head=feed.replace("feed", "good"), title="足球", keywords="足球")
    body = (
        "<rss><channel><item><title>足球</title><link>http://b.test/</link></item></channel></rss>"
    )
    web.status("http://a.test/feed.xml", 200, body=body.encode())
    await crawl(web, "http://a.test/")
    assert {"http://a.test/feed.xml", "http://a.test/good.xml", "http://b.test/"} <= set(web.urls())
    assert "http://a.test/dull.xml" not in web.urls()


def test_sitemap_state_is_stored_in_database(tmp_path: Path) -> None:
    import sqlite3

    with sqlite3.connect(tmp_path / "x.db") as db:
        writer.prepare_database(db, path=tmp_path / "x.db")
        assert db.execute("SELECT * FROM lastmod").fetchall() == []
    db.close()


@pytest.mark.parametrize("target", ["/sitemap_index.xml", "/s.xml.gz", "http://www.a.test/map.xml"])
async def test_sitemap_that_redirects_is_read(web: TinyWeb, target: str) -> None:
    web.redirect("http://a.test/sitemap.xml", target)
    url = target if "//" in target else f"http://a.test{target}"
    sitemap(web, url, "http://a.test/listed")
    web.page("http://a.test/listed")
    _, events, _ = await crawl(web, "http://a.test/")
    assert "http://a.test/listed" in {event.url for event in events}


async def test_feeds_of_comments_and_other_xml_are_not_read(web: TinyWeb) -> None:
    link = '<link rel=alternate type="application/{}+xml" title="{}" href="{}">'
    feeds = (
        ("rss", "Blog", "/feed/"),
        ("rss", "Blog » Comments Feed", "/c1"),
        ("rss", "博客 » 评论Feed", "/c2"),
        ("rss", "", "/comments/feed/"),
        ("rss", "Goal", "/goal/feed/"),
        ("rdf", "RSS 1.0", "/index.rdf"),
        ("rdf", "FOAF", "/foaf.rdf"),
    )
    head = "".join(link.format(*feed) for feed in feeds)
    web.page("http://a.test/goal/", title="足球", head=head)
    _, events, _ = await crawl(web, "http://a.test/goal/")
    asked = {event.url.removeprefix("http://a.test") for event in events}
    assert asked & {url for *_, url in feeds} == {"/feed/", "/index.rdf"}
