"""Which pages lie in a person's inbox, and what do they say of them?"""

from __future__ import annotations

from typing import NamedTuple

from focus.alerts.snippet import MARK
from focus.alerts.store import HIT_COLUMNS, Book, Hit, hit_of

PER_PAGE = 30
ACTS = ("read", "unread", "delete", "relevant", "irrelevant")


class Wish(NamedTuple):
    """What somebody wants to see. concern None: of all; `existing`: what was no news, too."""

    concern: int | None = None
    since: float = 0.0
    words: str = ""
    unread: bool = False
    existing: bool = False
    page: int = 0


class Letter(NamedTuple):
    """A page in the inbox, and how many near-duplicates are folded under it."""

    hit: Hit
    concern: str
    similar: int


_COLUMNS = ", ".join(f"h.{name.strip()}" for name in HIT_COLUMNS.split(","))


def letters(book: Book, user: int, wish: Wish) -> list[Letter]:
    """The pages wished for, newest first; one more than `PER_PAGE` when there are more."""
    tests, values = _tests(user, wish)
    rows = book.rows(
        f"SELECT {_COLUMNS}, c.name, (SELECT count(*) FROM hit t WHERE t.twin = h.id "
        f"AND t.deleted = 0) FROM hit h JOIN concern c ON c.id = h.concern WHERE {tests} "
        "ORDER BY h.found_at DESC, h.relevance DESC, h.id LIMIT ? OFFSET ?",
        [*values, PER_PAGE + 1, wish.page * PER_PAGE],
    )
    return [Letter(hit_of(row[:-2]), row[-2], row[-1]) for row in rows]


def _tests(user: int, wish: Wish) -> tuple[str, list[object]]:
    tests = ["h.concern IN (SELECT id FROM concern WHERE user = ?)", "h.deleted = 0"]
    tests.append("h.twin IS NULL")
    values: list[object] = [user]
    if wish.concern is not None:
        tests.append("h.concern = ?")
        values.append(wish.concern)
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


def act(book: Book, user: int, hit: int, what: str, *, now: float) -> bool:
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
            f"UPDATE hit SET {sql} WHERE id = ? "
            "AND concern IN (SELECT id FROM concern WHERE user = ?)",
            (*values, hit, user),
        )
        return changed.rowcount == 1


def read_all(book: Book, user: int, concern: int | None, *, now: float) -> None:
    """Mark all of a person's pages as read, or those of one concern."""
    with book.transaction() as db:
        db.execute(
            "UPDATE hit SET read_at = ? WHERE read_at IS NULL AND found_at <= ? "
            "AND concern IN (SELECT id FROM concern WHERE user = ? AND (? IS NULL OR id = ?))",
            (now, now, user, concern, concern),
        )


def unread(book: Book, user: int) -> int:
    """Pages that a person has not read."""
    rows = book.rows(
        "SELECT count(*) FROM hit WHERE concern IN (SELECT id FROM concern WHERE user = ?) "
        "AND deleted = 0 AND twin IS NULL AND baseline = 0 AND read_at IS NULL",
        (user,),
    )
    return int(rows[0][0])
