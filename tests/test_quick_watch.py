"""Alerts of every minute: which sites are asked so often, and how soon news is told."""

import statistics
from collections import defaultdict
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest

from focus.alerts import matching, revisits
from focus.alerts.health import alert_health
from focus.alerts.matching import MatchingSummary
from focus.alerts.outbox_relay import DeliverySummary
from focus.alerts.run import run_due
from focus.alerts.schedule import SLACK_S
from focus.storage.alerts.records import DueHub, WatchedSite
from focus.storage.alerts.store import AlertStore
from tests.support.cases import cases
from tests.support.outbox import NOON, outbox
from tests.support.publishing import publishing
from tests.support.simulated import alerts, simulate
from tests.support.site import CrawledSite

HALF_HOUR = 1 / 48


def hub(*, etag: str = "", listing: bool = False, checked_at: float = 0.0) -> DueHub:
    return DueHub(1, "https://a.test/", etag, "", 0.0, 0.0, checked_at, listing)


@cases(
    "hubs, delay_s, rest_s",
    ([hub(etag="x")] * 3, 1.0, 60.0),
    ([hub(listing=True)], 1.0, 60.0),
    ([hub(etag="x")] * 10, 10.0, 200.0),
    ([hub(etag="x")] * 50, 10.0, 200.0),
    ([hub(etag="x")], 1000.0, 900.0),
    ([hub()] * 3, 1.0, 900.0),
    ([], 1.0, 900.0),
)
def test_visit_interval_hubs_and_delay(hubs: list[DueHub], delay_s: float, rest_s: float) -> None:
    assert revisits.visit_interval_s(hubs, delay_s=delay_s) == rest_s


def test_page_without_validators_waits_15_minutes() -> None:
    assert not revisits.may_revisit(hub(checked_at=1000.0), now=1060.0)
    assert revisits.may_revisit(hub(checked_at=1000.0, etag="x"), now=1060.0)
    assert revisits.may_revisit(hub(checked_at=1000.0), now=1900.0)


@cases(
    "schedule, rest_s, said",
    ("1m", 900.0, "visited every 15 minutes at most"),
    ("1m", 200.0, "visited every 200 seconds at most"),
    ("1m", 60.0, ""),
    ("5m", 200.0, ""),
    ("* * * * *", 200.0, "visited every 200 seconds at most"),
    ("hourly", 900.0, ""),
)
def test_slow_site_says_why(tmp_path: Path, schedule: str, rest_s: float, said: str) -> None:
    with outbox(tmp_path) as here:
        number = here.alert("足球", schedule=schedule)
        [owned] = here.store.alerts.list_alerts()
        [site] = here.store.sites.list_for_alerts([number])
        with here.store.database.transaction() as db:
            values = (NOON, NOON + rest_s, site.id)
            db.execute("UPDATE site SET visited_at = ?, free_at = ? WHERE id = ?", values)
        health = alert_health(here.store, owned, now=NOON)
    assert [remark.slow_reason.partition(":")[0].partition(",")[0] for remark in health.sites] == [
        said
    ]
    assert any(said in remark for remark in health.remarks) or not said


async def test_quick_alert_reports_news_within_minutes(tmp_path: Path) -> None:
    """Half an hour under a clock that nobody waits for; three alerts share one of the sites."""
    web = publishing(5, pages=200, days=1, daily=20.0)
    wishes = [
        alert._replace(alert=msgspec.structs.replace(alert.alert, schedule="1m"))
        for alert in alerts(auto=True)
    ]
    course = await simulate(web, wishes, tmp_path, length=HALF_HOUR, cron_s=60.0)
    assert course.requests
    times: dict[str, list[float]] = defaultdict(list)
    for request in course.requests:
        times[request.url].append(request.at)
    intervals = [later - sooner for alert in times.values() for sooner, later in pairwise(alert)]
    assert min(intervals) >= 60.0 - SLACK_S
    appeared = {web.article_url(article): at for at, article in web.after}
    delays = [alert.at - appeared[alert.url] for alert in course.messages if alert.url in appeared]
    assert len(delays) > 3
    assert statistics.median(delays) < 150.0


async def deliver_nothing() -> DeliverySummary:
    return DeliverySummary()


async def test_next_check_of_several_interval_alerts_is_one_interval_ahead(tmp_path: Path) -> None:
    async def visit(site: WatchedSite) -> None: ...

    with outbox(tmp_path) as here:
        for name in ("a", "b", "c"):
            here.alert(name, "inbox", schedule="6h")
        await run_due(here.store, visit, deliver_nothing, clock=here.clock)
        times = [stored.next_at for stored in here.store.alerts.list_alerts()]
    assert times == [NOON + 6 * 3600 - SLACK_S] * 3


async def test_alert_due_while_its_site_rests_is_finished_by_a_visit(tmp_path: Path) -> None:
    """An edited alert waits for the rest of its site, unless another alert has had it visited."""
    visits: list[float] = []
    with outbox(tmp_path) as here:
        first, second = (here.alert(name, "inbox", schedule="6h") for name in "ab")
        crawled = CrawledSite(here.store, host="a.test", now=NOON)
        crawled.page("/", "首页", "网站")

        async def visit(site: WatchedSite) -> None:
            visits.append(here.clock.now - NOON)
            here.store.sites.record_visit(
                site.id, crawled.crawl, visited_at=here.clock.now, next_at=here.clock.now,
                free_at=here.clock.now + 60.0, pages=1, is_whole=True,
            )  # fmt: skip

        async def run_edited(number: int, at: float) -> float:
            """Run after an edit; return when the alert is due again."""
            here.clock.now = NOON + at
            stored = {item.id: item for item in here.store.alerts.list_alerts()}[number]
            if stored.next_at > here.clock.now:
                here.store.alerts.replace(number, stored.alert, now=here.clock.now)
            await run_due(here.store, visit, deliver_nothing, clock=here.clock)
            stored = {item.id: item for item in here.store.alerts.list_alerts()}[number]
            return stored.next_at - NOON

        due = [await run_edited(first, at) for at in (0.0, 20.0, 60.0)]
        assert (due[1], visits) == (60.0, [0.0, 60.0])
        assert due[2] == await run_edited(second, 80.0) - 20.0 == 60.0 + 6 * 3600 - SLACK_S
    assert visits == [0.0, 60.0]


async def test_slow_sites_do_not_hold_up_a_quick_alert_and_deliveries(tmp_path: Path) -> None:
    """Six sites need a minute each; an alert of another one is due every minute."""
    visited: list[str] = []
    deliveries: list[float] = []
    with outbox(tmp_path) as here:
        here.alert("quick", "inbox", schedule="1m", sites=("https://quick.test/",))
        for number in range(6):
            sites = (f"https://slow{number}.test/",)
            here.alert(f"slow {number}", "inbox", schedule="6h", sites=sites)

        async def visit(site: WatchedSite) -> None:
            visited.append(site.host)
            here.clock.now += 1.0 if site.host == "quick.test" else 60.0
            here.store.sites.record_visit(
                site.id, 1, visited_at=here.clock.now, next_at=here.clock.now + 60.0,
                free_at=here.clock.now + 50.0, pages=1, is_whole=True,
            )  # fmt: skip

        async def deliver() -> DeliverySummary:
            deliveries.append(here.clock.now)
            return DeliverySummary()

        for _ in range(6):
            await run_due(here.store, visit, deliver, clock=here.clock)
    assert visited == [host for number in range(6) for host in ("quick.test", f"slow{number}.test")]
    assert max(later - sooner for sooner, later in pairwise(deliveries)) <= 61.0


async def test_delivery_between_visits_covers_sites_visited_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    matched: list[str] = []
    deliveries: list[list[str]] = []

    def match_site(store: AlertStore, site: WatchedSite, **_: object) -> MatchingSummary:
        matched.append(site.host)
        return MatchingSummary(site.host, failures={1: "no such topic"})

    monkeypatch.setattr(matching, "match_site", match_site)
    with outbox(tmp_path) as here:
        for name in "abc":
            here.alert(name, "inbox", schedule="6h", sites=(f"https://{name}.test/",))

        async def visit(site: WatchedSite) -> None:
            here.clock.now += 20.0

        async def deliver() -> DeliverySummary:
            deliveries.append(sorted(matched))
            return DeliverySummary()

        summary = await run_due(here.store, visit, deliver, clock=here.clock)
    assert deliveries[0] == ["a.test", "b.test", "c.test"], "after the second of three visits"
    assert len(summary.failures) == 1, "the same failure is reported once"
