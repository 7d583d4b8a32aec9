"""Writes a shard's batch together with the leases that ended in it and the links that leave."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from itertools import groupby
from operator import itemgetter

import msgspec

from focus.cluster.broker import IncomingMessage
from focus.cluster.forwarded_links import ForwardedLinks
from focus.cluster.messages import chunks
from focus.cluster.transport import ClusterTransport
from focus.engine.partition import ForwardedUrl
from focus.engine.unit_of_work import UnitOfWork
from focus.records import Batch
from focus.storage.cluster_leases import ClusterChanges, store_cluster_changes
from focus.storage.writer import transaction
from focus.store import CrawlWriter, Store

ACK_S = 2.0
LINKS = 250  # for another shard, in a row at most


class ShardStore(CrawlWriter):
    """The store of a shard's crawl. `has_outgoing` is set when links are to leave."""

    def __init__(
        self, store: Store, crawl: int, transport: ClusterTransport, forwarded: ForwardedLinks
    ) -> None:
        super().__init__(store, crawl)
        self.has_outgoing = asyncio.Event()
        self._transport = transport
        self._forwarded = forwarded

    async def write(self, batch: Batch) -> None:
        """Keep a batch; then the broker may forget what it came from."""
        pending, owed = self._pending()
        also = partial(store_cluster_changes, crawl=self._crawl, pending=pending)
        await self._store.write(self._crawl, batch, extra_write=also)
        await self._written(pending, owed)

    async def flush(self, unit_of_work: UnitOfWork) -> None:
        """The same when nothing followed from what came."""
        if not unit_of_work.is_empty:
            return
        pending, owed = self._pending()
        if any(pending):
            await self._store.run_in_thread(partial(_settle, crawl=self._crawl, pending=pending))
        await self._written(pending, owed)

    def _pending(self) -> tuple[ClusterChanges, Sequence[IncomingMessage]]:
        closed, homes, owed = self._transport.pending()
        return ClusterChanges(closed, _packed(self._forwarded.take()), homes), owed

    async def _written(self, pending: ClusterChanges, owed: Sequence[IncomingMessage]) -> None:
        async def acknowledge() -> None:
            for message in owed:
                with suppress(Exception):  # the connection is another by now: it comes again
                    await message.ack()

        if pending.links:
            self.has_outgoing.set()
        if owed:  # a task of its own: a connection that ends may cancel it, or never answer
            await asyncio.wait([asyncio.create_task(acknowledge())], timeout=ACK_S)


def _packed(links: Sequence[tuple[int, ForwardedUrl]]) -> list[tuple[int, int, bytes]]:
    """Links by shard, packed as they will travel: (shard, how many, packed) of each row."""
    by_shard = groupby(sorted(links, key=itemgetter(0)), itemgetter(0))
    return [
        (shard, len(some), msgspec.msgpack.encode(some))
        for shard, found in by_shard
        for some in chunks([link for _, link in found], LINKS)
    ]


def _settle(db: sqlite3.Connection, crawl: int, pending: ClusterChanges) -> None:
    with transaction(db):
        store_cluster_changes(db, crawl, pending)
