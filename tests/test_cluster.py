"""The parts of a cluster that need no broker: leases, flow control, shards, the end, messages."""

import asyncio
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from focus.cluster import slot_share
from focus.cluster.address import read_address
from focus.cluster.flow_control import FlowControl
from focus.cluster.forwarded_links import ForwardedLinks
from focus.cluster.leases import POISON, Lease, Leases, Terms
from focus.cluster.membership import Membership
from focus.cluster.messages import (
    VERSION,
    Hello,
    ShardStatus,
    TaskResult,
    WorkerReport,
    WorkerSetup,
    WrongVersion,
    answer_of,
    digest,
    pack,
    result_of,
    unpack,
)
from focus.cluster.reach import Reach, beyond
from focus.cluster.sharding import Shard, owner, read_shard
from focus.cluster.worker import WorkerOptions, WorkerRole
from focus.config import (
    AnalysisConfig,
    CrawlConfig,
    FetchConfig,
    LimitConfig,
    PolitenessConfig,
)
from focus.engine.limits import reached_limit
from focus.engine.partition import ForwardedUrl
from focus.engine.unit_of_work import Totals
from focus.errors import ClusterError, ConfigError
from focus.records import FailureKind as K
from focus.records import FetchResult, Link, Page, Result, Task, UrlRow
from focus.score.strategy import Parent
from focus.storage.reader import DatabaseReader
from focus.topic.topic import from_words, to_builtins
from tests.support.cluster import SimulatedCluster
from tests.support.outage import NetworkFault
from tests.support.web import TinyWeb

TERMS = Terms(queue_s=10, hold_s=10, work_s=10, ask_s=2, cut_s=5)


# -- shards -------------------------------------------------------------------------


def test_hosts_of_one_site_are_one_shards() -> None:
    hosts = ["news.example.com.cn", "www.example.com.cn", "example.com.cn:8080"]
    assert len({owner(host, 7) for host in hosts}) == 1


@given(st.from_regex(r"[a-z]{1,12}\.(com|cn|example)", fullmatch=True), st.integers(1, 20))
def test_every_host_has_exactly_one_owner(host: str, of: int) -> None:
    assert [Shard(number, of).owns(host) for number in range(1, of + 1)].count(True) == 1


def test_shards_get_about_as_many_sites_each() -> None:
    counts = Counter(owner(f"site{number}.com", 4) for number in range(4000))
    assert min(counts.values()) > 850


@pytest.mark.parametrize("text", ["", "0/1", "3/2", "1", "a/b", "1/5000"])
def test_what_is_no_shard_is_said_to_be_none(text: str) -> None:
    with pytest.raises(ConfigError, match="--shard"):
        read_shard(text)
    assert read_shard("2/3") == Shard(2, 3)


# -- messages -----------------------------------------------------------------------


def test_a_result_survives_the_way_whatever_the_workers_clock_says() -> None:
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
    answer = unpack(pack(answer_of(3, Result(task, fetch, page), 5e9 + 2)), TaskResult)
    result = result_of(answer, task, now=1000.0)
    assert result.page == page
    assert result.task is task
    assert result.fetch.fetched_at == 998.0
    assert result.fetch.headers == (("etag", "1"),)
    assert result.fetch.body == b""


def test_the_body_of_a_robots_txt_goes_along() -> None:
    fetch = FetchResult("http://a.test/robots.txt", 0.0, status=200, body=b"Disallow: /")
    answer = answer_of(1, Result(Task(None, fetch.url, "a.test"), fetch), 1.0)
    assert answer.fetch.body == fetch.body


def test_another_version_and_nonsense_are_told_apart() -> None:
    with pytest.raises(WrongVersion):
        unpack(bytes([VERSION + 1]) + b"x", WorkerReport)
    for body in (bytes([VERSION]) + b"x", pack({"a": 1}), pack(Hello("w", b"", 1))[:-3]):
        with pytest.raises(ValueError):
            unpack(body, WorkerReport)


@given(st.binary(max_size=200))
def test_no_bytes_do_harm(body: bytes) -> None:
    with pytest.raises(ValueError):
        unpack(bytes([VERSION]) + body, WorkerReport)


def test_settings_are_the_same_before_and_after_the_way() -> None:
    setup = WorkerSetup(1, FetchConfig(total_timeout_s=10), AnalysisConfig(topic={"name": "a"}), 2)
    assert digest(unpack(pack(setup), WorkerSetup)) == digest(setup)
    assert digest(msgspec.structs.replace(setup, update=b"x")) == digest(setup)
    assert digest(msgspec.structs.replace(setup, shards=2)) != digest(setup)


# -- the broker's address -----------------------------------------------------------


def test_a_password_is_never_part_of_what_is_shown() -> None:
    address = read_address("amqp://me:secret@broker.test:5673/my%2Fhost", plain=True)
    assert str(address) == "broker.test:5673"
    assert "secret" not in address.url
    assert (address.password, address.user, address.vhost) == ("secret", "me", "my/host")
    assert read_address("amqps://broker.test").vhost == "/"
    assert read_address("amqps://me:a@b.test", password="file").password == "file"


@pytest.mark.parametrize("host", ["broker.test", "10.0.0.1", "[2001:db8::1]", "localhost.test"])
def test_a_broker_elsewhere_is_spoken_to_by_tls(host: str) -> None:
    with pytest.raises(ConfigError, match="--amqp-plain") as told:
        read_address(f"amqp://me:secret@{host}:5672/")
    assert "secret" not in str(told.value)
    assert read_address(f"amqps://me:secret@{host}/").password == "secret"
    assert read_address(f"amqp://me:secret@{host}/", plain=True).password == "secret"


@pytest.mark.parametrize("host", ["127.0.0.1", "127.3.2.1", "[::1]", "localhost"])
def test_a_broker_on_this_machine_needs_none(host: str) -> None:
    assert read_address(f"amqp://{host}/").password is None


# -- what a worker may be told to reach ---------------------------------------------


@pytest.mark.parametrize(
    ("asked", "own", "said"),
    [
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
    ],
)
def test_the_broker_opens_nothing_that_the_worker_does_not(
    asked: dict[str, Any], own: dict[str, Any], said: str
) -> None:
    assert beyond(FetchConfig(**asked), Reach(**own)) == said


def test_nothing_else_that_a_setup_says_leads_past_the_guard() -> None:
    """Whoever adds a field to what workers are sent has to think of this."""
    bounds = {
        "user_agent", "connect_timeout_s", "read_timeout_s", "total_timeout_s", "max_body_bytes",
        "max_raw_bytes", "max_header_bytes", "min_rate_bytes_s", "min_rate_window_s",
        "content_types", "sitemaps", "concurrency", "any_type",
    }  # fmt: skip
    assert set(FetchConfig.__struct_fields__) == bounds | set(Reach.__struct_fields__)


async def test_a_worker_ends_where_a_setup_asks_for_more(monkeypatch: pytest.MonkeyPatch) -> None:
    role = WorkerRole(
        read_address("amqp://localhost/"), WorkerOptions(4, 1, reach=Reach(("10.0.0.0/8",)))
    )
    role._ending = asyncio.get_running_loop().create_future()
    fits = WorkerSetup(1, FetchConfig(allow_net=("10.1.0.0/16",)), AnalysisConfig(), 2.0)
    role._take_over(fits)
    assert role._new_setup.get_nowait() == fits
    role._take_over(msgspec.structs.replace(fits, fetch=FetchConfig(allow_net=("0.0.0.0/0",))))
    assert role._new_setup.empty()
    with pytest.raises(ClusterError, match=r"--allow-net 0\.0\.0\.0/0, which leads past the guard"):
        await role._ending


def test_all_roles_of_one_machine_are_given_the_same() -> None:
    from focus.commands.cluster import _reach_arguments

    given = "--seed a.test --allow-net 127.0.0.1 --allow-net=10.0.0.0/8 --insecure --max-pages 4"
    opened = "--allow-net 127.0.0.1/32 --allow-net 10.0.0.0/8 --insecure"
    assert _reach_arguments(given.split()) == opened.split()
    assert _reach_arguments(["--connect-to", "127.0.0.1:80"]) == ["--connect-to", "127.0.0.1:80"]
    assert _reach_arguments(["--seed", "a.test"]) == []


@pytest.mark.parametrize("text", ["", "broker", "http://broker/", "amqp:///"])
def test_what_is_no_broker_is_said_to_be_none(text: str) -> None:
    with pytest.raises(ConfigError, match="--amqp"):
        read_address(text)


# -- leases -------------------------------------------------------------------------


def task(number: int = 1, start_at: float = 0.0) -> Task:
    return Task(number, f"http://a.test/{number}", "a.test", start_at=start_at)


def out(leases: Leases, now: float) -> list[Lease]:
    return leases.ready(now, 100)


def test_a_task_goes_when_its_time_has_come_and_comes_back_once() -> None:
    leases = Leases(1, TERMS)
    lease = leases.grant(task(start_at=5.0), now=0.0)
    assert out(leases, 4.9) == []
    assert leases.next_ready() == 5.0
    assert out(leases, 5.0) == [lease]
    assert out(leases, 6.0) == []
    assert leases.close(lease.id) == lease.task
    assert leases.close(lease.id) is None
    assert leases.close(999) is None


def test_what_nothing_is_heard_of_is_asked_for_and_goes_again() -> None:
    leases = Leases(1, TERMS, rest_s=lambda host: 3.0)
    lease = leases.grant(task(), now=0.0)
    out(leases, 0.0)
    assert leases.review(29.9, queued=False) == []
    assert leases.doubtful() == []
    leases.review(30.0, queued=False)
    assert leases.doubtful() == [lease.id]
    leases.review(32.0, queued=False)
    assert out(leases, 34.9) == [], "its host rests first"
    assert out(leases, 35.0) == [lease]
    assert leases.lost == 1


def test_a_worker_that_has_it_may_keep_it() -> None:
    leases = Leases(1, TERMS)
    lease = leases.grant(task(), now=0.0)
    out(leases, 0.0)
    leases.doubt([lease.id], now=1.0)
    leases.held([lease.id], now=2.0)
    leases.review(10.0, queued=False)
    assert (leases.doubtful(), out(leases, 10.0), leases.lost) == ([], [], 0)


def test_what_may_wait_in_the_broker_is_not_lost() -> None:
    leases = Leases(1, TERMS)
    leases.grant(task(), now=0.0)
    out(leases, 0.0)
    leases.doubt_all(now=1.0)
    leases.review(6.0, queued=True)
    assert leases.lost == 0
    leases.review(8.0, queued=False)
    assert leases.lost == 1


def test_a_task_that_workers_die_of_is_poison() -> None:
    leases = Leases(1, TERMS)
    lease, now = leases.grant(task(), now=0.0), 0.0
    found: list[Lease] = []
    for _ in range(POISON):
        assert out(leases, now) == [lease]
        leases.doubt([lease.id], now)
        now += TERMS.ask_s
        found = leases.review(now, queued=False)
    assert found == [lease]
    assert len(leases) == 0


def test_what_the_broker_lost_is_no_poison() -> None:
    leases, now = Leases(1, TERMS), 0.0
    leases.grant(task(), now=0.0)
    for _ in range(2 * POISON):
        assert len(out(leases, now)) == 1
        leases.doubt_all(now)
        now += TERMS.cut_s
        assert leases.review(now, queued=False) == []


def test_a_worker_whose_answer_the_broker_lost_has_not_died() -> None:
    leases, now = Leases(1, TERMS), 0.0
    lease = leases.grant(task(), now=0.0)
    for _ in range(2 * POISON):
        out(leases, now)
        leases.doubt([lease.id], now)
        leases.doubt_all(now)
        assert leases.review(now + TERMS.ask_s, queued=False) == []
        now += TERMS.cut_s
        assert leases.review(now, queued=False) == []
    assert leases.lost == 2 * POISON


def test_suspects_go_one_at_a_time_so_that_the_innocent_are_cleared() -> None:
    """Five tasks are in a worker that dies twice of one of them."""
    leases, now = Leases(1, TERMS), 0.0
    all_five = [leases.grant(task(number), now) for number in range(5)]
    guilty = all_five[2]
    for _ in range(2):
        assert len(out(leases, now)) == 5
        leases.doubt([each.id for each in all_five], now)
        now += TERMS.ask_s
        leases.review(now, queued=False)
    ended: list[int] = []
    poison: list[Lease] = []
    while len(leases):
        (suspect,) = out(leases, now)
        if suspect is guilty:
            leases.doubt([suspect.id], now)
            now += TERMS.ask_s
            poison += leases.review(now, queued=False)
        else:
            leases.close(suspect.id)
            ended.append(suspect.id)
        leases.next_suspect(now)
    assert poison == [guilty]
    assert len(ended) == 4


def test_a_lease_of_an_earlier_run_waits_for_its_result_first() -> None:
    leases = Leases(100, TERMS)
    leases.adopt(Lease(7, task(), expires_at=1e9), now=0.0)
    assert leases.doubtful() == [7]
    assert out(leases, 0.0) == []
    assert leases.close(7) == task()


@given(st.lists(st.sampled_from("go close lost held review unbegun".split()), max_size=60))
def test_a_lease_ends_once_and_is_never_out_twice(steps: list[str]) -> None:
    leases, now, ended = Leases(1, TERMS), 0.0, 0
    lease, is_out = leases.grant(task(), now), False
    for step in steps:
        now += 1.0
        if step == "go":
            going = out(leases, now)
            assert not (going and is_out and lease.ask_until is None and lease.is_out is False)
            assert len(going) <= 1
        elif step == "close":
            ended += leases.close(lease.id) is not None
        elif step == "lost":
            leases.doubt([lease.id], now)
        elif step == "held":
            leases.held([lease.id], now)
        elif step == "unbegun":
            leases.unbegun([lease.id], now)
        else:
            ended += len(leases.review(now, queued=False))
        leases.next_suspect(now)
    assert ended <= 1
    assert len(leases) == 1 - ended


# -- credit and level ---------------------------------------------------------------


def test_credit_is_twice_the_slots_of_workers_that_are_ready() -> None:
    flow_control = FlowControl(interval_s=1.0)
    assert flow_control.window(0.0, b"s", share=1.0, used=0) == 0
    flow_control.hello(Hello("a", b"s", 8), now=0.0)
    flow_control.hello(Hello("b", b"other", 8), now=0.0)
    assert flow_control.window(0.0, b"s", share=1.0, used=0) == 16
    flow_control.hello(Hello("b", b"s", 4), now=2.0)
    assert flow_control.window(2.0, b"s", share=1.0, used=0) == 24
    assert flow_control.window(5.0, b"s", share=1.0, used=0) == 8, "a is silent"


def test_a_shard_has_its_share_and_what_others_leave() -> None:
    flow_control = FlowControl(interval_s=1.0)
    flow_control.hello(Hello("a", b"s", 50), now=0.0)
    assert flow_control.window(0.0, b"s", share=0.25, used=90) == 25
    assert flow_control.window(0.0, b"s", share=0.25, used=10) == 90


def test_slots_go_where_the_best_urls_are() -> None:
    assert slot_share.share(1, {1: [0.1]}) == 1.0
    best, poor = [9.0 - each / 100 for each in range(32)], [1.0] * 32
    shares = {number: slot_share.share(number, {1: best, 2: poor}) for number in (1, 2)}
    assert shares[1] == 1.0
    assert 0 < shares[2] < 0.1
    assert slot_share.share(1, {1: best, 2: list(best)}) == pytest.approx(0.5)
    assert slot_share.share(1, {1: [], 2: []}) == 0.5


# -- other shards -------------------------------------------------------------------


def abroad() -> tuple[ForwardedLinks, str, str]:
    """Of two shards the first; a host of its own, and one of the other's."""
    hosts = [f"site{number}.com" for number in range(100)]
    own = next(host for host in hosts if owner(host, 2) == 1)
    other = next(host for host in hosts if owner(host, 2) == 2)
    return ForwardedLinks(Shard(1, 2), None), own, other


def test_links_to_others_hosts_leave_once_unless_they_are_better() -> None:
    border, own, other = abroad()
    parent = Parent(1, 1, 3, own, "", 0.5, True)
    links = [Link(f"http://{host}/", host.encode().ljust(16), host) for host in (own, other)]
    assert border.forward_links(parent, links, [(0.5, 0.1), (0.5, 0.1)]) == [(0.5, 0.1), None]
    ((to, link),) = border.take()
    assert (to, link.row.url) == (2, f"http://{other}/")
    assert (link.row.depth, link.row.link_evidence) == (4, (0.5, 0.1))
    border.forward_links(parent, links, [None, (0.5, 0.05)])
    assert border.take() == []
    border.forward_links(parent, links, [None, (0.2, 0.9)])
    ((_, better),) = border.take()
    assert better.row.link_evidence == (0.5, 0.9)


def test_links_deeper_than_wanted_do_not_leave() -> None:
    border, own, other = abroad()
    border.max_depth = 3
    border.forward_links(
        Parent(1, 1, 3, own, "", 0.5, True), [Link(f"http://{other}/", b"k" * 16, other)], [()]
    )
    assert border.is_empty


def status(number: int, idle_others: dict[int, tuple[int, int]], **more: object) -> ShardStatus:
    fields = {"activity": 0, "is_idle": True, **more}
    return ShardStatus(number, 2, birth=number, idle_others=idle_others, **fields)  # type: ignore[arg-type]


def test_all_are_idle_when_each_has_looked_again_after_hearing_so() -> None:
    membership = Membership(Shard(1, 2), interval_s=1.0)
    own = status(1, {2: (2, 0)})
    assert not membership.all_idle(own), "nothing heard of the other"
    membership.record(status(2, {}), now=0.0)
    assert not membership.all_idle(own), "the other has not looked again"
    membership.record(status(2, {1: (1, 0)}), now=1.0)
    assert membership.all_idle(own)
    assert not membership.all_idle(status(1, {2: (2, 0)}, activity=1)), (
        "something has happened since"
    )
    membership.record(status(2, {1: (1, 0)}, activity=3), now=2.0)
    assert not membership.all_idle(own)
    membership.record(status(2, {1: (1, 0)}, is_idle=False), now=3.0)
    assert not membership.all_idle(own)


def test_shards_that_do_not_fit_are_named() -> None:
    membership = Membership(Shard(1, 2), interval_s=1.0)
    assert "3 shards" in membership.mismatch(ShardStatus(3, 3, birth=5, digest=b"d"), b"d")
    assert "other settings" in membership.mismatch(ShardStatus(2, 2, birth=5, digest=b"x"), b"d")
    assert membership.mismatch(ShardStatus(2, 2, birth=5, digest=b"d"), b"d") == ""


def test_limits_hold_for_all_shards_together() -> None:
    membership = Membership(Shard(1, 2), interval_s=1.0)
    membership.record(status(2, {}, totals={"pages": 60.0, "relevant": 5.0}), now=0.0)
    sums = membership.totals({"pages": 40.0, "relevant": 1.0})
    totals = msgspec.convert(dict(sums), Totals, strict=False)
    assert reached_limit(LimitConfig(max_pages=100), totals) == "max-pages reached"
    assert reached_limit(LimitConfig(max_pages=101, target=7), totals) == ""
    assert membership.ended() == ""
    membership.record(status(2, {}, ended="terminated"), now=1.0)
    assert membership.ended() == "", "that is the end of a process"
    membership.record(status(2, {}, ended="target reached"), now=1.0)
    assert membership.ended() == "target reached"


# -- a crawl without a broker -------------------------------------------------------


def web(pages: int = 40) -> TinyWeb:
    drawn = TinyWeb()
    for number in range(pages):
        host = f"h{number % 4}.test"
        links = [
            f"http://h{each % 4}.test/{each}"
            for each in (2 * number + 1, 2 * number + 2)
            if each < pages
        ]
        drawn.page(f"http://{host}/{number}", links=links, title=f"足球 {number}", text="球" * 30)
    drawn.robots("h1.test", "User-agent: *\nDisallow: /5")
    drawn.redirect("http://h2.test/2", "http://h3.test/extra")
    drawn.page("http://h3.test/extra", links=["http://h1.test/5", "http://h2.test/6"])
    return drawn


def config(**more: object) -> CrawlConfig:
    fields: dict[str, object] = {
        "seeds": ("http://h0.test/0",),
        "strategy": "bfs",
        "politeness": PolitenessConfig(delay_s=0.0),
        "analysis": AnalysisConfig(topic=to_builtins(from_words("足球")), relevance="position"),
        **more,
    }
    return CrawlConfig(**fields)  # type: ignore[arg-type]


Ends = Counter[tuple[object, ...]]


def ends(db: Path) -> Ends:
    with DatabaseReader(db) as reader:
        rows = reader.read(lambda c: c.execute("SELECT url, state, reason FROM url").fetchall())
    return Counter(rows)


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> Ends:
    """How each URL ends in peace."""
    db = tmp_path_factory.mktemp("calm") / "calm.db"
    asyncio.run(SimulatedCluster(web(), rng=Random(0)).crawl(config(), db))
    return ends(db)


@pytest.mark.parametrize("seed", range(3))
async def test_lost_doubled_and_late_deliveries_change_nothing(
    tmp_path: Path, calm: Ends, seed: int
) -> None:
    cluster = SimulatedCluster(web(), rng=Random(seed), lose=0.15, twice=0.3)
    report = await cluster.crawl(config(), tmp_path / "s.db")
    assert report.stop_reason == "frontier empty"
    assert ends(tmp_path / "s.db") == calm
    assert cluster.lost and cluster.transport.leases.lost >= sum(cluster.lost.values())
    assert cluster.delivered > sum(cluster.web.urls().count(url) for url in set(cluster.web.urls()))


async def test_nothing_is_owed_at_the_end(tmp_path: Path) -> None:
    cluster = SimulatedCluster(web(), rng=Random(1))
    await cluster.crawl(config(), tmp_path / "s.db")
    assert cluster.acked == cluster.delivered
    with DatabaseReader(tmp_path / "s.db") as reader:
        assert reader.read(lambda c: c.execute("SELECT count(*) FROM lease").fetchone()) == (0,)


async def test_a_poison_page_is_failed_and_seen(tmp_path: Path) -> None:
    cluster = SimulatedCluster(web(), rng=Random(1), poison="http://h3.test/3")
    report = await cluster.crawl(config(), tmp_path / "s.db")
    assert cluster.given["http://h3.test/3"] == POISON
    assert report.failures == {"poison": 1}
    with DatabaseReader(tmp_path / "s.db") as reader:
        assert [each.reason for each in reader.status(1).failures] == ["poison"]


async def test_one_at_a_time_is_the_order_of_one_process(tmp_path: Path) -> None:
    cluster = SimulatedCluster(web(), rng=Random(1), slots=1)
    await cluster.crawl(config(concurrency=1, strategy="topic-pagerank"), tmp_path / "s.db")
    alone = SimulatedCluster(web(), rng=Random(1), slots=1)
    order = cluster.web.urls()
    await alone.crawl(config(concurrency=1, strategy="topic-pagerank"), tmp_path / "t.db")
    assert order == alone.web.urls()
    assert len(order) == len(set(order))


async def test_a_shard_that_is_killed_asks_for_nothing_twice(tmp_path: Path, calm: Ends) -> None:
    """Its leases are in the database; what was under way comes when it is back."""
    db = tmp_path / "s.db"
    first = SimulatedCluster(web(), rng=Random(1), slots=8, most=12)
    running = asyncio.create_task(first.crawl(config(), db))
    await first.halted.wait()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    second = SimulatedCluster(web(), rng=Random(2))
    report = await second.crawl(config(), db)
    assert report.stop_reason == "frontier empty"
    assert ends(db) == calm


async def test_hosts_of_one_address_share_its_pace(tmp_path: Path) -> None:
    """Forty hosts on one machine, all linked from the first page: workers look them up first."""
    hosts = [f"w{number}.test" for number in range(40)]
    drawn = TinyWeb()
    drawn.page("http://w0.test/", links=[f"http://{host}/a" for host in hosts])
    for host in hosts:
        drawn.page(f"http://{host}/a")
    cluster = SimulatedCluster(
        drawn, rng=Random(1), slots=64, addresses=dict.fromkeys(hosts, "9.9.9.9")
    )
    pace = PolitenessConfig(delay_s=1.0, per_ip=2)
    report = await cluster.crawl(
        config(seeds=("http://w0.test/",), politeness=pace), tmp_path / "s.db"
    )
    assert (report.stop_reason, report.totals.pages) == ("frontier empty", 41)
    times = [hit.at for hit in cluster.asked]
    assert len(times) == 81
    assert max(sum(at <= each < at + 0.99 for each in times) for at in times) <= 2


# -- outages ------------------------------------------------------------------------

DAY = 86_400.0


@pytest.mark.parametrize("kind", [K.UNREACHABLE, K.DNS_TEMPORARY, K.TIMEOUT])
@pytest.mark.parametrize("length_s", [10.0, 600.0, 3 * DAY])
@pytest.mark.parametrize("begin_s", [0.0, 0.3, 5.0], ids=["before", "first", "later"])
async def test_workers_without_a_network_lose_nothing(
    tmp_path: Path, calm: Ends, begin_s: float, length_s: float, kind: K
) -> None:
    if begin_s == 0.0 and length_s > 10.0 and kind is K.TIMEOUT:
        pytest.skip("a single host that is silent and has never answered is down")
    settings = config(politeness=PolitenessConfig(delay_s=1.0), max_offline_s=1200.0)
    cluster = SimulatedCluster(web(), rng=Random(1))
    began, back = cluster.now, cluster.now + begin_s + length_s
    cluster.faults = [NetworkFault(began + begin_s, back, kind=kind)]
    report = await cluster.crawl(settings, tmp_path / "s.db")
    if length_s > 1200.0:
        assert report.stop_reason == "offline"
        assert 1200.0 <= cluster.now - began <= 1200.0 + begin_s + 60.0
        cluster = SimulatedCluster(web(), rng=Random(2))
        report = await cluster.crawl(settings, tmp_path / "s.db")
    else:
        assert min(hit.at for hit in cluster.asked if hit.at >= back) - back <= 45.0
    assert report.stop_reason == "frontier empty"
    assert ends(tmp_path / "s.db") == calm


async def test_one_host_that_workers_cannot_reach_is_given_up_and_asked_by_the_next_run(
    tmp_path: Path,
    calm: Ends,
) -> None:
    settings = config(politeness=PolitenessConfig(delay_s=1.0))
    cluster = SimulatedCluster(web(), rng=Random(1))
    cluster.faults = [
        NetworkFault(cluster.now, cluster.now + DAY, frozenset({"h3.test"}), K.TIMEOUT)
    ]
    report = await cluster.crawl(settings, tmp_path / "s.db")
    assert (report.stop_reason, cluster.outages) == ("frontier empty", []), "the others answer"
    assert report.failures["host-given-up"] > 0
    report = await SimulatedCluster(web(), rng=Random(2)).crawl(settings, tmp_path / "s.db")
    assert report.stop_reason == "frontier empty"
    assert ends(tmp_path / "s.db") == calm


def test_a_stray_says_everything() -> None:
    row = UrlRow(-1, b"k" * 16, "http://a/", -1, 2, 1.0, (0.5,), anchor="text", hops=1)
    link = ForwardedUrl(row, is_home=True)
    assert unpack(pack([link]), list[ForwardedUrl]) == [link]
