"""What follows from a result: the intents of made-up ones, decided without changing anything."""

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from focus.admission.url_rules import Waste, kind_of_view, url_kinds
from focus.config import CrawlConfig
from focus.crawler import Crawl
from focus.engine import intents as i
from focus.engine.results import count_page, decide
from focus.engine.transports import ReplayTransport
from focus.records import (
    DropReason,
    FailureKind,
    FetchResult,
    Link,
    Page,
    Result,
    StoredPage,
    Task,
    UrlState,
)
from focus.urls.normal_form import url_fingerprint
from focus.workers import InlineScorer
from tests.support.cases import cases
from tests.support.web import TinyWeb
from tests.test_crawl import TOPIC, World

SEED = "http://a.test/"


@pytest.fixture
def crawl() -> Crawl:
    """A crawl whose only seed is in flight."""
    transport = ReplayTransport(World(TinyWeb()), InlineScorer(TOPIC), start=100.0)
    crawl = Crawl(CrawlConfig(analysis=TOPIC), transport)
    crawl.add_seeds([SEED])
    candidate = crawl.frontier.next_candidate(100.0)
    assert candidate is not None
    crawl.effects.send(candidate)
    return crawl


def decided(
    crawl: Crawl, page: Page | None = None, *, now: float = 100.0, **fetch: Any
) -> Sequence[i.Intent]:
    """What follows from an answer to the seed's request, but for its being counted."""
    task = Task(0, SEED, "a.test", priority=crawl.url_table.priority[0])
    result = count_page(Result(task, FetchResult(SEED, 100.0, **fetch), page), crawl.view)
    settled, *intents = decide(result, crawl.view, now)
    assert type(settled) is i.FinishRequest
    return intents


def kinds(intents: Sequence[i.Intent]) -> list[str]:
    return [type(intent).__name__ for intent in intents]


def link(url: str) -> Link:
    return Link(url, url_fingerprint(url), "a.test")


@pytest.mark.parametrize("address", ["192.0.2.1", None])
def test_lookup_sets_the_address_of_its_host(crawl: Crawl, address: str | None) -> None:
    task, fetch = Task(None, "", "a.test", is_lookup=True), FetchResult("", 100.0, address=address)
    intents = decide(Result(task, fetch), crawl.view, 100.0)
    assert intents == [i.SetAddress(crawl.frontier.host("a.test"), address or "")]


def test_page_is_followed_stored_and_counted(crawl: Crawl) -> None:
    intents = decided(crawl, Page(title="x", links=[link(f"{SEED}1")]), status=200)
    assert kinds(intents) == ["RememberText", "FollowLinks", "MarkDone", "LearnFromResult"]


def test_page_that_cannot_be_read_fails_with_its_own_reason(crawl: Crawl) -> None:
    page = Page(failure=FailureKind.UNREADABLE, detail="PDF: it asks for a password")
    failed = decided(crawl, page, status=200, detail="200 OK")[0]
    assert isinstance(failed, i.FailUrl) and failed.detail == page.detail


def test_too_many_failures_abandon_the_host(crawl: Crawl) -> None:
    crawl.frontier.host("a.test").failures = 5
    crawl.requests[0].tries = 1
    intents = decided(crawl, failure=FailureKind.TIMEOUT)
    assert kinds(intents) == ["FailUrl", "CountFailure", "AbandonHost", "LearnFromResult"]


def test_response_clears_the_failures_of_its_host(crawl: Crawl) -> None:
    crawl.frontier.host("a.test").failures = 2
    assert "ResetFailures" in kinds(decided(crawl, Page(), status=200))


def test_unchanged_page_is_not_counted_again(crawl: Crawl) -> None:
    crawl.requests[0].before = UrlState.DONE
    assert decided(crawl, status=304, is_unchanged=True) == [i.MarkDone(0, 0)]
    crawl.requests[0].before = UrlState.DROPPED
    assert decided(crawl, status=304, is_unchanged=True) == [
        i.DropUrl(0, DropReason.URL_SOURCE, "as it was")
    ]


@cases(
    "page, fetch",
    (Page(is_relevant=True, simhash=77, links=[link(f"{SEED}1")]), {"status": 200}),
    (Page(is_soft_404=True, simhash=77), {"status": 200}),
    (None, {"status": 301, "redirect_to": "http://b.test/"}),
    (None, {"failure": FailureKind.DNS}),
    (None, {"failure": FailureKind.HTTP_5XX}),
)
def test_deciding_changes_nothing(crawl: Crawl, page: Page | None, fetch: dict[str, Any]) -> None:
    def state() -> Any:
        totals = msgspec.structs.asdict(crawl.unit_of_work.totals)
        hosts = [(host.name, host.failures, host.active) for host in crawl.frontier.hosts]
        table = crawl.url_table
        return totals, hosts, table.state.tolist(), list(crawl.requests), crawl.seeds.failures

    before = state()
    once = decided(crawl, page, **fetch)
    assert decided(crawl, page, **fetch) == once
    assert state() == before


def test_relevant_page_credits_the_revisited_page_that_led_to_it(crawl: Crawl) -> None:
    stored = StoredPage(0, SEED, 1, "", 0.0, 0.0, 0.0, 0.0)
    crawl.requests[0].stored_page, table = stored, crawl.url_table
    for parent, hops in ((0, 0), (1, 1), (2, 2)):  # a link, and two redirects behind it
        url_id = table.add(url_fingerprint(f"{SEED}{parent}"), table.queue[0], 1)
        table.parent[url_id], table.hops[url_id] = parent, hops
    for pages, url_id in ((1.0, 1), (2.0, 3)):
        crawl.effects._credit_revisited_page(url_id)
        assert stored.changes == pages
    crawl.effects._credit_revisited_page(0)
    assert stored.changes == 2.0


def test_seed_that_is_led_back_is_not_redirected_away(crawl: Crawl) -> None:
    typed = crawl.seeds.typed[0]
    crawl.seeds.record_redirect(typed, "a.test", "b.test")
    assert crawl.seeds.redirected_away() == {typed: "b.test"}
    crawl.effects.apply([i.RequeueUrl(0, SEED)], 100.0)
    assert crawl.seeds.redirected_away() == {}


def test_url_with_a_page_of_another_was_of_use_in_error(crawl: Crawl) -> None:
    """The number alone is the lesser URL of a topic that has words behind its number, too."""
    rules, host = crawl.unit_of_work.url_rules, crawl.frontier.host("a.test")
    short, url = f"{SEED}topic/5", f"{SEED}topic/5-cup-final"
    kinds = url_kinds(short, kind_of_view("topic/5-cup-final", short))
    rules.count(host.id, kinds, None)
    original = crawl.url_table.add(url_fingerprint(short), crawl.url_table.queue[0], 1)
    response = i.UrlResponse(url, Waste.DUPLICATE, Page(), original)
    assert crawl.effects._count_lesser_url(host, response)
    records = [rules._records[host.id, kind] for kind in kinds]
    assert {(record.useful, record.row) for record in records} == {(0, 1)}
