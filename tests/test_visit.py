"""Visits of a site: what is asked for again, what is followed, how soon it is due again."""

import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import MonkeyPatch

from focus.alerts import revisits
from focus.alerts.alert import validate_alert
from focus.alerts.health import BEGUN, alert_health
from focus.alerts.matching import match_site
from focus.alerts.visit import RETRY_S, create_visit, visit
from focus.config import FetchConfig, PolitenessConfig
from focus.errors import ConfigError
from focus.i18n import encode_message, msg
from focus.learn.memory_crawl import PageSource
from focus.records import UrlState
from focus.storage.alerts.records import LOCAL_USER, Alert, WatchedSite
from focus.storage.alerts.store import AlertStore, open_store
from tests.support.cases import cases
from tests.support.web import TinyWeb
from tests.test_judging import FakeJudge

FRONT = "http://news.test/"


class SiteFixture:
    """A site, and an alert on it in a database."""

    def __init__(self, web: TinyWeb, source: PageSource, store: AlertStore) -> None:
        self.web, self.source, self.store = web, source, store

    def front(self, *articles: str, etag: str = '"1"') -> None:
        links = [(path, "足球新闻") for path in articles]
        self.web.page(FRONT, title="新闻", links=links, headers={"etag": etag})
        for path in articles:
            text = f"足球比赛{path}今天开始。" * 9
            self.web.page(f"http://news.test{path}", title=f"足球 {path}", text=text)

    @property
    def row(self) -> WatchedSite:
        return self.store.sites.find_by_host("news.test")

    def rows(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        return self.store.database.fetch_rows(sql, values)

    def asked(self) -> list[str]:
        urls = self.web.urls()
        self.web.log.clear()
        return [url.removeprefix("http://news.test") for url in urls if not url.endswith(".xml")]

    async def visit(self, **options: bool) -> list[str]:
        """Visit the site and return the paths that were requested."""
        await visit(self.store, self.row, self.source, clock=time.time, **options)
        return self.asked()


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[SiteFixture]:
    web, now = TinyWeb(), time.time()
    alert = validate_alert(Alert("足球", ("news.test",), words="足球"))
    async with web.serve() as address:
        fetch = FetchConfig(connect_to=address, allow_net=("127.0.0.0/8",))
        source = PageSource(None, fetch, PolitenessConfig(delay_s=0.0), "focus")
        with open_store(tmp_path / "f.db", now=now, language="zh", zone="Asia/Shanghai") as store:
            store.alerts.add(LOCAL_USER, alert, now=now)
            yield SiteFixture(web, source, store)


async def test_visit_requests_news(site: SiteFixture) -> None:
    site.front("/a", "/b")
    assert sorted(await site.visit()) == ["/", "/a", "/b"]
    assert await site.visit() == ["/"] and site.web.unchanged == [FRONT]
    site.front("/a", "/b", "/c", etag='"2"')
    assert await site.visit() == ["/", "/c"]
    assert (site.row.crawl, site.row.trouble) == (1, "")
    rows = site.rows("SELECT url, title FROM page_text ORDER BY id")
    assert [urlsplit(url).path for url, _ in rows] == ["/", "/a", "/b", "/c"]
    expected = [(1 + revisits.SECTION_PRIOR,)]
    assert site.rows("SELECT round(fresh, 2) FROM revisit") == expected


async def test_site_without_scheme_is_revisited_over_http(site: SiteFixture) -> None:
    address = site.source.fetch.connect_to
    site.web.page(f"http://{address}/", title="足球", text="足球比赛今天开始。" * 9)
    source = msgspec.structs.replace(site.source, fetch=FetchConfig(allow_net=("127.0.0.0/8",)))
    site.store.alerts.add(LOCAL_USER, Alert("n", (f"https://{address}/",), words="足球"), now=0.0)
    for _ in range(2):
        await visit(site.store, site.store.sites.find_by_host(address), source, clock=time.time)
    assert site.asked().count(f"http://{address}/") == 2
    site.rows("UPDATE site SET visited_at = NULL")  # as if its first visit was cut short
    health = alert_health(site.store, site.store.alerts.list_alerts()[-1], now=time.time())
    assert BEGUN in health.remarks


async def test_judge_decides_about_pages_of_a_site_with_one_topic(site: SiteFixture) -> None:
    judge = FakeJudge(dict.fromkeys([f"https://news.test/{path}" for path in "abc"], 0.9))
    site.source = msgspec.structs.replace(site.source, judge=judge, judge_questions=1)
    site.front("/a", "/b")
    for path in "/a", "/b", "/c":
        site.web.page(f"http://news.test{path}", title="x", text=f"{'天气 ' * 500}足球{path}")
    await site.visit()
    match_site(site.store, site.row, now=time.time())
    assert site.rows("SELECT url, relevance FROM alert_match") == [("https://news.test/a", 0.9)]
    second_alert = validate_alert(Alert("天气", ("news.test",), words="天气"))
    site.store.alerts.add(LOCAL_USER, second_alert, now=time.time())
    site.web.page(FRONT, title="新闻", links=[("/c", "新闻")], headers={"etag": '"2"'})
    assert "/c" in await site.visit()
    assert judge.asked == ["https://news.test/a"]


@pytest.mark.parametrize(("user", "allows_networks", "is_visited"), [
    (LOCAL_USER, True, True), (LOCAL_USER, False, False), (2, True, False),
])  # fmt: skip
async def test_networks_of_alerts_are_for_their_owner_at_the_command_line(
    site: SiteFixture, user: int, allows_networks: bool, is_visited: bool
) -> None:
    site.front("/a")
    fetch = msgspec.structs.replace(site.source.fetch, allow_net=())
    source = msgspec.structs.replace(site.source, fetch=fetch)
    site.store.users.add("u", "x", language="en", zone="UTC", admin=True, now=0.0)
    alert = Alert("n", (FRONT,), words="足球", networks=("127.0.0.0/8",))
    site.store.alerts.add(user, alert, now=time.time())
    steps: list[tuple[float, float]] = []
    visit_site = create_visit(
        site.store,
        source,
        allows_networks=allows_networks,
        progress=lambda done, total: steps.append((done, total)),
    )
    await visit_site(site.row)
    assert ((4, 500) in steps) is is_visited
    assert bool(site.asked()) is is_visited
    assert ("allow its network" in site.row.trouble) is not is_visited


async def test_remaining_news_is_fetched_by_next_visit(
    site: SiteFixture, monkeypatch: MonkeyPatch
) -> None:
    site.front("/a")
    monkeypatch.setattr("focus.alerts.visit.FIRST_VISIT_REQUESTS", 2)
    assert await site.visit() == ["/"], "one request is for robots.txt; /a was there before"
    site.front("/a", *(f"/new{n}" for n in range(5)), etag='"2"')
    monkeypatch.setattr("focus.alerts.visit.DAILY_REQUESTS", 4)
    requested = []
    for visits in (1, 2):
        requested += [path for path in await site.visit() if path != "/"]
        assert (site.row.news_from is None) == (visits == 2)
        assert site.row.next_at <= time.time() + RETRY_S or visits == 2
    assert sorted(requested) == [f"/new{n}" for n in range(5)], "each once, and none that was there"


async def test_unchanged_sitemap_is_not_transferred_again(site: SiteFixture) -> None:
    site.front("/a")

    def sitemap(*paths: str) -> None:
        urls = "".join(f"<url><loc>http://news.test{path}</loc></url>" for path in paths)
        body = f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{urls}</urlset>'
        headers = {"content-type": "application/xml", "etag": f'"{len(paths)}"'}
        site.web.status(f"{FRONT}sitemap.xml", 200, headers=headers, body=body.encode())

    sitemap("/a")
    await site.visit()
    for _ in range(2):
        site.web.unchanged.clear()
        await site.visit()
        assert sorted(site.web.unchanged) == [FRONT, f"{FRONT}sitemap.xml"]
    rows = site.rows("SELECT state, detail FROM url WHERE url LIKE '%sitemap.xml'")
    assert rows == [(int(UrlState.DROPPED), encode_message(msg("as it was")))]
    site.asked()
    site.web.page("http://news.test/b", title="足球 /b", text="足球比赛今天开始。" * 9)
    sitemap("/a", "/b")
    assert "/b" in await site.visit()


async def test_unreachable_site_status(site: SiteFixture) -> None:
    await site.visit()
    assert "404" in site.row.trouble  # nothing is drawn


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
def test_chosen_hubs_leave_no_useful_page(links: dict[int, list[int]], expected: set[int]) -> None:
    chosen = revisits.choose_hubs(links, expected)
    uncovered = expected.difference(*(links[item] for item in chosen))
    assert len(set(chosen)) == len(chosen)
    assert all(len(uncovered.intersection(row)) < revisits.MIN_CHILDREN for row in links.values())


def watch_pages(site: SiteFixture, **fresh: float) -> None:
    """These pages are looked at again, beside the sections, and none of all is due."""
    with site.store.database.transaction() as db:
        for path, news in fresh.items():
            sql = "INSERT INTO revisit SELECT id, 0, ?, 60, 0, 0 FROM page_text WHERE url = ?"
            db.execute(sql, (news, f"https://news.test/{path}"))
        db.execute("UPDATE revisit SET next_at = ?", (time.time() + 9e5,))
        db.execute("UPDATE alert SET next_at = 0")


async def test_best_hub_comes_first(site: SiteFixture) -> None:
    site.front("/a", "/b", "/c")
    await site.visit()
    watch_pages(site, a=1.0, b=4.0)
    site.rows("UPDATE revisit SET next_at = 0")
    assert await site.visit() == ["/b", "/a", "/"]


@cases(
    "schedule, paths",
    ("auto", ["/b", "/"]),  # nothing is due, so somebody wants to know
    ("hourly", ["/b", "/"]),
    ("weekly mon 07:30", ["/b", "/", "/a"]),  # all would be due before the next time
)
async def test_timed_alert_revisits_proven_pages(
    site: SiteFixture, schedule: str, paths: list[str]
) -> None:
    site.front("/a", "/b", "/c")
    await site.visit()
    wish = msgspec.structs.replace(site.store.alerts.list_alerts()[0].alert, schedule=schedule)
    site.store.alerts.replace(1, wish, now=0.0)
    watch_pages(site, a=revisits.PROVEN_PAGES / 2, b=9.0)
    site.rows("UPDATE revisit SET next_at = ?", time.time() + 5000)
    assert await site.visit() == paths


async def test_changed_front_page_has_its_boards_revisited(site: SiteFixture) -> None:
    """The front page of a forum shows the last topic of a board, which may be an older one."""

    def forum(count: int, *topics: str) -> None:
        title = "足球讨论区"
        links = [("/board", title), ("/1", "足球")]
        text = f"城市论坛的足球讨论区和园艺讨论区,主题总数:{count}"
        site.web.page(FRONT, title="城市论坛", text=text, links=links)
        links = [(topic, "足球") for topic in topics]
        site.web.page("http://news.test/board", title=title, links=links)
        for topic in topics:
            text = f"足球比赛{topic}今天开始。" * 9
            site.web.page(f"http://news.test{topic}", title=f"足球 {topic}", text=text)

    forum(3, "/1", "/2", "/3")
    await site.visit()
    assert await site.visit() == ["/"]
    watch_pages(site, board=0.1)
    assert await site.visit() == ["/"]
    forum(4, "/4", "/1", "/2", "/3")
    assert await site.visit() == ["/", "/board", "/4"]


@cases("at_once, paths", (False, ["/a"]), (True, ["/", "/a"]))
async def test_due_page_comes_alone_unless_a_person_asked(
    site: SiteFixture, at_once: bool, paths: list[str]
) -> None:
    site.front("/a", "/b")
    await site.visit()
    watch_pages(site, a=0.1)
    site.rows("UPDATE revisit SET next_at = 0 WHERE fresh < 0.2")
    assert await site.visit(at_once=at_once) == paths


async def test_revisit_lost_by_a_kill_is_made_by_the_next_visit(site: SiteFixture) -> None:
    """It waits in the database, with all that was there before and is laid aside."""
    site.front("/a", "/b")
    await site.visit()
    watch_pages(site, a=0.1)
    with site.store.database.transaction() as db:
        db.execute("UPDATE revisit SET next_at = 0 WHERE fresh < 0.2")
        sql = "SELECT id FROM url_found WHERE url = 'https://news.test/a'"
        db.execute(f"UPDATE url_state SET state = ? WHERE id = ({sql})", (int(UrlState.WAITING),))
    assert await site.visit() == ["/a"]
    rows = site.rows("SELECT state FROM url WHERE url = 'https://news.test/a'")
    assert rows == [(int(UrlState.DONE),)]


@pytest.mark.parametrize("host", ["127.0.0.1", "2130706433", "[::ffff:127.0.0.1]", "localhost"])
async def test_site_in_private_network_is_not_visited(tmp_path: Path, host: str) -> None:
    """The guard is the crawler's own, at the moment of connecting: what was typed says nothing."""
    web = TinyWeb()
    web.page("http://127.0.0.1/", title="secret")
    async with web.serve() as address:
        expected = Alert("足球", (f"{host}:{address.rpartition(':')[2]}",), words="足球")
        how = PageSource(None, FetchConfig(), PolitenessConfig(delay_s=0.0), "focus")
        with open_store(tmp_path / "f.db", now=0.0, language="zh", zone="Asia/Shanghai") as store:
            try:
                store.alerts.add(LOCAL_USER, validate_alert(expected), now=0.0)
            except ConfigError:
                return
            (name,) = store.database.fetch_rows("SELECT host FROM site")[0]
            site = store.sites.find_by_host(name)
            await visit(store, site, how, clock=time.time)
            assert "guard" in store.database.fetch_rows("SELECT trouble FROM site")[0][0]
    assert web.log == []
