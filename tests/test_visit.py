"""Visits of a site: what is asked for again, what is followed, how soon it is due again."""

import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from focus.alerts import revisits
from focus.alerts.alert import validate_alert
from focus.alerts.visit import RETRY_S, visit
from focus.config import FetchConfig, PolitenessConfig
from focus.errors import ConfigError
from focus.i18n import encode_message, msg
from focus.learn.memory_crawl import PageSource
from focus.records import UrlState
from focus.storage.alerts.records import LOCAL_USER, Alert
from focus.storage.alerts.store import AlertStore, open_store
from tests.support.web import TinyWeb

FRONT = "http://news.test/"


@pytest.fixture
async def served() -> AsyncIterator[tuple[TinyWeb, PageSource]]:
    web = TinyWeb()
    async with web.serve() as address:
        fetch = FetchConfig(connect_to=address, allow_net=("127.0.0.0/8",))
        yield web, PageSource(None, fetch, PolitenessConfig(delay_s=0.0), "focus")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[AlertStore]:
    with open_store(
        tmp_path / "f.db", now=time.time(), language="zh", zone="Asia/Shanghai"
    ) as made:
        made.alerts.add(
            LOCAL_USER, validate_alert(Alert("足球", ("news.test",), words="足球")), now=time.time()
        )
        yield made


def front(web: TinyWeb, *articles: str, etag: str) -> None:
    web.page(FRONT, title="新闻", links=[(a, "足球新闻") for a in articles], headers={"etag": etag})
    for path in articles:
        web.page(
            f"http://news.test{path}", title=f"足球 {path}", text=f"足球比赛{path}今天开始。" * 9
        )


def asked(web: TinyWeb) -> list[str]:
    urls = web.urls()
    web.log.clear()
    return [url.removeprefix("http://news.test") for url in urls if not url.endswith(".xml")]


async def look(store: AlertStore, web: PageSource) -> None:
    site = store.sites.find_by_host("news.test")
    assert site is not None
    await visit(store, site, web, clock=time.time)


async def test_visit_requests_news(served: tuple[TinyWeb, PageSource], store: AlertStore) -> None:
    web, how = served
    front(web, "/a", "/b", etag='"1"')
    await look(store, how)
    assert sorted(asked(web)) == ["/", "/a", "/b"]
    await look(store, how)
    assert asked(web) == ["/"] and web.unchanged == [FRONT]
    front(web, "/a", "/b", "/c", etag='"2"')
    await look(store, how)
    assert asked(web) == ["/", "/c"]
    site = store.sites.find_by_host("news.test")
    assert site is not None and site.crawl == 1 and not site.trouble
    rows = store.database.fetch_rows("SELECT url, title FROM page_text ORDER BY id")
    assert [urlsplit(url).path for url, _ in rows] == ["/", "/a", "/b", "/c"]
    expected = [(1 + revisits.SECTION_PRIOR,)]
    assert store.database.fetch_rows("SELECT round(fresh, 2) FROM revisit") == expected


async def test_news_left_by_a_visit_is_fetched_by_the_next(
    served: tuple[TinyWeb, PageSource], store: AlertStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    web, how = served
    front(web, "/a", etag='"1"')
    monkeypatch.setattr("focus.alerts.visit.FIRST_VISIT_REQUESTS", 2)
    await look(store, how)
    assert asked(web) == ["/"], "one request is for robots.txt; /a was there before"
    front(web, "/a", *(f"/new{n}" for n in range(5)), etag='"2"')
    monkeypatch.setattr("focus.alerts.visit.DAILY_REQUESTS", 4)
    had = []
    for visits in (1, 2):
        await look(store, how)
        had += [path for path in asked(web) if path != "/"]
        site = store.sites.find_by_host("news.test")
        assert site is not None and (site.news_from is None) == (visits == 2)
        assert site.next_at <= time.time() + RETRY_S or visits == 2
    assert sorted(had) == [f"/new{n}" for n in range(5)], "each once, and none that was there"


async def test_unchanged_sitemap_is_not_transferred_again(
    served: tuple[TinyWeb, PageSource], store: AlertStore
) -> None:
    web, how = served
    front(web, "/a", etag='"1"')

    def sitemap(*paths: str) -> None:
        urls = "".join(f"<url><loc>http://news.test{path}</loc></url>" for path in paths)
        body = f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{urls}</urlset>'
        headers = {"content-type": "application/xml", "etag": f'"{len(paths)}"'}
        web.status(f"{FRONT}sitemap.xml", 200, headers=headers, body=body.encode())

    sitemap("/a")
    await look(store, how)
    for _ in range(2):
        web.unchanged.clear()
        await look(store, how)
        assert sorted(web.unchanged) == [FRONT, f"{FRONT}sitemap.xml"]
    rows = store.database.fetch_rows("SELECT state, detail FROM url WHERE url LIKE '%sitemap.xml'")
    assert rows == [(int(UrlState.DROPPED), encode_message(msg("as it was")))]
    asked(web)
    web.page("http://news.test/b", title="足球 /b", text="足球比赛今天开始。" * 9)
    sitemap("/a", "/b")
    await look(store, how)
    assert "/b" in asked(web)


async def test_unreachable_site_status(
    served: tuple[TinyWeb, PageSource], store: AlertStore
) -> None:
    _, how = served  # nothing is drawn: 404
    await look(store, how)
    site = store.sites.find_by_host("news.test")
    assert site is not None and "404" in site.trouble


@pytest.mark.parametrize(
    ("fresh", "watched_h", "hours"),
    [(168, 168, 1.04), (7, 168, 5.07), (0.5, 0, 4.87), (0, 106.2, 153.75), (1e5, 12, 0.25)],
)
def test_revisit_interval_by_news_and_time(fresh: float, watched_h: float, hours: float) -> None:
    expected = pytest.approx(hours, abs=0.05)
    assert revisits.revisit_interval_s(fresh, watched_h * 3600) / 3600 == expected


def test_revisit_interval_grows_up_to_a_week() -> None:
    waits = [revisits.revisit_interval_s(fresh, 168 * 3600) for fresh in (1000, 100, 10, 1, 0.1, 0)]
    assert waits == sorted(waits)
    assert waits[-1] <= 7 * 86_400
    # Four times the news: half the wait.
    expected = pytest.approx(0.5, abs=0.01)
    assert revisits.revisit_interval_s(4, 1e6) / revisits.revisit_interval_s(1, 1e6) == expected


def test_chosen_hubs_cover_targets() -> None:
    links = {1: [10, 11, 12, 13], 2: [12, 13, 14], 3: [14, 15, 16, 17], 4: [10, 99]}
    assert revisits.choose_hubs(links, range(10, 18)) == [1, 3]
    assert revisits.choose_hubs(links, range(10, 18), known_hubs=[1]) == [3]
    assert revisits.choose_hubs(links, [10, 11, 14]) == [], "two pages are not worth it"


@given(
    st.dictionaries(st.integers(0, 30), st.lists(st.integers(0, 60), max_size=12), max_size=25),
    st.sets(st.integers(0, 60)),
)
def test_chosen_hubs_leave_no_useful_page(links: dict[int, list[int]], wanted: set[int]) -> None:
    chosen = revisits.choose_hubs(links, wanted)
    left = wanted.difference(*(links[each] for each in chosen))
    assert len(set(chosen)) == len(chosen)
    assert all(len(left.intersection(row)) < revisits.MIN_CHILDREN for row in links.values())


def watched(store: AlertStore, **fresh: float) -> None:
    """These pages are looked at again, beside the sections, and none of all is due."""
    with store.database.transaction() as db:
        for path, news in fresh.items():
            sql = "INSERT INTO revisit SELECT id, 0, ?, 60, 0, 0 FROM page_text WHERE url = ?"
            db.execute(sql, (news, f"https://news.test/{path}"))
        db.execute("UPDATE revisit SET next_at = ?", (time.time() + 9e5,))
        db.execute("UPDATE alert SET next_at = 0")


async def test_best_hub_comes_first(served: tuple[TinyWeb, PageSource], store: AlertStore) -> None:
    web, how = served
    front(web, "/a", "/b", "/c", etag='"1"')
    await look(store, how)
    asked(web)
    watched(store, a=1.0, b=4.0)
    with store.database.transaction() as db:
        db.execute("UPDATE revisit SET next_at = 0")
    await look(store, how)
    assert asked(web) == ["/b", "/a", "/"]


@pytest.mark.parametrize(
    ("schedule", "paths"),
    [
        ("auto", ["/b", "/"]),  # nothing is due, so somebody wants to know
        ("hourly", ["/b", "/"]),
        ("weekly mon 07:30", ["/b", "/", "/a"]),  # all would be due before the next time
    ],
)
async def test_timed_alert_revisits_sections_and_proven_pages(
    served: tuple[TinyWeb, PageSource], store: AlertStore, schedule: str, paths: list[str]
) -> None:
    web, how = served
    front(web, "/a", "/b", "/c", etag='"1"')
    await look(store, how)
    asked(web)
    wish = msgspec.structs.replace(store.alerts.list_alerts()[0].alert, schedule=schedule)
    store.alerts.replace(1, wish, now=0.0)
    watched(store, a=revisits.PROVEN_PAGES / 2, b=9.0)
    with store.database.transaction() as db:
        db.execute("UPDATE revisit SET next_at = ?", (time.time() + 5000,))
    await look(store, how)
    assert asked(web) == paths


async def test_due_page_comes_alone(served: tuple[TinyWeb, PageSource], store: AlertStore) -> None:
    web, how = served
    front(web, "/a", "/b", etag='"1"')
    await look(store, how)
    asked(web)
    watched(store, a=0.1)
    with store.database.transaction() as db:
        db.execute("UPDATE revisit SET next_at = 0 WHERE fresh < 0.2")
    await look(store, how)
    assert asked(web) == ["/a"]


async def test_revisit_lost_by_a_kill_is_made_by_the_next_visit(
    served: tuple[TinyWeb, PageSource], store: AlertStore
) -> None:
    """It waits in the database, with all that was there before and is laid aside."""
    web, how = served
    front(web, "/a", "/b", etag='"1"')
    await look(store, how)
    asked(web)
    watched(store, a=0.1)
    with store.database.transaction() as db:
        db.execute("UPDATE revisit SET next_at = 0 WHERE fresh < 0.2")
        of = "SELECT id FROM url_found WHERE url = 'https://news.test/a'"
        db.execute(f"UPDATE url_state SET state = ? WHERE id = ({of})", (int(UrlState.WAITING),))
    await look(store, how)
    assert asked(web) == ["/a"]
    assert store.database.fetch_rows("SELECT state FROM url WHERE url = 'https://news.test/a'") == [
        (int(UrlState.DONE),)
    ]


@pytest.mark.parametrize("host", ["127.0.0.1", "2130706433", "[::ffff:127.0.0.1]", "localhost"])
async def test_site_in_private_network_is_not_visited(tmp_path: Path, host: str) -> None:
    """The guard is the crawler's own, at the moment of connecting: what was typed says nothing."""
    web = TinyWeb()
    web.page("http://127.0.0.1/", title="secret")
    async with web.serve() as address:
        wanted = Alert("足球", (f"{host}:{address.rpartition(':')[2]}",), words="足球")
        how = PageSource(None, FetchConfig(), PolitenessConfig(delay_s=0.0), "focus")
        with open_store(tmp_path / "f.db", now=0.0, language="zh", zone="Asia/Shanghai") as store:
            try:
                store.alerts.add(LOCAL_USER, validate_alert(wanted), now=0.0)
            except ConfigError:
                return
            (name,) = store.database.fetch_rows("SELECT host FROM site")[0]
            site = store.sites.find_by_host(name)
            assert site is not None
            await visit(store, site, how, clock=time.time)
            assert "guard" in store.database.fetch_rows("SELECT trouble FROM site")[0][0]
    assert web.log == []
