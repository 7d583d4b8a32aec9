"""The crawl over tiny webs: order, politeness, robots, redirects, failures. Virtual clock."""

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import msgspec
import pytest

from focus.config import (
    NOFOLLOW_CHOICES,
    AnalysisConfig,
    CrawlConfig,
    LimitConfig,
    PolitenessConfig,
    ScopeConfig,
)
from focus.crawler import Crawl, Event
from focus.engine.transports import MAX_UNSCORED, LiveTransport, ReplayTransport
from focus.records import Batch, FailureKind, FetchResult, Page, Result, UrlState
from focus.scheduling import retries
from focus.score.strategy import STRATEGIES
from focus.topic.topic import from_words, to_builtins
from focus.workers import InlineScorer
from focus.workers.messages import Job
from tests.support.cases import cases
from tests.support.web import Answer, Hit, TinyWeb

RATE_LIMITED_TRIES = retries.retry_policy(FailureKind.RATE_LIMITED).tries
TOPIC = AnalysisConfig(topic=to_builtins(from_words("足球")), relevance="position")


class World:
    """A tiny web as a recorded one; `first` gives answers to be had once each, in order."""

    def __init__(self, web: TinyWeb) -> None:
        self.web = web
        self.first: dict[str, list[Answer]] = defaultdict(list)

    def lookup(self, url: str, *, robots: bool, fetched_at: float, elapsed_s: float) -> FetchResult:
        self.web.log.append(Hit(url, fetched_at))
        answer = self.web.answers.get(url) or Answer(status=404)
        if self.first[url]:
            answer = self.first[url].pop(0)
        result = self.web._result(url, answer, fetched_at, robots)
        return msgspec.structs.replace(result, fetched_at=fetched_at, elapsed_s=elapsed_s)


class Run:
    """A crawl that has ended."""

    def __init__(self, crawl: Crawl, web: TinyWeb, events: list[Event], reason: str) -> None:
        self.crawl, self.web, self.events, self.reason = crawl, web, events, reason

    @property
    def pages(self) -> list[str]:
        return [event.url for event in self.events if event.state is UrlState.DONE]

    def reasons(self) -> dict[str, str]:
        return {event.url: event.reason for event in self.events if event.reason}


async def crawl(
    web: TinyWeb | World,
    seeds: list[str] | None = None,
    *,
    delay_s: float = 1.0,
    per_host: int = 1,
    **options: Any,
) -> Run:
    """Crawl a web; options are settings of the crawl or limits."""
    world = web if isinstance(web, World) else World(web)
    limits = {name: options.pop(name) for name in LimitConfig.__struct_fields__ if name in options}
    fields = {"strategy": "bfs", "concurrency": 1, "analysis": TOPIC, **options}
    politeness = PolitenessConfig(delay_s=delay_s, per_host=per_host)
    config = CrawlConfig(limits=LimitConfig(**limits), politeness=politeness, **fields)
    events: list[Event] = []
    transport = ReplayTransport(world, InlineScorer(TOPIC), start=1000.0)
    engine = Crawl(config, transport, observe=events.append)
    engine.add_seeds(seeds or ["http://a.test/"])
    return Run(engine, world.web, events, await engine.run())


@pytest.fixture
def web() -> TinyWeb:
    web = TinyWeb()
    web.page("http://a.test/", links=["/1", "/2", ("http://b.test/", "足球")])
    web.page("http://a.test/1", links=["/3"])
    web.page("http://a.test/2")
    web.page("http://a.test/3", links=["/"])
    web.page("http://b.test/", title="足球", keywords="足球", links=["/x"])
    web.page("http://b.test/x")
    return web


async def test_robots_txt_comes_first_once_per_host(web: TinyWeb) -> None:
    await crawl(web)
    asked = web.urls(robots=True)
    assert asked[:2] == ["http://a.test/robots.txt", "http://a.test/"]
    assert asked.count("http://b.test/robots.txt") == 1
    assert asked.index("http://b.test/robots.txt") + 1 == asked.index("http://b.test/")


async def test_breadth_first_follows_links_in_order_of_discovery(web: TinyWeb) -> None:
    run = await crawl(web)
    names = ["a.test/", "a.test/1", "a.test/2", "b.test/", "a.test/3", "b.test/x"]
    assert (run.reason, run.pages) == ("frontier empty", [f"http://{name}" for name in names])


async def test_best_link_follows_topical_anchor_first(web: TinyWeb) -> None:
    run = await crawl(web, strategy="best-link")
    assert run.pages[:3] == ["http://a.test/", "http://b.test/", "http://b.test/x"]


async def test_best_first_drops_least_relevant_urls_over_bound(web: TinyWeb) -> None:
    web.page("http://a.test/", links=[("http://b.test/", ""), *(f"/{n}" for n in range(100))])
    run = await crawl(web, strategy="best-first", params={"bound": 3})
    expected = [f"http://{name}" for name in ("a.test/", "b.test/", "b.test/x", "a.test/1")]
    assert (run.pages, run.crawl.unit_of_work.drops) == (expected, {"frontier-full": 98})
    assert run.reason == "frontier empty"


@pytest.mark.parametrize("concurrency", [1, 2, 16])
async def test_crawl_is_repeatable(web: TinyWeb, concurrency: int) -> None:
    first = await crawl(web, concurrency=concurrency)
    again = await crawl(web, concurrency=concurrency)
    assert (first.events, len(first.pages)) == (again.events, 6)


@pytest.mark.parametrize(("per_host", "concurrency"), [(1, 1), (1, 16), (2, 16)])
async def test_no_host_is_requested_faster_than_its_delay(per_host: int, concurrency: int) -> None:
    web = TinyWeb()
    seeds = [f"http://{host}.test/" for host in "abc"]
    for seed in seeds:
        web.page(seed, links=[f"/{n}" for n in range(8)])
        for n in range(8):
            web.page(f"{seed}{n}")
    run = await crawl(web, seeds, concurrency=concurrency, per_host=per_host)
    starts: dict[str, list[float]] = defaultdict(list)
    for hit in run.web.log:
        starts[hit.url.split("/")[2]].append(hit.at)
    assert len(run.pages) == 27
    for times in starts.values():
        assert min(b - a for a, b in pairwise(sorted(times))) >= 1.0 - 1e-6


async def test_crawl_delay_of_robots_txt_is_obeyed_up_to_limit(web: TinyWeb) -> None:
    web.robots("a.test", "User-agent: *\nCrawl-delay: 7")
    web.robots("b.test", "User-agent: *\nCrawl-delay: 9999")
    run = await crawl(web)
    hosts = {host.name: host.delay_s for host in run.crawl.frontier.hosts}
    assert hosts == {"a.test": 7.0, "b.test": 30.0}
    times = [hit.at for hit in run.web.log if "//a.test" in hit.url][1:]
    assert min(b - a for a, b in pairwise(times)) >= 7.0


async def test_forbidden_url_is_never_requested(web: TinyWeb) -> None:
    web.robots("a.test", "User-agent: focus\nDisallow: /1\n\nUser-agent: *\nDisallow: /")
    run = await crawl(web)
    asked = run.web.urls()
    assert "http://a.test/1" not in asked and "http://a.test/2" in asked
    assert run.crawl.unit_of_work.drops["robots"] == 1


async def test_robots_txt_unreachable_is_retried_then_host_is_abandoned(web: TinyWeb) -> None:
    web.robots("b.test", "", status=503)
    run = await crawl(web)
    assert not any(url.startswith("http://b.test/") for url in run.pages)
    assert web.urls(robots=True).count("http://b.test/robots.txt") == 3
    assert run.crawl.unit_of_work.failures["host-given-up"] == 1


async def test_redirect_target_replaces_source(web: TinyWeb) -> None:
    web.redirect("http://a.test/1", "http://b.test/new")
    web.page("http://b.test/new", links=["/y"])
    web.page("http://b.test/y")
    run = await crawl(web)
    assert run.pages[1] == "http://b.test/new"
    assert "http://b.test/y" in run.pages
    assert run.crawl.unit_of_work.drops["redirected"] == 1


async def test_http_to_https_of_the_same_page_is_one_url() -> None:
    web = TinyWeb()
    web.redirect("http://a.test/", "https://a.test/")
    web.page("https://a.test/", links=["http://a.test/x"])
    web.page("http://a.test/x")
    run = await crawl(web)
    assert run.pages == ["https://a.test/", "http://a.test/x"]
    assert run.crawl.url_table.counts[UrlState.DONE] == 2


async def test_redirect_loops_and_endless_chains_end() -> None:
    web = looping_web("/c0")
    for n in range(30):
        web.redirect(f"http://a.test/c{n}", f"/c{n + 1}")
    run = await crawl(web)
    assert run.pages == ["http://a.test/"]
    assert run.crawl.unit_of_work.failures["redirect"] == 2, "to itself, and after ten hops"
    assert len(run.web.log) < 20


@pytest.mark.parametrize("cookies", [True, False])
@pytest.mark.parametrize("way", [["/1"], ["/check", "/1"]], ids=["to itself", "there and back"])
async def test_redirect_loop_that_sets_cookie_is_followed_once(
    web: TinyWeb, way: list[str], cookies: bool
) -> None:
    world = World(web)
    for url, target in zip(["/1", "/check"], way, strict=False):
        away = Answer(status=302, headers={"location": target})
        world.first[f"http://a.test{url}"] = [away]
    run = await crawl(world, cookies=cookies)
    assert ("http://a.test/1" in run.pages) is cookies
    assert ("http://a.test/3" in run.pages) is cookies


async def test_redirect_loops_end_with_cookies() -> None:
    run = await crawl(looping_web(), cookies=True, max_requests=100)
    assert run.crawl.unit_of_work.failures["redirect"] == 2
    assert len(run.web.log) < 30


def looping_web(*links: str) -> TinyWeb:
    web = TinyWeb()
    web.page("http://a.test/", links=["/l1", "/self", *links])
    for path, target in (("l1", "/l2"), ("l2", "/l1"), ("self", "/self")):
        web.redirect(f"http://a.test/{path}", target)
    return web


class Forgetful:
    """A store that keeps nothing."""

    async def write(self, batch: Batch) -> None:
        pass

    async def load_addresses(self, ids: Sequence[int]) -> list[tuple[int, str]]:
        return []

    async def load_sources(self, ids: Sequence[int]) -> dict[int, bytes]:
        return {}


class Patient(ReplayTransport):
    """Ends a loop that looks at a clock which stands still."""

    polls = 0

    async def receive(self, until: float | None) -> list[Result]:
        self.polls += 1
        assert self.polls < 1000
        return await super().receive(until)


async def test_commit_is_due_when_it_is_waited_for(web: TinyWeb) -> None:
    start, every_s = 1000.1, 0.3
    assert (start + every_s) - start < every_s, "rounding tells the two apart"
    config = CrawlConfig(concurrency=64, commit_every_s=every_s, strategy="bfs", analysis=TOPIC)
    transport = Patient(World(web), InlineScorer(TOPIC), start=start)
    engine = Crawl(config, transport, crawl_store=Forgetful())
    engine.add_seeds(["http://a.test/"])
    assert await engine.run() == "frontier empty"


class Together(ReplayTransport):
    """A web all of whose answers come at once; `turns` of others since the last ones."""

    turns = 0

    async def receive(self, until: float | None) -> list[Result]:
        self.answers = await super().receive(until)
        while self._running:
            self.answers += await super().receive(None)
        self.turns = 0
        return self.answers


async def test_other_tasks_run_between_responses() -> None:
    web, hosts = TinyWeb(), [f"http://h{number}.test/" for number in range(5)]
    for home in hosts:
        web.page(home)
    transport = Together(World(web), InlineScorer(TOPIC))
    seen = []

    class Noted(Crawl):
        def _drop_overflow(self) -> None:
            seen.append((len(transport.answers), transport.turns))
            super()._drop_overflow()

    async def others() -> None:
        while True:
            transport.turns += 1
            await asyncio.sleep(0)

    waiting = asyncio.create_task(others())
    config = CrawlConfig(concurrency=64, strategy="bfs", analysis=TOPIC)
    engine = Noted(config, transport, crawl_store=Forgetful())
    engine.add_seeds(hosts)
    assert await engine.run() == "frontier empty"
    waiting.cancel()
    assert max(in_batch for in_batch, _ in seen) == len(hosts)
    assert all(turns >= in_batch - 1 for in_batch, turns in seen)


@cases(
    "tries, retry_after_s, wait_s",
    (1, None, 10.0), (2, None, 20.0), (2, 1.0, 1.0), (2, 7200.0, 3600.0), (3, None, None),
)  # fmt: skip
def test_retry_wait_doubles(tries: int, retry_after_s: float | None, wait_s: float | None) -> None:
    assert retries.retry_wait_s(FailureKind.HTTP_5XX, tries, retry_after_s) == wait_s


async def test_temporary_failures_are_tried_again_later(web: TinyWeb) -> None:
    world = World(web)
    world.first["http://a.test/1"] = [Answer(status=500), Answer(failure=FailureKind.RESET)]
    run = await crawl(world)
    times = [hit.at for hit in run.web.log if hit.url == "http://a.test/1"]
    assert len(times) == 3
    assert times[1] - times[0] >= 10.0
    assert "http://a.test/3" in run.pages


@cases(
    "wait, answers, min_s, max_s, is_page",
    ("120", 1, 120.0, 1000.0, True),
    ("1", 2, 1.0, 5.0, True),  # as told and what the host's own record adds, not 60 s, 120 s
    ("200", RATE_LIMITED_TRIES, 200.0, 1000.0, False),  # a last try pauses the host, too
)
async def test_retry_after_pauses_the_whole_host(
    web: TinyWeb, wait: str, answers: int, min_s: float, max_s: float, is_page: bool
) -> None:
    world = World(web)
    busy = Answer(status=429, headers={"retry-after": wait})
    world.first["http://a.test/1"] = [busy] * answers
    run = await crawl(world)
    hits = [hit for hit in run.web.log if "//a.test" in hit.url]
    pauses = [(a.url, b.at - a.at) for a, b in pairwise(hits)]
    assert max(pause for _, pause in pauses) < max_s
    after = [pause for url, pause in pauses if url.endswith("/1")]
    assert min(after[:answers]) >= min_s
    assert ("http://a.test/1" in run.pages) == is_page
    assert run.reasons()["http://a.test/1"] == "rate-limited"


async def test_closed_connection_costs_only_the_delay(web: TinyWeb) -> None:
    world = World(web)
    world.first["http://a.test/1"] = [Answer(failure=FailureKind.CLOSED)]
    world.first["http://a.test/robots.txt"] = [Answer(failure=FailureKind.CLOSED)]
    run = await crawl(world)
    hits = [hit for hit in run.web.log if "//a.test" in hit.url]
    assert min(later.at - earlier.at for earlier, later in pairwise(hits)) >= 1.0
    assert run.crawl.frontier.host("a.test").failures == 0
    assert run.web.urls().count("http://a.test/1") == 2
    assert "http://a.test/1" in run.pages


async def test_final_failures_are_not_tried_again(web: TinyWeb) -> None:
    web.status("http://a.test/1", 404)
    web.fail("http://a.test/2", FailureKind.TOO_LARGE)
    run = await crawl(web)
    assert run.reasons()["http://a.test/1"] == "http-4xx"
    assert [web.urls().count(f"http://a.test/{n}") for n in (1, 2)] == [1, 1]


async def test_host_without_address_is_abandoned_at_once() -> None:
    web = TinyWeb()
    web.page("http://a.test/", links=[f"http://gone.test/{n}" for n in range(5)])
    web.fail("http://gone.test/robots.txt", FailureKind.DNS)
    run = await crawl(web)
    assert web.urls(robots=True).count("http://gone.test/robots.txt") == 1
    assert run.crawl.url_table.counts[UrlState.FAILED] == 5


async def test_seed_failures_are_reported() -> None:
    web = TinyWeb()
    web.fail("http://gone.test/robots.txt", FailureKind.DNS)
    web.status("http://a.test/", 404)
    web.robots("b.test", "User-agent: *\nDisallow: /")
    run = await crawl(web, ["http://gone.test/", "http://a.test/", "http://b.test/"])
    failures = run.crawl.seeds.failures
    assert "dns" in failures["http://gone.test/"]
    assert "http-4xx" in failures["http://a.test/"]
    assert "robots" in failures["http://b.test/"]
    assert run.pages == []


async def test_noindex_page_is_no_result_but_its_links_are_followed(web: TinyWeb) -> None:
    web.page("http://a.test/1", links=["/3"], head='<meta name="robots" content="noindex">')
    web.page("http://a.test/2", links=["/4"], headers={"x-robots-tag": "nofollow"})
    web.page("http://a.test/4")
    run = await crawl(web)
    assert "http://a.test/1" not in run.pages and "http://a.test/3" in run.pages
    assert "http://a.test/4" not in run.pages


REFRESH = '<meta http-equiv="refresh" content="{}">'


@pytest.mark.parametrize("asks", ["head", "header", "noscript", "late"])
async def test_refresh_of_seed_is_followed(asks: str) -> None:
    web = TinyWeb()
    content = "30; url=http://b.test/home" if asks == "late" else "0; url=http://b.test/home"
    tag = REFRESH.format(content)
    head = {"header": "", "noscript": f"<noscript>{tag}</noscript>"}.get(asks, tag)
    headers = {"refresh": content} if asks == "header" else {}
    web.page("http://a.test/", head=head, headers=headers)
    web.page("http://b.test/home", links=["/1"])
    web.page("http://b.test/1")
    run = await crawl(web)
    first = ["http://a.test/"] if asks in ("noscript", "late") else []
    assert run.pages == [*first, "http://b.test/home", "http://b.test/1"]


async def test_refresh_target_of_seed_is_in_scope() -> None:
    web = TinyWeb()
    web.page("http://a.test/", head=REFRESH.format("0; url=http://b.test/"))
    web.page("http://b.test/", links=["/1", "http://c.test/"])
    web.page("http://b.test/1")
    run = await crawl(web, scope=ScopeConfig(scope="host"))
    assert run.pages == ["http://b.test/", "http://b.test/1"]


async def test_refresh_loops_and_endless_chains_end() -> None:
    web = TinyWeb()
    web.page("http://a.test/", head=REFRESH.format("0; url=/b"))
    web.page("http://a.test/b", head=REFRESH.format("0; url=/"))
    for n in range(40):
        web.page(f"http://c.test/{n}", head=REFRESH.format(f"0; url=/{n + 1}"))
    web.page("https://d.test/", head=REFRESH.format("0; url=http://d.test/"))
    web.page("http://d.test/", head=REFRESH.format("0; url=https://d.test/"))
    run = await crawl(web, ["http://a.test/", "http://c.test/0", "http://d.test/"])
    assert run.pages == []
    asked = [url for url in web.urls() if url.startswith("http://c.")]
    assert len(asked) == 11
    assert len([url for url in web.urls() if "d.test" in url]) == 11
    assert run.crawl.unit_of_work.failures == {"redirect": 2}


async def test_page_that_refreshes_itself_is_a_page() -> None:
    web = TinyWeb()
    web.page("http://a.test/", head=REFRESH.format("3"), links=["/1"])
    web.page("http://a.test/1", head=REFRESH.format("0; url=/1"))
    run = await crawl(web)
    assert run.pages == ["http://a.test/", "http://a.test/1"]


@cases(
    "tag, is_result, is_followed",
    ("otherbot: noindex, focus: nofollow", True, False),
    ("unavailable_after: 1 Jan 1970 00:00:00 GMT", True, True),
    ("unavailable_after: Thu, 01 Jan 1970 00:15:00 GMT", False, True),
    ("unavailable_after: 25 Jun 2035 15:00:00 PST", True, True),
    ("none", False, False),
)
async def test_x_robots_tag_is_parsed(tag: str, is_result: bool, is_followed: bool) -> None:
    web = TinyWeb()
    web.page("http://a.test/", links=["/next"], headers={"x-robots-tag": tag})
    web.page("http://a.test/next")
    run = await crawl(web)
    assert ("http://a.test/" in run.pages) == is_result
    assert ("http://a.test/next" in run.pages) == is_followed


NOFOLLOW_PAGE = (
    '<a rel="nofollow" href="/paid">足球</a> <a rel="ugc" href="/both">足球</a> '
    '<a href="/both">足球</a> <a href="/plain">足球</a>'
)


@pytest.mark.parametrize("strategy", [*STRATEGIES])
async def test_nofollow_option(strategy: str) -> None:
    web = TinyWeb()
    web.page("http://a.test/", title="足球", keywords="足球", head=NOFOLLOW_PAGE)
    for name in ("paid", "both", "plain"):
        web.page(f"http://a.test/{name}", title="足球")
    pages = {
        how: (await crawl(web, strategy=strategy, nofollow=how)).pages for how in NOFOLLOW_CHOICES
    }
    links = {f"http://a.test/{name}" for name in ("both", "plain")}
    assert set(pages["skip"][1:]) == links
    assert set(pages["weigh"][1:]) == set(pages["follow"][1:]) == {*links, "http://a.test/paid"}
    weighs = strategy not in ("bfs", "dfs", "depth-limited", "random", "pagerank", "hits")
    if weighs:
        assert pages["weigh"][-1] == "http://a.test/paid"


@cases(
    "limits, pages, said",
    ({"max_pages": 3}, 3, "max-pages"),
    ({"max_requests": 4}, 3, "max-requests"),
    ({"target": 1}, 3, "target"),
    ({"max_bytes": 1}, 1, "max-bytes"),
)
async def test_limit_ends_run(web: TinyWeb, limits: dict[str, int], pages: int, said: str) -> None:
    web.page("http://a.test/2", title="足球", keywords="足球")
    run = await crawl(web, **limits)
    assert (run.reason, len(run.pages)) == (f"{said} reached", pages)


async def test_max_pages_includes_requests_in_flight(web: TinyWeb) -> None:
    run = await crawl(web, concurrency=16, max_pages=3)
    assert len(run.pages) == 3


@cases(
    "scope, missing",
    (ScopeConfig(scope="host"), {"http://b.test/", "http://b.test/x"}),
    (ScopeConfig(deny=("/1$",)), {"http://a.test/1", "http://a.test/3"}),
    (ScopeConfig(max_depth=1), {"http://a.test/3", "http://b.test/x"}),
    (ScopeConfig(allow=("a.test",)), {"http://b.test/", "http://b.test/x"}),
)
async def test_scope_limits_the_crawl(web: TinyWeb, scope: ScopeConfig, missing: set[str]) -> None:
    everything = set((await crawl(web)).pages)
    run = await crawl(web, scope=scope)
    assert everything - set(run.pages) == missing


async def test_other_ip_address_is_another_site() -> None:
    web = TinyWeb()
    web.page("http://[2001:db8::1]/", links=["/x", "http://[2001:db8::2]/"])
    web.page("http://[2001:db8::1]/x")
    web.page("http://[2001:db8::2]/")
    run = await crawl(web, ["http://[2001:db8::1]/"], scope=ScopeConfig(scope="domain"))
    assert set(run.pages) == {"http://[2001:db8::1]/", "http://[2001:db8::1]/x"}


async def test_pictures_and_documents_are_not_requested(web: TinyWeb) -> None:
    web.page("http://a.test/2", links=["/photo.JPG?w=1", "/paper.pdf", "/v.pdf?x=1"])
    run = await crawl(web)
    assert "http://a.test/v.pdf?x=1" in run.web.urls(), "its answer tells"
    assert not any("photo" in url or "paper" in url for url in run.web.urls())


async def test_page_that_breaks_the_parser_fails_alone(web: TinyWeb) -> None:
    class Broken(InlineScorer):
        async def score(self, job: Job) -> Page:
            page = await super().score(job)
            if job.url.endswith("/1"):
                return msgspec.structs.replace(page, failure=FailureKind.PARSE_CRASH)
            return page

    config = CrawlConfig(strategy="bfs", concurrency=1, analysis=TOPIC)
    events: list[Event] = []
    engine = Crawl(config, ReplayTransport(World(web), Broken(TOPIC)), observe=events.append)
    engine.add_seeds(["http://a.test/"])
    await engine.run()
    assert engine.unit_of_work.failures["parse-crash"] == 1
    assert engine.url_table.counts[UrlState.DONE] == 4


# -- many at once, and a budget -----------------------------------------------------


def good_and_poor() -> tuple[TinyWeb, list[str]]:
    """One host about the topic, twenty that are not, all linked from a front page."""
    web = TinyWeb()
    poor = [f"http://p{n}.test/{page}" for n in range(20) for page in range(3)]
    good = [f"http://good.test/{n}" for n in range(20)]
    links = [(url, "足球") for url in good] + [(url, "天气") for url in poor]
    web.page("http://front.test/", title="足球", links=links)
    for url in good:
        web.page(url, title="足球 比赛")
    for url in poor:
        web.page(url, title="天气")
    return web, ["http://front.test/"]


@cases(
    "options, good, pages",
    ({"max_pages": 15}, range(10, 16), 15),
    ({"max_pages": 15, "eager": True}, range(4), 15),
    ({"max_pages": 500}, [20], 81),
    ids=["limited", "eager", "to the end"],
)
async def test_limited_crawl_waits_for_good_hosts(
    options: dict[str, Any], good: Sequence[int], pages: int
) -> None:
    web, seeds = good_and_poor()
    run = await crawl(web, seeds, strategy="best-link", concurrency=16, **options)
    assert sum("good" in url for url in run.pages) in good
    assert len(run.pages) == pages
    assert run.reason == ("max-pages reached" if pages == 15 else "frontier empty")


async def test_concurrent_crawl_with_budget_finds_good_pages_as_early() -> None:
    web, seeds = good_and_poor()
    single = await crawl(web, seeds, strategy="best-link", max_pages=70)
    many = await crawl(web, seeds, strategy="best-link", concurrency=64, max_pages=70)
    counts = [sum("good" in url for url in run.pages[:21]) for run in (single, many)]
    assert counts[0] == 20 and counts[1] >= 18


async def test_limited_crawl_continues_beside_hanging_host(monkeypatch: pytest.MonkeyPatch) -> None:
    def latency_s(url: str) -> float:
        return 600.0 if url.endswith("good.test/0") else 0.1

    web, seeds = good_and_poor()
    monkeypatch.setattr("focus.engine.transports.latency_s", latency_s)
    run = await crawl(web, seeds, strategy="best-link", concurrency=64, max_pages=15)
    hung = run.events[[event.url for event in run.events].index("http://good.test/0")]
    assert sum(event.at < hung.at for event in run.events if event.state == UrlState.DONE) >= 10


# -- a live web ---------------------------------------------------------------------


class Undecided:
    """Pages of one host, answered at once, and a scorer that waits to be told to go on."""

    def __init__(self, pages: int = 3) -> None:
        self.seeds = [f"http://a.test/{n}" for n in range(pages)]
        self.asked: list[str] = []
        self.clock = 1000.0
        self.go = asyncio.Event()
        self.transport = LiveTransport(self, self, clock=lambda: self.clock, tells=True)

    async def fetch(self, url: str, **_: object) -> FetchResult:
        self.asked.append(url)
        if url.endswith("robots.txt"):
            return FetchResult(url, self.clock, status=404, failure=FailureKind.HTTP_4XX)
        return FetchResult(url, self.clock, status=200, body=b"<p>")

    async def score(self, job: Job) -> Page:
        await self.go.wait()
        return Page()

    async def update(self, payload: bytes) -> None:
        pass

    async def close(self) -> None:
        pass

    async def rounds(self) -> int:
        """Pages asked for when the loop has turned so often that nothing is left to do."""
        for _ in range(200):
            await asyncio.sleep(0)
        return len(self.asked) - 1

    def start(self, delay_s: float = 0.0) -> tuple[Crawl, asyncio.Task[str]]:
        politeness = PolitenessConfig(delay_s=delay_s)
        engine = Crawl(CrawlConfig(politeness=politeness, analysis=TOPIC), self.transport)
        engine.add_seeds(self.seeds)
        return engine, asyncio.create_task(engine.run())


async def test_host_is_requested_while_its_pages_are_scored() -> None:
    web = Undecided()
    engine, running = web.start()
    assert await web.rounds() == 3
    assert all(not host.active for host in engine.frontier.hosts)
    web.go.set()
    assert await running == "frontier empty"
    assert engine.url_table.counts[UrlState.DONE] == 3
    assert all(not host.active for host in engine.frontier.hosts), "let go once each"


async def test_number_of_unscored_pages_is_limited() -> None:
    """A kill costs what waits."""
    web = Undecided(2 * MAX_UNSCORED)
    _, running = web.start()
    assert await web.rounds() == MAX_UNSCORED + 1
    web.go.set()
    assert await running == "frontier empty"
    assert await web.rounds() == 2 * MAX_UNSCORED


async def test_crawl_delay_begins_with_the_response_not_with_the_score() -> None:
    web = Undecided()
    engine, running = web.start(delay_s=5.0)
    await web.rounds()
    for wait_s, asked in ((5.0, 1), (4.9, 1), (0.2, 2)):  # the first is after its robots.txt
        web.clock += wait_s
        web.transport.wake()
        assert await web.rounds() == asked
    engine.stop("enough")
    web.go.set()
    assert await running == "enough"
