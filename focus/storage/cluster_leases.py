"""Tables of a shard of a cluster: leases, links for other shards, and seeds of other shards.

They are written in the transaction of the batch that they belong to.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from focus.storage.writer import transaction


class LeaseRow(NamedTuple):
    """Open lease; `task` is the encoded task, `losses` the number of workers that died with it."""

    id: int
    losses: int
    expires_at: float
    task: bytes


class ClusterChanges(NamedTuple):
    """Changes of the cluster tables that are written with a batch.

    closed_lease_ids  leases that ended
    links   (shard, number of links, packed links) for other shards
    homes   URLs of seeds and their redirect targets, received from other shards
    """

    closed_lease_ids: Sequence[int] = ()
    links: Sequence[tuple[int, int, bytes]] = ()
    homes: Sequence[str] = ()


class ShardRow(NamedTuple):
    """Shard that a crawl belongs to.

    number, shards  number of the shard from 1, and of all shards
    mark   random number that tells leases of other databases apart
    run    number of starts
    """

    number: int
    shards: int
    mark: int
    run: int


def load_shard(db: sqlite3.Connection, crawl: int) -> ShardRow | None:
    """Return the shard of a crawl; None if it is new or not part of a cluster."""
    sql = "SELECT number, shards, mark, run FROM shard WHERE crawl = ?"
    row = db.execute(sql, (crawl,)).fetchone()
    return None if row is None else ShardRow(*row)


def store_shard(db: sqlite3.Connection, crawl: int, row: ShardRow) -> None:
    """Store the shard of a crawl at its start."""
    with transaction(db, durable=True):
        db.execute("INSERT OR REPLACE INTO shard VALUES (?, ?, ?, ?, ?)", (crawl, *row))


def load_leases(db: sqlite3.Connection, crawl: int) -> list[LeaseRow]:
    """Return the leases that were open when the last run ended."""
    sql = "SELECT id, losses, expires_at, task FROM lease WHERE crawl = ? ORDER BY id"
    return [LeaseRow(*row) for row in db.execute(sql, (crawl,))]


def load_homes(db: sqlite3.Connection, crawl: int) -> list[str]:
    """Return the seeds and redirect targets received from other shards."""
    return [url for (url,) in db.execute("SELECT url FROM home WHERE crawl = ?", (crawl,))]


def store_leases(db: sqlite3.Connection, crawl: int, rows: Iterable[LeaseRow]) -> None:
    """Store leases before their tasks are sent."""
    with transaction(db):
        db.executemany(
            "INSERT OR REPLACE INTO lease VALUES (?, ?, ?, ?, ?)",
            [(row.id, crawl, *row[1:]) for row in rows],
        )


def store_cluster_changes(db: sqlite3.Connection, crawl: int, pending: ClusterChanges) -> None:
    """Write the changes that belong to a batch, in the open transaction."""
    db.executemany("DELETE FROM lease WHERE id = ?", [(item,) for item in pending.closed_lease_ids])
    db.executemany(
        "INSERT INTO forwarded_link (crawl, shard, links, packed) VALUES (?, ?, ?, ?)",
        [(crawl, *item) for item in pending.links],
    )
    rows = [(crawl, url) for url in pending.homes]
    db.executemany("INSERT OR IGNORE INTO home VALUES (?, ?)", rows)


def load_outgoing_links(
    db: sqlite3.Connection, crawl: int, limit: int
) -> list[tuple[int, int, bytes]]:
    """Return (id, shard, packed links) of the oldest rows that are not yet sent."""
    sql = "SELECT id, shard, packed FROM forwarded_link WHERE crawl = ? ORDER BY id LIMIT ?"
    return db.execute(sql, (crawl, limit)).fetchall()


def delete_links(db: sqlite3.Connection, ids: Iterable[int]) -> None:
    """Delete rows of links that the broker has received."""
    with transaction(db):
        db.executemany("DELETE FROM forwarded_link WHERE id = ?", [(item,) for item in ids])


def count_outgoing_links(db: sqlite3.Connection, crawl: int) -> int:
    """Return the number of links that are not yet sent."""
    sql = "SELECT ifnull(sum(links), 0) FROM forwarded_link WHERE crawl = ?"
    count: int = db.execute(sql, (crawl,)).fetchone()[0]
    return count
