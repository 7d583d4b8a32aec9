"""Publishes a worker's results, gathered into few messages.

While one message is on its way to the broker, the next gathers; nothing waits for longer. A
task is acknowledged only when the broker has what came of it.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict

from focus.cluster.connection import PublishRefused, ReconnectingConnection
from focus.cluster.executor import AcceptedTask, TaskExecutor, TaskMessage
from focus.cluster.messages import TaskResult, WorkerReport
from focus.cluster.topology import Names, packed

BATCH = 50  # results in a message
BATCH_BYTES = 2 * 1024 * 1024
LINK_BYTES = 200  # about, of a page
LINGER_S = 0.05  # while others are under way: what comes in it goes in the same message
PAUSE_S = 1.0  # when the broker does not take a message

Done = tuple[AcceptedTask, TaskResult | None]


class ResultPublisher:
    """Results on their way to shards. `executor` is told what has left; `heard_at` (loop time) is
    when the broker last confirmed something."""

    def __init__(self, worker: str, connection: ReconnectingConnection, names: Names) -> None:
        self.pages = 0
        self.heard_at = 0.0
        self.executor: TaskExecutor | None = None
        self._worker = worker
        self._connection = connection
        self._names = names
        self._jobs: dict[int, list[Done]] = defaultdict(list)
        self._others: dict[int, list[tuple[WorkerReport, TaskMessage | None]]] = defaultdict(list)
        self._outgoing = asyncio.Event()
        self._under_way = 0

    def done(self, job: AcceptedTask, answer: TaskResult | None) -> None:
        """What came of a job; None: its turn came too late."""
        self._jobs[job.delivery.shard].append((job, answer))
        self._outgoing.set()

    def sent(self, job: AcceptedTask) -> None:
        """A request goes out, and its shard waits to hear of it."""
        self.post(job.delivery.shard, WorkerReport(self._worker, sent=[job.task.lease]))

    def post(self, shard: int, report: WorkerReport, delivery: TaskMessage | None = None) -> None:
        """Add another report; one task of `delivery` is dealt with by that."""
        self._others[shard].append((report, delivery))
        self._outgoing.set()

    @property
    def is_empty(self) -> bool:
        """Whether nothing is to go or on its way."""
        return not (self._under_way or self._jobs or self._others)

    async def run(self) -> None:
        """Publish what there is, for ever."""
        while True:
            await self._outgoing.wait()
            await self._connection.is_up.wait()
            if self.executor is not None and self.executor.busy > 1:
                await asyncio.sleep(LINGER_S)
            self._outgoing.clear()
            shards = {*self._jobs, *self._others}
            sent = await asyncio.gather(*map(self._send, shards), return_exceptions=True)
            for failure in filter(None, sent):
                if not isinstance(failure, PublishRefused | ConnectionError):
                    raise failure
            if any(sent):
                self._outgoing.set()
                await asyncio.sleep(PAUSE_S)

    async def _send(self, shard: int) -> None:
        others = self._others.pop(shard, [])
        batch, rest = _batch(self._jobs.pop(shard, []))
        if rest:
            self._jobs[shard] = rest
            self._outgoing.set()
        said = [report for report, _ in others]
        report = WorkerReport(
            self._worker,
            answers=[answer for _, answer in batch if answer is not None],
            sent=[lease for each in said for lease in each.sent],
            lost=[lease for each in said for lease in each.lost],
            unbegun=[lease for each in said for lease in each.unbegun]
            + [job.task.lease for job, answer in batch if answer is None],
            held=[lease for each in said for lease in each.held],
        )
        self._under_way += 1
        try:
            await self._connection.send(self._names.results(shard), **packed(report, "report"))
        except BaseException:
            if others:
                self._others[shard] = others + self._others[shard]
            if batch:
                self._jobs[shard] = batch + self._jobs[shard]
            raise
        finally:
            self._under_way -= 1
        self.heard_at = asyncio.get_running_loop().time()
        assert self.executor is not None
        for job, answer in batch:
            self.pages += answer is not None and answer.page is not None
            self.executor.left(job, is_done=answer is not None)
        for _, delivery in others:
            if delivery is not None:
                delivery.done()


def _batch(jobs: list[Done]) -> tuple[list[Done], list[Done]]:
    """The first results that make a message, and the rest."""
    size = 0
    for at, (_, answer) in enumerate(jobs):
        if answer is not None and answer.page is not None:
            size += len(answer.page.body_zstd) + LINK_BYTES * len(answer.page.links)
        if at and (at == BATCH or size > BATCH_BYTES):
            return jobs[:at], jobs[at:]
    return jobs, []
