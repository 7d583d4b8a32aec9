"""Signs of traps in addresses, and budgets that grow with what they bring."""

import pytest

from focus.admission.traps import FAR_DATES, LARGE_HOST, REPEATED, TEXTS, WATCHED_FROM, Traps
from focus.config import PolitenessConfig, TrapConfig
from focus.frontier import Frontier
from focus.records import DropReason, Tally, UrlState
from focus.scheduling.queues import Host, Queue
from focus.scheduling.url_table import UrlTable
from tests.support.web import TinyWeb
from tests.test_crawl import crawl

NOW = 1_790_000_000.0  # September 2026


@pytest.fixture
def host() -> Host:
    return Host(0, "a.test", 1.0)


def reason(url: str, host: Host, **config: int) -> DropReason | None:
    found = Traps(TrapConfig(**config), now=NOW).look(f"http://a.test{url}", host)
    return None if found is None else found.reason


@pytest.mark.parametrize(
    "path",
    [
        "/a/b/a/b/a/b/",
        "/x/x/x",
        "/en/about/en/contact/en/about/en/x",
        "/about/team/contact/about/team/contact/about/team/contact",
        "/" + "/".join(f"s{n}" for n in range(21)),
    ],
)
def test_a_path_that_repeats_or_is_too_deep_is_a_trap(path: str, host: Host) -> None:
    assert reason(path, host) is DropReason.TRAP_PATH


@pytest.mark.parametrize(
    "url",
    [
        "/", "/2011/11/11/11/", "/news/news/2026/08/31/news-of-today.html", "/docs/a/b/a/c.html",
        "/api/v1/users/1/posts/1/comments/1/likes/1", "/index.php?id=1&id=2&page=3",
        "/list?tag[]=1&tag[]=2&tag[]=3&tag[]=4&tag[]=5", "/archive/1998/05/",
        "/events/2027/03/12", "/thread/9031/5", "/thread/9031/12", "/thread-{n}-1-1.html",
        "/thread-{n}-11-1.html", "/list?start={n}", "/{n}/1", "/item/203105",
    ],
)  # fmt: skip
def test_what_real_sites_do_is_none(url: str, host: Host) -> None:
    traps = Traps(TrapConfig(), now=NOW)
    for number in range(2100, 2100 + 2 * FAR_DATES):
        assert traps.look(f"http://a.test{url.format(n=number)}", host) is None


def test_a_parameter_again_and_again_is_a_trap(host: Host) -> None:
    assert reason("/s?q=1&q=2&q=3&q=4", host) is DropReason.TRAP_QUERY


def test_ever_new_combinations_of_parameters_are_a_trap(host: Host) -> None:
    traps = Traps(TrapConfig(max_combinations=8), now=NOW)
    facets = ["color", "size", "brand", "sort", "price"]
    found = []
    for bits in range(1, 32):
        query = "&".join(f"{name}=1" for at, name in enumerate(facets) if bits >> at & 1)
        found.append(traps.look(f"http://a.test/shop?{query}", host))
    assert sum(each is not None for each in found) == 26 - 8
    assert traps.look("http://a.test/shop?color=2&size=3", host) is None, "one of those it knows"
    assert traps.look("http://a.test/other?price=1&sort=2", host) is None, "another path"


def test_what_is_counted_of_paths_is_bounded(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("focus.admission.traps.KEPT", 100)
    traps = Traps(TrapConfig(), now=NOW)
    for number in range(1000):
        traps.look(f"http://a.test/s{number}?a=1&b=2", host)
        traps.look(f"http://a.test/x{'y' * number}/2099-01", host)
    assert len(traps._combinations) <= 100
    assert len(traps._dates) <= 100


def test_values_of_a_parameter_may_be_as_many_as_there_are(host: Host) -> None:
    traps = Traps(TrapConfig(), now=NOW)
    urls = (f"http://a.test/thread.php?tid={n}&page={n % 7}" for n in range(5000))
    assert not any(traps.look(url, host) for url in urls)


@pytest.mark.parametrize(
    "form",
    [
        "/calendar/{y}/{m:02}/",
        "/cal?year={y}&month={m}",
        "/events?date={y}-{m:02}-01",
        "/e/{y}-{m:02}-01",
    ],
)
def test_a_calendar_that_runs_far_ahead_is_a_trap(form: str, host: Host) -> None:
    traps = Traps(TrapConfig(), now=NOW)
    months = [(2026 + at // 12, at % 12 + 1) for at in range(8, 400)]
    found = [traps.look("http://a.test" + form.format(y=y, m=m), host) for y, m in months]
    assert not any(found[:24]), "two years ahead are plans"
    assert sum(each is not None for each in found[-300:]) >= 300 * 9 // 12
    assert {each.reason for each in found if each} == {DropReason.TRAP_CALENDAR}


def test_it_can_be_switched_off(host: Host) -> None:
    traps = Traps(TrapConfig(is_on=False, budget=1), now=NOW)
    assert traps.look("http://a.test/x/x/x/x/x/x", host) is None
    assert traps.is_spent(Queue(0, host, "/N"), Tally(99, 0.0), Tally(99, 0.0)) == ""


def test_a_budget_is_spent_unless_it_pays(host: Host) -> None:
    traps = Traps(TrapConfig(budget=100), now=NOW)
    queue = Queue(0, host, "/N")
    assert traps.is_spent(queue, Tally(99, 0.0), Tally(99, 0.0)) == ""
    assert "/N found almost nothing" in traps.is_spent(queue, Tally(100, 0.9), Tally(100, 0.9))
    assert traps.is_spent(queue, Tally(100_000, 1000.0), Tally(100_000, 1000.0)) == ""


def test_a_shape_that_repeats_itself_is_left_early_unless_it_pays(host: Host) -> None:
    traps = Traps(TrapConfig(), now=NOW)
    queue, nothing = Queue(0, host, "/N"), Tally()
    for fetched in range(WATCHED_FROM + REPEATED):
        assert traps.is_spent(queue, Tally(fetched, 0.0), nothing) == ""
        traps.record_text(queue, fetched + 1, 7, is_new=fetched < 10)
    spent = Tally(WATCHED_FROM + REPEATED, 0.0)
    assert "the last 200 URLs like /N" in traps.is_spent(queue, spent, nothing)
    paying = Tally(WATCHED_FROM + REPEATED, 10.0)
    assert traps.is_spent(queue, paying, nothing) == ""
    traps.record_text(queue, 301, 8, is_new=False)
    assert traps.is_spent(queue, spent, nothing) == "", "a text that it never had"


@pytest.mark.parametrize("news", ["text", "relevance"])
def test_what_brings_news_every_now_and_then_has_its_whole_budget(host: Host, news: str) -> None:
    traps = Traps(TrapConfig(budget=2000), now=NOW)
    queue = Queue(0, host, "/N")
    for fetched in range(1, 2000):
        is_news = fetched % REPEATED == 0
        text = fetched if is_news and news == "text" else 7
        traps.record_text(queue, fetched, text, is_new=is_news and news == "relevance")
        assert traps.is_spent(queue, Tally(fetched, 0.0), Tally()) == ""
    assert traps.is_spent(queue, Tally(2000, 0.0), Tally())


def test_what_is_kept_of_a_shape_is_bounded(host: Host) -> None:
    traps = Traps(TrapConfig(), now=NOW)
    for fetched in range(5000):
        traps.record_text(Queue(0, host, "/N"), fetched, fetched + 1, is_new=False)
        traps.record_text(Queue(1, host, "/S"), fetched % WATCHED_FROM, 1, is_new=False)
    assert {queue: len(texts) for queue, texts in traps._texts.items()} == {0: TEXTS}


class Endless(TinyWeb):
    """A calendar without end beside three pages that are worth it; `filler`: what a day says."""

    def __init__(self, filler: str) -> None:
        super().__init__()
        self.page("http://a.test/", links=["/day?n=0", "/1", "/2", "/3"])
        for name in "123":
            self.page(f"http://a.test/{name}", title="足球", text="足球")
        for n in range(3000):
            text = filler.format(
                n=n, word=f"w{n}x".translate(str.maketrans("0123456789", "abcdefghij"))
            )
            self.page(f"http://a.test/day?n={n}", text=text, links=[f"/day?n={n + 1}"])


@pytest.mark.parametrize(
    ("filler", "requests"), [("Day {n} of 3000", 300), ("A day of {word}", 2000)]
)
async def test_endless_pattern_without_news_ends_sooner(filler: str, requests: int) -> None:
    run = await crawl(Endless(filler), ["http://a.test/"], strategy="yield", delay_s=0.0)
    days = [url for url in run.web.urls() if "/day?" in url]
    assert abs(len(days) - requests) <= 2
    assert {f"http://a.test/{name}" for name in "123"} <= set(run.pages)
    assert run.crawl.unit_of_work.drops[DropReason.TRAP_BUDGET] == 1


async def test_a_page_under_each_spelling_of_its_name_is_one_shape() -> None:
    web = TinyWeb()
    web.page("http://a.test/", links=["/" + _spelling(n) for n in range(1500)])
    for n in range(1500):
        web.page(f"http://a.test/{_spelling(n)}", text="A page of no interest.")
    run = await crawl(web, ["http://a.test/"], strategy="yield", delay_s=0.0)
    assert len(run.pages) <= 303


def _spelling(n: int) -> str:
    """`goalkeepers`, with the letters as capitals that the bits of `n` name."""
    return "".join(c.upper() if n >> at & 1 else c for at, c in enumerate("goalkeepers"))


def test_a_host_of_ever_new_shapes_has_a_budget_too(host: Host) -> None:
    traps = Traps(TrapConfig(budget=100), now=NOW)
    queue = Queue(0, host, "/S")
    assert traps.is_spent(queue, Tally(1, 0.0), Tally(999, 0.0)) == ""
    assert "a.test found" in traps.is_spent(queue, Tally(1, 0.0), Tally(1000, 0.0))


def test_only_large_hosts_are_looked_at_by_pattern() -> None:
    frontier = Frontier(UrlTable(0), PolitenessConfig())
    small, large = frontier.host("a.test"), frontier.host("b.test")
    traps = Traps(TrapConfig(), now=NOW)
    for _ in range(LARGE_HOST):
        traps.count(large)
    traps.count(small)
    assert (traps.wants_patterns(small), traps.wants_patterns(large)) == (False, True)


async def test_a_crawl_leaves_a_growing_path_alone() -> None:
    web = TinyWeb()
    web.page("http://a.test/", links=["x/"])
    for depth in range(1, 9):
        web.page("http://a.test/" + "x/" * depth, links=["x/", "../y"])
    run = await crawl(web, ["http://a.test/"])
    assert "http://a.test/x/x/" in web.urls()
    assert "http://a.test/x/x/x/" not in web.urls()
    assert run.crawl.unit_of_work.drops[DropReason.TRAP_PATH] == 1


async def test_what_waits_in_a_spent_queue_is_dropped() -> None:
    web = TinyWeb()
    web.page("http://a.test/", links=[f"/{n}" for n in range(60)])
    for number in range(60):
        web.page(f"http://a.test/{number}")
    run = await crawl(web, ["http://a.test/"], traps=TrapConfig(budget=2))
    assert run.crawl.url_table.counts[UrlState.DONE] == 20
    assert run.crawl.unit_of_work.drops[DropReason.TRAP_BUDGET] == 41
