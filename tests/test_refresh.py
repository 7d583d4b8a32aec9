"""A crawl looks again at its pages (`--refresh`): which, when, and what becomes of them."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from focus.config import CrawlConfig, LimitConfig, PolitenessConfig
from focus.crawler import Crawl, Event
from focus.engine.transports import ReplayTransport
from focus.records import FailureKind, FetchResult, Task
from focus.session.resume import restore
from focus.session.revisit import schedule_revisits
from focus.storage import revisited_pages
from focus.storage.reader import DatabaseReader
from focus.storage.results import Selection
from focus.store import CrawlWriter, Store
from focus.workers import InlineScorer
from tests.support.command import runner, settle
from tests.support.web import Answer, TinyWeb
from tests.test_crawl import TOPIC, World

DAY = 86_400.0
LONG = "这是一段足够长的正文，说的是别的事情，没有什么可看的。" * 9


class Asking(ReplayTransport):
    """A recorded web that answers 304 where a validator still holds."""

    def __init__(self, world: World, start: float) -> None:
        super().__init__(self, InlineScorer(TOPIC), start=start)
        self._recorded, self._tags = world, dict[str, str]()

    def send(self, task: Task) -> None:
        self._tags[task.url] = dict(task.conditional_headers).get("If-None-Match", "")
        super().send(task)

    def lookup(self, url: str, **how: Any) -> FetchResult:
        result = self._recorded.lookup(url, **how)
        if result.header("etag") and result.header("etag") == self._tags.get(url):
            return FetchResult(url, result.fetched_at, status=304, is_unchanged=True)
        return result


class Rounds:
    """Runs of one crawl, `at` some instant each."""

    def __init__(self, web: TinyWeb, folder: Path, seed: str = "http://a.test/") -> None:
        self.web, self.world, self.path = web, World(web), folder / "x.db"
        self.seed = seed
        self.crawl: Crawl

    async def run(
        self,
        at: float,
        *,
        age: float | None = DAY,
        kill_after: int | None = None,
        concurrency: int = 1,
        **limits: int,
    ) -> list[str]:
        """A run; what it asked for, robots.txt apart. Killed after so many answers."""
        config = CrawlConfig(
            seeds=(self.seed,), strategy="bfs", concurrency=concurrency,
            politeness=PolitenessConfig(delay_s=1.0), limits=LimitConfig(**limits),
            analysis=TOPIC, refresh_s=age,
        )  # fmt: skip
        asked, ended = len(self.web.log), list[Event]()

        class Killed(Exception):
            pass

        def observe(event: Event) -> None:
            ended.append(event)
            if kill_after is not None and len(ended) > kill_after:
                raise Killed

        async with Store.open(self.path, now=at, pid=1) as store:
            info = await store.begin_crawl({"seed": self.seed}, "{}", fresh=False, now=at)
            crawl_store = CrawlWriter(store, info.id)
            transport = Asking(self.world, at)
            self.crawl = Crawl(config, transport, crawl_store=crawl_store, observe=observe)
            if info.is_resumed:
                await restore(self.crawl, store, info)
                if age is not None:
                    await schedule_revisits(self.crawl, store, info, age)
            self.crawl.add_seeds([self.seed])
            try:
                reason = await self.crawl.run()
            except Killed:
                return self.asked(asked)
            await store.finish_crawl(info.id, reason=reason, report_json="{}", now=at)
        return self.asked(asked)

    def asked(self, since: int) -> list[str]:
        urls = [hit.url for hit in self.web.log[since:]]
        return [url.removeprefix("http://a.test") for url in urls if "robots.txt" not in url]

    def pages(self, *fields: str, **which: Any) -> dict[str, tuple[Any, ...]]:
        with DatabaseReader(self.path) as reader:
            rows = list(reader.iter_rows(Selection(**which), ("url", *fields)))
        return {row[0].removeprefix("http://a.test"): row[1:] for row in rows}

    def changes(self) -> list[tuple[str, float, list[str], str]]:
        with DatabaseReader(self.path) as reader:
            changed_rows = reader.read(lambda base: revisited_pages.load_changes(base, [1]))
        return [(row.url[13:], row.at // DAY, row.kinds, row.detail) for row in changed_rows]

    def check(self, url: str) -> dict[str, Any]:
        with closing(sqlite3.connect(self.path)) as db:
            db.row_factory = sqlite3.Row
            sql = "SELECT k.* FROM page_check k JOIN url u USING (id) WHERE u.url = ?"
            row = db.execute(sql, ("http://a.test" + url,)).fetchone()
            return dict(row) if row is not None else {}

    def states(self) -> dict[str, int]:
        with DatabaseReader(self.path) as reader:
            states = reader.status(1).states
        return {name: n for name, n in states.items() if n}


@pytest.fixture
def web() -> TinyWeb:
    web = TinyWeb()
    web.page("http://a.test/", links=["/1", "/2"], text=LONG, headers={"etag": '"a"'})
    web.page("http://a.test/1", title="One", text=LONG + "一")
    web.page("http://a.test/2", title="Two", text=LONG + "二")
    return web


@pytest.fixture
async def rounds(web: TinyWeb, tmp_path: Path) -> Rounds:
    """A crawl of three pages on day 10, complete."""
    rounds = Rounds(web, tmp_path)
    assert await rounds.run(10 * DAY) == ["/", "/1", "/2"]
    return rounds


async def test_revisit_page_is_due_after_age(rounds: Rounds) -> None:
    assert await rounds.run(10.5 * DAY) == []
    assert sorted(await rounds.run(11 * DAY)) == ["/", "/1", "/2"]
    assert await rounds.run(11.5 * DAY) == []


async def test_recent_harvest_ignores_revisits(web: TinyWeb, tmp_path: Path) -> None:
    web.page("http://a.test/1", title="足球", text="足球比赛的新闻。" * 40)
    rounds = Rounds(web, tmp_path)
    await rounds.run(10 * DAY)
    assert rounds.crawl.recent_harvest.rate() == 1 / 4, "with robots.txt"
    assert len(await rounds.run(11 * DAY)) == 3
    assert rounds.crawl.recent_harvest.rate() == pytest.approx(1 / 5), "with robots.txt again"
    await rounds.run(11 * DAY)
    assert rounds.crawl.recent_harvest.rate() == 0.0, "empty after a run with revisits"


async def test_revisit_without_option_requests_nothing(rounds: Rounds) -> None:
    assert await rounds.run(40 * DAY, age=None) == []


async def test_revisit_unchanged_page_stores_only_the_check(rounds: Rounds) -> None:
    before = rounds.pages("fetched_at", "nth")
    await rounds.run(11 * DAY)
    totals = rounds.crawl.unit_of_work.totals
    assert (totals.looked, totals.unchanged, totals.changed, totals.pages) == (3, 1, 0, 3)
    assert rounds.pages("fetched_at", "nth") == before, "no page was stored anew"
    assert rounds.changes() == []
    assert rounds.check("/1")["checked_at"] // DAY == 11


async def test_revisit_changed_text_is_stored_and_reported(rounds: Rounds, web: TinyWeb) -> None:
    web.page("http://a.test/1", title="Uno", text=LONG + "新")
    await rounds.run(11 * DAY)
    assert rounds.changes() == [("/1", 11, ["text", "title"], "One")]
    title, priority, *times = rounds.pages(
        "title", "priority", "first_seen", "changed_at", "checked_at"
    )["/1"]
    assert title == "Uno"
    assert [time[:10] for time in times] == ["1970-01-11", "1970-01-12", "1970-01-12"]
    assert priority > -10, "what it was taken at first"


async def test_revisit_changed_page_frame_is_no_change(rounds: Rounds, web: TinyWeb) -> None:
    web.page("http://a.test/1", title="One", text=f"{LONG}一 12:30:59")
    menu = "<ul><li><a href=/>Home</a><li><a href=/1>The latest of today</a></ul>"
    web.page("http://a.test/2", title="Two", text=LONG + "二", head="<meta name=x content=y>")
    body = web.answers["http://a.test/2"].body
    web.answers["http://a.test/2"].body = body.replace(b"<body>", f"<body>{menu}".encode())
    await rounds.run(11 * DAY)
    assert rounds.changes() == []


async def test_revisit_new_links_are_requested_first(rounds: Rounds, web: TinyWeb) -> None:
    web.page("http://a.test/", links=["/1", "/2", "/3"], text=LONG)
    web.page("http://a.test/3", links=["/4"], text=LONG + "三")
    web.page("http://a.test/4", text=LONG + "四")
    assert await rounds.run(11 * DAY) == ["/", "/3", "/4", "/1", "/2"]
    assert rounds.changes() == [("/", 11, ["links"], "")]
    assert len(rounds.pages()) == 5


async def test_revisit_gone_page_is_marked_and_may_return(rounds: Rounds, web: TinyWeb) -> None:
    was = web.answers["http://a.test/1"]
    web.answers["http://a.test/1"] = Answer(status=410)
    await rounds.run(11 * DAY)
    assert rounds.changes() == [("/1", 11, ["gone"], "410")]
    assert sorted(rounds.pages()) == ["/", "/2"]
    assert rounds.pages("gone_at", gone=True)["/1"][0].startswith("1970-01-12")
    web.answers["http://a.test/1"] = was
    assert "/1" not in await rounds.run(12 * DAY), "what is gone waits four times as long"
    assert "/1" in await rounds.run(15 * DAY)
    assert rounds.changes()[0] == ("/1", 15, ["back"], "")
    assert sorted(rounds.pages()) == ["/", "/1", "/2"]


async def test_revisit_soft_404_or_redirect_counts_as_gone(rounds: Rounds, web: TinyWeb) -> None:
    web.page("http://a.test/1", title="404 Not Found", text="Nothing here")
    web.redirect("http://a.test/2", "/3")
    web.page("http://a.test/3", text=LONG + "三")
    await rounds.run(11 * DAY)
    changes = {(url, *kinds, detail) for url, _, kinds, detail in rounds.changes()}
    assert changes == {("/1", "gone", "200"), ("/2", "moved", "http://a.test/3")}
    assert sorted(rounds.pages()) == ["/", "/3"]


async def test_revisit_failure_keeps_stored_page(rounds: Rounds, web: TinyWeb) -> None:
    before = rounds.pages("title", "fetched_at")
    web.fail("http://a.test/1", FailureKind.PROTOCOL)
    web.robots("a.test", "User-agent: *\nDisallow: /2")
    await rounds.run(11 * DAY)
    assert rounds.pages("title", "fetched_at") == before
    first, two = rounds.check("/1"), rounds.check("/2")
    assert (first["trouble"], two["trouble"]) == ("protocol", "robots")
    assert (first["checked_at"] // DAY, first["tried_at"] // DAY) == (10, 11)
    assert rounds.states() == {"done": 3}
    assert rounds.crawl.unit_of_work.totals.unanswered == 2
    assert rounds.crawl.unit_of_work.failures == {"protocol": 1}


async def test_revisit_retry_remains_a_revisit(rounds: Rounds) -> None:
    rounds.world.first["http://a.test/1"] = [Answer(status=500)]
    asked = await rounds.run(11 * DAY)
    assert asked.count("/1") == 2
    assert rounds.check("/1")["trouble"] is None
    assert rounds.states() == {"done": 3}


@pytest.mark.parametrize("answers", range(1, 4))
async def test_revisit_round_killed_continues_with_remaining_pages(
    rounds: Rounds, web: TinyWeb, answers: int
) -> None:
    before = rounds.pages("title")
    web.page("http://a.test/2", title="Zwei", text=LONG + "2")
    first = await rounds.run(11 * DAY, kill_after=answers, concurrency=3)
    assert set(rounds.pages()) == set(before), "what was had is there"
    second = await rounds.run(11.01 * DAY)
    assert {*first, *second} == {"/", "/1", "/2"}
    assert rounds.pages("title")["/2"] == ("Zwei",)
    assert rounds.states() == {"done": 3}
    assert [change[0] for change in rounds.changes()] == ["/2"]


async def test_limits_killed_round_count_all_its_requests(rounds: Rounds) -> None:
    assert len(await rounds.run(11 * DAY, max_pages=2, kill_after=2)) == 2
    assert len(await rounds.run(11.01 * DAY, max_pages=2)) == 1, "two in all"
    assert len(await rounds.run(11.02 * DAY, max_pages=2)) == 1, "a new round: the one left"
    assert await rounds.run(11.03 * DAY, max_pages=2) == []


async def test_revisit_leftovers_of_earlier_rounds_come_last(web: TinyWeb, tmp_path: Path) -> None:
    rounds = Rounds(web, tmp_path)
    assert await rounds.run(10 * DAY, max_pages=2) == ["/", "/1"]
    web.page("http://a.test/1", title="One", text=LONG + "一", links=["/3"])
    web.page("http://a.test/3", text=LONG + "三")
    asked = await rounds.run(11 * DAY, max_pages=10)
    assert (sorted(asked[:3]), asked[3:]) == (["/", "/1", "/3"], ["/2"])


async def test_revisit_interrupted_crawl_continues_first(web: TinyWeb, tmp_path: Path) -> None:
    rounds = Rounds(web, tmp_path)
    assert await rounds.run(10 * DAY, kill_after=2) == ["/", "/1"]
    assert (await rounds.run(11 * DAY))[0] in ("/1", "/2")
    assert rounds.states() == {"done": 3}


async def test_revisit_changing_pages_are_due_earlier(web: TinyWeb, tmp_path: Path) -> None:
    """One of eight changes every day: it is asked for daily, the others less and less."""
    for n in range(3, 9):
        web.page(f"http://a.test/{n}", text=LONG + str(n))
    web.page("http://a.test/", links=[f"/{n}" for n in range(1, 9)], text=LONG)
    rounds = Rounds(web, tmp_path)
    await rounds.run(10 * DAY)
    asked = []
    for day in range(11, 25):
        web.page("http://a.test/1", title="One", text=f"{LONG} {day}")
        asked += await rounds.run(day * DAY)
    assert asked.count("/1") == 14
    assert all(asked.count(f"/{n}") <= 11 for n in range(2, 9))
    assert [kinds for _, _, kinds, _ in rounds.changes()] == [["text"]] * 14


async def test_revisit_of_useful_page_counts_as_changed(web: TinyWeb, tmp_path: Path) -> None:
    rounds = Rounds(web, tmp_path)
    await rounds.run(10 * DAY)
    web.page("http://a.test/2", title="Two", text=LONG + "二", links=["/3"])
    web.page("http://a.test/3", title="足球", text="足球" * 40)
    await rounds.run(11 * DAY)
    assert rounds.check("/2")["news"] == pytest.approx(1.0, abs=0.01)
    assert rounds.check("/1")["news"] == 0.0


async def test_revisit_order_is_deterministic(web: TinyWeb, tmp_path: Path) -> None:
    orders = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        rounds = Rounds(web, tmp_path / name)
        await rounds.run(10 * DAY)
        web.log.clear()
        orders.append([await rounds.run(day * DAY, concurrency=4) for day in (11, 12, 14)])
    assert orders[0] == orders[1]


async def test_commands_report_changed_gone_and_due_pages(
    rounds: Rounds, web: TinyWeb, capfd: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settle(rounds.path.parent, monkeypatch)
    focus, db = runner(capfd), ("--db", str(rounds.path))
    nothing = focus("changes", *db)
    assert (nothing.code, nothing.out) == (0, "")
    assert "No changes found yet" in nothing.err
    web.page("http://a.test/1", title="Uno", text=LONG + "新", links=["/3"])
    web.answers["http://a.test/2"] = Answer(status=404)
    await rounds.run(11 * DAY)
    printed = focus("changes", *db).out
    assert "text, title, links +1 (One)" in printed and "gone (404)" in printed
    assert focus("changes", "http://a.test/2", *db).out.count("http://") == 1
    assert focus("changes", "http://a.test/nowhere", *db).out == ""
    data = msgspec.json.decode(focus("changes", "--json", *db).out)
    assert {tuple(item["kinds"]) for item in data} == {("text", "title", "links"), ("gone",)}
    assert focus("export", *db).out.count("\n") == 2
    assert focus("export", "--gone", "mark", *db).out.count("\n") == 3
    assert "due now" not in focus("status", *db).out, "its configuration is not that of a command"
    with closing(sqlite3.connect(rounds.path)) as base, base:
        base.execute("UPDATE crawl SET config = '{\"refresh_s\": 86400}'")
        seen = base.execute("SELECT gone_at FROM pages WHERE url = 'http://a.test/2'").fetchone()
    assert seen[0].startswith("1970-01-12")
    assert "3 looks so far, 1 page gone; 3 pages due now" in focus("status", *db).out
