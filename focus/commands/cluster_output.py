"""Formats the state of a cluster: shards, workers, and the broker's queues."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from focus.i18n import say, say_all
from focus.text.formatting import format_count, format_percent, format_table, printable

if TYPE_CHECKING:
    from focus.cluster.control import ClusterState
    from focus.cluster.messages import Hello, ShardStatus


def cluster_lines(state: ClusterState) -> list[str]:
    """Return the output of `focus cluster status`."""
    lines = [
        say(
            "Cluster {cluster} at {broker}: {health}",
            cluster=state.cluster,
            broker=state.broker,
            health=_health_text(state),
        )
    ]
    if state.shards:
        head = (
            *say_all(
                "shard", "topic", "pages", "relevant", "waiting", "away", "of", "links", "lost"
            ),
            "",
        )
        lines += [
            "",
            *format_table([head, *map(_shard_row, state.shards)], right_aligned=set(range(2, 9))),
        ]
    if state.workers:
        titles = (*say_all("worker", "host", "slots", "tasks", "pages"), "")
        lines += [
            "",
            *format_table([titles, *map(_worker_row, state.workers)], right_aligned={2, 3, 4}),
        ]
    waiting = [
        (queue.name, f"{queue.messages:,}", format_count(queue.consumers, "consumer"))
        for queue in state.queues
        if queue.messages
    ]
    if waiting:
        lines += [
            "",
            say("Messages in the broker:"),
            *format_table(waiting, indent="  ", right_aligned={1}),
        ]
    return lines + [
        say("Of another version of focus: {each}", each=stranger) for stranger in state.strangers
    ]


def _health_text(state: ClusterState) -> str:
    if not state.shards:
        return say("no frontier answers")
    parts = [format_count(len(state.shards), "shard"), format_count(len(state.workers), "worker")]
    if state.missing:
        parts.append(say("missing: shard {missing}", missing=", ".join(map(str, state.missing))))
    elif not state.is_healthy:
        parts.append(say("no worker is ready"))
    return ", ".join(parts)


def _shard_row(shard: ShardStatus) -> Sequence[str]:
    pages, relevant = shard.totals.get("pages", 0), shard.totals.get("relevant", 0)
    return (
        f"{shard.shard}/{shard.of}",
        printable(shard.name, 24),
        f"{pages:,.0f}",
        f"{relevant:,.0f}, {format_percent(relevant / pages if pages else 0.0)}",
        f"{shard.states.get('waiting', 0):,}",
        f"{shard.in_flight:,}",
        f"{shard.window:,}",
        f"{shard.outbox:,}",
        f"{shard.lost:,}",
        say("ended: {ended}", ended=shard.ended)
        if shard.ended
        else "idle"
        if shard.is_idle
        else "",
    )


def _worker_row(worker: Hello) -> Sequence[str]:
    note = "" if worker.setup and worker.slots else "ending" if worker.setup else "starting"
    name, host = printable(worker.worker, 40), printable(worker.host, 24)
    return name, host, f"{worker.slots:,}", f"{worker.held:,}", f"{worker.pages:,}", note
