"""A host is two servers, plain HTTP and TLS: what one of them does not say, the other may."""

import pytest

from focus.records import FailureKind as K
from tests.support.cases import cases
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


def fail_scheme(web: TinyWeb, scheme: str, kind: K) -> None:
    for path in ("robots.txt", "x", "y", "z"):
        web.answers[f"{scheme}://a.test/{path}"] = Answer(failure=kind)


NO_TLS = (K.TLS, K.CONNECT, K.TIMEOUT, K.HTTP_5XX)


def failures(run: Run) -> int:
    return run.crawl.unit_of_work.failures[K.HOST_ABANDONED]


@cases(
    "faults, pages, failed",
    *[({"https": kind}, ["http://a.test/y"], 2) for kind in NO_TLS],
    ({"http": K.CONNECT}, ["https://a.test/x", "https://a.test/z"], 1),
    ({"https": K.TLS, "http": K.CONNECT}, [], 3),
    ({"https": K.DNS}, [], 3),  # a name that does not exist is not tried over http
)
async def test_host_is_requested_by_the_scheme_that_it_speaks(
    web: TinyWeb, faults: dict[str, K], pages: list[str], failed: int
) -> None:
    for scheme, kind in faults.items():
        fail_scheme(web, scheme, kind)
    run = await crawl(web, ["http://hub.test/"])
    assert run.pages == ["http://hub.test/", *pages]
    assert failures(run) == failed
    assert run.crawl.frontier.host("a.test").is_abandoned == (not pages)
    assert ("https://a.test/x" in web.urls()) == ("https://a.test/x" in pages)
    if faults == {"https": K.DNS}:
        assert "http://a.test/robots.txt" not in web.urls()


async def test_seed_without_scheme_falls_back_to_http(web: TinyWeb) -> None:
    fail_scheme(web, "https", K.TLS)
    run = await crawl(web, ["a.test/x"])
    assert (run.pages, run.crawl.seeds.failures) == (["http://a.test/x"], {})


async def test_page_with_tls_failure_fails_alone(web: TinyWeb) -> None:
    web.answers["https://a.test/x"] = Answer(failure=K.TLS)
    run = await crawl(web, ["http://hub.test/"])
    assert set(run.pages) == {"http://hub.test/", "http://a.test/y", "https://a.test/z"}
