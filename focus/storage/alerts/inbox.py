"""Which pages lie in a person's inbox, and what do they say of them?"""

from __future__ import annotations

from typing import NamedTuple

from focus.alerts.snippet import MARK
from focus.storage.alerts.store import HIT_COLUMNS, AlertStore, Match, hit_of

PER_PAGE = 30
ACTS = ("read", "unread", "delete", "relevant", "irrelevant")


class InboxFilter(NamedTuple):
    """What somebody wants to see. alert None: of all; `existing`: what was no news, too."""

    alert: int | None = None
    since: float = 0.0
    words: str = ""
    unread: bool = False
    existing: bool = False
    page: int = 0


class InboxEntry(NamedTuple):
    """A page in the inbox, and how many near-duplicates are folded under it."""

    hit: Match
    alert: str
    similar: int


_COLUMNS = ", ".join(f"h.{name.strip()}" for name in HIT_COLUMNS.split(","))


def letters(book: AlertStore, user: int, wish: InboxFilter) -> list[InboxEntry]:
    """The pages wished for, newest first; one more than `PER_PAGE` when there are more."""
    tests, values = _tests(user, wish)
    rows = book.rows(
        f"SELECT {_COLUMNS}, c.name, (SELECT count(*) FROM hit t WHERE t.twin = h.id "
        f"AND t.deleted = 0) FROM hit h JOIN alert c ON c.id = h.alert WHERE {tests} "
        "ORDER BY h.found_at DESC, h.relevance DESC, h.id LIMIT ? OFFSET ?",
        [*values, PER_PAGE + 1, wish.page * PER_PAGE],
    )
    return [InboxEntry(hit_of(row[:-2]), row[-2], row[-1]) for row in rows]


def _tests(user: int, wish: InboxFilter) -> tuple[str, list[object]]:
    tests = ["h.alert IN (SELECT id FROM alert WHERE user = ?)", "h.deleted = 0"]
    tests.append("h.twin IS NULL")
    values: list[object] = [user]
    if wish.alert is not None:
        tests.append("h.alert = ?")
        values.append(wish.alert)
    if wish.since:
        tests.append("h.found_at >= ?")
        values.append(wish.since)
    if wish.unread:
        tests.append("h.read_at IS NULL")
    if not wish.existing:
        tests.append("h.baseline = 0")
    for word in wish.words.split()[:10]:
        sign = word.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
        tests.append(
            f"(h.title || ' ' || replace(h.snippet, '{MARK}', '') || ' ' || h.url) "
            "LIKE ? ESCAPE '\\'"
        )
        values.append(f"%{sign}%")
    return " AND ".join(tests), values


def act(book: AlertStore, user: int, hit: int, what: str, *, now: float) -> bool:
    """Do one of `ACTS` to a person's own page; False when it is none of theirs."""
    change: dict[str, tuple[str, tuple[object, ...]]] = {
        "read": ("read_at = ifnull(read_at, ?)", (now,)),
        "unread": ("read_at = NULL", ()),
        "delete": ("deleted = 1", ()),
        "relevant": ("vote = CASE WHEN vote = 1 THEN NULL ELSE 1 END", ()),
        "irrelevant": ("vote = CASE WHEN vote = 0 THEN NULL ELSE 0 END", ()),
    }
    sql, values = change[what]
    with book.transaction() as db:
        changed = db.execute(
            f"UPDATE hit SET {sql} WHERE id = ? AND alert IN (SELECT id FROM alert WHERE user = ?)",
            (*values, hit, user),
        )
        return changed.rowcount == 1


def read_all(book: AlertStore, user: int, alert: int | None, *, now: float) -> None:
    """Mark all of a person's pages as read, or those of one alert."""
    with book.transaction() as db:
        db.execute(
            "UPDATE hit SET read_at = ? WHERE read_at IS NULL AND found_at <= ? "
            "AND alert IN (SELECT id FROM alert WHERE user = ? AND (? IS NULL OR id = ?))",
            (now, now, user, alert, alert),
        )


def unread(book: AlertStore, user: int) -> int:
    """Pages that a person has not read."""
    rows = book.rows(
        "SELECT count(*) FROM hit WHERE alert IN (SELECT id FROM alert WHERE user = ?) "
        "AND deleted = 0 AND twin IS NULL AND baseline = 0 AND read_at IS NULL",
        (user,),
    )
    return int(rows[0][0])
