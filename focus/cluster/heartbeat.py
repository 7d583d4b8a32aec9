"""The work of a shard every second: it looks after its leases and tells its status."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from functools import partial

import msgspec

from focus.cluster import slot_share
from focus.cluster.broker import LOST
from focus.cluster.connection import PublishRefused
from focus.cluster.consumer import ShardConsumer
from focus.cluster.messages import LeaseQuery, ShardStatus
from focus.cluster.shard_context import HEARTBEAT_INTERVAL_S, ShardContext
from focus.cluster.shared_budget import quantiles_of
from focus.cluster.topology import packed
from focus.engine.limits import reached_limit
from focus.engine.unit_of_work import Totals
from focus.records import UrlState
from focus.storage import cluster_leases as rows


class Heartbeat:
    """The regular work of a shard, and its status for others."""

    def __init__(self, context: ShardContext, consumer: ShardConsumer) -> None:
        self._context = context
        self._consumer = consumer

    async def run(self) -> None:
        """For ever."""
        context = self._context
        while True:
            if context.connection.is_up.is_set():
                with suppress(PublishRefused, *LOST):
                    await self._welcome_workers()
                    await self._look_after_leases()
                    await self.tell_status()
            await context.opened.crawl_store.flush(context.opened.crawl.unit_of_work)
            if context.is_several:
                self._conclude()
            await asyncio.sleep(HEARTBEAT_INTERVAL_S)

    async def _welcome_workers(self) -> None:
        context = self._context
        while context.newcomers:
            worker = context.names.worker(context.newcomers.pop())
            with suppress(PublishRefused):  # it is gone again
                await context.connection.send(
                    worker, delivery_mode=1, **packed(context.setup, "setup")
                )

    async def _look_after_leases(self) -> None:
        context, number = self._context, self._context.shard.number
        doubtful = context.transport.leases.doubtful()
        if doubtful:
            question = packed(LeaseQuery(number, doubtful), "question")
            await context.connection.tell(context.names.workers, **question)
        queued = bool(doubtful) and await self._consumer.count(context.names.tasks(number)) > 0
        if context.connection.is_up.is_set():  # else nobody could answer
            context.transport.review(queued=queued)

    async def _is_idle(self) -> bool:
        """Whether nothing is left to do here, as far as this shard knows."""
        context, crawl = self._context, self._context.opened.crawl
        transport, names, number = context.transport, context.names, context.shard.number
        if not (transport.is_quiet and context.forwarded.is_empty and crawl.unit_of_work.is_empty):
            return False
        waiting = crawl.url_table.counts[UrlState.WAITING]
        if waiting or len(transport.leases) or await self._outbox():
            return False
        queues = names.links(number), names.results(number)
        return not any([await self._consumer.count(name) for name in queues])

    async def _outbox(self) -> int:
        opened = self._context.opened
        return await opened.store.run_in_thread(partial(rows.count_outgoing_links, crawl=opened.id))

    async def tell_status(self, ended: str = "") -> None:
        """Tell all the status of this shard."""
        context = self._context
        idle_others, activity = context.membership.idle(), context.transport.activity
        is_idle = context.is_several and await self._is_idle()
        context.last_status = await self._status(
            idle_others, activity, is_idle=is_idle, ended=ended
        )
        await context.connection.tell(context.names.status, **packed(context.last_status, "status"))

    async def _status(
        self, idle_others: dict[int, tuple[int, int]], activity: int, *, is_idle: bool, ended: str
    ) -> ShardStatus:
        context, crawl, outbox = self._context, self._context.opened.crawl, await self._outbox()
        slots = context.flow_control.slots(context.clock(), context.digest)
        return ShardStatus(
            shard=context.shard.number,
            of=context.shard.of,
            birth=context.birth,
            activity=activity,
            is_idle=is_idle and activity == context.transport.activity,
            idle_others=idle_others,
            priorities=slot_share.sketch(crawl.frontier, 2 * slots) if context.is_several else [],
            digest=context.digest,
            name=str(crawl.config.analysis.topic.get("name", "")),
            totals=msgspec.structs.asdict(crawl.unit_of_work.totals),
            states={state.name.lower(): crawl.url_table.counts[state] for state in UrlState},
            in_flight=context.transport.in_flight,
            window=context.transport.window,
            workers=len(context.flow_control.workers(context.clock())),
            slots=slots,
            outbox=outbox,
            lost=context.transport.leases.lost,
            ended=ended,
            quantiles=quantiles_of(crawl) if context.is_several else [],
        )

    def _conclude(self) -> None:
        """Draw conclusions from the others' status."""
        context, own = self._context, self._context.last_status
        if own is None:
            return
        others = context.membership.others(context.clock())
        context.transport.share = slot_share.share(
            context.shard.number, {each.shard: each.priorities for each in (own, *others)}
        )
        context.transport.used = sum(each.in_flight for each in others)
        context.other_shards.update(own, others, context.membership.totals({}), context.clock())
        context.opened.crawl.frontier.reset()
        totals = msgspec.convert(dict(context.membership.totals(own.totals)), Totals, strict=False)
        reason = context.membership.ended() or reached_limit(
            context.opened.crawl.config.limits, totals
        )
        if not reason and context.membership.all_idle(own):
            reason = "frontier empty"
        if reason:
            context.stop(reason)
        context.transport.wake()
