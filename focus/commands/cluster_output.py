"""Shows the state of a cluster as lines: shards, workers, and the broker's queues."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from focus.i18n import say, say_all
from focus.text.formatting import format_count, format_percent, format_table, printable

if TYPE_CHECKING:
    from focus.cluster.control import ClusterState
    from focus.cluster.messages import Hello, ShardStatus


def cluster_lines(state: ClusterState) -> list[str]:
    """What `focus cluster status` says."""
    lines = [
        say(
            "Cluster {cluster} at {broker}: {health}",
            cluster=state.cluster,
            broker=state.broker,
            health=_health(state),
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
            *format_table([head, *map(_shard, state.shards)], right_aligned=set(range(2, 9))),
        ]
    if state.workers:
        titles = (*say_all("worker", "host", "slots", "tasks", "pages"), "")
        lines += [
            "",
            *format_table([titles, *map(_worker, state.workers)], right_aligned={2, 3, 4}),
        ]
    waiting = [
        (each.name, f"{each.messages:,}", format_count(each.consumers, "consumer"))
        for each in state.queues
        if each.messages
    ]
    if waiting:
        lines += [
            "",
            say("Messages in the broker:"),
            *format_table(waiting, indent="  ", right_aligned={1}),
        ]
    return lines + [
        say("Of another version of focus: {each}", each=each) for each in state.strangers
    ]


def _health(state: ClusterState) -> str:
    if not state.shards:
        return say("no frontier answers")
    parts = [format_count(len(state.shards), "shard"), format_count(len(state.workers), "worker")]
    if state.missing:
        parts.append(say("missing: shard {missing}", missing=", ".join(map(str, state.missing))))
    elif not state.is_healthy:
        parts.append(say("no worker is ready"))
    return ", ".join(parts)


def _shard(each: ShardStatus) -> Sequence[str]:
    pages, relevant = each.totals.get("pages", 0), each.totals.get("relevant", 0)
    return (
        f"{each.shard}/{each.of}",
        printable(each.name, 24),
        f"{pages:,.0f}",
        f"{relevant:,.0f}, {format_percent(relevant / pages if pages else 0.0)}",
        f"{each.states.get('waiting', 0):,}",
        f"{each.in_flight:,}",
        f"{each.window:,}",
        f"{each.outbox:,}",
        f"{each.lost:,}",
        say("ended: {ended}", ended=each.ended) if each.ended else "idle" if each.is_idle else "",
    )


def _worker(each: Hello) -> Sequence[str]:
    note = "" if each.setup and each.slots else "ending" if each.setup else "starting"
    name, host = printable(each.worker, 40), printable(each.host, 24)
    return name, host, f"{each.slots:,}", f"{each.held:,}", f"{each.pages:,}", note
