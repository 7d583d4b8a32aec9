"""The tiny web that other tests crawl: both of its backends say the same."""

import msgspec

from focus.config import FetchConfig
from focus.fetch import WebFetcher
from focus.records import FetchResult
from tests.support.web import TinyWeb

SOCKETS = FetchConfig(allow_net=("127.0.0.0/8",), total_timeout_s=2.0)
URLS = ("/", "/gbk", "/old", "/busy", "/pdf", "/empty", "/none", "/robots.txt")


def make_web() -> TinyWeb:
    web = TinyWeb(clock=lambda: 1000.0)
    web.page("http://a.test/", links=["/gbk", ("http://b.test/", "<b>")], title="A & B", text="hi")
    web.page("http://a.test/gbk", title="足球", charset="gbk", keywords="球")
    web.redirect("http://a.test/old", "/", 302)
    web.status("http://a.test/busy", 503, headers={"retry-after": "7"})
    web.status("http://a.test/pdf", 200, headers={"content-type": "text/html"}, body=b"%PDF-1.7")
    web.status("http://a.test/empty", 200)
    web.robots("a.test", "User-agent: *\nDisallow: /no\n")
    return web


def summary(result: FetchResult) -> tuple[object, ...]:
    return (
        result.url, result.status, result.failure, result.body, result.redirect_to,
        result.retry_after_s, result.header("content-type") if result.body else None,
    )  # fmt: skip


async def test_transport_in_memory_equals_sockets() -> None:
    web = make_web()
    urls = [f"http://a.test{path}" for path in URLS]
    answers = [summary(await web.fetch(url, robots="robots" in url)) for url in urls]
    async with web.serve() as address:
        config = msgspec.structs.replace(SOCKETS, connect_to=address)
        async with WebFetcher(config) as fetcher:
            served = [summary(await fetcher.fetch(url, robots="robots" in url)) for url in urls]
    assert answers == served
    assert web.urls(robots=True) == urls * 2
    assert len(web.urls()) == 2 * (len(urls) - 1)
