"""Keeps what a shard of a cluster has beside its crawl: leases, links for others, home hosts.

They are written with the batch that they belong to, in its transaction.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from focus.storage.writer import transaction


class LeaseRow(NamedTuple):
    """An open lease."""

    id: int
    losses: int
    expires_at: float
    task: bytes


class Pending(NamedTuple):
    """The cluster's part of a batch: leases that ended, links that leave (shard, how many,
    packed), homes that came.
    """

    closed: Sequence[int] = ()
    links: Sequence[tuple[int, int, bytes]] = ()
    homes: Sequence[str] = ()


class ShardRow(NamedTuple):
    """The shard that a crawl is, as stored."""

    number: int
    shards: int
    mark: int
    run: int


def shard_of(db: sqlite3.Connection, crawl: int) -> ShardRow | None:
    """Which shard a crawl was begun as; None: by itself, or just now."""
    sql = "SELECT number, shards, mark, run FROM shard WHERE crawl = ?"
    row = db.execute(sql, (crawl,)).fetchone()
    return None if row is None else ShardRow(*row)


def begin(db: sqlite3.Connection, crawl: int, row: ShardRow) -> None:
    """Note which shard it is, and that it starts once more."""
    with transaction(db, durable=True):
        db.execute("INSERT OR REPLACE INTO shard VALUES (?, ?, ?, ?, ?)", (crawl, *row))


def leases(db: sqlite3.Connection, crawl: int) -> list[LeaseRow]:
    """The leases that were open when the last run ended."""
    sql = "SELECT id, losses, expires_at, task FROM lease WHERE crawl = ? ORDER BY id"
    return [LeaseRow(*row) for row in db.execute(sql, (crawl,))]


def homes(db: sqlite3.Connection, crawl: int) -> list[str]:
    """Homes that came from elsewhere."""
    return [url for (url,) in db.execute("SELECT url FROM home WHERE crawl = ?", (crawl,))]


def give(db: sqlite3.Connection, crawl: int, rows: Iterable[LeaseRow]) -> None:
    """Note leases before their tasks go out."""
    with transaction(db):
        db.executemany(
            "INSERT OR REPLACE INTO lease VALUES (?, ?, ?, ?, ?)",
            [(row.id, crawl, *row[1:]) for row in rows],
        )


def settle(db: sqlite3.Connection, crawl: int, pending: Pending) -> None:
    """Write what goes with a batch, in the transaction that is open."""
    db.executemany("DELETE FROM lease WHERE id = ?", [(each,) for each in pending.closed])
    db.executemany(
        "INSERT INTO forwarded_link (crawl, shard, links, packed) VALUES (?, ?, ?, ?)",
        [(crawl, *each) for each in pending.links],
    )
    rows = [(crawl, url) for url in pending.homes]
    db.executemany("INSERT OR IGNORE INTO home VALUES (?, ?)", rows)


def outgoing_links(db: sqlite3.Connection, crawl: int, most: int) -> list[tuple[int, int, bytes]]:
    """(id, shard, packed) of the oldest rows that have not left."""
    sql = "SELECT id, shard, packed FROM forwarded_link WHERE crawl = ? ORDER BY id LIMIT ?"
    return db.execute(sql, (crawl, most)).fetchall()


def delete_links(db: sqlite3.Connection, ids: Iterable[int]) -> None:
    """Forget rows of links that the broker has."""
    with transaction(db):
        db.executemany("DELETE FROM forwarded_link WHERE id = ?", [(each,) for each in ids])


def waiting_links(db: sqlite3.Connection, crawl: int) -> int:
    """How many have not left."""
    sql = "SELECT ifnull(sum(links), 0) FROM forwarded_link WHERE crawl = ?"
    count: int = db.execute(sql, (crawl,)).fetchone()[0]
    return count
