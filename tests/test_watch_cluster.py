"""Watching by the workers of a cluster: the same pages, asked for the same way, as from here."""

import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from random import Random
from types import SimpleNamespace

import pytest

from focus.alerts.alert import validate_alert
from focus.alerts.run import Offline
from focus.alerts.visit import create_visit, visit
from focus.config import FetchConfig, PolitenessConfig
from focus.errors import ClusterError
from focus.learn.memory_crawl import PageSource
from focus.session import Runtime
from focus.storage.alerts.records import LOCAL_USER, Alert
from focus.storage.alerts.store import AlertStore, open_store
from tests.support.cluster import SimulatedCluster
from tests.support.web import TinyWeb

FRONT = "http://news.test/"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[AlertStore]:
    with open_store(
        tmp_path / "f.db", now=time.time(), language="zh", zone="Asia/Shanghai"
    ) as made:
        wish = validate_alert(Alert("足球", (FRONT,), words="足球"))
        made.alerts.add(LOCAL_USER, wish, now=time.time())
        yield made


def site(articles: int) -> TinyWeb:
    """A front page with so many articles."""
    web = TinyWeb()
    change(web, articles)
    return web


def change(web: TinyWeb, articles: int) -> None:
    links = [(f"/{n}", "足球新闻") for n in range(articles)]
    web.page(FRONT, title="新闻", links=links, headers={"etag": f'"{articles}"'})
    for n in range(articles):
        web.page(f"{FRONT}{n}", title=f"足球 {n}", text=f"足球比赛第{n}轮今天开始。" * 9)


async def look(store: AlertStore, around: Runtime) -> None:
    found = store.sites.find_by_host("news.test")
    assert found is not None
    web = PageSource(None, FetchConfig(), PolitenessConfig(), "focus")
    await visit(store, found, web, clock=time.time, around=lambda: around)


def titles(store: AlertStore) -> set[str]:
    return {title for (title,) in store.database.fetch_rows("SELECT title FROM page_text")}


@pytest.mark.parametrize("seed", range(3))
async def test_workers_that_lose_and_repeat_bring_what_is_new(store: AlertStore, seed: int) -> None:
    web = site(3)
    await look(store, SimulatedCluster(web, rng=Random(seed), lose=0.2, twice=0.3))
    assert titles(store) == {"新闻", *(f"足球 {n}" for n in range(3))}
    change(web, 5)
    web.log.clear()
    cluster = SimulatedCluster(web, rng=Random(seed), lose=0.2, twice=0.3)
    await look(store, cluster)
    assert titles(store) == {"新闻", *(f"足球 {n}" for n in range(5))}
    asked = {hit.url for hit in cluster.asked}
    assert asked == {FRONT, f"{FRONT}3", f"{FRONT}4"}, "what was had is not asked for again"


async def test_hosts_are_asked_no_sooner_than_their_delay(store: AlertStore) -> None:
    cluster = SimulatedCluster(site(6), rng=Random(1))
    await look(store, cluster)
    times = [hit.at for hit in cluster.asked]
    assert len(times) >= 8
    assert min(later - sooner for sooner, later in pairwise(times)) >= 1.0


class Nobody(Runtime):
    """A cluster that cannot be reached."""

    async def make_transport(self, *_: object) -> SimpleNamespace:  # type: ignore[override]
        raise ClusterError("no worker of the cluster {name} is there", name="watch")


async def test_a_cluster_without_workers_puts_a_visit_off(store: AlertStore) -> None:
    found = store.sites.find_by_host("news.test")
    assert found is not None
    look_up = create_visit(store, PageSource(), around=Nobody)
    with pytest.raises(Offline, match="no worker"):
        await look_up(found)
    after = store.sites.find_by_host("news.test")
    assert after is not None
    assert "no worker" in after.trouble
    assert after.visited_at is None
