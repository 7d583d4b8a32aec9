"""What do the parts of a shard share? Its place in the cluster, its crawl, its leases."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import NamedTuple

from focus.cluster.batch_writer import ShardStore
from focus.cluster.connection import ReconnectingConnection
from focus.cluster.flow_control import FlowControl
from focus.cluster.forwarded_links import ForwardedLinks
from focus.cluster.membership import Membership
from focus.cluster.messages import ShardStatus, WorkerSetup
from focus.cluster.sharding import Shard
from focus.cluster.shared_budget import OtherShards
from focus.cluster.topology import Names
from focus.cluster.transport import ClusterTransport
from focus.crawler import Crawl
from focus.engine.transports import Clock
from focus.session import GRACE_S
from focus.store import Store

BEAT_S = 1.0


class OpenShard(NamedTuple):
    """A shard's crawl, once it is open. `id` is its number in the store."""

    crawl: Crawl
    store: Store
    id: int
    crawl_store: ShardStore


class ShardContext:
    """One shard.

    way      the crawl's transport, with the leases
    setup    what workers need to know; `digest` names it
    place    the crawl and its store
    is_new   the crawl begins: what another one left in the broker is of no use
    was_killed  the crawl goes on, and its last run did not come to its end
    is_open  its parts are at work: an error is the crawl's from now on
    own      its last word on the board
    """

    way: ClusterTransport
    setup: WorkerSetup
    digest: bytes
    place: OpenShard
    own: ShardStatus | None = None

    def __init__(
        self, shard: Shard, cluster: str, line: ReconnectingConnection, say: Callable[[str], object]
    ) -> None:
        self.shard = shard
        self.names = Names(cluster)
        self.line = line
        self.say = say
        self.clock = Clock()
        self.birth = random.getrandbits(48)
        self.began_at = self.clock()
        self.flow_control = FlowControl(BEAT_S)
        self.board = Membership(shard, BEAT_S)
        self.abroad = ForwardedLinks(shard, None)
        self.other_crawls = OtherShards()
        self.newcomers: set[str] = set()  # workers that need the setup
        self.is_new = False
        self.was_killed = False
        self.is_open = False
        self._is_stopping = False

    @property
    def is_several(self) -> bool:
        """Whether there are other shards."""
        return self.shard.of > 1

    def stop(self, reason: str) -> None:
        """End the crawl as a signal would."""
        if not self._is_stopping:
            self._is_stopping = True
            self.way.cancel_in(GRACE_S)
        self.place.crawl.stop(reason)
