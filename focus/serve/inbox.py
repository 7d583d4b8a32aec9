"""The pages of a person: those in the inbox, what they say of them, and what they may search.

A crawl is searched by those whose alerts watch its site, and by everybody where an administrator
has opened it. A site that several people watch is visited once: its pages are each of theirs.
"""

from __future__ import annotations

from typing import NamedTuple

from focus.alerts.snippet import MARK
from focus.alerts.store import HIT_COLUMNS, AlertStore, Match, hit_of

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


# -- searching ----------------------------------------------------------------------

OPENED = "searched by all"
"""The setting that holds [id, start] of each crawl that everybody may search: an id alone may
come again, of another crawl.
"""
MOST_CRAWLS = 200  # that an administrator is shown, newest first


class CrawlShown(NamedTuple):
    """A crawl as an administrator sees it; `what`: the site that is watched, or topic and seed."""

    id: int
    started_at: float
    what: str
    is_open: bool


def crawls(book: AlertStore) -> list[CrawlShown]:
    """The crawls of the database, newest first."""
    rows = book.rows(_CRAWLS, (OPENED, MOST_CRAWLS))
    return [CrawlShown(number, at, what, bool(is_open)) for number, at, what, is_open in rows]


def searchable(book: AlertStore, user: int) -> set[int]:
    """The crawls that a person may search."""
    return {number for (number,) in book.rows(_SEARCHABLE, (user, OPENED))}


_IS_OPENED = (
    "EXISTS (SELECT 1 FROM setting s, json_each(s.value) e WHERE s.name = ? "
    "AND json_extract(e.value, '$[0]') = c.id AND json_extract(e.value, '$[1]') = c.started_at)"
)
_CRAWLS = f"""
SELECT c.id, c.started_at, coalesce((SELECT min(host) FROM site WHERE crawl = c.id),
    trim(c.topic || ' ' || ifnull(json_extract(c.identity, '$.seeds[0]'), ''))), {_IS_OPENED}
FROM crawl c ORDER BY c.id DESC LIMIT ?"""
_SEARCHABLE = f"""
SELECT s.crawl FROM site s JOIN alert_site w ON w.site = s.id JOIN alert o ON o.id = w.alert
WHERE o.user = ? AND s.crawl IS NOT NULL
UNION SELECT c.id FROM crawl c WHERE {_IS_OPENED}"""
