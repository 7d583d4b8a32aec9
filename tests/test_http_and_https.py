"""A host is two servers, plain HTTP and TLS: what one of them does not say, the other may."""

import pytest

from focus.records import FailureKind
from tests.support.web import Answer, TinyWeb
from tests.test_crawl import Run, crawl


@pytest.fixture
def web() -> TinyWeb:
    web = TinyWeb()
    web.page("http://hub.test/", links=["https://a.test/x", "http://a.test/y", "https://a.test/z"])
    for path in "xyz":
        web.page(f"http://a.test/{path}")
        web.page(f"https://a.test/{path}")
    return web


def shut(web: TinyWeb, scheme: str, kind: FailureKind) -> None:
    for path in ("robots.txt", "x", "y", "z"):
        web.answers[f"{scheme}://a.test/{path}"] = Answer(failure=kind)


def failures(run: Run) -> int:
    return run.crawl.unit_of_work.failures[FailureKind.HOST_ABANDONED]


@pytest.mark.parametrize(
    "kind", [FailureKind.TLS, FailureKind.CONNECT, FailureKind.TIMEOUT, FailureKind.HTTP_5XX]
)
async def test_host_without_tls_is_requested_in_plain(web: TinyWeb, kind: FailureKind) -> None:
    shut(web, "https", kind)
    run = await crawl(web, ["http://hub.test/"])
    assert run.pages == ["http://hub.test/", "http://a.test/y"]
    assert failures(run) == 2
    assert "https://a.test/x" not in web.urls(), "its rules are not known"


async def test_a_host_that_speaks_only_tls_is_asked_by_tls(web: TinyWeb) -> None:
    shut(web, "http", FailureKind.CONNECT)
    run = await crawl(web, ["http://hub.test/"])
    assert run.pages == ["http://hub.test/", "https://a.test/x", "https://a.test/z"]
    assert failures(run) == 1


async def test_a_host_that_speaks_neither_is_given_up(web: TinyWeb) -> None:
    shut(web, "https", FailureKind.TLS)
    shut(web, "http", FailureKind.CONNECT)
    run = await crawl(web, ["http://hub.test/"])
    assert run.pages == ["http://hub.test/"]
    assert run.crawl.frontier.host("a.test").is_abandoned
    assert failures(run) == 3


async def test_a_name_that_does_not_exist_has_no_other_door(web: TinyWeb) -> None:
    shut(web, "https", FailureKind.DNS)
    run = await crawl(web, ["http://hub.test/"])
    assert run.pages == ["http://hub.test/"]
    assert "http://a.test/robots.txt" not in web.urls()


async def test_a_seed_without_a_scheme_goes_on_in_plain(web: TinyWeb) -> None:
    shut(web, "https", FailureKind.TLS)
    run = await crawl(web, ["a.test/x"])
    assert (run.pages, run.crawl.seeds.failures) == (["http://a.test/x"], {})


async def test_one_page_that_breaks_tls_costs_that_page(web: TinyWeb) -> None:
    web.answers["https://a.test/x"] = Answer(failure=FailureKind.TLS)
    run = await crawl(web, ["http://hub.test/"])
    assert set(run.pages) == {"http://hub.test/", "http://a.test/y", "https://a.test/z"}
