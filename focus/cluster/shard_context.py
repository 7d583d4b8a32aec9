"""Holds what the parts of a shard share: its number, its crawl, its leases."""

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

HEARTBEAT_INTERVAL_S = 1.0


class OpenShard(NamedTuple):
    """A shard's crawl, once it is open. `id` is its number in the store."""

    crawl: Crawl
    store: Store
    id: int
    crawl_store: ShardStore


class ShardContext:
    """One shard.

    transport    the crawl's transport, with the leases
    setup        the settings that workers need; `digest` names them
    opened       the crawl and its store
    is_new       the crawl begins: messages of an earlier crawl are of no use
    was_killed   the crawl goes on, and its last run did not come to its end
    is_open      its parts are at work: an error is the crawl's from now on
    last_status  the status that it told last
    """

    transport: ClusterTransport
    setup: WorkerSetup
    digest: bytes
    opened: OpenShard
    last_status: ShardStatus | None = None

    def __init__(
        self,
        shard: Shard,
        connection: ReconnectingConnection,
        say: Callable[[str], object],
    ) -> None:
        self.shard = shard
        self.names = Names(connection.address.cluster)
        self.connection = connection
        self.say = say
        self.clock = Clock()
        self.birth = random.getrandbits(48)
        self.began_at = self.clock()
        self.flow_control = FlowControl(HEARTBEAT_INTERVAL_S)
        self.membership = Membership(shard, HEARTBEAT_INTERVAL_S)
        self.other_shards = OtherShards()
        self.forwarded = ForwardedLinks(shard, self.other_shards if shard.of > 1 else None)
        self.newcomers: set[str] = set()  # workers that need the setup
        self.is_new = False
        self.was_killed = False
        self.is_open = False
        self._is_stopping = False

    @property
    def is_several(self) -> bool:
        """Whether there are other shards."""
        return self.shard.of > 1

    def rest_s(self, host: str) -> float:
        """Seconds that a host rests between two requests."""
        return self.opened.crawl.frontier.host(host).request_interval_s

    def stop(self, reason: str) -> None:
        """End the crawl as a signal would."""
        if not self._is_stopping:
            self._is_stopping = True
            self.transport.cancel_in(GRACE_S)
        self.opened.crawl.stop(reason)
