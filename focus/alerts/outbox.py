"""What has to go to whom, and what became of it? The tables outbox and delivery.

The life of a row: `enqueue` writes it in the transaction that writes its hit; `claims.claim`
takes it into a message; `sent` or `failed` say how that ended.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from random import Random
from typing import NamedTuple
from zoneinfo import ZoneInfo

from focus.alerts.alert import Alert
from focus.alerts.store import AlertStore, Match

WAITING, SENT, DEAD = 0, 1, 2
"""States of a row, and of a delivery (0: will be tried again)."""

MAX_TRIES = 5
FIRST_WAIT_S, LONGEST_WAIT_S = 60.0, 24 * 3600.0
_GROWTH, _JITTER = 11.0, 0.08  # 1 min, 11 min, 2 h, 22 h: five tries within two days

PULLED = ("inbox", "feed")
"""Channels that people look into by themselves: no row is needed."""


class Part(NamedTuple):
    """An alert's share of a message: its best hits, and how many there are in all.

    similar  hit -> number of near-duplicates folded under it
    """

    alert: Alert
    number: int
    hits: list[Match]
    total: int
    similar: dict[int, int]


class OutboxLease(NamedTuple):
    """A message that this process, and no other, shall send now.

    batch  its id for ever
    tries  how often it failed before
    """

    batch: str
    user: int
    channel: str
    language: str
    zone: ZoneInfo
    tries: int
    parts: list[Part]

    @property
    def items(self) -> int:
        """How many pages it tells of, those in the inbox only included."""
        return sum(part.total for part in self.parts)


class Logged(NamedTuple):
    """A line of the delivery log."""

    at: float
    user: int
    channel: str
    batch: str
    items: int
    state: int
    detail: str


# -- writing ------------------------------------------------------------------------


def enqueue(
    db: sqlite3.Connection,
    owner: tuple[int, int],
    *,
    hits: Iterable[int],
    channels: Iterable[str],
    now: float,
) -> int:
    """Note that these hits go out by these channels, in the transaction that wrote them.

    owner  (user, alert)
    Gives the number of rows; a hit that was noted before is not noted again, and
    `inbox` and `feed` need no note.
    """
    pushed = [each for each in channels if each not in PULLED]
    rows = [(*owner, hit, channel, now) for hit in hits for channel in pushed]
    before = db.total_changes
    db.executemany(
        "INSERT OR IGNORE INTO outbox (user, alert, hit, channel, state, due_at, tries, batch, "
        "error) VALUES (?, ?, ?, ?, 0, ?, 0, '', '')",
        rows,
    )
    return db.total_changes - before


def wait_s(tries: int, rng: Random) -> float:
    """Seconds to the next try after so many that failed: 1 min, 11 min, 2 h, 22 h."""
    spread = 1.0 + _JITTER * rng.random()
    return min(LONGEST_WAIT_S, FIRST_WAIT_S * _GROWTH ** (tries - 1) * spread)


def sent(book: AlertStore, claim: OutboxLease, *, now: float, detail: str = "") -> None:
    """The receiver has acknowledged the message: it never goes out again."""
    _end(book, claim, SENT, now, detail)


def dead(book: AlertStore, claim: OutboxLease, *, now: float, reason: str) -> None:
    """Trying again would be of no use."""
    _end(book, claim, DEAD, now, reason)


def _end(book: AlertStore, claim: OutboxLease, state: int, now: float, detail: str) -> None:
    error = "" if state == SENT else detail
    with book.transaction() as db:
        changed = db.execute(
            "UPDATE outbox SET state = ?, tries = tries + 1, error = ?, due_at = ? "
            "WHERE batch = ? AND state = 0",
            (state, error, now, claim.batch),
        ).rowcount
        if changed:  # else another process has done it, after our lease had run out
            log(db, Logged(now, claim.user, claim.channel, claim.batch, changed, state, detail))


def failed(book: AlertStore, claim: OutboxLease, *, now: float, wait: float, reason: str) -> int:
    """Try again so many seconds later, unless it was the last try; the state that it has now."""
    tries = claim.tries + 1
    if tries >= MAX_TRIES:
        dead(book, claim, now=now, reason=reason)
        return DEAD
    with book.transaction() as db:
        changed = db.execute(
            "UPDATE outbox SET tries = ?, due_at = ?, error = ? WHERE batch = ? AND state = 0",
            (tries, now + wait, reason, claim.batch),
        ).rowcount
        if changed:
            log(db, Logged(now, claim.user, claim.channel, claim.batch, changed, WAITING, reason))
    return WAITING


def again(book: AlertStore, user: int, batch: str, *, now: float) -> int:
    """Let a message that was given up start anew, at once and under its id; its rows."""
    with book.transaction() as db:
        return db.execute(
            "UPDATE outbox SET state = 0, tries = 0, due_at = ?, error = '' "
            "WHERE user = ? AND batch = ? AND batch <> '' AND state = 2",
            (now, user, batch),
        ).rowcount


def log(db: sqlite3.Connection, line: Logged) -> None:
    """A line for people, inside the caller's transaction."""
    db.execute(
        "INSERT INTO delivery (at, user, channel, batch, items, state, detail) "
        "VALUES (?, ?, ?, ?, ?, ?, ?)",
        line,
    )


# -- reading ------------------------------------------------------------------------


def next_due(book: AlertStore) -> float | None:
    """When the next message may go out; None when none waits."""
    found: float | None = book.rows("SELECT min(due_at) FROM outbox WHERE state = 0")[0][0]
    return found


def counts(book: AlertStore, user: int | None = None) -> dict[int, int]:
    """Rows by state, of one user or of all."""
    where, values = ("", ()) if user is None else (" WHERE user = ?", (user,))
    return dict(book.rows(f"SELECT state, count(*) FROM outbox{where} GROUP BY state", values))


def lines(book: AlertStore, user: int | None = None, *, limit: int = 50) -> list[Logged]:
    """The delivery log of one user or of all, latest first."""
    where, values = ("", ()) if user is None else (" WHERE user = ?", (user,))
    sql = (
        "SELECT at, user, channel, batch, items, state, detail FROM delivery"
        f"{where} ORDER BY at DESC, id DESC LIMIT ?"
    )
    return [Logged(*row) for row in book.rows(sql, (*values, limit))]
