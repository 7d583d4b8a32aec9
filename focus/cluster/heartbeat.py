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
from focus.cluster.shard_context import BEAT_S, ShardContext
from focus.cluster.shared_budget import ladder_of
from focus.cluster.topology import packed
from focus.engine.limits import reached
from focus.engine.unit_of_work import Totals
from focus.records import UrlState
from focus.storage import cluster_leases as rows


class Heartbeat:
    """The regular work of a shard."""

    def __init__(self, context: ShardContext, ears: ShardConsumer) -> None:
        self._at = context
        self._ears = ears

    async def run(self) -> None:
        """For ever."""
        at = self._at
        while True:
            if at.line.is_up.is_set():
                with suppress(PublishRefused, *LOST):
                    await self._welcome_workers()
                    await self._look_after_leases()
                    await self.stand()
            await at.place.crawl_store.flush(at.place.crawl.unit_of_work)
            if at.is_several:
                self._conclude()
            await asyncio.sleep(BEAT_S)

    async def _welcome_workers(self) -> None:
        at = self._at
        while at.newcomers:
            worker = at.names.worker(at.newcomers.pop())
            with suppress(PublishRefused):  # it is gone again
                await at.line.send(worker, delivery_mode=1, **packed(at.setup, "setup"))

    async def _look_after_leases(self) -> None:
        at, number = self._at, self._at.shard.number
        doubtful = at.way.leases.doubtful()
        if doubtful:
            question = packed(LeaseQuery(number, doubtful), "question")
            await at.line.tell(at.names.crew, **question)
        queued = bool(doubtful) and await self._ears.count(at.names.tasks(number)) > 0
        at.way.review(queued=queued)

    async def _is_idle(self) -> bool:
        """Whether nothing is left to do here, as far as this shard knows."""
        at, crawl = self._at, self._at.place.crawl
        if not (at.way.is_quiet and at.abroad.is_empty and crawl.unit_of_work.is_empty):
            return False
        if crawl.url_table.counts[UrlState.WAITING] or len(at.way.leases) or await self._outbox():
            return False
        queues = (at.names.links(at.shard.number), at.names.results(at.shard.number))
        return not any([await self._ears.count(name) for name in queues])

    async def _outbox(self) -> int:
        place = self._at.place
        return await place.store.run(partial(rows.waiting_strays, crawl=place.id))

    async def stand(self, ended: str = "") -> None:
        """Tell all how this shard stands."""
        at = self._at
        heard, stirs = at.board.idle(), at.way.stirs
        is_idle = at.is_several and await self._is_idle()
        at.own = await self._standing(heard, stirs, is_idle=is_idle, ended=ended)
        await at.line.tell(at.names.board, **packed(at.own, "standing"))

    async def _standing(
        self, heard: dict[int, tuple[int, int]], stirs: int, *, is_idle: bool, ended: str
    ) -> ShardStatus:
        at, crawl, outbox = self._at, self._at.place.crawl, await self._outbox()
        slots = at.flow_control.slots(at.clock(), at.digest)
        return ShardStatus(
            shard=at.shard.number,
            of=at.shard.of,
            birth=at.birth,
            stirs=stirs,
            is_idle=is_idle and stirs == at.way.stirs,
            heard=heard,
            level=slot_share.sketch(crawl.frontier, 2 * slots) if at.is_several else [],
            digest=at.digest,
            name=str(crawl.config.analysis.topic.get("name", "")),
            totals=msgspec.structs.asdict(crawl.unit_of_work.totals),
            states={state.name.lower(): crawl.url_table.counts[state] for state in UrlState},
            in_flight=at.way.in_flight,
            window=at.way.window,
            workers=len(at.flow_control.workers(at.clock())),
            slots=slots,
            outbox=outbox,
            lost=at.way.leases.lost,
            ended=ended,
            ladder=ladder_of(crawl) if at.is_several else [],
        )

    def _conclude(self) -> None:
        """What follows from how the others stand."""
        at, own = self._at, self._at.own
        if own is None:
            return
        others = at.board.others(at.clock())
        at.way.share = slot_share.share(
            at.shard.number, {each.shard: each.level for each in (own, *others)}
        )
        at.way.used = sum(each.in_flight for each in others)
        at.other_crawls.hear(own, others, at.board.totals({}), at.clock())
        at.place.crawl.limits.reconsider()
        totals = msgspec.convert(dict(at.board.totals(own.totals)), Totals, strict=False)
        reason = at.board.ended() or reached(at.place.crawl.config.limits, totals)
        if not reason and at.board.all_idle(own):
            reason = "frontier empty"
        if reason:
            at.stop(reason)
        at.way.wake()
