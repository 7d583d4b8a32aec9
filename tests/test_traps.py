"""Signs of traps in addresses, and budgets that grow with what they bring."""

from collections import Counter
from random import Random
from urllib.parse import urlsplit

import pytest

from focus.admission.traps import COMPARED_FROM, FAR_DATES, LARGE_HOST, MAX_REPEATS, Traps
from focus.config import PolitenessConfig, TrapConfig
from focus.frontier import Frontier
from focus.records import DropReason, FetchResult, Tally, UrlState
from focus.scheduling.queues import Host, Queue
from focus.scheduling.url_table import UrlTable
from focus.score.strategy import STRATEGIES
from tests.support.cases import cases
from tests.support.web import TinyWeb
from tests.test_crawl import World, crawl

NOW = 1_790_000_000.0  # September 2026


@pytest.fixture
def host() -> Host:
    return Host(0, "a.test", 1.0)


def reason(url: str, host: Host, **config: int) -> DropReason | None:
    verdict = Traps(TrapConfig(**config), now=NOW).check_url(f"http://a.test{url}", host)
    return None if verdict is None else verdict.reason


@cases(
    "path",
    "/a/b/a/b/a/b/",
    "/x/x/x",
    "/en/about/en/contact/en/about/en/x",
    "/about/team/contact/about/team/contact/about/team/contact",
    "/" + "/".join(f"s{n}" for n in range(21)),
)
def test_repeated_or_deep_path_is_a_trap(path: str, host: Host) -> None:
    assert reason(path, host) is DropReason.TRAP_PATH


@cases(
    "url",
    "/", "/2011/11/11/11/", "/news/news/2026/08/31/news-of-today.html", "/docs/a/b/a/c.html",
    "/api/v1/users/1/posts/1/comments/1/likes/1", "/index.php?id=1&id=2&page=3",
    "/list?tag[]=1&tag[]=2&tag[]=3&tag[]=4&tag[]=5", "/archive/1998/05/",
    "/events/2027/03/12", "/thread/9031/5", "/thread/9031/12", "/thread-{n}-1-1.html",
    "/thread-{n}-11-1.html", "/list?start={n}", "/{n}/1", "/item/203105", "/en/a/en/b/en/c",
    "/" + "/".join(f"s{n}" for n in range(20)),
)  # fmt: skip
def test_url_forms_of_real_sites_are_no_traps(url: str, host: Host) -> None:
    traps = Traps(TrapConfig(), now=NOW)
    for number in range(2100, 2100 + 2 * FAR_DATES):
        assert traps.check_url(f"https://a.test{url.format(n=number)}", host) is None


def test_repeated_parameter_is_a_trap(host: Host) -> None:
    assert reason("/s?q=1&q=2&q=3&q=4", host) is DropReason.TRAP_QUERY


def test_endless_parameter_combinations_are_a_trap(host: Host) -> None:
    traps = Traps(TrapConfig(max_combinations=8), now=NOW)
    facets = ["color", "size", "brand", "sort", "price"]
    verdicts = []
    for bits in range(1, 32):
        query = "&".join(f"{name}=1" for at, name in enumerate(facets) if bits >> at & 1)
        verdicts.append(traps.check_url(f"http://a.test/shop?{query}", host))
    assert sum(item is not None for item in verdicts) == 26 - 8
    assert traps.check_url("http://a.test/shop?color=2&size=3", host) is None, (
        "one of those it knows"
    )
    assert traps.check_url("http://a.test/other?price=1&sort=2", host) is None, "another path"


def test_path_counts_are_bounded(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("focus.admission.traps.MAX_ENTRIES", 100)
    traps = Traps(TrapConfig(), now=NOW)
    for number in range(1000):
        traps.check_url(f"http://a.test/s{number}?a=1&b=2", host)
        traps.check_url(f"http://a.test/x{'y' * number}/2099-01", host)
    assert len(traps._combinations) <= 100
    assert len(traps._dates) <= 100


def test_parameter_may_have_any_number_of_values(host: Host) -> None:
    traps = Traps(TrapConfig(), now=NOW)
    urls = (f"http://a.test/thread.php?tid={n}&page={n % 7}" for n in range(5000))
    assert not any(traps.check_url(url, host) for url in urls)


@cases(
    "form",
    "/calendar/{y}/{m:02}/",
    "/cal?year={y}&month={m}",
    "/events?date={y}-{m:02}-01",
    "/e/{y}-{m:02}-01",
)
def test_calendar_far_ahead_is_a_trap(form: str, host: Host) -> None:
    traps = Traps(TrapConfig(), now=NOW)
    months = [(2026 + at // 12, at % 12 + 1) for at in range(8, 400)]
    verdicts = [traps.check_url("http://a.test" + form.format(y=y, m=m), host) for y, m in months]
    assert not any(verdicts[:24]), "two years ahead are plans"
    assert sum(item is not None for item in verdicts[-300:]) >= 300 * 9 // 12
    assert {item.reason for item in verdicts if item} == {DropReason.TRAP_CALENDAR}


def test_it_can_be_switched_off(host: Host) -> None:
    traps = Traps(TrapConfig(is_on=False, budget=1), now=NOW)
    assert traps.check_url("http://a.test/x/x/x/x/x/x", host) is None
    assert traps.spent_reason(Queue(0, host, "/N"), Tally(99, 0.0), Tally(99, 0.0)) == ""


def test_budget_is_spent_without_results(host: Host) -> None:
    traps = Traps(TrapConfig(budget=100), now=NOW)
    queue = Queue(0, host, "/N")
    assert traps.spent_reason(queue, Tally(99, 0.0), Tally(99, 0.0)) == ""
    assert "/N found almost nothing" in traps.spent_reason(queue, Tally(100, 0.9), Tally(100, 0.9))
    assert traps.spent_reason(queue, Tally(100_000, 1000.0), Tally(100_000, 1000.0)) == ""


def test_repeating_pattern_is_left_early_without_results(host: Host) -> None:
    traps = Traps(TrapConfig(), now=NOW)
    queue, nothing = Queue(0, host, "/N"), Tally()
    for fetched in range(COMPARED_FROM + MAX_REPEATS - 1):
        assert traps.spent_reason(queue, Tally(fetched, 0.0), nothing) == ""
        traps.record_text(fetched, -1, queue, fetched + 1, 7, is_new=fetched < 10)
    spent = Tally(COMPARED_FROM + MAX_REPEATS, 0.0)
    assert "the last 220 URLs like /N" in traps.spent_reason(queue, spent, nothing)
    paying = Tally(COMPARED_FROM + MAX_REPEATS, 10.0)
    assert traps.spent_reason(queue, paying, nothing) == ""
    traps.record_text(301, -1, queue, 301, 8, is_new=False)
    assert traps.spent_reason(queue, spent, nothing) == "", "a text that it never had"


@pytest.mark.parametrize("news", ["text", "relevance"])
def test_pattern_with_occasional_news_has_its_whole_budget(host: Host, news: str) -> None:
    traps = Traps(TrapConfig(budget=2000), now=NOW)
    queue = Queue(0, host, "/N")
    for fetched in range(1, 2000):
        is_news = fetched % MAX_REPEATS == 0
        text = fetched if is_news and news == "text" else 7
        is_new = is_news and news == "relevance"
        traps.record_text(fetched, -1, queue, fetched, text, is_new=is_new)
        assert traps.spent_reason(queue, Tally(fetched, 0.0), Tally()) == ""
    assert traps.spent_reason(queue, Tally(2000, 0.0), Tally())


def test_is_barren_220_pages_without_new_text_is_true_until_a_new_text(host: Host) -> None:
    traps, queue = Traps(TrapConfig(), now=NOW), Queue(0, host, "")
    for page in range(MAX_REPEATS + 2):
        assert not traps.barren_reason(page, page - 1)
        traps.record_text(page, page - 1, queue, 1, text=7, is_new=False)
    assert "the last 220 pages" in traps.barren_reason(998, MAX_REPEATS)
    assert not traps.barren_reason(998, 0), "found through a page with a new text"
    assert not traps.barren_reason(MAX_REPEATS - 1, MAX_REPEATS), "known before its parent"
    traps.record_text(997, 0, queue, 1, text=8, is_new=False)
    assert traps.barren_reason(998, MAX_REPEATS), "a new text elsewhere"
    traps.record_text(998, 1, queue, 1, text=9, is_new=False)
    assert not traps.barren_reason(999, MAX_REPEATS)


def test_is_barren_page_of_links_to_pages_without_new_text_is_false(host: Host) -> None:
    traps, queue = Traps(TrapConfig(), now=NOW), Queue(0, host, "")
    for page in range(2 * MAX_REPEATS):
        traps.record_text(page, min(page - 1, 0), queue, 1, text=7, is_new=False)
        assert not traps.barren_reason(999, page)


def test_record_text_thousands_of_pages_keeps_memory_bounded(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("focus.admission.traps.MAX_ENTRIES", 100)
    traps, queue = Traps(TrapConfig(), now=NOW), Queue(0, host, "")
    for page in range(0, 2000, 2):
        traps.record_text(page, page - 2, queue, 1, text=page, is_new=True)
        traps.record_text(page + 1, page, queue, 1, text=0, is_new=False)
    assert len(traps._origins) <= 100


ENDLESS = {
    "calendar.test": ("/events/{year}/{month:02}/",),
    "session.test": ("/s/{hash:016x}/home", "/s/{hash:016x}/news"),
    "repeated.test": ("{path}/about/", "{path}/news/"),
    "growing.test": ("{path}/{word}", "{path}/{word}s"),
    "facets.test": ("/shop?a={n}&b={hash}&c={month}", "/shop?d={month}&b={hash}&page={n}"),
    "counter.test": ("/list?page={n}", "/p/{n}"),
    "relative.test": ("{path}/../{word}/index.html", "news/{word}.html"),
    "slugs.test": ("/{word}", "/{word}s/{word}", "/{word}-{word}.html"),
    "search.test": ("/search?q={word}+{month}", "/search?q={word}"),
}
"""Links of each page of an endless site."""


class EndlessWorld(World):
    """The hosts of `ENDLESS`, each with 20 finite pages, of which every second one is relevant."""

    def __init__(self) -> None:
        super().__init__(TinyWeb())
        self.requests = Counter[str]()

    def lookup(self, url: str, *, robots: bool, fetched_at: float, elapsed_s: float) -> FetchResult:
        host, path = urlsplit(url).netloc, urlsplit(url).path.rstrip("/")
        finite = [f"/real/{number}" for number in range(20)]
        rng = Random(url)
        word = "".join(rng.choice("bdfgklmnprst") + rng.choice("aeiou") for _ in range(4))
        if path in finite:
            title = ("足球", "other")[int(path[6:]) % 2]
            self.web.page(url, title=title, text=f"{title}: {word * 3}", links=["/"])
        elif not robots:
            self.requests[host] += 1
            n = self.requests[host]
            month = {"year": 2026 + n // 12, "month": n % 12 + 1}
            values = {"n": n, "hash": rng.getrandbits(64), "word": word, "path": path, **month}
            links = [(link.format(**values), "another") for link in ENDLESS[host]]
            text = f"Nothing was found for {word} ({n}). Choose another entry of the menu."
            self.web.page(url, title=word, text=text, links=[*links, *finite])
        return super().lookup(url, robots=robots, fetched_at=fetched_at, elapsed_s=elapsed_s)


@pytest.mark.parametrize("strategy", STRATEGIES)
async def test_endless_site_gets_300_requests_from_every_strategy(strategy: str) -> None:
    world = EndlessWorld()
    seeds = [f"http://{host}/" for host in ENDLESS]
    run = await crawl(world, seeds, strategy=strategy, delay_s=0.0, max_requests=10_000)
    assert max(world.requests.values()) <= 300, world.requests
    assert sum("/real/" in url for url in run.pages) == 20 * len(ENDLESS)


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


@cases("filler, requests", ("Day {n} of 3000. " * 20, 220), ("A day of {word}", 2000))
async def test_endless_pattern_without_news_ends_sooner(filler: str, requests: int) -> None:
    run = await crawl(Endless(filler), ["http://a.test/"], strategy="yield", delay_s=0.0)
    days = [url for url in run.web.urls() if "/day?" in url]
    assert abs(len(days) - requests) <= 2
    assert {f"http://a.test/{name}" for name in "123"} <= set(run.pages)
    assert run.crawl.unit_of_work.drops[DropReason.TRAP_BUDGET] == 1


async def test_spellings_of_a_name_are_one_pattern() -> None:
    web = TinyWeb()
    web.page("http://a.test/", links=["/" + _spelling(n) for n in range(1500)])
    for n in range(1500):
        web.page(f"http://a.test/{_spelling(n)}", text="A page of no interest.")
    run = await crawl(web, ["http://a.test/"], strategy="yield", delay_s=0.0)
    assert len(run.pages) <= 282


def _spelling(n: int) -> str:
    """`goalkeepers`, with the letters as capitals that the bits of `n` name."""
    return "".join(c.upper() if n >> at & 1 else c for at, c in enumerate("goalkeepers"))


def test_host_with_endless_patterns_has_a_budget(host: Host) -> None:
    traps = Traps(TrapConfig(budget=100), now=NOW)
    queue = Queue(0, host, "/S")
    assert traps.spent_reason(queue, Tally(1, 0.0), Tally(999, 0.0)) == ""
    assert "a.test found" in traps.spent_reason(queue, Tally(1, 0.0), Tally(1000, 0.0))


def test_patterns_are_tracked_for_large_hosts_only() -> None:
    frontier = Frontier(UrlTable(0), PolitenessConfig())
    small, large = frontier.host("a.test"), frontier.host("b.test")
    traps = Traps(TrapConfig(), now=NOW)
    for _ in range(LARGE_HOST):
        traps.count_urls(large)
    traps.count_urls(small)
    assert (traps.needs_patterns(small), traps.needs_patterns(large)) == (False, True)


async def test_waiting_urls_of_spent_queue_are_dropped() -> None:
    web = TinyWeb()
    web.page("http://a.test/", links=[f"/{n}" for n in range(60)])
    for number in range(60):
        web.page(f"http://a.test/{number}")
    run = await crawl(web, ["http://a.test/"], traps=TrapConfig(budget=2))
    assert run.crawl.url_table.counts[UrlState.DONE] == 20
    assert run.crawl.unit_of_work.drops[DropReason.TRAP_BUDGET] == 41
