"""Every crawl ends, whatever hosts answer and however often the network goes away."""

from __future__ import annotations

from collections import Counter
from itertools import product
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from focus.config import AnalysisConfig, CrawlConfig, PolitenessConfig
from focus.crawler import Crawl
from focus.engine.outages import MAX_RETURNS, Outage
from focus.records import FailureKind as K
from focus.records import Result, Task, UrlState
from focus.scheduling.retries import MAX_WAIT_S, POLICIES, retry_wait_s
from focus.topic.topic import from_words, to_builtins
from focus.urls.normal_form import url_fingerprint
from focus.workers import InlineScorer
from tests.support.cases import cases
from tests.support.outage import FaultyTransport, NetworkFault
from tests.support.web import TinyWeb

TOPIC = AnalysisConfig(topic=to_builtins(from_words("足球")), relevance="position")
SCORER = InlineScorer(TOPIC)
START, MAX_OFFLINE_S = 1_000_000.0, 600.0
MAX_TRIES = max(policy.tries for policy in POLICIES.values())
MAX_STEPS = 2_000
"""Results and timers of one crawl; the largest number in 3,000 examples was 256."""


class CountingTransport(FaultyTransport):
    """Counts what is sent, and gives up on a crawl that does not end."""

    crawl: Crawl
    steps = 0

    def __init__(self, *args: object, **more: object) -> None:
        super().__init__(*args, **more)  # type: ignore[arg-type]
        self.sent: Counter[str] = Counter()
        self.probes: Counter[str] = Counter()

    def send(self, task: Task) -> None:
        if not task.is_lookup:
            (self.probes if self.crawl.outages.is_paused else self.sent)[task.url] += 1
        super().send(task)

    async def receive(self, until: float | None) -> list[Result]:
        self.steps += 1
        assert self.steps < MAX_STEPS, "the crawl does not end"
        assert self.in_flight or until is not None, "the crawl waits for nothing"
        return await super().receive(until)


class Ended(NamedTuple):
    """A crawl that has ended, and what `on_outage` was called with."""

    reason: str
    crawl: Crawl
    transport: CountingTransport
    changes: list[Outage | None]

    def states(self, urls: set[str]) -> Counter[UrlState]:
        """States of these URLs, as far as they are known."""
        table = self.crawl.url_table
        ids = [table.find(url_fingerprint(url)) for url in urls]
        return Counter(UrlState(table.state[url_id]) for url_id in ids if url_id >= 0)


async def run(
    web: TinyWeb,
    seeds: tuple[str, ...],
    faults: list[NetworkFault],
    outcomes: dict[str, list[K | None]],
    *,
    locates: bool = True,
    per_host: int = 1,
    ignore_robots: bool = False,
    max_offline_s: float = MAX_OFFLINE_S,
) -> Ended:
    """Crawl until the end; instants of faults count from the start."""
    moved = [fault._replace(begin=START + fault.begin, end=START + fault.end) for fault in faults]
    more = {"locates": locates, "outcomes": outcomes}
    transport = CountingTransport(web, SCORER, moved, start=START, **more)
    politeness = PolitenessConfig(delay_s=1.0, per_host=per_host, ignore_robots=ignore_robots)
    config = CrawlConfig(
        seeds=seeds, strategy="bfs", concurrency=8, analysis=TOPIC, politeness=politeness,
        max_offline_s=max_offline_s,
    )  # fmt: skip
    changes: list[Outage | None] = []
    crawl = transport.crawl = Crawl(config, transport, on_outage=changes.append)
    crawl.add_seeds(seeds)
    reason = await crawl.run()
    return Ended(reason, crawl, transport, changes)


def share_links(pages: int, *, status: int = 302) -> TinyWeb:
    """A live site; each page has a link that redirects to a host name of its own."""
    web = TinyWeb()
    for page in range(pages):
        links = [f"http://a.test/{n}" for n in range(page + 1, min(page + 4, pages))]
        web.page(f"http://a.test/{page or ''}", links=[*links, f"http://a.test/go{page}"])
        web.redirect(f"http://a.test/go{page}", f"http://www.dead{page}.test/x", status)
    return web


@pytest.mark.parametrize("kind", [K.DNS, K.DNS_TEMPORARY, K.CONNECT, K.TIMEOUT, K.TLS])
@pytest.mark.parametrize("locates", [True, False], ids=["lookups", "no-lookups"])
async def test_redirects_to_dead_names_are_requested_once(kind: K, locates: bool) -> None:
    pages = 6
    dead = frozenset(f"www.dead{page}.test" for page in range(pages))
    fault = NetworkFault(0.0, 1e9, dead, kind)
    ended = await run(share_links(pages), ("http://a.test/",), [fault], {}, locates=locates)
    assert ended.reason == "frontier empty"
    assert ended.changes == [], "the live site answers all the time"
    assert ended.crawl.unit_of_work.totals.pages == pages
    requests = [ended.transport.sent[f"http://a.test/go{page}"] for page in range(pages)]
    assert requests == [1] * pages
    assert ended.transport.probes.total() <= pages


async def test_lookup_without_address_is_no_answer() -> None:
    web = share_links(1)
    fault = NetworkFault(0.0, 1e9, frozenset({"www.dead0.test"}), K.DNS)
    ended = await run(web, ("http://a.test/",), [fault], {})
    assert [host for host, _ in ended.crawl.outages.connectivity.answered_hosts()] == ["a.test"]


async def run_with_failing_probes(links: int, max_offline_s: float) -> Ended:
    """Crawl a host whose URLs fail, as do two probes of three."""
    web = TinyWeb()
    web.page("http://a.test/", links=[f"http://a.test/{n}" for n in range(1, links + 1)])
    outcomes = {"a.test": [None, None, *[*[K.UNREACHABLE] * 3, None] * 99]}
    return await run(web, ("http://a.test/",), [], outcomes, max_offline_s=max_offline_s)


async def test_max_offline_with_answered_probes_ends_the_crawl() -> None:
    """`--max-offline` counts from the first one, as nothing is processed in between."""
    ended = await run_with_failing_probes(9, max_offline_s=10.0)
    assert ended.reason == "offline"
    assert [change is not None for change in ended.changes] == [True, False, True]
    assert ended.crawl.url_table.counts[UrlState.FAILED] == 0


async def test_url_that_always_fails_is_returned_to_its_queue_twice() -> None:
    """Probes fail and are answered in turn, and one page never is."""
    ended = await run_with_failing_probes(1, max_offline_s=3600.0)
    assert ended.reason == "frontier empty"
    assert ended.transport.sent["http://a.test/1"] <= MAX_RETURNS + POLICIES[K.UNREACHABLE].tries


async def test_verdict_hosts_resumes_the_crawl() -> None:
    """A lone host is silent while it is probed: nothing else is there to prove an outage."""
    web = TinyWeb()
    web.page("http://a.test/")
    outcomes: dict[str, list[K | None]] = {"a.test": [K.UNREACHABLE, K.TIMEOUT, K.CONNECT]}
    ended = await run(web, ("http://a.test/",), [], outcomes)
    assert ended.reason == "frontier empty"
    assert not ended.crawl.outages.is_paused


async def test_held_redirect_in_outage_releases_its_host_once() -> None:
    web = TinyWeb()
    for host in ("a.test", "b.test", "c.test"):
        web.page(f"http://{host}/", links=[f"http://{host}/{n}" for n in range(5)])
    seeds = ("http://a.test/", "http://b.test/", "http://c.test/")
    ended = await run(web, seeds, [NetworkFault(2.0, 60.0, portal="http://login.hotel/")], {})
    assert ended.changes, "there was an outage"
    assert {host.name: host.active for host in ended.crawl.frontier.hosts if host.active} == {}


# -- any sequence of outcomes -----------------------------------------------------

LIVE, TROUBLED, DEAD = ("a.test", "b.test"), ("t.test", "u.test"), ("x.test", "y.test", "z.test")
PAGES = 4
TROUBLE = [
    *(K.TIMEOUT, K.CONNECT, K.RESET, K.TLS, K.GUARD, K.UNREACHABLE, K.DNS, K.DNS_TEMPORARY),
    *(K.RATE_LIMITED, K.CLOSED, K.PROTOCOL),
]
MUTE = [K.UNREACHABLE, K.DNS_TEMPORARY, K.TIMEOUT]
OUTCOMES = st.lists(st.sampled_from([None, *TROUBLE]), min_size=1, max_size=6)
TARGETS = st.sampled_from(
    [f"http://{host}/x" for host in (*LIVE, *TROUBLED, *DEAD)] + ["https://x.test/", "/1"]
)
REDIRECTS = st.dictionaries(
    st.tuples(st.sampled_from((*LIVE, *TROUBLED)), st.integers(0, 3)),
    st.tuples(TARGETS, st.sampled_from([301, 302, 307])),
    max_size=8,
)


def drawn_web(redirects: dict[tuple[str, int], tuple[str, int]], live: tuple[str, ...]) -> TinyWeb:
    """Hosts of some pages that link to everything, with links that redirect."""
    web = TinyWeb()
    hosts = (*live, *TROUBLED, *DEAD)
    for host in (*live, *TROUBLED):
        pages = [f"http://{host}/{n}" for n in range(PAGES)]
        links = [f"http://{host}/go{n}" for n in range(4)] + [f"http://{name}/" for name in hosts]
        web.page(f"http://{host}/", links=[*pages, *links])
        for page in pages:
            web.page(page)
    for (host, number), (target, status) in redirects.items():
        web.redirect(f"http://{host}/go{number}", target, status)
    return web


@settings(max_examples=150)
@given(
    redirects=REDIRECTS,
    outcomes=st.fixed_dictionaries(dict.fromkeys(TROUBLED, OUTCOMES)),
    dead=st.fixed_dictionaries({host: st.sampled_from(TROUBLE) for host in DEAD}),
    live=st.sampled_from([LIVE, LIVE[:1]]),
    outage=st.none()
    | st.tuples(st.floats(0.5, 30.0), st.floats(1.0, 2000.0), st.sampled_from(MUTE)),
    locates=st.booleans(),
    per_host=st.sampled_from([1, 2]),
    ignore_robots=st.booleans(),
)
async def test_random_outcomes_end_after_few_requests_and_lose_nothing(
    redirects: dict[tuple[str, int], tuple[str, int]],
    outcomes: dict[str, list[K | None]],
    dead: dict[str, K],
    live: tuple[str, ...],
    outage: tuple[float, float, K] | None,
    locates: bool,
    per_host: int,
    ignore_robots: bool,
) -> None:
    faults = [NetworkFault(0.0, 1e9, frozenset({host}), kind) for host, kind in dead.items()]
    if outage is not None:
        begin, length, kind = outage
        faults.insert(0, NetworkFault(begin, begin + length, kind=kind))
    web = drawn_web(redirects, live)
    ended = await run(
        web, tuple(f"http://{host}/" for host in (*live, *TROUBLED)), faults, dict(outcomes),
        locates=locates, per_host=per_host, ignore_robots=ignore_robots,
    )  # fmt: skip
    transport = ended.transport
    most_requested = max(transport.sent.values())
    assert most_requested <= MAX_TRIES + MAX_RETURNS, transport.sent.most_common(3)
    assert not any(host.active for host in ended.crawl.frontier.hosts)
    assert not (ignore_robots and any("robots" in url for url in transport.sent | transport.probes))
    pages = {f"http://{host}/{n}" for host, n in product(live, ["", *range(PAGES)])}
    states = ended.states(pages)
    if outage is None:
        assert ended.reason == "frontier empty"
        assert transport.probes.total() <= 30
    if ended.reason == "frontier empty":
        assert states == {UrlState.DONE: len(pages)}
    else:
        assert ended.reason == "offline" and outage is not None
        assert states[UrlState.FAILED] == 0


@cases(
    "kind, waits",
    (K.DNS, []), (K.TLS, []), (K.NOT_HTML, []), (K.CLOSED, [0.0, 0.0, 0.0]),
    (K.DNS_TEMPORARY, [5.0, 10.0]), (K.UNREACHABLE, [5.0, 10.0]), (K.CONNECT, [5.0, 10.0]),
    (K.RESET, [5.0, 10.0]), (K.PROTOCOL, [5.0]), (K.TIMEOUT, [10.0]), (K.TOO_SLOW, [60.0]),
    (K.HTTP_5XX, [10.0, 20.0]), (K.RATE_LIMITED, [60.0, 120.0, 240.0, 480.0]),
)  # fmt: skip
def test_waits_between_tries_double_unless_the_server_names_one(
    kind: K, waits: list[float]
) -> None:
    assert [retry_wait_s(kind, tries) for tries in range(1, len(waits) + 2)] == [*waits, None]
    by_server = [retry_wait_s(kind, 1, after_s) for after_s in (1.0, 1e9)]
    assert by_server == ([1.0, MAX_WAIT_S] if waits else [None, None])


def test_failures_of_single_answers_blame_no_host() -> None:
    assert {kind for kind, row in POLICIES.items() if not row.blames_host} == {
        K.CLOSED, K.PROTOCOL, K.HTTP_5XX,
    }  # fmt: skip
