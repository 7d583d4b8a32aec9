"""Computes the part of docs/scaling.md about a cluster: what many workers would need.

From the figures of `bench.cluster.cost` and `bench.cluster.sim` (bench/results/cluster.json:
`when`, `costs`, `sim`, and `url_bytes`, what a further known URL takes as `bench.growth` has it).
A worker here has `SLOTS` requests under way, each for `ANSWER_S`, and cores enough for its
scorers; a shard is given `BUSY` of a core's time.
"""

import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from bench.script import table
from bench.wording import named, say

Told = Mapping[str, Any]

WORKERS = (10, 100, 1000)
SLOTS = 64
ANSWER_S = 1.0
BUSY = 0.7  # of a core: the rest is for hours that are worse than the mean
NODE_CORES = 8
NODE_MESSAGES = 20_000
"""A second that one broker takes, publications and deliveries of quorum queues together: the
order of what RabbitMQ's makers measured for a node with three replicas; not measured here."""
CONSUMERS = 20_000  # of queues, of one broker; beyond, its book-keeping is the work
HEAD = (
    *("workers", "pages/s", "hosts due", "shards", "messages/s", "of these the board's", "MB/s"),
    *("broker's cores", "broker nodes", "consumers"),
)


class Costs(NamedTuple):
    """Measured, per page: CPU milliseconds, AMQP methods and bytes at frontier and worker."""

    frontier_ms: float
    shard_ms: float  # of a frontier whose pages bring many new URLs: what shards are counted by
    abroad_ms: float  # more of it for links to other shards, if all hosts were others'
    worker_ms: float
    scorer_ms: float
    broker_ms: float
    messages: float
    abroad_messages: float
    bytes: float
    abroad_bytes: float
    url_bytes: float


def costs(cluster: Told) -> Costs:
    """Out of the results."""
    spread = next(each for each in cluster["costs"] if each["name"] == "cluster")
    alone, *more = sorted(cluster["sim"], key=lambda each: int(each["shards"]))
    cpu, wires = spread["cpu_ms"], spread["wires"]
    messages = sum(wires[role][name] for role in wires for name in ("publish", "deliver"))

    def abroad(name: str) -> float:
        """How much more there would be of it with very many shards."""
        if not more:
            return 0.0
        shards = more[-1]["shards"]
        return float(max(0.0, more[-1][name] - alone[name]) * shards / (shards - 1))

    return Costs(
        frontier_ms=cpu["frontier"],
        shard_ms=max(cpu["frontier"], alone["frontier_ms"]),
        abroad_ms=abroad("frontier_ms"),
        worker_ms=cpu["worker"],
        scorer_ms=cpu["worker's children"],
        broker_ms=cpu["broker's children"],
        messages=messages,
        abroad_messages=abroad("publishes") + abroad("delivers"),
        bytes=sum(wires[role]["bytes"] for role in wires),
        abroad_bytes=abroad("page_bytes"),
        url_bytes=cluster["url_bytes"],
    )


class Need(NamedTuple):
    """What so many workers need; a row of the table."""

    workers: int
    pages_s: float
    shards: int
    messages_s: float
    board_s: float
    mb_s: float
    cores: float
    nodes: int
    consumers: int


def need(cost: Costs, workers: int) -> Need:
    """Worked out from the costs per page."""
    pages_s = workers * SLOTS / ANSWER_S
    shards = 1
    while pages_s * _frontier_ms(cost, shards) > BUSY * 1000 * shards:
        shards += 1
    others = (shards - 1) / shards
    board = shards * (workers + shards) + workers + shards  # each second: delivered, published
    messages = pages_s * (cost.messages + others * cost.abroad_messages)
    bytes_s = pages_s * (cost.bytes + others * cost.abroad_bytes)
    cores = pages_s * cost.broker_ms / 1000 * (messages + board) / max(1.0, messages)
    nodes = max(1, math.ceil(cores / NODE_CORES), math.ceil((messages + board) / NODE_MESSAGES))
    return Need(
        workers=workers,
        pages_s=pages_s,
        shards=shards,
        messages_s=messages + board,
        board_s=board,
        mb_s=bytes_s / 1e6,
        cores=cores,
        nodes=1 if nodes == 1 else max(3, nodes),
        consumers=workers * (shards + 1) + 4 * shards,
    )


def _frontier_ms(cost: Costs, shards: int) -> float:
    return cost.shard_ms + cost.abroad_ms * (shards - 1) / shards


def rows(cost: Costs) -> Iterator[list[str]]:
    """A row per number of workers."""
    for each in (need(cost, workers) for workers in WORKERS):
        yield [
            f"{each.workers:,}",
            f"{each.pages_s:,.0f}",
            f"{each.pages_s * (1 + ANSWER_S):,.0f}",
            f"{each.shards:,}",
            f"{each.messages_s:,.0f}",
            f"{each.board_s:,.0f}",
            f"{each.mb_s:,.1f}",
            f"{each.cores:,.1f}",
            f"{each.nodes:,}",
            f"{each.consumers:,}",
        ]


def end(cost: Costs) -> Need:
    """The largest cluster whose broker has no more consumers than it can keep books of."""
    workers = 1
    while need(cost, workers + 1).consumers <= CONSUMERS:
        workers += 1
    return need(cost, workers)


def text(cluster: Told) -> str:
    """The section."""
    cost, last = costs(cluster), end(costs(cluster))
    alone = next(each for each in cluster["costs"] if each["name"] == "one process")["cpu_ms"]
    sim = sorted(cluster["sim"], key=lambda each: int(each["shards"]))
    sustained = " ".join(map(_sustained, sim))
    return say(
        _SECTION,
        when=named(cluster.get("when", "")),
        alone_ms=alone["one process"],
        sustained=sustained,
        needs=table([say(each) for each in HEAD], list(rows(cost))).rstrip(),
        waiting_bytes=sim[0]["url_rss_bytes"],
        million_mib=cost.url_bytes * 1e6 / 2**20,
        slots=SLOTS,
        busy=BUSY,
        node_cores=NODE_CORES,
        node_messages=NODE_MESSAGES,
        most=CONSUMERS,
        last=last,
        cost=cost,
    )


def _sustained(sim: Told) -> str:
    return say(
        "{shards} shards: {ms:.2f} ms, so {pages_s:,.0f} pages/s at most."
        if sim["shards"] > 1
        else "{shards} shard: {ms:.2f} ms, so {pages_s:,.0f} pages/s at most.",
        shards=sim["shards"],
        ms=sim["frontier_ms"],
        pages_s=sim["pages_s"] * sim["shards"],
    )


_SECTION = """\
## A cluster

{when}

Measured on the generated site (32 KB, 97 links a page): a page costs the frontier
{cost.frontier_ms:.2f} CPU-ms (one process, in the same run: {alone_ms:.2f} beside its
scorers), a worker {cost.worker_ms:.2f} and its scorer {cost.scorer_ms:.2f}, the broker
{cost.broker_ms:.2f}; {cost.messages:.2f} messages are published or delivered for it and
{cost.bytes:,.0f} bytes go over wires, as tasks and results travel in batches.

A shard that is fed by made-up results (no fetching; 97 links, 10 of them new) took
{sustained}
Below 50,000 waiting URLs, which are held in memory whole, one more took
{waiting_bytes:,.0f} bytes; beyond, as in one process, {cost.url_bytes:.0f}: \
{million_mib:,.0f} MiB a million.

What follows is computed: workers with {slots} requests at once, a second for each; a shard takes
{cost.shard_ms:.2f} ms a page
(10 new URLs on each) and may be busy {busy:.0%} of the time; a broker
node has {node_cores} cores and takes {node_messages:,}
messages a second (not measured here). More than one node means at least three.

{needs}

**Where it ends.** Not at the web, and not at the frontiers: shards know nothing of each other
but links and a line each second, so there may be many. It ends at the broker's book-keeping:
every worker takes tasks of every shard and is heard by every shard, so that consumers and signs
of life grow with workers × shards. At about {last.workers:,} workers of this size and
{last.shards} shards ({last.pages_s:,.0f} pages/s) there are {most:,} consumers. Beyond, use
workers with more slots (the same pages/s by fewer), or several clusters with a part of the
hosts each. Far before that a polite crawl has run out of hosts: {last.pages_s:,.0f} pages/s
need as many hosts that have something to fetch at every moment, each asked once a second.
"""
