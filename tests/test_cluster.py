"""Cluster without a broker: messages, the broker's address, the reach of a worker."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from focus.cluster.address import read_address
from focus.cluster.messages import (
    VERSION,
    Hello,
    ResultMessage,
    TaskMessage,
    WorkerSetup,
    pack,
    to_message,
    to_result,
    unpack,
)
from focus.cluster.reach import Reach, beyond
from focus.cluster.transport import ClusterTransport
from focus.cluster.worker import Worker, WorkerOptions
from focus.config import AnalysisConfig, FetchConfig
from focus.errors import ClusterError, ConfigError
from focus.records import NO_TEMPLATE, FetchResult, Link, Page, Result, SiteTemplate, Task
from focus.text.site_texts import hash_text
from focus.topic.topic import from_words, to_builtins
from tests.support.cases import cases

# -- messages -----------------------------------------------------------------------


def test_result_message_uses_the_clock_of_the_frontier() -> None:
    page = Page(title="足球", links=[Link("http://a/", b"k" * 16, "a", anchor="x")], relevance=0.5)
    fetch = FetchResult(
        "http://a.test/",
        fetched_at=5e9,  # a clock far ahead
        status=200,
        headers=(("etag", "1"), ("server", "x")),
        body=b"not sent",
        elapsed_s=0.5,
    )
    task = Task(7, "http://a.test/", "a.test")
    message = unpack(pack(to_message("r", 3, Result(task, fetch, page), 5e9 + 2)), ResultMessage)
    result = to_result(message, task, now=1000.0)
    assert result.page == page
    assert result.task is task
    assert (result.fetch.fetched_at, result.fetch.headers) == (998.0, (("etag", "1"),))
    assert result.fetch.body == b""


def test_result_message_of_robots_txt_has_its_body() -> None:
    fetch = FetchResult("http://a.test/robots.txt", 0.0, status=200, body=b"Disallow: /")
    message = to_message("r", 1, Result(Task(None, fetch.url, "a.test"), fetch), 1.0)
    assert message.fetch.body == fetch.body


def test_unpack_another_version_raises_value_error() -> None:
    with pytest.raises(ValueError, match=f"version {VERSION + 1}"):
        unpack(bytes([VERSION + 1]) + b"x", Hello)
    for body in (bytes([VERSION]) + b"x", pack({"a": 1}), pack(Hello("w", 1, 1))[:-3]):
        with pytest.raises(ValueError):
            unpack(body, TaskMessage)


@given(st.binary(max_size=200))
def test_unpack_any_bytes_raises_value_error(body: bytes) -> None:
    with pytest.raises(ValueError):
        unpack(bytes([VERSION]) + body, ResultMessage)


# -- the broker's address -----------------------------------------------------------


def test_address_never_shows_the_password() -> None:
    address = read_address("amqp://me:secret@broker.test:5673/my%2Fhost", plain=True)
    assert str(address) == "broker.test:5673"
    assert "secret" not in address.url
    assert (address.password, address.user, address.vhost) == ("secret", "me", "my/host")
    assert read_address("amqps://broker.test").vhost == "/"
    assert read_address("amqps://me:a@b.test", password="file").password == "file"


@pytest.mark.parametrize("host", ["broker.test", "10.0.0.1", "[2001:db8::1]", "localhost.test"])
def test_read_address_of_another_machine_needs_tls(host: str) -> None:
    with pytest.raises(ConfigError, match="FOCUS_AMQP_PLAIN") as error:
        read_address(f"amqp://me:secret@{host}:5672/")
    assert "secret" not in str(error.value)
    assert read_address(f"amqps://me:secret@{host}/").password == "secret"
    assert read_address(f"amqp://me:secret@{host}/", plain=True).password == "secret"


@pytest.mark.parametrize("host", ["127.0.0.1", "127.3.2.1", "[::1]", "localhost"])
def test_read_address_of_this_machine_needs_no_tls(host: str) -> None:
    assert read_address(f"amqp://{host}/").password is None


@pytest.mark.parametrize("text", ["", "broker", "http://broker/", "amqp:///"])
def test_read_address_of_no_broker_raises_config_error(text: str) -> None:
    with pytest.raises(ConfigError, match="--amqp"):
        read_address(text)


# -- reach --------------------------------------------------------------------------


@cases(
    "requested, own, option",
    ({}, {}, ""),
    ({"allow_net": ("10.0.0.0/8",)}, {}, "--allow-net 10.0.0.0/8"),
    ({"allow_net": ("10.0.0.0/8",)}, {"allow_net": ("10.1.0.0/16",)}, "--allow-net 10.0.0.0/8"),
    ({"allow_net": ("10.1.0.0/16",)}, {"allow_net": ("10.0.0.0/8",)}, ""),
    ({"allow_net": ("::1", "10.0.0.1")}, {"allow_net": ("10.0.0.0/8",)}, "--allow-net ::1"),
    ({"allow_net": ("::/0",)}, {"allow_net": ("0.0.0.0/0",)}, "--allow-net ::/0"),
    ({"allow_net": ("no network",)}, {"allow_net": ("::/0",)}, "--allow-net no network"),
    ({"insecure": True}, {}, "--insecure"),
    ({"insecure": True}, {"insecure": True}, ""),
    ({"proxy": "http://u:p@evil.test"}, {"proxy": "http://own.test"}, "--proxy"),
    ({}, {"proxy": "http://own.test", "insecure": True}, ""),
    ({"connect_to": "10.0.0.1:80"}, {}, "--connect-to 10.0.0.1:80"),
    ({"connect_to": "10.0.0.1:80"}, {"connect_to": "10.0.0.1:80"}, ""),
)
def test_beyond_lists_settings_outside_the_reach(
    requested: dict[str, Any], own: dict[str, Any], option: str
) -> None:
    assert beyond(FetchConfig(**requested), Reach(**own)) == option


def test_fetch_config_has_no_other_field_that_leads_past_the_guard() -> None:
    """A new field of what workers are sent must be added here or to `Reach`."""
    bounds = {
        "user_agent", "connect_timeout_s", "read_timeout_s", "total_timeout_s", "max_body_bytes",
        "max_raw_bytes", "max_header_bytes", "min_rate_bytes_s", "min_rate_window_s",
        "content_types", "sitemaps", "concurrency", "any_type",
    }  # fmt: skip
    assert set(FetchConfig.__struct_fields__) == bounds | set(Reach.__struct_fields__)


async def test_worker_ends_if_the_setup_asks_for_more_than_its_reach() -> None:
    reach = Reach(("10.0.0.0/8",))
    worker = Worker(read_address("amqp://localhost/"), WorkerOptions(4, 1, reach=reach))
    worker._ending = asyncio.get_running_loop().create_future()
    fetch = FetchConfig(allow_net=("0.0.0.0/0",))
    worker._control.put_nowait(WorkerSetup("r", fetch, AnalysisConfig(), 2.0))
    worker._start(worker._apply_control())
    with pytest.raises(ClusterError, match=r"--allow-net 0\.0\.0\.0/0, which leads past the guard"):
        await worker._ending


def test_cluster_start_gives_workers_the_reach_of_the_crawl() -> None:
    from focus.commands.cluster import _reach_arguments

    text = "--seed a.test --allow-net 127.0.0.1 --allow-net=10.0.0.0/8 --insecure --max-pages 4"
    options = "--allow-net 127.0.0.1/32 --allow-net 10.0.0.0/8 --insecure"
    assert _reach_arguments(text.split()) == options.split()
    assert _reach_arguments(["--connect-to", "127.0.0.1:80"]) == ["--connect-to", "127.0.0.1:80"]
    assert _reach_arguments(["--seed", "a.test"]) == []


# -- pages scored again ---------------------------------------------------------------


async def test_frontier_scores_a_stored_page_again() -> None:
    analysis = AnalysisConfig(topic=to_builtins(from_words("足球")), relevance="boolean")
    setup = WorkerSetup("r", FetchConfig(), analysis, parse_limit_s=9.0)
    transport = ClusterTransport(
        read_address("amqp://guest:guest@127.0.0.1/", None), setup, clock=float
    )
    template = SiteTemplate(frozenset({hash_text("足球博客")}))
    source = "<title>x</title><p>足球博客<p>其他".encode()
    try:
        for used, relevant in ((NO_TEMPLATE, True), (template, False)):
            page = await transport.score_again("http://a.test/", source, used)
            assert page is not None and page.is_relevant is relevant
        assert await transport.score_again("http://a.test/", b"", template) is None
    finally:
        await transport._scorer.close()
